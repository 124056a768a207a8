# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock file that lets one run work at a time, also among hosts that share the file system."""

import contextlib
import errno
import fcntl
import os
import stat
import time

from .descriptors import NO_FOLLOW
from .host import HostError, refused


class Busy(HostError):
    """Another process holds the lock. owner: the text that it wrote into the file, mostly host and process."""

    def __init__(self, path, owner):
        super().__init__("%s is held%s" % (path, " by " + owner if owner else ""), errno.EAGAIN)
        self.owner = owner


class Lock:
    """A lock file of one host. Its folder must exist. own: refuse a file of another user, who could hold its lock."""

    def __init__(self, host, path, own=False):
        self._host = host
        self._path = path
        self._own = own
        self._descriptor = None

    @property
    def held(self):
        return self._descriptor is not None

    def take(self, owner, patience=0.0):
        """Take the lock. patience: seconds to wait for it. owner: a line that tells others who holds it.

        Raises Busy, and HostError if the file cannot be created or locked.
        """
        until = time.monotonic() + patience
        while not self._try():
            if time.monotonic() >= until:
                raise Busy(self._path, self._owner())
            time.sleep(0.2)
        try:
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, (owner + "\n").encode("utf-8"))
        except OSError as error:
            self.release()
            raise refused("cannot write %s" % self._path, error) from error

    def _try(self):
        path = self._host.path(self._path)
        while True:
            try:
                # never follow a link or wait for a FIFO that somebody else has put there
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW | os.O_NONBLOCK, 0o600)
            except OSError as error:
                raise refused("cannot create %s" % self._path, error) from error
            try:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    raise HostError("%s must be a lock file but is not a regular file: remove it" % self._path)
                if self._own and found.st_uid != os.geteuid():
                    raise HostError("%s belongs to another user: remove it" % self._path)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # a run that has just ended may have removed the file between open and flock
                if os.path.lexists(path) and os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                    self._descriptor = descriptor
                    return True
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise refused("cannot lock %s" % self._path, error) from error
                return False
            finally:
                if self._descriptor != descriptor:
                    os.close(descriptor)

    def look(self):
        """Raise Busy if another process holds the lock. Creates and writes nothing.

        Raises HostError if the file cannot be opened or locked. Another process that tries to take the lock in the
        same moment may find it held.
        """
        try:
            descriptor = os.open(self._host.path(self._path), os.O_RDONLY | NO_FOLLOW | os.O_NONBLOCK)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return
            raise refused("cannot read %s" % self._path, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise refused("cannot lock %s" % self._path, error) from error
            raise Busy(self._path, self._owner()) from error
        finally:
            os.close(descriptor)

    def _owner(self):
        return (self._host.data(self._path, follow=False) or b"").decode("utf-8", "replace").strip()[:200]

    def release(self, keep=False):
        """Release the lock; keep: leave the file."""
        if self._descriptor is None:
            return
        if not keep:
            # a file that stays does no harm: nobody holds its lock
            with contextlib.suppress(OSError):
                os.unlink(self._host.path(self._path))
        os.close(self._descriptor)
        self._descriptor = None
