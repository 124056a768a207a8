# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kind of machine this is: IBM Z or not, LPAR or guest, its CPUs and interfaces.

Parsers take text; the other functions take a Host. Unknown values are None, never 0. Formats: the kernel's
arch/s390/kernel/{sysinfo,topology,smp,processor}.c and drivers/s390/net/qeth_core_{main,sys}.c.
"""

import os
import platform
import re
from collections import namedtuple

from .._host import cpu_lists
from .._host.kernel import int_or_none

CPUS = "/sys/devices/system/cpu"
NET = "/sys/class/net"

# lpar: None if absent. hypervisors: as in the fact, the innermost first. magnitudes: {one of LEVELS: its highest number
# in the next outer one, or None without such a level}, empty without the topology facility. threads: the highest number
# of threads of an IFL of this machine, None if unknown.
Sysinfo = namedtuple("Sysinfo", "type model lpar hypervisors magnitudes threads")
# characteristics: words such as Shared; cpus: {"Configured": 4, "Dedicated": 0, ...}, with SMT these are cores
Lpar = namedtuple("Lpar", "number name characteristics cpus")
# from the outside to the inside
LEVELS = ("drawers", "books", "sockets", "cores")

# {machine type: its generation}
GENERATIONS = {
    "2817": "z196",
    "2818": "z114",
    "2827": "zEC12",
    "2828": "zBC12",
    "2964": "z13",
    "2965": "z13s",
    "3906": "z14",
    "3907": "z14 ZR1",
    "8561": "z15",
    "8562": "z15 T02",
    "3931": "z16",
    "3932": "z16 A02",
    "9175": "z17",
    "9176": "z17",
}


def parse_sysinfo(text):
    """The Sysinfo of an s390 kernel's /proc/sysinfo."""
    values = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and value.strip():
            values.setdefault(key.strip(), value.strip())
    # "721  M49" is capacity and model; old machines have only the model
    words = values.get("Model", "").split()
    threads = int_or_none(values.get("LPAR CPUs S-MTID", values.get("CPUs S-MTID")))
    return Sysinfo(
        type=(values.get("Type", "").split() or [None])[0],
        model=words[-1] if words else None,
        lpar=_lpar(values),
        hypervisors=_hypervisors(values),
        magnitudes=_magnitudes(values.get("CPU Topology SW", values.get("CPU Topology HW", ""))),
        threads=None if threads is None else threads + 1,
    )


def _lpar(values):
    if int_or_none(values.get("LPAR Number")) is None:
        return None
    prefix = "LPAR CPUs "
    cpus = {key[len(prefix) :]: int_or_none(value) for key, value in values.items() if key.startswith(prefix)}
    words = values.get("LPAR Characteristics", "").split()
    return Lpar(int_or_none(values["LPAR Number"]), values.get("LPAR Name"), words, cpus)


def _hypervisors(values):
    keys = [key for key in sorted(values) if re.match(r"^VM[0-9]{2} Control Program$", key)]
    return [{"name": values.get(key[:4] + " Name"), "program": " ".join(values[key].split())} for key in keys]


def _magnitudes(text):
    counts = [int_or_none(word) for word in text.split()]
    if len(counts) != 6 or None in counts:
        return {}
    return {level: count or None for level, count in zip(LEVELS, counts[2:])}


def sysinfo(host):
    """The Sysinfo of a host; None if it is not Linux on Z."""
    text = host.read("/proc/sysinfo")
    return parse_sysinfo(text) if text else None


def processors(lpar):
    """dedicated, shared or mixed: how an Lpar has its processors; None if unknown."""
    words = ("dedicated", "shared")
    kinds = [word for word in words if lpar.cpus.get(word.capitalize())]
    kinds = kinds or [word for word in words if word.capitalize() in lpar.characteristics]
    return "mixed" if len(kinds) > 1 else kinds[0] if kinds else None


def shares_cores(host):
    """Whether a host is an LPAR, not a guest, and shares cores with other LPARs."""
    found = sysinfo(host)
    return bool(found and found.lpar and not found.hypervisors) and processors(found.lpar) in ("shared", "mixed")


def machine_type(host, found):
    """The machine type, such as 8561, by the Sysinfo found, which may be None, or by /proc/cpuinfo; None if unknown."""
    if found:
        return found.type
    # arch/s390/kernel/processor.c show_cpu_summary
    match = re.search(r"(?m)^processor [0-9]+: .* machine = ([0-9A-F]{4})$", host.read("/proc/cpuinfo") or "")
    return match.group(1) if match else None


def is_z(host):
    """Whether /proc/cpuinfo is that of an s390x kernel; None if it does not show the architecture."""
    text = host.read("/proc/cpuinfo")
    return re.search(r"(?m)^vendor_id\s*:\s*IBM/S390$", text) is not None if text else None


def architecture(host):
    """The instruction set, such as s390x, by /proc; only for the running machine, Python is asked as well."""
    if sysinfo(host) or is_z(host):
        return "s390x"
    return host.value("/proc/sys/kernel/arch") or (platform.machine() if host.root == "/" else None)


def virtualization(host):
    """lpar, zvm, kvm, other (an unknown hypervisor on Z), none (not IBM Z), or None (unknown)."""
    found = sysinfo(host)
    if found is None:
        return "none" if is_z(host) is False else None
    if not found.hypervisors:
        return "lpar"
    program = found.hypervisors[0]["program"]
    return "zvm" if program.startswith("z/VM") else "kvm" if program.startswith("KVM") else "other"


