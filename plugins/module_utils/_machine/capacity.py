# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fact capacity: how many cores an LPAR is entitled to, or why that is unknown.

On IBM Z by PR/SM's weights, else by the polarization of the CPUs; on AIX by lparstat -i. Rules: IBM Documentation,
z/VM HiperDispatch and PR/SM concepts; PR/SM Planning Guide. PR/SM tells weights and caps by diagnose 204 in its
extended format (arch/s390/include/asm/diag.h), which root reads in debugfs. The names of other LPARs are never read.
Other files of the folder s390_hypfs are never opened, because one of them can change the LPAR.
"""

import errno
import functools
import os
import re
import struct
from collections import namedtuple

from .._host.host import HostError
from .._host.kernel import int_or_none
from . import entitlement, hardware

_KEYS = ("source", "global_data", "type", "online_cores", "weight", "weight_sum", "shared_physical", "entitled_cores")
_KEYS += ("entitled_range", "capped", "absolute_cap", "smt", "mode", "why", "sentence")
_PARTS = {"group": ("name", "cap"), "vertical": entitlement.LEVELS, "pool": ("id", "cores", "entitled")}
_PARTS["virtual_cpus"] = ("online", "minimum", "maximum")
_POOL = ("Active CPUs in Pool", "Entitled Capacity of Pool")

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


@functools.lru_cache(maxsize=1)
def capacity(host, system):
    """The fact of a host of IBM Z or AIX, asked once for facts and checks; system: as platform.system() names it."""
    if system == "AIX":
        return of_partition(host)
    virtualization = hardware.virtualization(host)
    if virtualization == "lpar":
        return of_lpar(host)
    name = {"zvm": "z/VM", "kvm": "KVM"}.get(virtualization, "the hypervisor")
    return _unknown("data of an LPAR are those of %s here, not of this guest" % name)


def _unknown(why):
    found = dict(dict.fromkeys(_KEYS), why=why, sentence=why)
    found.update((part, dict.fromkeys(keys)) for part, keys in _PARTS.items())
    return found


def of_lpar(host):
    """The fact of an LPAR, in cores: by sysinfo if they are dedicated, else as above; why tells what cannot be read."""
    try:
        cores = entitlement.cores_by_level(host, hardware.online_polarizations(host))
    except HostError as error:
        return _unknown(str(error))
    online = sum(cores.values())
    if not online:
        return _unknown("the online CPUs are not known")
    found = dict(_unknown(None), online_cores=online)
    if any(level in cores for level in entitlement.LEVELS):
        found["vertical"] = {level: cores.get(level, 0) for level in entitlement.LEVELS}
    sysinfo = hardware.sysinfo(host)
    if sysinfo and sysinfo.lpar and hardware.processors(sysinfo.lpar) == "dedicated":
        text = "all %d cores belong to this LPAR alone; weights do not apply" % online
        return dict(found, source="sysinfo", entitled_cores=float(online), sentence=text)
    span = entitlement.entitled_range(cores)
    if span:
        found.update(source="polarization", entitled_range=list(span))
    try:
        text = _by_weights(found, parse_diag_204(read_diag_204(host)))
    except (HostError, ValueError) as error:
        found["why"] = str(error) if isinstance(error, HostError) else "the file diag_204 is damaged: %s" % error
        text = _by_polarization(found, cores, span)
    found["sentence"] = text + _limits(found)
    return found


def _by_weights(found, machine):
    """Add the data of PR/SM to found; return the sentence on the entitlement. Raises HostError if that is unknown."""
    found["global_data"] = machine.physical is not None
    own = [core for core in machine.own if core.online]
    types = sorted({core.type for core in own})
    if len(types) != 1:
        raise HostError("PR/SM lists online cores of %s for this LPAR" % (" and ".join(types) or "no type"))
    kind, last, weight = types[0], own[-1], _weight(own, types[0])
    dedicated = sum(1 for core in own if core.weight is None)
    found.update(type=kind, capped=last.capped, absolute_cap=last.absolute_cap, weight=weight)
    found["group"] = {"name": machine.group, "cap": last.group_cap}
    if machine.physical is None:
        raise HostError("no global performance data: without them an LPAR sees no weight but its own")
    total = sum((_weight(cores, kind) or 0) for cores in [own] + machine.others)
    physical = sum(1 for core in machine.physical if core.type == kind and core.weight is not None)
    found.update(weight_sum=total, shared_physical=physical)
    if not weight or not physical:
        raise HostError("PR/SM shows no weight of this LPAR, or no shared core of the machine")
    entitled = dedicated + physical * weight / total
    found.update(source="diag_204", entitled_cores=round(entitled, 1))
    text = "this LPAR is entitled to %.1f %s cores of the machine's %d shared ones (weight %d of %d"
    text %= (entitled, kind, physical, weight, total)
    if not dedicated and last.current != last.weight:
        text += "; current weight %d, defined weight %d" % (last.current, last.weight)
    text += "; %d of its cores are dedicated" % dedicated if dedicated else ""
    return text + "), and has %d online" % found["online_cores"]


def _weight(cores, kind):
    """The current weight of an LPAR for a type of core, the same in each core; None without an online shared core."""
    shared = [core for core in cores if core.online and core.type == kind and core.weight is not None]
    return (shared[-1].current or shared[-1].weight) if shared else None


def _by_polarization(found, cores, span):
    if span:
        split = ", ".join("%d %s" % (cores[level], level) for level in entitlement.LEVELS if level in cores)
        text = "%s cores: entitled to %s" % (split, entitlement.range_text(span, found["online_cores"]))
        return text + ("; %d get time only if other LPARs leave it" % cores["low"] if "low" in cores else "")
    text = "the polarization of the %d online cores does not tell the entitlement (%s)"
    if set(cores) == {"horizontal"}:
        text = "horizontal: each of the %d cores has the same share; how much is not visible (%s)"
    return text % (found["online_cores"], found["why"])


def _limits(found):
    """The rest of the sentence."""
    entitled, online, cap, text = found["entitled_cores"], found["online_cores"], found["absolute_cap"], ""
    if found["capped"]:
        limit = "its entitlement" if entitled is None else "%.1f cores" % entitled
        text += "; it is capped: never more than %s, even on an idle machine" % limit
    elif entitled is not None and not cap and entitled < online:
        text += "; it may use %d while others leave time" % min(online, found["shared_physical"])
    if cap and entitled is not None and cap < entitled:
        text += "; an absolute cap of %.1f cores is below its entitlement" % cap
    elif cap and cap < online:
        text += "; an absolute cap limits it to %.1f of %d online cores" % (cap, online)
    if found["group"]["cap"]:
        text += "; its group of LPARs may use %.1f cores together" % found["group"]["cap"]
    if entitled is not None and entitled > online:
        text += "; %.1f cores are more than it has online, and wasted" % (entitled - online)
    return text


def read_diag_204(host):
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


def parse_diag_204(data):
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


def of_partition(host):
    """The fact of a partition of AIX, in cores; if lparstat -i fails or has no entitlement, only why and sentence."""
    try:
        result = host.run(["lparstat", "-i"])
    except HostError as error:
        return _unknown(str(error))
    rows = [line.partition(":") for line in result.out.splitlines()]
    told = {key.strip(): value.strip() for key, _colon, value in rows if value.strip() != "-"}
    entitled, kind = _number(told.get("Entitled Capacity")), told.get("Type", "")
    if result.rc != 0 or entitled is None:
        return _unknown("lparstat -i does not show the entitlement, as in a WPAR")
    threads = re.search(r"-SMT(?:-([0-9]{1,2}))?\Z", kind)
    mode, weight = told.get("Mode"), int_or_none(told.get("Variable Capacity Weight"))
    virtual = {key: int_or_none(told.get(key.capitalize() + " Virtual CPUs")) for key in _PARTS["virtual_cpus"]}
    active, hundredths = (_number(told.get(key)) for key in _POOL)
    pool = {"id": int_or_none(told.get("Shared Pool ID")), "cores": active}
    pool["entitled"] = None if pool["id"] is None or hundredths is None else hundredths / 100
    found = dict(_unknown(None), source="lparstat", entitled_cores=entitled, mode=mode, weight=weight)
    found.update(smt=int(threads.group(1) or 2) if threads else 1 if kind else None, virtual_cpus=virtual, pool=pool)
    found["capped"] = {"Capped": True, "Uncapped": False}.get(mode)
    found["sentence"] = _partition_text(found, "Shared" in kind)
    return found


def _partition_text(found, shared):
    online, smt = found["virtual_cpus"]["online"], found["smt"]
    text = "entitled to %g cores" % found["entitled_cores"]
    if online and smt:
        text += ", %d virtual processors with SMT %d (%d logical CPUs)" % (online, smt, online * smt)
    if shared and found["capped"]:
        text += "; capped: never more than %g" % found["entitled_cores"]
    elif shared and online and found["weight"] is not None:
        most = min(online, found["pool"]["cores"] or online)
        text += "; uncapped, weight %d: may use up to %g cores if the pool has them" % (found["weight"], most)
    return text


def _number(text):
    return float(text) if re.match(r"^[0-9]{1,6}(\.[0-9]{1,4})?\Z", text or "") else None
