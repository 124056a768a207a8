# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a running or captured machine for facts: no file on it can stop the reading."""

import errno
import itertools
import os
import stat

from .._host.host import Host, HostError, refused
from .._host.identities import Way

_PIECE = 64 * 1024
_MOST = 4 * 1024 * 1024
# a mask of 8192 CPUs has 2303 characters
_LONGEST_VALUE = 4096
# the kernel follows as many links; more lead to this path, which cannot exist
_LINKS = 40
_NOWHERE = "/dev/null/nowhere"
_SENTENCES = 5
# absent, not a file, or a device that disappears or has no such value
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENODEV, errno.ENXIO, errno.EINVAL)


class ReadingHost(Host):
    """A Host for facts. A file that cannot be read counts as absent, with a sentence in remarks.

    Below a captured root, links lead to files of the captured machine, never to files of this one. Only regular files
    are read, and only their first 4 MiB: a captured tree may hold anything.
    """

    def __init__(self, root="/"):
        super().__init__(root)
        self.remarks = []
        self._targets = {}

    def path(self, path):
        if self.root == "/":
            return super().path(path)
        return os.path.join(self.root, self._resolved(path).lstrip("/"))

    def _resolved(self, path):
        """The path on the captured machine with all links followed."""
        found, links = "/", 0
        waiting = path.split("/")[::-1]
        while waiting:
            name = waiting.pop()
            if name == "..":
                found = os.path.dirname(found)
            elif name not in ("", "."):
                target = self._target(os.path.join(found, name))
                if target is None:
                    found = os.path.join(found, name)
                else:
                    links += 1
                    if links > _LINKS:
                        return _NOWHERE
                    found = "/" if target.startswith("/") else found
                    waiting += target.split("/")[::-1]
        return found

    def _target(self, path):
        """The text of a link of the captured machine; None if path is not a link."""
        if path not in self._targets:
            try:
                self._targets[path] = os.readlink(os.path.join(self.root, path.lstrip("/")))
            except OSError:
                self._targets[path] = None
        return self._targets[path]

    def twin(self):
        return ReadingHost(self.root)

    def way(self, path):
        # a captured tree holds no secrets of this machine, and its user ids are those of another machine
        return super().way(path) if self.root == "/" else Way(None, self.path(path), None)

    def exists(self, path):
        try:
            return super().exists(path)
        except HostError as error:
            self.remarks.append(str(error))
            return False

    def read(self, path):
        try:
            data = self._beginning(path)
        except HostError as error:
            self.remarks.append(str(error))
            return None
        return None if data is None else data.decode("utf-8", "replace")

    def value(self, path):
        text = super().value(path)
        return text if text is None or len(text) <= _LONGEST_VALUE else None

    def _beginning(self, path):
        """The first bytes of a file; None if absent or not a file."""
        way = self.way(path)
        if way.owner is not None:
            return self.as_user(way.owner, ReadingHost._beginning, path)
        try:
            return self._bytes(way.target)
        except OSError as error:
            if error.errno in _ABSENT:
                return None
            raise refused("cannot read %s" % path, error) from error

    def _bytes(self, target):
        # a FIFO would wait for a writer
        descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EISDIR, "not a file")
            # in pieces: /proc/sys refuses one large read (ENOMEM)
            pieces = iter(lambda: os.read(descriptor, _PIECE), b"")
            return b"".join(itertools.islice(pieces, _MOST // _PIECE))
        finally:
            os.close(descriptor)

    def listdir(self, path):
        try:
            return super().listdir(path)
        except HostError as error:
            self.remarks.append(str(error))
            return []

    def summary(self):
        """The first few remarks, each once, and how many more there are."""
        different = list(dict.fromkeys(self.remarks))
        more = len(different) - _SENTENCES
        return different[:_SENTENCES] + (["%d more files could not be read" % more] if more > 0 else [])
