# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthetic machines that no lab has, as entries for captured.grow().

No kernel ever printed any of this. Formats: arch/s390/kernel/{sysinfo,topology,smp}.c,
drivers/s390/net/qeth_core_{main,sys}.c, net/core/net-sysfs.c.
"""

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.cpu_lists import format_list, format_mask, mask_of

CPUS = "/sys/devices/system/cpu"
NET = "/sys/class/net"

MACHINE = """\
Type:                 8561
Model:                701              T01
Model Capacity:       701              00002145
"""
LPAR = """
LPAR Number:          17
LPAR Characteristics: %(characteristics)s
LPAR Name:            SAPAPP1
LPAR CPUs Total:      %(cores)d
LPAR CPUs Configured: %(cores)d
LPAR CPUs Standby:    4
LPAR CPUs Dedicated:  %(dedicated)d
LPAR CPUs Shared:     %(shared)d
LPAR CPUs S-MTID:     1
LPAR CPUs PS-MTID:    %(mtid)d
"""
VM = """
VM%(level)02d Name:            %(name)s
VM%(level)02d Control Program: %(program)s
VM%(level)02d CPUs Configured: 4
"""
SLES = (
    'NAME="SLES"\nVERSION="15-SP6"\nVERSION_ID="15.6"\nPRETTY_NAME="SUSE Linux Enterprise Server 15 SP6"\nID="sles"\n'
)


def sysinfo(topology="", cores=100, dedicated=0, smt=True, guests=()):
    """Return /proc/sysinfo; guests: (name, program) of the hypervisors, the innermost first."""
    characteristics = "Dedicated " if dedicated == cores else "Dedicated Shared " if dedicated else "Shared "
    text = MACHINE + "\n" + topology
    text += LPAR % {
        "characteristics": characteristics,
        "cores": cores,
        "dedicated": dedicated,
        "shared": cores - dedicated,
        "mtid": 1 if smt else 0,
    }
    return text + "".join(
        VM % {"level": level, "name": name, "program": program} for level, (name, program) in enumerate(guests)
    )


def large_lpar(interfaces=64):
    """Return a z15 LPAR with 100 cores of two threads in 3 drawers, gaps in its CPU numbers, and this many interfaces.

    CPUs 96 to 103 do not exist, 10 and 11 are offline, 206 and 207 deconfigured; so 200 are present and 196 online.
    """
    present = [cpu for cpu in range(208) if not 96 <= cpu < 104]
    online = [cpu for cpu in present if cpu not in (10, 11, 206, 207)]
    found = {
        "/proc/sysinfo": sysinfo("CPU Topology HW:      0 0 5 2 2 12\nCPU Topology SW:      0 0 5 2 2 12\n"),
        "/proc/cpuinfo": "vendor_id       : IBM/S390\n# processors    : 196\nmax thread id   : 1\n",
        "/proc/cmdline": "root=/dev/disk/by-path/ccw-0.0.0100-part1 possible_cpus=256\n",
        "/proc/sys/kernel/osrelease": "6.4.0-150600.23.25-default\n",
        "/proc/sys/s390/topology": "1\n",
        "/etc/os-release": SLES,
        "/sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n",
        CPUS + "/online": format_list(online) + "\n",
        CPUS + "/present": format_list(present) + "\n",
        CPUS + "/possible": "0-255\n",
        CPUS + "/dispatching": "1\n",
        CPUS + "/smt/control": "notimplemented\n",
        CPUS + "/smt/active": "0\n",
    }
    for cpu in present:
        found.update(_cpu(cpu, online))
    for number in range(interfaces):
        found.update(_qeth(number))
    return found


def _cpu(cpu, online):
    """Return one CPU of large_lpar(): two threads per core, 12 cores per socket, 2 sockets a book, 2 books a drawer."""
    folder = "%s/cpu%d/" % (CPUS, cpu)
    polarization = "vertical:high" if cpu < 64 else "vertical:medium" if cpu < 68 else "vertical:low"
    found = {
        folder + "configure": "0\n" if cpu in (206, 207) else "1\n",
        folder + "polarization": ("unknown" if cpu in (206, 207) else polarization) + "\n",
        folder + "online": "%d\n" % (cpu in online),
    }
    if cpu in online:
        for name, size in (("thread", 2), ("core", 24), ("book", 48), ("drawer", 96)):
            first = cpu // size * size
            group = [other for other in online if first <= other < first + size]
            found["%stopology/%s_siblings_list" % (folder, name)] = format_list(group) + "\n"
    return found


def _qeth(number):
    """Return HiperSockets, OSA, and a VLAN on every fourth interface, in turn."""
    name = "enc%x" % (0x1000 + number)
    found = interface(name, "vlan" if number % 4 == 3 else "HiperSockets" if number % 4 == 0 else "OSD_25GIG")
    if number % 4 == 3:
        found["%s/%s/lower_enc%x" % (NET, name, 0x1000 + number - 3)] = {"link": "../enc%x" % (0x1000 + number - 3)}
    return found


def interface(name, kind, mtu=None, buffers=128, driver="qeth"):
    """Return one interface; kind: a card_type of qeth, or vlan, bond or the like for one without a device."""
    base = "%s/%s/" % (NET, name)
    hipersockets = kind in ("HiperSockets", "Virt.NIC Hiper")
    found = {
        base + "mtu": "%d\n" % (mtu or (57344 if hipersockets else 1500)),
        base + "operstate": "up\n",
        base + "queues/rx-0/rps_cpus": format_mask(mask_of(range(0, 200, 4)) if hipersockets else 0, 256) + "\n",
        base + "queues/tx-0/xps_cpus": "0\n",
    }
    if kind in ("vlan", "bond"):
        return found
    found[base + "device/driver"] = {"link": "../../../bus/ccwgroup/drivers/" + driver}
    if driver == "qeth":
        found[base + "device/card_type"] = kind + "\n"
        found[base + "device/buffer_count"] = "%d\n" % buffers
        found[base + "device/inbuf_size"] = "64k\n"
    return found


def zvm_guest():
    """Return a guest of z/VM 7.3 with four CPUs and a NIC of each kind of guest LAN."""
    found = {
        "/proc/sysinfo": sysinfo(cores=12, dedicated=12, guests=[("LNX1", "z/VM    7.3.0   ")]),
        "/proc/cpuinfo": "vendor_id       : IBM/S390\n# processors    : 4\nmax thread id   : 0\n",
        "/proc/cmdline": "root=/dev/dasda1 topology=on\n",
        "/proc/sys/kernel/osrelease": "5.14.0-427.el9.s390x\n",
        "/proc/sys/s390/topology": "0\n",
        CPUS + "/online": "0-3\n",
        CPUS + "/present": "0-3\n",
        CPUS + "/possible": "0-63\n",
        CPUS + "/dispatching": "0\n",
    }
    for cpu in range(4):
        found["%s/cpu%d/configure" % (CPUS, cpu)] = "1\n"
        found["%s/cpu%d/polarization" % (CPUS, cpu)] = "horizontal\n"
        for level in ("thread", "core", "book", "drawer"):
            found["%s/cpu%d/topology/%s_siblings_list" % (CPUS, cpu, level)] = "%d\n" % cpu
    found.update(interface("enc600", "Virt.NIC QDIO"))
    found.update(interface("enc700", "Virt.NIC Hiper", buffers=64, mtu=8192))
    return found
