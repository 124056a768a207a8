# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What PR/SM tells an LPAR about weights and caps: diagnose 204 in its extended format, which root reads in debugfs.

Format: the kernel's arch/s390/include/asm/diag.h. The names of other LPARs are never read. Other files of the folder
s390_hypfs are never opened, because one of them can change the LPAR.
"""

import errno
import os
import struct
from collections import namedtuple

from .._host.host import HostError

FILE = "/sys/kernel/debug/s390_hypfs/diag_204"
_REASONS = {
    errno.EACCES: "weights are in a file that only root may read: run with become",
    errno.ENOENT: "weights are not visible: debugfs is not mounted, or kernel or machine lack diagnose 204",
    errno.EIO: "weights are not visible: the machine refuses diagnose 204",
    errno.EBUSY: "weights are not visible now: the machine is busy with diagnose 204; run again",
}
_MOST = 4 * 1024 * 1024  # files of 93 pages are known
_ATTEMPTS = 10
_BLOCK = 96
_HEADER = struct.Struct(">QHB53x")  # length of the rest, version, subcode
_INFO = struct.Struct(">BB4xH56x")  # number of partitions, flags, where the own one is
_PARTITION = struct.Struct(">2xB53x8s32x")  # number of cores whose blocks follow, name of the group
_CORE = struct.Struct(">4xBBH18xH28xII32x")  # see _core()
_PHYSICAL = struct.Struct(">xB94x")  # number of cores whose blocks follow
_GLOBAL_DATA, _ONLINE, _CAPPED, _DEDICATED = 0x80, 0x20, 0x40, 0xFFFF
_TYPES = {0: "CP", 3: "IFL", 5: "zIIP"}

# weight, current: those of the LPAR, the same in each of its cores; weight: None if dedicated. Caps: numbers of cores.
Core = namedtuple("Core", "type online capped weight current absolute_cap group_cap")
# own: the Cores of this LPAR; group: its name, or None; others: the Cores of each other LPAR; physical: those of the
# machine, None without global performance data
Machine = namedtuple("Machine", "own group others physical")


def read(host):
    """The content of the file. Raises HostError with the reason why it cannot be read.

    A second read() of the kernel's file returns nothing, so the first one has to return everything.
    """
    if host.capture:
        data = host.data(FILE)
        if data is None:
            raise HostError("not in this capture: %s" % FILE)
        return data
    try:
        for _attempt in range(_ATTEMPTS):
            descriptor = os.open(host.path(FILE), os.O_RDONLY | os.O_NONBLOCK)
            try:
                data = os.read(descriptor, _MOST)
            finally:
                os.close(descriptor)
            if len(data) > _HEADER.size and _HEADER.unpack_from(data)[0] == len(data) - _HEADER.size:
                return data
    except OSError as error:
        reason = _REASONS.get(error.errno) or "cannot read %s: %s" % (FILE, os.strerror(error.errno))
        raise HostError(reason, error.errno) from error
    raise HostError("cannot read %s: in %d attempts its length never was that of its header" % (FILE, _ATTEMPTS))


def parse(data):
    """The Machine in the content of the file. Raises ValueError if that is damaged."""
    try:
        length, version, subcode = _HEADER.unpack_from(data)
        data = data[_HEADER.size :]
        if version != 0 or subcode not in (4, 6, 7) or length != len(data):
            raise ValueError("version %d, subcode %d, length %d of %d" % (version, subcode, len(data), length))
        count, flags, own_place = _INFO.unpack_from(data)
        place, own, group, others, physical = _INFO.size, None, None, [], None
        for _number in range(count):
            cores, name = _PARTITION.unpack_from(data, place)
            found = _cores(data, place, cores)
            if place == own_place:
                own, group = found, name.decode("cp037").strip(" \0") or None
            else:
                others.append(found)
            place += _BLOCK * (cores + 1)
        if own is None:
            raise ValueError("it does not say which LPAR is this one")
        if flags & _GLOBAL_DATA:
            physical = _cores(data, place, _PHYSICAL.unpack_from(data, place)[0])
        return Machine(own, group, others, physical)
    except struct.error as error:
        raise ValueError("it ends within a block") from error


def _cores(data, place, count):
    """The Cores in the blocks behind the block at a place."""
    return [_core(*_CORE.unpack_from(data, place + _BLOCK * number)) for number in range(1, count + 1)]


def _core(kind, flags, weight, current, *caps):
    absolute_cap, group_cap = (hundredths / 100.0 or None for hundredths in caps)
    weight = None if weight == _DEDICATED else weight
    name = _TYPES.get(kind, "type %d" % kind)
    return Core(name, bool(flags & _ONLINE), bool(flags & _CAPPED), weight, current, absolute_cap, group_cap)
