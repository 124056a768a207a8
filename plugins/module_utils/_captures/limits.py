# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much one capture may cost, whatever its archive claims.

They count for a capture as a whole, with the archives inside it: single logs of zeros may pack as well as a bomb.
"""

import functools
import os
import tempfile
import time

from .._host.errors import HostError, refused

PIECE = 256 * 1024

# Unpacked bytes. A sosreport with full logs has a few GiB.
MOST_UNPACKED = 8 << 30
# Unpacked bytes per byte of the archive, from this many unpacked bytes on. Zeros, the usual bomb, pack 1:1028 with
# gzip, 1:6756 with xz and about 1:650,000 with bzip2; the files of real captures pack about 1:30. Names and short files
# pack better, so that SHORT_FILE is left out for each: a tar of 13,488 files of /sys (Linux 6, x86-64) packed 1:53 with
# gzip and 1:118 with xz, one of 400 CPUs that are quite alike 1:145 and 1:455.
MOST_RATIO = 200
RATIO_FROM = 128 << 20
SHORT_FILE = 1024
# Bytes kept in the private file for members that may be read; logs are passed over.
MOST_KEPT = 2 << 30
# One file: the limit of Host.
MOST_FILE = 64 << 20
# Bytes that one call reads of its files, all together: links can lead many names to one large file.
MOST_READ = 1 << 30
# Names. A sysfs.tgz with debugfs has 100,000 and more; a million would take about 500 MB of memory.
MOST_ENTRIES = 500000
# A name is at most as long as the kernel's PATH_MAX.
MOST_NAME = 4096
# Headers for long names and attributes. A name needs 4096 bytes; one header of 300 MiB packs into 306 kB.
MOST_HEADER = 64 << 10
# Memory for xz: its largest preset needs 65 MiB.
MOST_XZ_MEMORY = 128 << 20
# Bytes after the end of an archive. tar fills its last record, by default to 10 KiB.
MOST_AFTER_END = 1 << 20
# Opening. Python unpacks 8 GiB of xz within this time on a slow machine.
MOST_SECONDS = 600
# The kernel follows the same number of links.
MOST_LINKS = 40


class Exceeded(HostError):
    """A capture costs more than a limit above."""


class Budget:
    """What is left for a capture, and the private file without a name that keeps the content of its members.

    packed: bytes of the archives as they lie on this machine. Methods raise Exceeded if a limit is reached.
    """

    def __init__(self, name):
        self.name = name
        self.packed = 0
        self._unpacked = self._kept = self._entries = self._read = 0
        self._until = time.monotonic() + MOST_SECONDS
        # it lives as long as the capture
        self._file = tempfile.TemporaryFile()  # noqa: SIM115

    def unpack(self, size):
        """Count size unpacked bytes: the limits of size, ratio and time."""
        self._unpacked += size
        if self._unpacked > MOST_UNPACKED:
            raise Exceeded("%s unpacks to more than %d MiB: no capture does" % (self.name, MOST_UNPACKED >> 20))
        if self._unpacked - SHORT_FILE * self._entries > max(RATIO_FROM, MOST_RATIO * self.packed):
            raise Exceeded("%s unpacks to more than %d times its size: no capture does" % (self.name, MOST_RATIO))
        if time.monotonic() > self._until:
            raise Exceeded("%s could not be unpacked within %d s" % (self.name, MOST_SECONDS))

    def count(self):
        self._entries += 1
        if self._entries > MOST_ENTRIES:
            raise Exceeded("%s holds more than %d names" % (self.name, MOST_ENTRIES))

    def read(self, size):
        """Count a file that is read: links can lead many names to it."""
        self._read += min(size, MOST_FILE)
        if self._read > MOST_READ:
            raise Exceeded("more than %d MiB of %s were read" % (MOST_READ >> 20, self.name))

    def keep(self, stream, size):
        """Copy this many bytes of a Stream to the private file; returns the content, as an Entry has it."""
        self._kept += size
        if self._kept > MOST_KEPT:
            raise Exceeded("%s holds more than %d MiB besides logs" % (self.name, MOST_KEPT >> 20))
        start = self._file.tell()
        try:
            for left in range(size, 0, -PIECE):
                self._file.write(stream.read(min(left, PIECE)))
        except OSError as error:
            raise refused("cannot unpack %s into %s" % (self.name, tempfile.gettempdir()), error) from error
        return functools.partial(self._kept_bytes, start, size)

    def _kept_bytes(self, start, size, offset=0, most=MOST_FILE + 1):
        self._file.flush()
        return os.pread(self._file.fileno(), max(min(most, size - offset), 0), start + offset)
