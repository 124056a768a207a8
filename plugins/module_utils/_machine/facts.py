# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts that platform_info returns, put together from hardware.py and others. Unknown values are None."""

import contextlib
import re

from .._host import cpu_lists, kernel
from .._host.host import HostError
from .._sap.instances import instances
from . import hardware
from .services import pacemaker, services

_POLARIZATIONS = ("vertical_high", "vertical_medium", "vertical_low", "horizontal")
# z196 to zBC12: SMT came with the z13
_WITHOUT_SMT = ("2817", "2818", "2827", "2828")
_PARAMETERS = ("nosmt", "possible_cpus", "smt", "topology")
# seconds: facts do not wait for an instance or a daemon that hangs
_SAPCONTROL_TIMEOUT = 10


def facts(host, system):
    """{key: fact} of a host; system: Linux or AIX, as platform.system() returns it."""
    found = dict.fromkeys(
        ("architecture", "machine_type", "machine_model", "generation", "hypervisors", "lpar", "threads_per_core")
        + ("threads_per_core_possible", "smt_control", "dispatching", "kernel", "kernel_parameters", "distribution")
        + ("aix_level", "interfaces", "transparent_hugepages", "smc", "capacity", "cluster", "cpacf")
    )
    found.update(system=system, virtualization="none", conflicts=[], sap_instances=sap_instances(host))
    found.update(cpus=_cpu_counts(None, None, None), polarization=_polarization(None, None))
    found.update(topology=_topology(host, None, None), hiperdispatch=_hiperdispatch(host))
    if system == "AIX":
        found["aix_level"] = _aix_level(host)
    if system == "Linux":
        found.update(_linux(host))
    if system == "AIX" or found["virtualization"] not in (None, "none"):
        # other machines have no such fact, and compiling this takes time
        from . import capacity  # noqa: PLC0415

        found["capacity"] = capacity.capacity(host, system)
    return found


def _linux(host):
    sysinfo = hardware.sysinfo(host)
    online, known = online_cpus(host), online_cpus(host, "present")
    # Linux on Power has folders of CPUs that are not present
    present = [cpu for cpu in hardware.cpu_numbers(host) if known is None or cpu in known]
    polarizations = hardware.polarizations(host)
    architecture = hardware.architecture(host)
    virtualization = hardware.virtualization(host)
    machine_type = hardware.machine_type(host, sysinfo)
    groups = _groups(host, online or [])
    deconfigured = _deconfigured(host, present)
    return {
        "architecture": architecture,
        "machine_type": machine_type,
        "machine_model": sysinfo.model if sysinfo else None,
        "generation": hardware.GENERATIONS.get(machine_type),
        "virtualization": virtualization,
        "hypervisors": sysinfo.hypervisors if sysinfo else [],
        "lpar": _lpar(sysinfo),
        "threads_per_core": threads_per_core(host, online or []),
        "threads_per_core_possible": threads_possible(host, sysinfo, virtualization),
        "smt_control": host.value(hardware.CPUS + "/smt/control"),
        "cpus": _cpu_counts(online, present, deconfigured),
        "dispatching": hardware.dispatching(host, [polarizations.get(cpu) for cpu in online or []]),
        "polarization": _polarization(polarizations, present),
        "topology": _topology(host, sysinfo, groups, virtualization),
        "kernel": kernel.release(host),
        "kernel_parameters": kernel_parameters(host.read("/proc/cmdline")),
        "distribution": kernel.distribution(host),
        "interfaces": hardware.interfaces(host) if host.exists(hardware.NET) else None,
        "transparent_hugepages": _word_in_brackets(host.value("/sys/kernel/mm/transparent_hugepage/enabled")),
        "conflicts": services(host),
        "smc": smc(host),
        "cluster": cluster(host),
        "cpacf": cpacf(host),
    }


def _lpar(sysinfo):
    if sysinfo is None or sysinfo.lpar is None:
        return None
    lpar = sysinfo.lpar
    return {
        "name": lpar.name,
        "number": lpar.number,
        "processors": hardware.processors(lpar),
        "ifls": lpar.cpus.get("Configured"),
        "ifls_dedicated": lpar.cpus.get("Dedicated"),
        "ifls_shared": lpar.cpus.get("Shared"),
        "ifls_standby": lpar.cpus.get("Standby"),
        "capped": "Limited" in lpar.characteristics,
    }


# CPUs


def online_cpus(host, state="online"):
    """The CPUs that the kernel lists as online, or as in another state; None if unknown."""
    return cpu_lists.list_or_none(host.value(hardware.CPUS + "/" + state))


def _deconfigured(host, present):
    """The present CPUs that are deconfigured; None if CPUs cannot be deconfigured (only IBM Z can)."""
    states = {cpu: host.value("%s/cpu%d/configure" % (hardware.CPUS, cpu)) for cpu in present}
    if not any(states.values()):
        return None
    return [cpu for cpu in present if states[cpu] == "0"]


def _cpu_counts(online, present, deconfigured):
    offline = None
    if online is not None and present:
        offline = [cpu for cpu in present if cpu not in set(online) | set(deconfigured or ())]
    return {
        state: {
            "count": None if cpus is None else len(cpus),
            "list": None if cpus is None else cpu_lists.format_list(cpus),
        }
        for state, cpus in (("online", online), ("offline", offline), ("deconfigured", deconfigured))
    }


def _groups(host, cpus):
    """{level: number of groups of CPUs that the scheduler sees at this level}; None if the kernel has no such level.

    A CPU that goes offline meanwhile loses its topology and is not counted.
    """
    names = zip(hardware.LEVELS, ("drawer", "book", "core", "thread"))
    return {level: len(set(_siblings(host, cpus, name))) or None for level, name in names}


