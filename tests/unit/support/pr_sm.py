# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files diag_204 that no machine wrote, built byte by byte from the offsets of the kernel's
arch/s390/include/asm/diag.h.

Nothing is shared with the collection's reader. A Debugfs answers as the kernel's file does, more strictly than a test's
file: one read() gets everything, the next one nothing.
"""

import os

CP, IFL, ZIIP = 0, 3, 5
DEDICATED = 0xFFFF
PAGE = 4096

# What the emulator Hercules answered to a kernel 6.1 in its LPAR HERCLAB with 2 CPUs, without the trailing zeros.
_HERCULES_CPU = "%04x0000 0000 0064 0000000000000000 0000000000000000 03e8 03e8 03e8 0000 0000000000000000"
_HERCULES_CPU += "0000000000000000 03e80000 03e80000 00000000 00000000" + "00" * 32
HERCULES = bytes.fromhex(
    ("0000000000001000 0000 07" + "00" * 53)
    + ("01 00 0000 0002 0040" + "00" * 56)
    + ("01 02 02 00 00000000 c8c5d9c3d3c1c240" + "00" * 80)
    + "".join(_HERCULES_CPU % address for address in (0, 1))
)
HERCULES += bytes(64 + PAGE - len(HERCULES))


def _block(size, *numbers):
    """Return bytes with (offset, width, number) in them, big endian."""
    made = bytearray(size)
    for offset, width, number in numbers:
        made[offset : offset + width] = number.to_bytes(width, "big")
    return made


def core(kind=IFL, weight=100, current=None, online=True, capped=False, cap=0, group_cap=0):
    """Return a core of an LPAR; caps in hundredths. current: by default the weight."""
    flags = 0x20 * online | 0x40 * capped
    shown = (0 if weight == DEDICATED else weight) if current is None else current
    return _block(96, (4, 1, kind), (5, 1, flags), (6, 2, weight), (26, 2, shown), (56, 4, cap), (60, 4, group_cap))


def lpar(name, cores, group=""):
    """Return an LPAR with the blocks of its cores."""
    made = _block(96, (1, 1, len(cores)), (2, 1, len(cores)))
    made[8:16] = name.ljust(8).encode("cp037")
    if group:
        made[56:64] = group.ljust(8).encode("cp037")
    return bytes(made) + b"".join(cores)


def machine(*kinds):
    """Return the physical cores: (kind, number of shared ones, number of dedicated ones) of each kind."""
    cores = []
    for kind, shared, dedicated in kinds:
        cores += [_block(96, (4, 1, kind), (6, 2, weight)) for weight in [0] * shared + [DEDICATED] * dedicated]
    return bytes(_block(96, (1, 1, len(cores)))) + b"".join(cores)


def file_of(lpars, own=0, physical=None, version=0, subcode=7, place=None):
    """Return the content of the file. own: which of the LPARs reads it; physical: from machine(), with global data."""
    place = 64 + sum(map(len, lpars[:own])) if place is None else place
    flags = 0 if physical is None else 0x80
    rest = bytes(_block(64, (0, 1, len(lpars)), (1, 1, flags), (6, 2, place))) + b"".join(lpars) + (physical or b"")
    rest += bytes(-len(rest) % PAGE)
    return bytes(_block(64, (0, 8, len(rest)), (8, 2, version), (10, 1, subcode))) + rest


class Debugfs:
    """Stand in for the module os. contents: what each opened file returns; the last one also for all later files."""

    O_RDONLY, O_NONBLOCK = os.O_RDONLY, os.O_NONBLOCK
    strerror = staticmethod(os.strerror)

    def __init__(self, *contents, **refused):
        self.contents, self.refused = contents, refused
        self.paths, self.closed, self._read = [], [], set()

    def _call(self, name):
        if name in self.refused:
            raise OSError(self.refused[name], os.strerror(self.refused[name]))

    def open(self, path, flags):
        assert flags & os.O_ACCMODE == os.O_RDONLY
        self.paths.append(path)
        self._call("open")
        return len(self.paths)

    def read(self, descriptor, size):
        self._call("read")
        if descriptor in self._read:
            return b""
        self._read.add(descriptor)
        return self.contents[min(descriptor, len(self.contents)) - 1][:size]

    def close(self, descriptor):
        self.closed.append(descriptor)
