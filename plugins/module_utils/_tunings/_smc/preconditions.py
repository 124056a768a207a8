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
        if not ism and not roce and not others and not unknown:
            subject.notes.append(
                "this host has no device for SMC but loopback, so every connection to another host falls back to TCP"
                if listed
                else "this host has no device for SMC, neither ISM nor RoCE, so every connection falls back to TCP"
            )
        self._tell_missing(subject)
        interfaces, devices = self._ids(table, ism, roce, listed)
        self._tell_ids(subject, interfaces, devices, bool(ism or roce or others))
        self._tell_version_2(subject, ism)
        self._tell_mtu(subject, roce)
        self._tell_memory(subject)
        if self.host.value(_SYSCTLS + "limit_smc_hs") == "1":
            subject.remarks.append("net.smc.limit_smc_hs is 1: under load, listening sockets stop offering SMC")
        for release in smc_hardware.kernels_without(self.host):
            subject.remarks.append(
                "the installed kernel %s has no SMC: after its boot, the instances could open no TCP socket" % release
            )

    def _devices(self):
        """(PCI addresses of ISM, names of RDMA devices, the devices that the kernel's SMC lists)."""
        listed = []
        if self.host.root == "/" and smc_sockets.kernel_has_smc(self.host):
            listed = smc_facts.kernel_facts()["devices"] or []
        return smc_hardware.ism_devices(self.host), self.host.listdir(smc_hardware.ROCE), listed

    def _missing(self):
        """The (kind, name) of the request that do not exist."""
        paths = {key: place(*key) for key in sorted(self.entries)}
        return [key for key in paths if not self.host.exists(paths[key]) and not self.host.lacking(paths[key])]

    def _tell_missing(self, subject):
        for kind, name in self._missing():
            subject.notes.append(
                "there is no %s %s now: its PNET ID acts when one comes with this name, not if one is renamed to it"
                % (kind, name)
            )

    def _ids(self, table, ism, roce, listed):
        """({PNET ID: interfaces}, {PNET ID: devices}), by the hardware, the table, and the request."""
        found = {(kind, name): entry[0] for kind, name, entry in ((*key, table[key]) for key in table)}
        found.update((key, self.entries[key][0]) for key in self.entries)
        for kind, names in ((INTERFACE, smc_hardware.interfaces(self.host)), (DEVICE, ism + roce)):
            for name in names:
                given = smc_hardware.hardware_id(self.host, kind, name)
                if given:
                    found[kind, name] = given
        sides = ({}, {})
        for kind, name in sorted(found):
            sides[kind == DEVICE].setdefault(found[kind, name], []).append(name)
        for device in listed:
            names = sides[1].setdefault(device["pnet_id"], []) if device["pnet_id"] else []
            if device["name"] not in names and device["pci_id"] not in names:
                names.append(device["name"] or device["pci_id"] or device["type"])
        return sides

    def _tell_ids(self, subject, interfaces, devices, any_device):
        asked = {entry[0] for entry in self.entries.values()}
        missing = {key[1] for key in self._missing()}
        for pnet_id in sorted(set(interfaces) & set(devices)):
            sides = [[name for name in side[pnet_id] if name not in missing] for side in (interfaces, devices)]
            if all(sides):
                subject.remarks.append("PNET ID %s: %s with %s" % (pnet_id, *map(", ".join, sides)))
        if self.host.capture:
            # the kernel's table, which no capture holds, may have more
            return
        # one that the hardware overrides has neither
        for pnet_id in sorted((asked & set(interfaces)) - set(devices)):
            subject.notes.append(
                "PNET ID %s: no ISM or RoCE device has it, only %s" % (pnet_id, ", ".join(interfaces[pnet_id]))
            )
        for pnet_id in sorted((asked & set(devices)) - set(interfaces)):
            subject.notes.append("PNET ID %s: no interface has it, only %s" % (pnet_id, ", ".join(devices[pnet_id])))
        if any_device and not set(interfaces) & set(devices) and not asked:
            subject.remarks.append(
                "no interface has the PNET ID of an ISM or RoCE device: SMC-D version 1 is impossible, and SMC-R works "
                "over the RoCE card's own interface only"
            )

    def _tell_version_2(self, subject, ism):
        """SMC-D version 2 takes ISM devices without a PNET ID, or with the hardware's of an interface that is up."""
        given = {smc_hardware.hardware_id(self.host, INTERFACE, name) for name in smc_hardware.interfaces(self.host)}
        for pci in ism:
            asked = self.entries.get((DEVICE, pci))
            if asked and asked[0] not in given:
                subject.remarks.append(
                    "ISM device %s: with a PNET ID of the table, SMC-D uses it in version 1 only" % pci
                )

    def _tell_mtu(self, subject, roce):
        for device in roce:
            name = smc_hardware.interface_of(self.host, device)
            mtu = self.host.value("%s/%s/mtu" % (smc_hardware.NET, name)) if name else None
            if mtu:
                subject.remarks.append(
                    "RoCE device %s: MTU %s of %s; SMC-R uses the smaller MTU of both ends, and works with any"
                    % (device, mtu, name)
                )

    def _tell_memory(self, subject):
        sizes = [kernel.int_or_none(self.host.value(_SYSCTLS + name)) for name in ("wmem", "rmem")]
        if None in sizes:
            return
        most = {name: sum(min(size >> 10, kib) for size in sizes) for name, kib in _MOST_KIB.items()}
        words = ["%d KiB for %s" % (most[name], name) for name in most]
        words = words if len(set(most.values())) > 1 else ["%d KiB" % most["SMC-R"]]
        try:
            fields = dict(line.split(":", 1) for line in (self.host.read("/proc/meminfo") or "").splitlines())
            free = int(fields["MemAvailable"].split()[0]) >> 10
        except (HostError, KeyError, ValueError, IndexError):
            return
        subject.remarks.append(
            "a connection with the buffers of net.smc.wmem and net.smc.rmem takes up to %s of memory; %d MiB are "
            "available" % (" or ".join(words), free)
        )
