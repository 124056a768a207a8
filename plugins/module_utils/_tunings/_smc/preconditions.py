# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SMC needs beside its settings: devices, the same PNET ID at both places, memory; as sentences of a subject.

Kernel: smc_find_proposal_devices() in net/smc/af_smc.c, smc_pnet.c, Documentation/networking/smc-sysctl.rst.
"""

from ..._host import kernel
from ..._host.host import HostError
from ..._machine import smc_facts, smc_hardware, smc_sockets
from ..._machine.smc_tables import DEVICE, INTERFACE, place

_SYSCTLS = "/proc/sys/net/smc/"
# the kernel uses no more of wmem and rmem for one connection
_MOST_KIB = {"SMC-R": 512, "SMC-D": 1024}


# sentences of a subject
_NO_DEVICE = {
    True: "this host has no device for SMC but loopback, so every connection to another host falls back to TCP",
    False: "this host has no device for SMC, neither ISM nor RoCE, so every connection falls back to TCP",
}
_NOT_THERE = "there is no %s %s now: its PNET ID acts when one comes with this name, not if one is renamed to it"
_NO_SIDE = "PNET ID %s: no ISM or RoCE device has it, only %s", "PNET ID %s: no interface has it, only %s"
_NO_COMMON_ID = (
    "no interface has the PNET ID of an ISM or RoCE device: SMC-D version 1 is impossible, and SMC-R works over the "
    "RoCE card's own interface only"
)
_VERSION_1 = "ISM device %s: with a PNET ID of the table, SMC-D uses it in version 1 only"
_MTU = "RoCE device %s: MTU %s of %s; SMC-R uses the smaller MTU of both ends, and works with any"
_LIMIT = "net.smc.limit_smc_hs is 1: under load, listening sockets stop offering SMC"
_OTHER_KERNEL = "the installed kernel %s has no SMC: after its boot, the instances could open no TCP socket"
_MEMORY = (
    "a connection with the buffers of net.smc.wmem and net.smc.rmem takes up to %s of memory; %d MiB are available"
)


class Preconditions:
    """entries: {(kind, name): (PNET ID, port)} of the request."""

    def __init__(self, host, entries):
        self.host = host
        self.entries = entries

    def tell(self, subject, table):
        """Add notes and remarks to the subject. table: the kernel's PNET IDs, in the form of entries."""
        ism, roce, listed = self._devices()
        unknown = any(self.host.lacking(path) for path in (smc_hardware.PCI, smc_hardware.ROCE))
        others = [device for device in listed if device["name"] != smc_facts.LOOPBACK]
        any_device = bool(ism or roce or others)
        subject.notes += [] if any_device or unknown else [_NO_DEVICE[bool(listed)]]
        paths = {key: place(*key) for key in sorted(self.entries)}
        missing = [key for key, path in paths.items() if not self.host.exists(path) and not self.host.lacking(path)]
        subject.notes += [_NOT_THERE % key for key in missing]
        interfaces, devices = self._ids(table, ism, roce, listed)
        self._tell_ids(subject, interfaces, devices, any_device, {name for _kind, name in missing})
        # SMC-D version 2 takes ISM devices without a PNET ID, or with the hardware's of an interface that is up
        given = {smc_hardware.hardware_id(self.host, INTERFACE, name) for name in smc_hardware.interfaces(self.host)}
        asked = {pci: self.entries.get((DEVICE, pci)) for pci in ism}
        subject.remarks += [_VERSION_1 % pci for pci, entry in asked.items() if entry and entry[0] not in given]
        for device in roce:
            name = smc_hardware.interface_of(self.host, device)
            mtu = self.host.value("%s/%s/mtu" % (smc_hardware.NET, name)) if name else None
            subject.remarks += [_MTU % (device, mtu, name)] if mtu else []
        subject.remarks += self._memory()
        subject.remarks += [_LIMIT] if self.host.value(_SYSCTLS + "limit_smc_hs") == "1" else []
        subject.remarks += [_OTHER_KERNEL % release for release in smc_hardware.kernels_without(self.host)]

    def _devices(self):
        """(PCI addresses of ISM, names of RDMA devices, the devices that the kernel's SMC lists)."""
        listed = []
        if self.host.root == "/" and smc_sockets.kernel_has_smc(self.host):
            listed = smc_facts.kernel_facts()["devices"] or []
        return smc_hardware.ism_devices(self.host), self.host.listdir(smc_hardware.ROCE), listed

    def _ids(self, table, ism, roce, listed):
        """({PNET ID: interfaces}, {PNET ID: devices}), by the hardware, the table, and the request."""
        known = dict(table)
        known.update(self.entries)
        found = {key + (port or 1,): pnet_id for key, (pnet_id, port) in known.items()}
        for kind, names in ((INTERFACE, smc_hardware.interfaces(self.host)), (DEVICE, ism + roce)):
            for name in names:
                for port in sorted({1, known.get((kind, name), ("", 1))[1] or 1}):
                    given = smc_hardware.hardware_id(self.host, kind, name, port)
                    if given:
                        found[kind, name, port] = given
        sides = ({}, {})
        for kind, name, port in sorted(found):
            names = sides[kind == DEVICE].setdefault(found[kind, name, port], [])
            names += [] if name in names else [name]
        for device in listed:
            names = sides[1].setdefault(device["pnet_id"], []) if device["pnet_id"] else []
            if device["name"] not in names and device["pci_id"] not in names:
                names.append(device["name"] or device["pci_id"] or device["type"])
        return sides

    def _tell_ids(self, subject, interfaces, devices, any_device, missing):
        asked, both = {entry[0] for entry in self.entries.values()}, set(interfaces) & set(devices)
        for pnet_id in sorted(both):
            sides = [[name for name in side[pnet_id] if name not in missing] for side in (interfaces, devices)]
            if all(sides):
                subject.remarks.append("PNET ID %s: %s with %s" % (pnet_id, *map(", ".join, sides)))
        if self.host.capture:
            # the kernel's table, which no capture holds, may have more
            return
        # one that the hardware overrides has neither
        for side, sentence in zip((interfaces, devices), _NO_SIDE):
            subject.notes += [sentence % (one, ", ".join(side[one])) for one in sorted((asked & set(side)) - both)]
        subject.remarks += [_NO_COMMON_ID] if any_device and not both and not asked else []

    def _memory(self):
        """[a sentence on the memory that a connection takes]"""
        sizes = [kernel.int_or_none(self.host.value(_SYSCTLS + name)) for name in ("wmem", "rmem")]
        if None in sizes:
            return []
        most = {name: sum(min(size >> 10, kib) for size in sizes) for name, kib in _MOST_KIB.items()}
        words = ["%d KiB for %s" % (most[name], name) for name in most]
        words = words if len(set(most.values())) > 1 else ["%d KiB" % most["SMC-R"]]
        try:
            fields = dict(line.split(":", 1) for line in (self.host.read("/proc/meminfo") or "").splitlines())
            free = int(fields["MemAvailable"].split()[0]) >> 10
        except (HostError, KeyError, ValueError, IndexError):
            return []
        return [_MEMORY % (" or ".join(words), free)]
