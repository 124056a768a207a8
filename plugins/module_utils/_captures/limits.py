# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much one capture may cost, whatever its archive claims.

Zeros pack 1:1028 with gzip, 1:6756 with xz and about 1:650,000 with bzip2, so a ratio does not stop a bomb: all limits
are absolute. They count for a capture as a whole, with the archives inside it.
"""

import time

from .._host.errors import HostError

# Unpacked bytes. A sosreport with full logs has a few GiB.
MOST_UNPACKED = 8 << 30
# Bytes kept in the private file for members that may be read; logs are passed over.
MOST_KEPT = 2 << 30
# One file: the limit of Host.
MOST_FILE = 64 << 20
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
# The kernel follows as many links.
MOST_LINKS = 40


class Exceeded(HostError):
    """A capture costs more than a limit above."""


class Budget:
    """What is left for a capture. Each method raises Exceeded if it is used up."""

    def __init__(self, name):
        self.name = name
        self._unpacked = self._kept = self._entries = 0
        self._until = time.monotonic() + MOST_SECONDS

    def unpack(self, size):
        self._unpacked += size
        if self._unpacked > MOST_UNPACKED:
            raise Exceeded("%s unpacks to more than %d MiB: no capture does" % (self.name, MOST_UNPACKED >> 20))
        if time.monotonic() > self._until:
            raise Exceeded("%s could not be unpacked within %d s" % (self.name, MOST_SECONDS))

    def keep(self, size):
        self._kept += size
        if self._kept > MOST_KEPT:
            raise Exceeded("%s holds more than %d MiB besides logs" % (self.name, MOST_KEPT >> 20))

    def count(self):
        self._entries += 1
        if self._entries > MOST_ENTRIES:
            raise Exceeded("%s holds more than %d names" % (self.name, MOST_ENTRIES))
