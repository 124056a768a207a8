# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A new folder for the files of a measurement, limited by the free space, and removed in every case."""

import os

from ..._host import temporary
from ..errors import MeasureError

MIB = 1024 * 1024


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
        temporary.remove_leftovers(directory, prefix)
        check_room(directory, needed, free_bytes(directory))
        try:
            self._folder = temporary.TemporaryFolder(directory, prefix)
        except OSError as error:
            raise MeasureError("no folder can be made in %s: %s" % (directory, error.strerror)) from error
        self.path = self._folder.path

    def remove(self):
        """Remove the folder; MeasureError if it stays."""
        if not self._folder.remove():
            raise MeasureError("%s could not be removed: please remove it" % self.path)