def _siblings(host, cpus, name):
    """The texts of one kind of siblings list of those CPUs that have it."""
    paths = ["%s/cpu%d/topology/%s_siblings_list" % (hardware.CPUS, cpu, name) for cpu in cpus]
    return [text for text in (host.value(path) for path in paths) if text]


def threads_per_core(host, online):
    """The highest number of threads that a core runs now; by /proc/cpuinfo if the kernel has no siblings lists."""
    known = [cpu_lists.list_or_none(text) for text in set(_siblings(host, online, "thread"))]
    return max((len(cpus) for cpus in known if cpus), default=None) or hardware.threads_by_cpuinfo(host)


def threads_possible(host, sysinfo, virtualization):
    """How many threads a core could run here: one for a guest, else the limit of the machine; None if unknown."""
    if sysinfo is None:
        return None
    if virtualization != "lpar":
        return 1
    # a kernel with SMT support prints its own line; it prints the limit only if the machine has SMT
    return sysinfo.threads or (1 if hardware.threads_by_cpuinfo(host) or sysinfo.type in _WITHOUT_SMT else None)


def _polarization(found, present):
    """{polarization: number of the present CPUs}."""
    counts = dict.fromkeys(_POLARIZATIONS + ("unknown",), 0 if found else None)
    for cpu in present if found else ():
        name = found.get(cpu, "").replace(":", "_")
        counts[name if name in _POLARIZATIONS else "unknown"] += 1
    return counts


def _topology(host, sysinfo, groups, virtualization=None):
    found = dict(dict.fromkeys(hardware.LEVELS), **(sysinfo.magnitudes if sysinfo else {}))
    # only IBM Z has one
    found["facility"] = False if virtualization == "none" else hardware.has_topology_facility(host)
    found["s390_topology"] = kernel.int_or_none(host.value("/proc/sys/s390/topology"))
    found["scheduler"] = groups or dict.fromkeys(hardware.LEVELS)
    return found


def _hiperdispatch(host):
    folder = hardware.CPUS + "/hiperdispatch/"
    return {
        "enabled": {"0": False, "1": True}.get(host.value("/proc/sys/s390/hiperdispatch")),
        "steal_threshold": kernel.int_or_none(host.value(folder + "hd_steal_threshold")),
        "delay_factor": kernel.int_or_none(host.value(folder + "hd_delay_factor")),
    }


# the system


def kernel_parameters(text):
    """{name: value} of the parameters in /proc/cmdline that affect CPUs; a parameter without value is empty."""
    if text is None:
        return None
    words = [word.partition("=") for word in text.split()]
    return {name: value for name, _equals, value in words if name in _PARAMETERS}


def _word_in_brackets(text):
    """The word in brackets, as in ``always [madvise] never``."""
    match = re.search(r"\[(\w+)\]", text or "")
    return match.group(1) if match else None


def smc(host):
    """The fact smc, see smc_facts.py; None if the kernel has no SMC now, and for a captured root."""
    if host.root != "/" or not kernel.has_smc(host):
        return None
    # many hosts have no SMC, and compiling this takes time
    from . import smc_facts  # noqa: PLC0415

    return smc_facts.smc()


def cluster(host):
    """The fact cluster, see cluster.py; None if nothing tells whether this is a node of one."""
    member, state = pacemaker(host)
    if not member:
        empty = dict(member=False, pacemaker=state, maintenance=None, instances=[], why_unknown="")
        return None if member is None else empty
    # few hosts are one, and compiling this takes time
    from .cluster import fact  # noqa: PLC0415

    return fact(host)


def cpacf(host):
    """Whether the CPUs encrypt (CPACF), and what cpacfstats of s390-tools has counted; None if this is not IBM Z."""
    features = re.search(r"(?m)^features\s*: *(.*)$", host.read("/proc/cpuinfo") or "")
    if not hardware.is_z(host):
        return None
    counters = {}
    if not host.capture:
        with contextlib.suppress(HostError):  # not installed; only enabled counters have a number
            said = host.run(["cpacfstats"], timeout=_SAPCONTROL_TIMEOUT).out
            counters = {name: int(count) for name, count in re.findall(r"(?m)^ (\w+) counter: (\d+)$", said)}
    return {
        # the message-security assist
        "available": "msa" in features.group(1).split() if features else None,
        "used": any(counters.values()) if counters else None,
        "counters": counters or None,
    }


def _aix_level(host):
    """The level that oslevel -s prints, such as 7300-02-01-2346; None if unknown."""
    try:
        words = host.run(["oslevel", "-s"]).out.split()
    except HostError:
        return None
    return words[0] if words and re.match(r"^[0-9]{4}(-[0-9]{2}){2}(-[0-9]{4})?$", words[0]) else None


def sap_instances(host):
    """The facts on all SAP instances; the status only of those on the running machine."""
    return [_sap_instance(host, instance) for instance in instances(host)]


def _sap_instance(host, instance):
    keys = ("sid", "name", "number", "type", "role", "primary", "host", "profile", "user", "enqueue", "unit")
    found = {key: getattr(instance, key) for key in keys}
    found.update(status=None, status_reason=None, kernel=None)
    if host.root == "/":
        from .._sap.sapcontrol import SapControl  # noqa: PLC0415

        control = SapControl(host, instance, _SAPCONTROL_TIMEOUT)
        status = control.status()
        kernel_version = None if status.state == "unknown" else control.kernel()
        found.update(status=status.state, status_reason=status.reason, kernel=kernel_version)
    return found
