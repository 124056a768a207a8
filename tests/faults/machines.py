# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines of the campaign: a tree with one tuning's knobs, the requests, and its state.

They are those of the unit tests, but outlive a process: their memory is kept in a file beside the tree.
"""

from __future__ import annotations

import fcntl
import glob
import json
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import injection
import trees
from aix import AixHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.modules import (
    aix_device_attributes,
    aix_tunables,
    cpu_polarization,
    cpu_topology,
    hiperdispatch,
    qeth,
    rps,
    smc_r,
    smc_sysctls,
    system_base,
)
from basekernel import BaseHost, base_files
from planted import MACHINE_ID, OWNER, Machine, OnKernel, call, mark
from qethhost import RULES, QethHost, rules_text
from sap_machines import Profiles, Smc, SmcTables, live
from smckernel import SmcHost
from zkernel import ZHost


class KernelTree(OnKernel, ZHost):
    pass


class SysctlTree(OnKernel, SmcHost):
    pass


class BaseTree(OnKernel, BaseHost):
    pass


class QethTree(OnKernel, QethHost):
    commands = ("chzdev",)


class RpsReal(Machine):
    """RPS on the interface of this network namespace and its real /sys; all other files are a tree."""

    name = "rps"
    module = rps
    requests = ({"interfaces": ["hsi0"], "flow_cnt": 1024}, {"interfaces": ["hsi0"], "cpus": "0"})
    fixed = ("/sys",)
    attributes = ("rps_cpus", "rps_flow_cnt")

    def plant(self) -> Host:
        (self.root / "etc/udev").mkdir(parents=True)
        (self.root / "var/lib").mkdir(parents=True)
        self.add("/etc/machine-id", MACHINE_ID)
        if not (self.root / "sys").exists():
            self._cable()
        for path in self._queues():
            Path(path).write_text("0\n")
        return Host(str(self.root))

    def _cable(self) -> None:
        (self.root / "sys").mkdir()
        queues = ["numrxqueues", "3", "numtxqueues", "3"]
        link = ["link", "add", "hsi0", *queues, "type", "veth", "peer", "name", "far0"]
        subprocess.run(["ip", *link], check=True)
        subprocess.run(["mount", "-t", "sysfs", "sysfs", str(self.root / "sys")], check=True)

    def _queues(self) -> list[str]:
        folder = str(self.root / "sys/class/net/hsi0/queues/rx-*")
        return [path for name in self.attributes for path in sorted(glob.glob(f"{folder}/{name}"))]

    def state(self) -> trees.State:
        values = {path[len(str(self.root)) :]: Path(path).read_text() for path in self._queues()}
        return {**super().state(), **values}


class RpsTree(Machine):
    """RPS with existing lines in our own drop-ins, and the flow tables of the system."""

    name = "rps-flows"
    module = rps
    requests = (
        {"interfaces": ["hsi*"], "flow_cnt": 64, "sock_flow_entries": 256},
        {"interfaces": ["hsi*"], "cpus": "1-2", "sock_flow_entries": 512},
    )

    def plant(self) -> Host:
        host = KernelTree(self.root)
        host.interface("hsi0", queues=2, mask=2)
        host.interface("hsi1")
        host.fill("/proc/sys/net/core/rps_sock_flow_entries", "0")
        self.add("/etc/machine-id", MACHINE_ID)
        self.add("/etc/udev/rules.d/91-zpower-sap-tuning-rps.rules", "# the site's own\n", 0o640, OWNER, True)
        return host


class Topology(Machine):
    name = "cpu_topology"
    module = cpu_topology
    requests = ({}, {"sw_siblings": False})

    def plant(self) -> Host:
        host = KernelTree(self.root, facility=False)
        self.add("/etc/machine-id", MACHINE_ID)
        self.add("/etc/sysctl.d/10-site.conf", "vm.swappiness = 10\n", 0o640, OWNER, True)
        return host


class Polarization(Machine):
    """An LPAR whose kernel has no sysctl for polarization, so that tmpfiles.d keeps the value."""

    name = "cpu_polarization"
    module = cpu_polarization
    requests = ({}, {"mode": "horizontal"})
    sysctl = False

    def plant(self) -> Host:
        host = KernelTree(self.root, sysctl=self.sysctl)
        self.add("/etc/machine-id", MACHINE_ID)
        return host


class PolarizationSysctl(Polarization):
    name = "cpu_polarization-sysctl"
    sysctl = True


class Hiperdispatch(Machine):
    """A vertical LPAR whose kernel has HiperDispatch but no configuration file that mentions it."""

    name = "hiperdispatch"
    module = hiperdispatch
    requests = ({"steal_threshold": 15}, {"enabled": False, "delay_factor": 8})

    def plant(self) -> Host:
        host = KernelTree(self.root, sysctl=True, vertical=True)
        host.hiperdispatch()
        self.add("/etc/machine-id", MACHINE_ID)
        return host


class Qeth(Machine):
    """A device with an old number in chzdev's file, and one without a number."""

    name = "qeth"
    module = qeth
    requests = ({}, {"devices": ["0.0.0600"], "buffer_count": 96})

    def plant(self) -> Host:
        host = QethTree(self.root)
        host.card("enc600", "0.0.0600", buffers=16)
        host.card("enc800", "0.0.0800", card="Virt.NIC QDIO")
        self.add(RULES % "0.0.0600", rules_text("0.0.0600", buffer_count="16", layer2="0"))
        self.add(RULES % "0.0.0800", rules_text("0.0.0800"))
        self.add("/etc/machine-id", MACHINE_ID)
        return host


