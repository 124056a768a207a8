# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of a processor each CPU of an LPAR is entitled to, and which RPS masks hold CPUs with next to nothing.

Vertical CPUs are high (practically a whole processor), medium (a part of one) or low (only what other LPARs leave): the
kernel's arch/s390/kernel/topology.c, and Linux on IBM Z, Device Drivers, Features, and Commands. PR/SM moves the
entitlement while the LPAR runs.
"""

from collections import Counter

from .._host import cpu_lists
from . import hardware

LEVELS = ("high", "medium", "low")
_SHOWN = LEVELS + ("unknown",)


def by_level(states):
    """{high, medium, low or unknown: [CPU]} of online_polarizations(); empty if none is vertical or unknown."""
    found = {level: [cpu for cpu, text in states.items() if text.rpartition(":")[2] == level] for level in _SHOWN}
    return {level: cpus for level, cpus in found.items() if cpus}


def cores_by_level(host, states):
    """{high, medium, low, horizontal or unknown: number of online cores}; the threads of a core have one level."""
    cores = {_core(host, cpu): states.get(cpu, "unknown").rpartition(":")[2] for cpu in cpu_lists.online(host)}
    return dict(Counter(cores.values()))


def _core(host, cpu):
    """What tells the core of a CPU: the list of its online threads, else its place in the machine."""
    folder = "%s/cpu%d/topology/" % (hardware.CPUS, cpu)
    threads = host.value(folder + "thread_siblings_list")
    if threads:
        return threads
    place = tuple(host.value(folder + name) for name in ("drawer_id", "book_id", "physical_package_id", "core_id"))
    return cpu if place[-1] is None else place


def entitled_range(cores):
    """(least, most) cores to which an LPAR with these cores_by_level() is entitled; None if they do not tell.

    PR/SM gives the fraction of a core to one medium core if it is a half or more, else together with one more core to
    two. most is None without low cores: more may be entitled than is online.
    """
    high, medium, low = (cores.get(level, 0) for level in LEVELS)
    if high + medium + low < sum(cores.values()) or high + medium == 0 or medium > 2:
        return None
    least = high + {0: 0, 1: 0.5 if high else 0, 2: 1}[medium]
    return float(least), high + {0: 0.0, 1: 1.0, 2: 1.5}[medium] if low else None


def range_text(found, online):
    """A text such as: between 3.0 and 3.5 of 8 online cores. found: an entitled_range()."""
    least, most = found
    if most is None:
        text = "at least %.1f" % least
    else:
        text = "%.1f" % least if least == most else "between %.1f and %.1f" % found
    return "%s of %d online core%s" % (text, online, "" if online == 1 else "s")


def entitled_text(host, states):
    """The range_text() of an LPAR in brackets, after a blank; empty if the polarization does not tell."""
    # a guest shows whatever polarization was requested from its hypervisor
    if hardware.virtualization(host) != "lpar":
        return ""
    cores = cores_by_level(host, states)
    found = entitled_range(cores)
    return " (%s)" % range_text(found, sum(cores.values())) if found else ""


def steered_to(host):
    """{interface: [CPU to which its RPS masks hand packets]} of the interfaces whose RPS is on."""
    found = {}
    for interface in host.listdir(hardware.NET):
        mask = 0
        for queue in hardware.receive_queues(host, interface):
            text = host.value("%s/%s/queues/%s/rps_cpus" % (hardware.NET, interface, queue))
            try:
                mask |= cpu_lists.parse_mask(text or "0")
            except ValueError:
                continue
        if mask:
            found[interface] = cpu_lists.cpus_of(mask)
    return found


def steering_remarks(host, low, some_become_low):
    """Sentences for a host that is to be vertical: RPS masks that hold low CPUs, or may hold them after the switch."""
    now = "RPS of %s hands packets to the vertical:low CPUs %s; rps_cpus: entitled leaves them out"
    soon = (
        "RPS of %s hands packets to CPUs %s, some of which may become vertical:low; rps_cpus: entitled leaves those "
        "out once they show it"
    )
    masks = sorted(steered_to(host).items())
    found = [(interface, cpus, [cpu for cpu in cpus if cpu in low]) for interface, cpus in masks]
    found = [one for one in found if one[2] or some_become_low]
    return [(now if held else soon) % (name, cpu_lists.format_list(held or cpus)) for name, cpus, held in found]
