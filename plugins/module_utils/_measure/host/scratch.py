# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A new folder for the files of a measurement, limited by the free space, and removed in every case.

A second process removes it if the one that made it is killed. If that is impossible (a power failure), the next
measurement in the same place removes it.
"""

import fcntl
import os
import shutil
import stat
import tempfile
import time

from ..._host import daemon
from ..errors import MeasureError

MIB = 1024 * 1024
_REMOVE_SECONDS = 60.0


def free_bytes(directory):
    """The bytes that a user without privileges may still write to the file system of a directory."""
    system = os.statvfs(directory)
    return system.f_bavail * system.f_frsize


def check_room(directory, needed, free):
    """MeasureError if the needed bytes are more than half of the free ones: other files need room, too."""
    if needed * 2 > free:
        raise MeasureError(
            "%d MiB of files in %s would be more than half of the %d MiB that are free there: take fewer or smaller "
            "files, or another directory" % (-(-needed // MIB), directory, free // MIB)
        )


def parse_mount(mountinfo, device):
    """Type and source, as in "ext4 /dev/dasdb1", of the mount of a device (major:minor); else "unknown"."""
    for line in mountinfo.splitlines():
        fields = line.split()
        if len(fields) > 6 and fields[2] == device and "-" in fields:
            return " ".join(fields[fields.index("-") + 1 :][:2])
    return "unknown"


def file_system(directory):
    """Type and device of the file system of a directory, or "unknown"."""
    try:
        number = os.stat(directory).st_dev
        with open("/proc/self/mountinfo") as stream:
            return parse_mount(stream.read(), "%d:%d" % (os.major(number), os.minor(number)))
    except OSError:
        return "unknown"


class Scratch:
    """A new folder below directory, for at most the needed bytes. prefix: the begin of its name, one per use."""

    def __init__(self, directory, prefix, needed):
        if not os.path.isdir(directory):
            raise MeasureError("%s is no directory on this host" % directory)
        remove_leftovers(directory, prefix)
        check_room(directory, needed, free_bytes(directory))
        try:
            self.path = tempfile.mkdtemp(prefix=prefix, dir=directory)
        except OSError as error:
            raise MeasureError("no folder can be made in %s: %s" % (directory, error.strerror)) from error
        # This process and its guard hold the lock while the folder is in use.
        self._lock = _locked(self.path)
        kept = () if self._lock is None else (self._lock,)
        self._guard, self._lifeline = daemon.guard(lambda: _remove(self.path, _REMOVE_SECONDS), kept)

    def remove(self):
        """Remove the folder; MeasureError if it stays."""
        _remove(self.path, 0)
        os.close(self._lifeline)
        os.waitpid(self._guard, 0)
        if self._lock is not None:
            os.close(self._lock)
        if os.path.lexists(self.path):
            raise MeasureError("%s could not be removed: please remove it" % self.path)


def remove_leftovers(directory, prefix):
    """Remove folders of earlier measurements of this user in a directory, unless they are in use."""
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if not name.startswith(prefix) or not _is_own_folder(path):
            continue
        lock = _locked(path)
        if lock is not None:
            _remove(path, 0)
            os.close(lock)


def _is_own_folder(path):
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _locked(path):
    """A descriptor that holds the lock of a folder; None if another process has it or the system has no such lock."""
    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except OSError:
        if descriptor is not None:
            os.close(descriptor)
        return None


def _remove(path, seconds):
    """Remove a folder, repeatedly for some seconds: a program that still runs may write files into it."""
    deadline = time.monotonic() + seconds
    while True:
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path) or time.monotonic() > deadline:
            return
        time.sleep(0.2)
