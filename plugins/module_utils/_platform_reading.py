# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine, running or captured, that is only looked at: nothing it holds can stop the looking."""

import errno
import itertools
import os
import stat

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import Host, HostError, refused

_PIECE = 64 * 1024
_MOST = 4 * 1024 * 1024
_LINKS = 40
_SENTENCES = 5


class ReadingHost(Host):
    """A Host for facts. What cannot be read is absent, and remarks says so.

    Below a captured root links lead as they did on the captured machine, never to files of this one. Only the first
    4 MiB of a file are read, and nothing but files: a captured tree may hold anything.
    """

    def __init__(self, root="/"):
        super().__init__(root)
        self.remarks = []
        self._real = {}

    def path(self, path):
        if self.root == "/":
            return super().path(path)
        return os.path.join(self.root, self._resolved(os.path.normpath(path), _LINKS).lstrip("/"))

    def _resolved(self, path, links):
        """The path of the captured machine at which its links end."""
        if path == "/":
            return path
        if path not in self._real:
            above, name = os.path.split(path)
            found = os.path.join(self._resolved(above, links), name)
            target = self._target(found)
            if target is not None and links > 0:
                found = self._resolved(os.path.normpath(os.path.join(os.path.dirname(found), target)), links - 1)
            self._real[path] = found
        return self._real[path]

    def _target(self, path):
        try:
            return os.readlink(os.path.join(self.root, path.lstrip("/")))
        except OSError:
            return None

    def read(self, path):
        try:
            # a FIFO would wait for a writer
            descriptor = os.open(self.path(path), os.O_RDONLY | os.O_NONBLOCK)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None
                # in pieces: /proc/sys refuses one large read (ENOMEM)
                pieces = iter(lambda: os.read(descriptor, _PIECE), b"")
                return b"".join(itertools.islice(pieces, _MOST // _PIECE)).decode("utf-8", "replace")
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.EINVAL, errno.EISDIR):
                self.remarks.append(str(refused("cannot read %s" % path, error)))
            return None

    def listdir(self, path):
        try:
            return super().listdir(path)
        except HostError as error:
            self.remarks.append(str(error))
            return []

    def summary(self):
        """A few sentences for all remarks."""
        different = list(dict.fromkeys(self.remarks))
        more = len(different) - _SENTENCES
        return different[:_SENTENCES] + (["%d more files could not be read" % more] if more > 0 else [])
