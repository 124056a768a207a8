# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A capture of a machine in the place of a Host: it is read like one, and nothing is written or run."""

import errno
import posixpath
from collections import namedtuple

from .._host.errors import HostError
from .._host.host import LARGEST, Host
from .._host.identities import Way
from .tree import FILE, FOLDER, LINK, NOTHING, REFUSED, UNREADABLE

# format: tree, dbginfo, sos, supportconfig or sysfs. hostname, taken: "" if unknown; taken is the machine's local time.
# notes: sentences about the whole, for example that the archive is cut off.
Capture = namedtuple("Capture", "format path hostname taken notes")


class CapturedHost(Host):
    """The files of a capture. capture: a Capture; tree: its Tree.

    It has no commands, no users, and no times and permissions of files: not every archive holds them.
    """

    def __init__(self, capture, tree):
        super().__init__(capture.path)
        self.capture = capture
        self._tree = tree
        self._missed = {}

    @property
    def missed(self):
        """The absent paths that were asked for and that the capture cannot hold, in the order of the requests."""
        return list(self._missed)

    def lacking(self, path):
        """A sentence why this capture cannot hold a path; "" if it does, or if the machine did not have it."""
        real, entry = self._tree.resolve(path)
        if entry is None:
            return self._tree.why(real)
        return entry.value if entry.kind == UNREADABLE else ""

    def _refuse(self, action, what, number=errno.EROFS):
        sentence = "cannot %s %s: %s is a capture, not a running machine" % (action, what, self.capture.path)
        raise HostError(sentence, number)

    def again(self, kind=None):
        """The same capture for another reader, who has missed nothing yet. kind: a class, by default that of this."""
        return (kind or type(self))(self.capture, self._tree)

    def path(self, path):
        """A path that never exists on this machine: the files of a capture are read by this class only."""
        return "/dev/null" + posixpath.normpath("/" + path)

    def way(self, path):
        return Way(None, self.path(path), None)

    def _found(self, path, follow=True):
        """The Entry of a path; None if it is absent or was not readable, which is noted if the capture lacks it."""
        entry = self._tree.resolve(path, follow)[1]
        if entry is not None and entry.kind != UNREADABLE:
            return entry
        path = posixpath.normpath(path)
        if path not in self._missed and self.lacking(path):
            self._missed[path] = None
        return None

    def exists(self, path):
        return self._found(path) is not None or self._tree.resolve(path)[1] is not None

    def data(self, path, follow=True):
        """As Host.data(). Raises HostError also for contradictory contents: none of them is chosen."""
        entry = self._found(path, follow)
        if entry is None or entry.kind == FOLDER:
            return None
        if entry.kind == NOTHING:
            return b""
        if entry.kind == REFUSED:
            raise HostError("cannot read %s: %s" % (path, entry.value))
        if entry.kind != FILE:
            raise HostError("%s is a link now and was not read: put the file itself there" % path)
        self._tree.budget.read(entry.size)
        data = entry.value()
        if len(data) > LARGEST:
            raise HostError("cannot read %s: it is larger than %d MiB" % (path, LARGEST >> 20))
        return data

    def real(self, path):
        return self._tree.resolve(path)[0]

    def target(self, path):
        """The text of a link; None if this is not a link. Folders on the way are followed."""
        entry = self._tree.resolve(path, follow=False)[1]
        return entry.value if entry is not None and entry.kind == LINK else None

    def size(self, path):
        entry = self._found(path)
        return entry.size if entry is not None and entry.kind == FILE else None

    def listdir(self, path):
        entry = self._found(path)
        return sorted(entry.value) if entry is not None and entry.kind == FOLDER else []

    def put(self, path, value):
        self._refuse("write", path)

    def replace(self, path, data, mode=0o644, check=None):
        self._refuse("write", path)

    def link(self, path, to):
        self._refuse("make the link", path)

    def remove(self, path):
        self._refuse("remove", path)

    def run(self, argv, timeout=30, user=None, env=None):
        self._refuse("run", argv[0], errno.ENOENT)