class SmcSysctls(Machine):
    name = "smc_sysctls"
    module = smc_sysctls
    requests = (
        {"settings": {"rmem": 262144, "wmem": 262144}},
        {"settings": {"wmem": 131072, "smcr_testlink_time": 60}},
    )

    def plant(self) -> Host:
        host = SysctlTree(self.root)
        self.add("/etc/machine-id", MACHINE_ID)
        return host


class SystemBase(Machine):
    """A SLES 15 whose fstab has its own owner, mode and attributes."""

    name = "system_base"
    module = system_base
    requests = (
        {"state": "present", "items": ["vm.max_map_count", "kernel.shm", "/dev/shm"]},
        {"state": "present", "items": ["vm.dirty", "kernel.pid_max", "/dev/shm"]},
    )

    def plant(self) -> Host:
        host = BaseTree(self.root)
        self.add("/etc/machine-id", MACHINE_ID)
        mark(self.root / "etc/fstab", 0o640, OWNER, True)
        return host


class AixTree(AixHost):
    """An AixHost with its devices and tunables in a file; calls that change them are counted."""

    memory: Path

    def run(self, argv: list[str], timeout: float = 30, user: Any = None, env: Any = None, answers: str = "") -> Any:
        if argv[0] == "chdev" or argv[1] in ("-o", "-r"):
            try:
                injection.step(argv[0], *argv[2:3])
            except OSError as error:
                raise HostError(f"cannot run {argv[0]}: {error.strerror}", error.errno) from error
        with injection.paused(), self.memory.open() as devices:
            # like the database of AIX: one command at a time, and no partial changes for others
            fcntl.flock(devices, fcntl.LOCK_EX)
            values, self.tunables = json.loads(self.memory.read_text())
            for name, (stored, in_force) in values.items():
                self.devices[name].stored, self.devices[name].in_force = stored, in_force
            result = super().run(argv, timeout, user, env, answers)
            self.keep()
        return result

    def keep(self) -> None:
        # in place, and therefore under its lock
        with self.memory.open("a+") as devices:
            devices.seek(0)
            devices.truncate()
            devices.write(json.dumps([self.values(), self.tunables]))


class Aix(Machine):
    system = "AIX"
    places = ("/var",)

    def plant(self) -> Host:
        (self.root / "var/adm").mkdir(parents=True)
        (self.root / "etc").mkdir(exist_ok=True)
        host = AixTree(self.root)
        host.memory = self.memory
        host.keep()
        return host


class SmcR(Aix):
    name = "smc_r"
    module = smc_r
    requests = ({"preset": "optimized"}, {"preset": "enabled", "attributes": {"max_memory": 1024}})


class Devices(Aix):
    name = "aix_device_attributes"
    module = aix_device_attributes
    requests = (
        {"devices": {"sys0": {"maxuproc": 4096}, "smcr0": {"max_memory": 1024}}},
        {"devices": {"sys0": {"maxuproc": 8192}}},
    )


class Tunables(Aix):
    """-r -d leaves the word DEFAULT, which the tuning removes from the file."""

    name = "aix_tunables"
    module = aix_tunables
    places = ("/etc", "/var")
    requests = (
        {"values": {"no.tcp_nodelayack": {"value": 1, "reason": "x"}, "ioo.numfsbufs": {"value": 400, "reason": "x"}}},
        {"values": {"no.tcp_nodelayack": {"value": 0, "reason": "x"}}},
    )

    def plant(self) -> Host:
        host = super().plant()
        host.tunables["after_d"] = "DEFAULT"  # type: ignore[attr-defined]
        host.keep()  # type: ignore[attr-defined]
        (self.root / "etc/tunables").mkdir()
        self.add("/etc/tunables/nextboot", '# by hand\n\nno:\n\ttcp_keepidle = "7201"\n\nioo:\n')
        return host


class Together(Machine):
    """Six tunings on one tree, for parallel runs; the module smc is loaded."""

    name = "together"
    places = ("/etc", "/var", "/sapmnt")
    TUNINGS = (RpsTree, Topology, SmcSysctls, SystemBase, Profiles, Smc)

    def plant(self) -> Host:
        host = RpsTree.plant(self)  # type: ignore[arg-type]
        kernel = KernelTree.__new__(KernelTree)
        kernel.__dict__.update(host.__dict__, facility=False)
        for path, text in (("/proc/sysinfo", "LPAR Number: 17\n"), ("/proc/sys/s390/topology", "0")):
            kernel.fill(path, text)
        kernel.siblings(False)
        sysctls = SysctlTree.__new__(SysctlTree)
        base = BaseTree.__new__(BaseTree)
        for one in (sysctls, base):
            one.__dict__.update(host.__dict__, refuses=None)
        for name, value in SmcHost.values.items():
            sysctls.fill("/proc/sys/net/smc/" + name, value)
        base_files(base)
        smc = Smc.plant(self)  # type: ignore[arg-type]
        smc.run(["modprobe", "smc"])
        self.hosts = {RpsTree: host, Topology: kernel, SmcSysctls: sysctls, SystemBase: base, Profiles: smc, Smc: smc}
        return host

    def one(self, tuning: type[Machine], arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
        """Call one of the tunings."""
        platform.system = lambda: "Linux"
        live(self.hosts[Smc])
        return call(tuning.module, self.hosts[tuning], arguments, check)


MACHINES: tuple[type[Machine], ...] = (
    RpsReal,
    RpsTree,
    Topology,
    Polarization,
    PolarizationSysctl,
    Hiperdispatch,
    Qeth,
    SmcSysctls,
    Smc,
    SmcTables,
    Profiles,
    SystemBase,
    SmcR,
    Devices,
    Tunables,
)


def make(kind: type[Machine], folder: Path) -> Machine:
    """Return a machine in a folder of its own, which other users can read, as on any machine."""
    root = folder / kind.name
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(mode=0o755)
    return kind(root)
