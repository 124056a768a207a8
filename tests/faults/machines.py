# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines of the campaign: a tree with one tuning's knobs, the requests, and its state.

They are those of the unit tests, but outlive a process: their state in memory is kept in a file beside the tree.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import platform
import shutil
import struct
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import injection
import trees
from aix import AixHost
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, refused
from ansible_collections.zpower.sap_tuning.plugins.modules import (
    aix_device_attributes,
    cpu_polarization,
    cpu_topology,
    hiperdispatch,
    rps,
    sap_profile,
    smc_r,
    smc_sysctls,
)
from sapsystem import D00, DEFAULT, PROFILES, SapHost
from smckernel import SmcHost
from zkernel import ZHost

OWNER = 1  # an ordinary user that every Debian has
# acl(5) as an attribute: a user with read permission beside the owner
ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHi", *one) for one in [(1, 6, -1), (2, 4, 4711), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
)
MACHINE_ID = "0123456789abcdef0123456789abcdef\n"


class Answered(BaseException):
    """A module has ended. Not an Exception, so that modules do not catch it."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__()
        self.result = result


class Module:
    """Replaces AnsibleModule: the real argument spec, and the result instead of an exit."""

    arguments: dict[str, Any] = {}
    check = False

    def __init__(self, argument_spec: dict[str, Any], supports_check_mode: bool = False, **rules: Any) -> None:
        try:
            validated = ArgumentSpecValidator(argument_spec, **rules).validate(dict(self.arguments))
        except OverflowError as error:  # ansible-core's own, of an infinite number
            self.fail_json(msg=str(error))
        self.params = validated.validated_parameters
        self.check_mode = self.check
        if validated.error_messages:
            self.fail_json(msg="; ".join(validated.error_messages))

    def exit_json(self, **result: Any) -> None:
        raise Answered(result)

    def fail_json(self, **result: Any) -> None:
        raise Answered({**result, "failed": True})

    def warn(self, text: str) -> None:
        pass


def call(module: ModuleType, host: Host, arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
    """Run a module's main() in this process, on this host. Raises the exceptions that the module does not handle."""
    entry_point.Host = lambda: host
    module.AnsibleModule = type("Call", (Module,), {"arguments": arguments, "check": check})
    try:
        module.main()
    except Answered as answer:
        return answer.result
    raise AssertionError("the module ended without a result")


