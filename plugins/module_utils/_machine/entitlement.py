# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of a processor each CPU of an LPAR is entitled to, and which RPS masks hold CPUs with next to nothing.

Vertical CPUs are high (practically a whole processor), medium (a part of one) or low (only what other LPARs leave): the
kernel's arch/s390/kernel/topology.c, and Linux on IBM Z, Device Drivers, Features, and Commands. PR/SM moves the
entitlement while the LPAR runs.
"""

from .._host import cpu_lists
from . import hardware

LEVELS = ("high", "medium", "low")
_VERTICAL = "vertical:"


def by_level(host):
    """{high, medium, low or unknown: [online CPU]}; empty if no online CPU is vertical or unknown."""
    online, found = set(cpu_lists.online(host)), {}
    for cpu, text in hardware.polarizations(host).items():
        level = text[len(_VERTICAL) :] if text.startswith(_VERTICAL) else text
        if cpu in online and level in LEVELS + ("unknown",):
            found.setdefault(level, []).append(cpu)
    return found


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


def steering_remarks(host, mode):
    """Sentences for a host that is to be vertical: RPS masks that hold low CPUs, or may hold them after the switch.

    mode: the mode in which the CPUs are now. Dedicated CPUs all become high.
    """
    low, sentences = set(by_level(host).get("low", ())), []
    sysinfo = hardware.sysinfo(host)
    shared = bool(sysinfo and sysinfo.lpar and sysinfo.lpar.cpus.get("Shared"))
    for interface, cpus in sorted(steered_to(host).items()):
        held = [cpu for cpu in cpus if cpu in low]
        if held:
            sentences.append(
                "RPS of %s hands packets to the vertical:low CPUs %s; rps_cpus: entitled leaves them out"
                % (interface, cpu_lists.format_list(held))
            )
        elif mode == "horizontal" and shared:
            sentences.append(
                "RPS of %s hands packets to CPUs %s, some of which may become vertical:low; rps_cpus: entitled leaves "
                "those out once they show it" % (interface, cpu_lists.format_list(cpus))
            )
    return sentences