def has_topology_facility(host):
    """Whether the machine reports its topology to Linux; only then can Linux switch the polarization. None: unknown."""
    text = host.read("/proc/sysinfo")
    return None if text is None else re.search(r"(?m)^CPU Topology HW:", text) is not None


def polarizations(host):
    """{CPU number: horizontal, vertical:low, vertical:medium, vertical:high or unknown} of the present CPUs."""
    texts = {cpu: host.value("%s/cpu%d/polarization" % (CPUS, cpu)) for cpu in cpu_numbers(host)}
    return {cpu: text for cpu, text in texts.items() if text is not None}


def online_polarizations(host):
    """polarizations() of the online CPUs."""
    online = set(cpu_lists.online(host))
    return {cpu: text for cpu, text in polarizations(host).items() if cpu in online}


def cpu_numbers(host):
    """The sorted numbers of the present CPUs, which have a folder in /sys."""
    names = host.listdir(CPUS)
    return sorted(int(name[len("cpu") :]) for name in names if re.match(r"^cpu[0-9]{1,5}$", name))


def threads_by_cpuinfo(host):
    """The threads per core of an s390x kernel with SMT support, also while only one of them is online; else None."""
    match = re.search(r"(?m)^max thread id\s*:\s*([0-9]{1,3})$", host.read("/proc/cpuinfo") or "")
    return int(match.group(1)) + 1 if match else None


# the kernel


def dispatching(host, polarizations):
    """horizontal or vertical; polarizations: the texts of the online CPUs. None if unknown.

    If all CPUs agree, they decide, because kernels before 6.14 show 0 in their own file after a boot on a machine that
    is vertical already. Otherwise the kernel's file decides.
    """
    modes = {(text or "").split(":")[0] for text in polarizations} & {"horizontal", "vertical"}
    if len(modes) == 1:
        return modes.pop()
    return {"0": "horizontal", "1": "vertical"}.get(host.value(CPUS + "/dispatching"))


# interfaces


def card_type(driver, card):
    """HiperSockets, OSA, RoCE, virtio, or None for others, by the driver and qeth's own card_type.

    The name of the interface does not help: distributions name HiperSockets and OSA interfaces alike.
    """
    if driver == "qeth":
        if card in ("HiperSockets", "Virt.NIC Hiper", "GuestLAN Hiper"):
            return "HiperSockets"
        return "OSA" if re.match(r"^(OS[A-Z](_|$)|HSTR$|Virt\.NIC |GuestLAN )", card or "") else None
    return {"mlx4_core": "RoCE", "mlx5_core": "RoCE", "virtio_net": "virtio"}.get(driver)


def interfaces(host):
    """{name: interface(host, name)} for all interfaces."""
    return {name: interface(host, name) for name in host.listdir(NET) if host.exists("%s/%s/mtu" % (NET, name))}


def interface(host, name):
    """The facts on one interface; lower: the interfaces through which a VLAN, bond or bridge sends and receives."""
    base = "%s/%s" % (NET, name)
    names = host.listdir(base)
    device = base + "/device/"
    driver = driver_of(host, name) if "device" in names else None
    card = host.value(device + "card_type") if driver == "qeth" else None
    queues, sent = receive_queues(host, name), receive_queues(host, name, "tx")
    return {
        "driver": driver,
        "card_type": card_type(driver, card),
        "card": card,
        "buffer_count": int_or_none(host.value(device + "buffer_count")) if driver == "qeth" else None,
        "inbuf_size": host.value(device + "inbuf_size") if driver == "qeth" else None,
        "mtu": int_or_none(host.value(base + "/mtu")),
        "operstate": host.value(base + "/operstate"),
        "receive_queues": len(queues),
        "rps_cpus": {queue: host.value("%s/queues/%s/rps_cpus" % (base, queue)) for queue in queues},
        # the kernel answers ENOENT where an interface can have only one (net/core/net-sysfs.c)
        "xps_cpus": {queue: host.value("%s/queues/%s/xps_cpus" % (base, queue)) for queue in sent},
        "lower": [lower[len("lower_") :] for lower in names if lower.startswith("lower_")],
    }


def receive_queues(host, interface, kind="rx"):
    """The names of its receive queues, rx-0 and so on, in the order of their numbers; kind tx: its transmit queues."""
    names = host.listdir("%s/%s/queues" % (NET, interface))
    queues = [name for name in names if re.match(r"^%s-[0-9]{1,5}$" % kind, name)]
    return sorted(queues, key=lambda queue: int(queue.split("-")[1]))


def driver_of(host, interface):
    """The name of its driver; None without one, as for virtual interfaces."""
    return _link(host, "%s/%s/device/driver" % (NET, interface))


def bus_id(host, interface):
    """The name of its device on the bus: 0.0.0600 of a qeth group, 0000:00:03.0 on PCI; None without a device.

    virtio devices are numbered in the order in which they are found, so for them it is the device below.
    """
    path = "%s/%s/device" % (NET, interface)
    name = _link(host, path)
    if name is not None and re.match(r"^virtio[0-9]+$", name):
        return os.path.basename(os.path.dirname(host.real(path)))
    return name


def lowest_interfaces(found, name):
    """The interfaces through which an interface finally sends: those of a bond, that of a VLAN, or itself.

    found: the result of interfaces().
    """
    seen, waiting, ends = set(), [name], []
    while waiting:
        current = waiting.pop(0)
        if current not in seen:
            seen.add(current)
            lower = [below for below in found.get(current, {}).get("lower", ()) if below in found]
            waiting += lower
            ends += [] if lower else [current]
    return ends


def _link(host, path):
    """The last part of the target of a link; None if this is not a link."""
    target = host.target(path)
    return None if target is None else os.path.basename(target)