class Machine:
    """One tuning on one tree. name: of the machine, tuning: its column in the table.

    requests: two requests for different values. places: the folders below which a run writes. fixed: top folders that
    are mounted and so not part of the tree.
    """

    name = ""
    module: ModuleType
    system = "Linux"
    requests: tuple[dict[str, Any], dict[str, Any]]
    places: tuple[str, ...] = ("/etc", "/var")
    fixed: tuple[str, ...] = ()

    def __init__(self, root: Path) -> None:
        self.root = root
        self.memory = root.with_name(root.name + ".memory")
        self.host = self.plant()

    @property
    def tuning(self) -> str:
        return self.module.__name__.rpartition(".")[2]

    def plant(self) -> Host:
        """Create the tree, and return its host."""
        raise NotImplementedError

    def call(self, arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
        platform.system = lambda: self.system
        return call(self.module, self.host, arguments, check)

    def reset(self) -> None:
        """A new tree in the same folder."""
        for path in self.root.iterdir():
            if "/" + path.name not in self.fixed:
                clear(path)
        self.memory.unlink(missing_ok=True)
        self.host = self.plant()

    def state(self) -> trees.State:
        found = trees.state(self.root, self.fixed)
        if self.memory.exists():
            found["memory"] = json.loads(self.memory.read_text())
        return found

    def journals(self) -> Path:
        """The folder of the journals."""
        return self.root / ("var/adm" if self.system == "AIX" else "var/lib") / "zpower_sap_tuning"

    def add(self, path: str, text: str, mode: int = 0o644, owner: int = 0, marked: bool = False) -> None:
        """A file of the site; marked: with an access control list and an attribute."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        mark(target, mode, owner, marked)


def clear(path: Path) -> None:
    """Remove a file or a folder; of a mounted folder, its content."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    elif path.is_mount():
        for inside in path.iterdir():
            clear(inside)
    else:
        for inside in path.iterdir():
            clear(inside)
        path.rmdir()


def mark(path: Path, mode: int, owner: int, marked: bool) -> None:
    # the fuzzer creates such trees too, and need not be root
    if os.geteuid() == 0:
        os.chown(path, owner, owner)
    path.chmod(mode)
    if marked:
        # on a file system without attributes, a run cannot damage them
        for name, value in (("system.posix_acl_access", ACL), ("user.note", b"keep me")):
            with contextlib.suppress(OSError):
                os.setxattr(path, name, value)


class _Kernel:
    """Writes to a tree's kernel are counted; the reactions of the kernel are not."""

    def put(self, path: str, value: str) -> None:
        try:
            injection.step("put", path)
        except OSError as error:
            raise refused(f"cannot write {value} to {path}", error) from error
        with injection.paused():
            super().put(path, value)  # type: ignore[misc]


class KernelTree(_Kernel, ZHost):
    pass


class SmcTree(_Kernel, SmcHost):
    pass


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
    """RPS with lines of the site in our own drop-ins, and the flow tables of the system."""

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
    """A vertical LPAR whose kernel has HiperDispatch, and no configuration that says so."""

    name = "hiperdispatch"
    module = hiperdispatch
    requests = ({"steal_threshold": 15}, {"enabled": False, "delay_factor": 8})

    def plant(self) -> Host:
        host = KernelTree(self.root, sysctl=True, vertical=True)
        host.hiperdispatch()
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
        host = SmcTree(self.root)
        self.add("/etc/machine-id", MACHINE_ID)
        return host


def profiles(own: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """A request for the profile of an instance and the default profile."""
    entries = (("D00", own), ("DEFAULT", default))
    return {"profiles": [{"sid": "PRD", "instance": name, "parameters": values} for name, values in entries]}


class Profiles(Machine):
    """An instance profile and the default profile, both with owner, mode and attributes of their own."""

    name = "sap_profile"
    module = sap_profile
    places = ("/sapmnt", "/var")

    requests = (
        profiles({"rdisp/wp_no_btc": 12, "rdisp/wp_no_dia": 40}, {"enque/table_size": 70000}),
        profiles({"rdisp/wp_no_btc": 14}, {"enque/table_size": 80000, "site/new": "a b"}),
    )

    def plant(self) -> Host:
        host = SapHost(self.root)
        (self.root / "var/lib").mkdir(parents=True, exist_ok=True)
        self.add("/etc/machine-id", MACHINE_ID)
        # not through the host: its deputy would outlive this process's search for leftover processes
        for path in [Path(host.path(PROFILES)), *Path(host.path(PROFILES)).iterdir()]:
            mark(path, 0o755 if path.is_dir() else 0o644, OWNER, False)
        mark(Path(host.path(D00)), 0o640, OWNER, True)
        mark(Path(host.path(DEFAULT)), 0o664, OWNER, True)
        return host


class AixTree(AixHost):
    """An AixHost with its devices in a file, whose calls of chdev are counted."""

    memory: Path

    def run(self, argv: list[str], timeout: float = 30, user: Any = None, env: Any = None) -> Any:
        if argv[0] == "chdev":
            try:
                injection.step("chdev", *argv[2:3])
            except OSError as error:
                raise HostError(f"cannot run chdev: {error.strerror}", error.errno) from error
        with injection.paused(), self.memory.open() as devices:
            # like the database of AIX: one command at a time, and no partial changes for others
            fcntl.flock(devices, fcntl.LOCK_EX)
            for name, (stored, in_force) in json.loads(self.memory.read_text()).items():
                self.devices[name].stored, self.devices[name].in_force = stored, in_force
            result = super().run(argv, timeout, user, env)
            self.keep()
        return result

    def keep(self) -> None:
        # in place, and so under its lock
        with self.memory.open("a+") as devices:
            devices.seek(0)
            devices.truncate()
            devices.write(json.dumps(self.values()))


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


class Together(Machine):
    """Four tunings on one tree, for parallel runs."""

    name = "together"
    places = ("/etc", "/var", "/sapmnt")
    TUNINGS = (RpsTree, Topology, SmcSysctls, Profiles)

    def plant(self) -> Host:
        host = RpsTree.plant(self)  # type: ignore[arg-type]
        kernel = KernelTree.__new__(KernelTree)
        kernel.__dict__.update(host.__dict__, facility=False)
        for path, text in (("/proc/sysinfo", "LPAR Number: 17\n"), ("/proc/sys/s390/topology", "0")):
            kernel.fill(path, text)
        kernel.siblings(False)
        smc = SmcTree.__new__(SmcTree)
        smc.__dict__.update(host.__dict__)
        for name, value in SmcHost.values.items():
            smc.fill("/proc/sys/net/smc/" + name, value)
        sap = Profiles.plant(self)  # type: ignore[arg-type]
        self.hosts = {RpsTree: host, Topology: kernel, SmcSysctls: smc, Profiles: sap}
        return host

    def one(self, tuning: type[Machine], arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
        """A call of one of the tunings."""
        platform.system = lambda: "Linux"
        return call(tuning.module, self.hosts[tuning], arguments, check)


MACHINES: tuple[type[Machine], ...] = (
    RpsReal,
    RpsTree,
    Topology,
    Polarization,
    PolarizationSysctl,
    Hiperdispatch,
    SmcSysctls,
    Profiles,
    SmcR,
    Devices,
)


def make(kind: type[Machine], folder: Path) -> Machine:
    """A machine in its own folder, into which other users may look, as on any machine."""
    root = folder / kind.name
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(mode=0o755)
    return kind(root)
