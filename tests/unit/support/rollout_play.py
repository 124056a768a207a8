# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The play of a rollout of four hosts, with the real action and stand-ins for the calls of its hosts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from actions import run_action
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.action import rollout as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import trusted
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import keeping

CHANGE = "rps-2026-11"
HOSTS = ["app1", "app2", "app3", "app4"]
INVENTORY = {"zpower_tunings": ["rps"], "rps_interfaces": ["hsi*"], "rps_cpus": "all"}
COMPLIANT = {"name": "rps", "subject": "hsi0", "verdict": "compliant", "reason": ""}
CHANGED = {**COMPLIANT, "verdict": "changed"}
DRIFTED = {**COMPLIANT, "verdict": "drifted", "reason": "hsi0 is not as requested"}
ENDED = 99999999  # no process has this number


class HostVars(dict[str, Any]):
    """Variables by host, as Ansible has them."""

    raw_get = dict.__getitem__


class Play:
    """The play of a rollout: its hosts, and what the tasks between the steps of the action have set on them."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder, self.options = folder, {"canaries": 1, "batches": [2], **options}
        self.hosts = HostVars({host: dict(trusted(INVENTORY)) for host in HOSTS})
        self.hosts["localhost"] = {}
        self.alive = list(HOSTS)
        self.tags: tuple[str, ...] = ("all",)
        self.skipped: tuple[str, ...] = ()

    def step(self, event: str, host: str = "app1", check: bool = False, **arguments: Any) -> dict[str, Any]:
        variables = {
            **self.hosts[host],
            "inventory_hostname": host,
            "hostvars": self.hosts,
            "groups": {"all": HOSTS, "erp": HOSTS[:2]},
            "ansible_play_hosts_all": HOSTS,
            "ansible_play_hosts": self.alive,
            "ansible_run_tags": self.tags,
            "ansible_skip_tags": self.skipped,
        }
        given = {"event": event, "change": CHANGE if event in ("planned", "begun") else "", "results": str(self.folder)}
        templar = Templar(loader=DataLoader())
        return run_action(action, {**given, **arguments}, check, variables, templar)

    def plan(self, check: bool = False, **more: Any) -> dict[str, Any]:
        result = self.step("planned", check=check, **{**self.options, **more})
        self.hosts["localhost"]["ansible_facts"] = result["ansible_facts"]
        found: dict[str, Any] = result["ansible_facts"]["__rollout_plan"]
        return found

    def begin(self, *hosts: str, check: bool = False) -> dict[str, Any]:
        result = self.step("begun", hosts[0], check)
        for host in hosts:
            self.hosts[host]["__rollout_batch"] = result
        return result

    def call(self, *hosts: str, **result: Any) -> None:
        for host in hosts:
            self.hosts[host]["__tunings_result"] = {"errors": [], "drift": [], "tuning": [COMPLIANT], **result}

    def judge(self, host: str, *stages: str) -> None:
        for stage in stages:
            self.step("judged", host, stage=stage)

    def apply(self, *hosts: str, **result: Any) -> None:
        """Set the values of a batch; ``result``: of the call that sets them."""
        self.begin(*hosts)
        self.call(*hosts)
        self.judge(hosts[0], "preflight")
        self.call(*hosts, **result)
        self.judge(hosts[0], "applying")

    def good(self, *hosts: str) -> None:
        self.apply(*hosts, tuning=[CHANGED])
        self.call(*hosts)
        self.judge(hosts[0], "verifying", "confirming")

    @property
    def kept(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "rollouts" / CHANGE / "rollout.json").read_text())
        return found

    def batch(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.kept["batches"][number - 1]
        return found

    def values(self, number: int) -> dict[str, str]:
        return {host: one["values"] for host, one in self.batch(number)["hosts"].items()}

    def ended(self) -> None:
        self.close({}, "")

    def close(self, lost: dict[str, str], evidence: str) -> str:
        run = self.hosts["localhost"]["ansible_facts"]["__rollout_plan"]["runs"][-1]
        return keeping.close(self.folder, CHANGE, run, lost, evidence, action.stamp())

    def killed(self) -> None:
        path = self.folder / "rollouts" / CHANGE / "rollout.json"
        document = self.kept
        document["runs"][-1]["controller"]["pid"] = ENDED
        path.write_text(json.dumps(document))
