# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Temporary folders that do not stay, however their process ends.

The process that uses a folder holds its lock. A guard removes the folder if that process is killed. If there was no
guard, or it could not work (a power failure), the next use in the same place removes it: it has the same prefix,
belongs to the same user, and its lock is free.
"""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time

from . import daemon
from .descriptors import NO_FOLLOW

_REMOVE_SECONDS = 60.0
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
# In a folder that another program makes: its user has had the lock.
_MARK = "zpower-in-use"
# The folder into which Ansible puts the code of a module, as an archive that Python imports from.
_PAYLOAD = "ansible_zpower.sap_tuning."


class TemporaryFolder:
    """A new folder below directory, for this process and its children. Errors are OSError."""

    def __init__(self, directory, prefix):
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
    """Remove folders of this user that nobody uses any more. marked: only those with the mark.

    Nothing is removed in a directory where another user could give such a name to any folder.
    """
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
