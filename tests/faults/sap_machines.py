# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines of the campaign that have SAP instances or the kernel's tables of SMC."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import injection
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.smc_sockets import kernel_has_smc
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._smc import network as smc_network
from ansible_collections.zpower.sap_tuning.plugins.modules import sap_profile, smc
from planted import MACHINE_ID, OWNER, Machine, OnKernel, mark
from sapsystem import D00, DEFAULT, PROFILES, SapHost
from smckernel import Tables
from smcsystem import SmcSapHost


def profiles(own: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """Return a request for the profile of an instance and the default profile."""
    entries = (("D00", own), ("DEFAULT", default))
    return {"profiles": [{"sid": "PRD", "instance": name, "parameters": values} for name, values in entries]}


class Profiles(Machine):
    """An instance profile and the default profile, each with owner, mode and attributes."""

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
        owned_profiles(host)
        return host


def owned_profiles(host: Host) -> None:
    """Give the profiles to OWNER, not through the host: its deputy would outlive the search for leftover processes."""
    for path in [Path(host.path(PROFILES)), *Path(host.path(PROFILES)).iterdir()]:
        mark(path, 0o755 if path.is_dir() else 0o644, OWNER, False)
    mark(Path(host.path(D00)), 0o640, OWNER, True)
    mark(Path(host.path(DEFAULT)), 0o664, OWNER, True)


class KeptTables(Tables):
    """The kernel's tables in a file, because they outlive a process. Each change of them is a call that may fail.

    The kernel accepts a change completely or not at all, and has no tables before its module is loaded.
    """

    def __init__(self, memory: Path, host: Host) -> None:
        self._memory, self._host = memory, host
        super().__init__(SimpleNamespace(setattr=setattr), netlink)
        self.keep()

    def answer(self) -> None:
        """Connect netlink with these tables."""
        netlink.family, netlink.dump_generic, netlink.change = self._family, self._dump, self._change

    def keep(self) -> None:
        self._memory.write_text(json.dumps({"entries": sorted(self.entries), "eids": self.eids}))

    def _family(self, name: str) -> Any:
        if not kernel_has_smc(self._host):
            raise AssertionError("querying the tables would load the module")
        return super()._family(name)

    def _dump(self, family: int, command: int) -> Any:
        return self._locked(super()._dump, family, command)

    def _change(self, family: int, command: int, payload: bytes) -> None:
        injection.step("netlink", str(family), str(command))
        self._locked(super()._change, family, command, payload)

    def _locked(self, ask: Callable[..., Any], *arguments: Any) -> Any:
        with injection.paused(), self._memory.open("r+") as memory:
            fcntl.flock(memory, fcntl.LOCK_EX)
            kept = json.loads(memory.read())
            self.entries, self.eids = [tuple(entry) for entry in kept["entries"]], [*kept["eids"]]
            try:
                return ask(*arguments)
            finally:
                # the order of the entries means nothing to the kernel
                now = {"entries": [list(entry) for entry in sorted(self.entries)], "eids": self.eids}
                if now != kept:
                    memory.seek(0)
                    memory.truncate()
                    memory.write(json.dumps(now))


class SmcTree(OnKernel, SmcSapHost):
    tables: KeptTables

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tables for processes that work as other users, which do not query the kernel."""
        return {name: value for name, value in self.__dict__.items() if name != "tables"}


class Smc(Machine):
    """The profiles of two instances, and a kernel with systemd that has not loaded the module smc."""

    name = "smc"
    module = smc
    places = ("/etc", "/sapmnt", "/var")
    lasting = ("/proc/net",)
    requests = (
        {"instances": ["PRD_00"], "pnet_ids": [{"name": "SAPNET", "interface": "enc1"}]},
        {"instances": ["PRD_00", "PRD_01"], "ueids": ["SAP.UEID-1"]},
    )

    def plant(self) -> Host:
        host = SmcTree(self.root)
        owned_profiles(host)
        for folder in ("etc/systemd/system", "run/systemd/system", "sys/class/net/enc1", "var/lib"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.add("/etc/machine-id", MACHINE_ID)
        host.tables = KeptTables(self.memory, host)
        return host

    def call(self, arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
        live(self.host)
        return super().call(arguments, check)


def live(host: Host) -> None:
    """Make a tree the running machine of the tuning smc, with the kernel's tables."""
    smc_network.is_live = lambda asked: asked is host
    host.tables.answer()


class SmcTables(Smc):
    """A kernel that has loaded the module, with entries of others, some of which have a PNET ID of the request."""

    name = "smc-tables"
    places = ("/etc", "/var")
    lasting = ()
    requests = (
        {
            "pnet_ids": [{"name": "SAPNET", "interface": "enc1"}, {"name": "SAPNET", "device": "mlx5_0", "port": 2}],
            "ueids": ["SAP.UEID-1"],
        },
        {"pnet_ids": [{"name": "OTHER", "interface": "enc1"}], "ueids": ["SAP.UEID-2", "SAP.UEID-1"]},
    )

    def plant(self) -> Host:
        host = super().plant()
        host.fill("/sys/class/infiniband/mlx5_0/node_type", "1: CA")
        host.run(["modprobe", "smc"])
        host.tables.add("SAPNET", ethernet="enc7")
        host.tables.add("THEIRS", ethernet="enc1")
        host.tables.add("THEIRS", ethernet="enc8")
        host.tables.eids = ["BEFORE"]
        host.tables.keep()
        self.add("/etc/modules-load.d/site.conf", "bonding\n", 0o640, OWNER, True)
        return host
