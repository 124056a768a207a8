# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders that do not stay, however their process ends.

The process that uses a folder holds its lock. A guard removes the folder if that process is killed. If there was no
guard, or it could not work (a power failure), the next use in the same place removes it: it has the same prefix,
belongs to the same user, and its lock is free.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time

from . import daemon, identities
from .descriptors import NO_FOLLOW
from .errors import HostError

_REMOVE_SECONDS = 60.0
# Seconds in which a deputy must remove the files of the largest measurement.
_LENT_SECONDS = 600
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
# In a folder that another program makes: its user has had the lock.
_MARK = "zpower-in-use"
# The folder into which Ansible puts the code of a module, as an archive that Python imports from.
_PAYLOAD = "ansible_zpower.sap_tuning."


def make_below(directory, prefix):
    """A TemporaryFolder, or a LentFolder if directory is another user's: programs that get its path run with its
    identity. Errors are OSError and HostError."""
    owner = identities.way(os.path.join(directory, prefix)).owner
    return TemporaryFolder(directory, prefix) if owner is None else LentFolder(owner, directory, prefix)


class LentFolder:
    """A TemporaryFolder in the folder of another user, who can exchange it for a link: a deputy has it."""

    def __init__(self, owner, directory, prefix):
        self.identity = identities.Identity.of_uid(owner)
        self._deputy = identities.deputy(owner)
        self.path = self._deputy.call(identities.TIMEOUT_S, _lend, directory, prefix)

    def remove(self):
        """Remove the folder; whether it is gone."""
        try:
            return self._deputy.call(_LENT_SECONDS, _take_back, self.path)
        except HostError:
            return False


# In a deputy: {path: its TemporaryFolder}
_lent = {}


def _lend(directory, prefix):
    try:
        folder = TemporaryFolder(directory, prefix)
    except OSError as error:
        raise HostError(error.strerror, error.errno) from error
    _lent[folder.path] = folder
    return folder.path


def _take_back(path):
    return _lent.pop(path).remove()


class TemporaryFolder:
    """A new folder below directory, for this process and its children.

    Errors are OSError; also for a directory in which others can exchange it.
    """

    identity = None

    def __init__(self, directory, prefix):
        directory = directory or tempfile.gettempdir()
        way = identities.way(os.path.join(directory, prefix))
        if way.owner is not None:
            who = identities.Identity.of_uid(way.owner).name
            raise OSError(errno.EPERM, "%s is a folder of %s: use a folder that belongs to root" % (directory, who))
        if way.loose is not None:
            raise OSError(errno.EPERM, identities.too_open(way.loose))
        self.path, self._lock = _made(directory, prefix)
        self.pid = os.getpid()
        kept = () if self._lock is None else (self._lock,)
        self._guard, self._lifeline = daemon.guard(lambda: _remove(self.path, _REMOVE_SECONDS), kept)

    def remove(self):
        """Remove the folder; whether it is gone."""
        _remove(self.path, 0)
        os.close(self._lifeline)
        os.waitpid(self._guard, 0)
        if self._lock is not None:
            os.close(self._lock)
        return not os.path.lexists(self.path)


def _made(directory, prefix):
    """(path, its lock or None if the system has no such locks) of a new folder."""
    while True:
        path = tempfile.mkdtemp(prefix=prefix, dir=directory)
        # before it is locked, another process can take it for a leftover
        lock = _locked(path, fcntl.LOCK_EX)
        if os.path.lexists(path):
            return path, lock
        if lock is not None:
            os.close(lock)


def hold_payload(code=__file__):
    """Hold the lock of the folder that Ansible made for this module, and mark it; remove those of killed modules.

    Ansible removes it when the module ends, unless that is killed. code: a file in the archive in that folder; for any
    other nothing happens.
    """
    folder = os.path.dirname(code.partition(".zip" + os.sep)[0])
    directory, name = os.path.split(folder)
    if name.startswith(_PAYLOAD):
        remove_leftovers(directory, _PAYLOAD, marked=True)
        if _locked(folder) is not None:
            with contextlib.suppress(OSError):
                os.close(os.open(os.path.join(folder, _MARK), os.O_WRONLY | os.O_CREAT | NO_FOLLOW, 0o600))


def remove_leftovers(directory, prefix, marked=False):
    """Remove folders that nobody uses any more: of this user, or of the one whose directory it is. marked: only those
    of this user with the mark.

    Nothing is removed in a directory where another user could give such a name to any folder.
    """
    owner = identities.way(os.path.join(directory, prefix)).owner
    if owner is not None:
        if not marked:
            identities.deputy(owner).call(_LENT_SECONDS, remove_leftovers, directory, prefix)
        return
    try:
        found = os.stat(directory)
        names = sorted(name for name in os.listdir(directory) if name.startswith(prefix))
    except OSError:
        return
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        return
    for path in (os.path.join(directory, name) for name in names):
        lock = _locked(path)
        if lock is not None:
            if not marked or os.path.lexists(os.path.join(path, _MARK)):
                _remove(path, 0)
            os.close(lock)


def _locked(path, how=fcntl.LOCK_EX | fcntl.LOCK_NB):
    """A descriptor that holds the lock of a folder of this user.

    None if it is something else, another process has the lock, or the system has no such lock.
    """
    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_FOLLOW | _DIRECTORY)
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, how)
            return descriptor
    except OSError:
        pass  # the lock of another process
    if descriptor is not None:
        os.close(descriptor)
    return None


def _remove(path, seconds):
    """Remove a folder, repeatedly for some seconds: a program that still runs may write files into it."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(RecursionError):  # folders in folders, thousands deep
            shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path) or time.monotonic() > deadline:
            return
        time.sleep(0.2)
