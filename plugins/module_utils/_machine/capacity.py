# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fact capacity: how many cores an LPAR is entitled to, or why that is unknown.

On IBM Z by PR/SM's weights, which root sees, else by the polarization of the CPUs; on AIX by lparstat -i. Rules: IBM
Documentation, z/VM HiperDispatch and PR/SM concepts; PR/SM Planning Guide.
"""

import functools
import re

from .._host.host import HostError
from .._host.kernel import int_or_none
from . import diag_204, entitlement, hardware

_KEYS = ("source", "global_data", "type", "online_cores", "weight", "weight_sum", "shared_physical", "entitled_cores")
_KEYS += ("entitled_range", "capped", "absolute_cap", "smt", "mode", "why", "sentence")
_PARTS = {"group": ("name", "cap"), "vertical": entitlement.LEVELS, "pool": ("id", "cores", "entitled")}
_PARTS["virtual_cpus"] = ("online", "minimum", "maximum")
_POOL = ("Active CPUs in Pool", "Entitled Capacity of Pool")


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
        text = _by_weights(found, diag_204.parse(diag_204.read(host)))
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
