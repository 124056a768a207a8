# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action rollout: the plan of a play, its batches, where it stops and how it goes on."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.action import rollout as action
from ansible_collections.zpower.sap_tuning.plugins.lookup.tunings import trusted
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import closing, gates

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
    """The play of a rollout: its hosts, and what the tasks between the steps of the action have left on them."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder, self.options = folder, {"canaries": 1, "batches": [2], **options}
        self.hosts = HostVars({host: dict(trusted(INVENTORY)) for host in HOSTS})
        self.hosts["localhost"] = {}
        self.alive = list(HOSTS)
        self.tags: tuple[str, ...] = ("all",)
        self.skipped: tuple[str, ...] = ()

    def step(self, state: str, host: str = "app1", check: bool = False, **arguments: Any) -> dict[str, Any]:
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
        given = {"state": state, "change": CHANGE if state in ("planned", "begun") else "", "results": str(self.folder)}
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
        """The one call of these hosts has this result."""
        for host in hosts:
            self.hosts[host]["__tunings_result"] = {"errors": [], "drift": [], "tuning": [COMPLIANT], **result}

    def judge(self, host: str, *stages: str) -> None:
        for stage in stages:
            self.step("judged", host, stage=stage)

    def good(self, *hosts: str) -> None:
        self.begin(*hosts)
        self.call(*hosts)
        self.judge(hosts[0], "preflight")
        self.call(*hosts, tuning=[CHANGED])
        self.judge(hosts[0], "applying")
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
        """The run ends; the next one is another process."""
        closing.close(self.folder, CHANGE, {}, "", action.stamp())

    def killed(self) -> None:
        """The controller is gone."""
        path = self.folder / "rollouts" / CHANGE / "rollout.json"
        document = self.kept
        document["runs"][-1]["controller"]["pid"] = ENDED
        path.write_text(json.dumps(document))


@pytest.fixture(name="play")
def fixture_play(tmp_path: Path) -> Play:
    return Play(tmp_path)


def test_the_plan_gives_the_order_and_the_sizes_of_the_batches(play: Play) -> None:
    decided = play.plan()
    assert (decided["order"], decided["sizes"]) == (HOSTS, [1, 2, 1])
    assert play.kept["result"] == "running"
    assert play.kept["plan"]["tunings"] == {host: ["rps"] for host in HOSTS}


def test_check_mode_shows_the_same_plan_and_keeps_nothing(play: Play) -> None:
    assert play.plan(check=True)["sizes"] == [1, 2, 1]
    assert play.begin("app1", check=True)["number"] == 1
    assert not list(play.folder.iterdir())


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"change": ""}, "rollout_change is not set: the name of the rollout, such as rps-2026-11"),
        ({"soak": "soon"}, "rollout_soak is 'soon'; seconds, or a duration"),
        ({"soak": "2h", "confirm_within": "1h"}, "a time that is longer than the soak"),
        ({"canaries": "app9"}, "app9"),
        ({"time_zone": "Mars/Olympus"}, "Mars/Olympus"),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_kept(play: Play, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnsibleActionFail, match=re.escape(sentence)):
        play.plan(**options)
    assert not list(play.folder.iterdir())


def test_a_mistake_in_the_variables_of_a_host_names_the_host(play: Play) -> None:
    play.hosts["app3"]["zpower_tunings"] = ["rsp"]
    with pytest.raises(AnsibleActionFail, match="^app3: there is no tuning 'rsp'"):
        play.plan()


def test_the_guard_needs_a_peer_in_each_batch(play: Play) -> None:
    for host in HOSTS[:3]:
        play.hosts[host]["measure_peer"] = "db1"
    with pytest.raises(AnsibleActionFail, match=r"no host of batch 3 \(app4\) has a measure_peer"):
        play.plan(guard=True)
    play.hosts["app4"]["measure_peer"] = "db1"
    assert play.plan(guard=True)["sizes"] == [1, 2, 1]
    assert play.begin("app1")["measures"]


@pytest.mark.parametrize("tags, skipped", [(("rps",), ()), (("all",), ("rps",)), (("all",), ("always",))])
def test_tags_are_refused(play: Play, tags: tuple[str, ...], skipped: tuple[str, ...]) -> None:
    play.tags, play.skipped = tags, skipped
    with pytest.raises(AnsibleActionFail, match="a rollout knows no tags"):
        play.plan()


def test_tags_of_other_tasks_may_be_skipped(play: Play) -> None:
    play.skipped = ("notest",)
    assert play.plan()["order"] == HOSTS


def test_all_batches_end_well(play: Play) -> None:
    play.plan()
    play.good("app1")
    play.good("app2", "app3")
    play.good("app4")
    assert play.kept["result"] == "complete"
    assert play.values(2) == {"app2": "confirmed", "app3": "confirmed"}
    assert play.batch(2)["hosts"]["app2"]["changed"] == 1
    play.ended()
    assert (play.plan()["order"], play.kept["result"]) == (["!all"], "complete")
    found = play.step("planned", **play.options)
    assert (found["lines"], found["rollout"]) == (["All 4 hosts in 3 batches are confirmed."], {})


def test_a_task_that_fails_between_the_gates_is_named(play: Play) -> None:
    play.plan()
    play.begin("app1")
    with pytest.raises(AnsibleActionFail, match="Batch 1 of 3 stopped: the soak was ended"):
        play.step("stopped", reason="the soak was ended")
    assert play.batch(1)["reasons"] == ["the soak was ended"]


def test_an_obstacle_on_one_host_stops_the_batch_before_anything_is_set(play: Play) -> None:
    play.plan()
    play.begin("app1")
    play.call("app1", preflight=["the file system of /var/lib is read-only"])
    with pytest.raises(AnsibleActionFail, match="^batch 1 stops after preflight: app1: the file system of /var/lib"):
        play.judge("app1", "preflight")
    play.call("app1")
    with pytest.raises(AnsibleActionFail, match="Batch 1 of 3 stopped"):
        play.step("stopped")
    assert play.values(1) == {"app1": "unchanged"}
    assert play.kept["result"] == "stopped"


def test_drift_after_the_soak_takes_the_batch_back(play: Play) -> None:
    play.plan()
    play.good("app1")
    play.begin("app2", "app3")
    play.call("app2", "app3")
    play.judge("app2", "preflight", "applying")
    assert set(play.values(2).values()) == {"probation"}
    play.call("app3", tuning=[DRIFTED], drift=[DRIFTED["reason"]])
    with pytest.raises(AnsibleActionFail, match="app3: hsi0 is not as requested"):
        play.judge("app2", "verifying")
    play.call("app2", "app3", tuning=[CHANGED])
    with pytest.raises(AnsibleActionFail):
        play.step("stopped", "app2")
    assert play.values(2) == {"app2": "taken back", "app3": "taken back"}
    assert play.batch(2)["reasons"] == ["app3: hsi0 is not as requested"]
    assert play.values(3) == {"app4": "unchanged"}


def test_a_value_that_waits_for_a_restart_is_no_drift(play: Play) -> None:
    waiting = {**DRIFTED, "verdict": "pending_restart"}
    play.plan()
    play.begin("app1")
    play.call("app1", tuning=[waiting], drift=[waiting["reason"]])
    play.judge("app1", "preflight", "applying", "verifying", "confirming")
    assert play.batch(1)["state"] == "good"


def test_a_lost_host_stops_the_batch_and_its_values_are_unknown(play: Play) -> None:
    play.plan()
    play.good("app1")
    play.begin("app2", "app3")
    play.call("app2", "app3")
    play.judge("app2", "preflight")
    play.alive.remove("app3")
    with pytest.raises(AnsibleActionFail, match="app3: could not be reached"):
        play.judge("app2", "applying")
    play.call("app2", tuning=[CHANGED])
    with pytest.raises(AnsibleActionFail):
        play.step("stopped", "app2")
    assert play.values(2) == {"app2": "taken back", "app3": "unknown"}
    closing.close(play.folder, CHANGE, {"app3": "No route to host", "app2": "the rollout stopped"}, "", action.stamp())
    assert play.batch(2)["reasons"] == ["app3: No route to host"]
    assert play.batch(2)["hosts"]["app3"]["reasons"] == ["No route to host"]


@pytest.mark.parametrize(
    "result, reason",
    [
        ({"errors": ["rps: the disk is full"]}, "rps: the disk is full"),
        ({"unreachable": True}, gates.LOST),
        ({}, "the call failed"),
    ],
)
def test_values_that_cannot_be_taken_back_are_unknown_with_the_reason(
    play: Play, result: dict[str, Any], reason: str
) -> None:
    play.plan()
    play.begin("app1")
    play.call("app1")
    play.judge("app1", "preflight", "applying")
    play.call("app1", tuning=[DRIFTED], drift=[DRIFTED["reason"]])
    with pytest.raises(AnsibleActionFail):
        play.judge("app1", "verifying")
    play.call("app1", **result)
    play.hosts["app1"]["__rollout_error"] = {"stage": "stopped", "reason": "the call failed"}
    with pytest.raises(AnsibleActionFail):
        play.step("stopped")
    assert play.values(1) == {"app1": "unknown"}
    assert play.batch(1)["hosts"]["app1"]["reasons"] == [DRIFTED["reason"], reason]


def test_a_host_that_fails_for_all_in_a_gate_is_not_lost(play: Play) -> None:
    """Ansible then takes it out of the hosts of the play, although it comes to the rescue."""
    play.plan()
    play.good("app1")
    play.begin("app2", "app3")
    play.call("app2", "app3")
    play.judge("app2", "preflight", "applying")
    play.hosts["app2"]["__rollout_error"] = {"stage": "verifying", "reason": "the module crashed"}
    with pytest.raises(AnsibleActionFail, match="app2: the module crashed"):
        play.judge("app2", "verifying")
    play.alive = ["app4"]
    play.call("app2", "app3", tuning=[CHANGED])
    with pytest.raises(AnsibleActionFail):
        play.step("stopped", "app2")
    assert play.values(2) == {"app2": "taken back", "app3": "taken back"}


def test_a_batch_may_be_left_as_it_is(play: Play) -> None:
    play.plan(on_failure="leave")
    play.begin("app1")
    play.call("app1")
    play.judge("app1", "preflight", "applying")
    play.call("app1", tuning=[DRIFTED], drift=[DRIFTED["reason"]])
    with pytest.raises(AnsibleActionFail):
        play.judge("app1", "verifying")
    play.call("app1")
    with pytest.raises(AnsibleActionFail):
        play.step("stopped")
    assert play.values(1) == {"app1": "confirmed"}


def test_outside_the_window_no_batch_begins(play: Play) -> None:
    play.plan(not_after="2026-01-01 00:00")
    with pytest.raises(AnsibleActionFail, match="^Stopped before batch 1 of 3: "):
        play.begin("app1")
    assert play.values(1) == {"app1": "unchanged"}
    play.ended()
    assert (play.kept["result"], play.batch(1)["attempt"]) == ("stopped", 0)
    assert play.kept["headline"].startswith("Stopped before batch 1 of 3: ")
    assert play.plan()["order"] == HOSTS  # the window is no part of the plan


def test_a_second_start_goes_on_after_the_last_good_batch(play: Play) -> None:
    play.plan()
    play.good("app1")
    play.begin("app2", "app3")
    play.call("app2", "app3")
    play.judge("app2", "preflight", "applying")
    play.killed()
    decided = play.plan()
    assert (decided["order"], decided["sizes"]) == (["app2", "app3", "app4"], [2, 1])
    begun = play.begin("app2", "app3")
    assert (begun["again"], begun["measurement"]) == (True, f"{CHANGE}-batch-2-2")
    assert set(play.values(2).values()) == {"unknown"}
    play.alive.remove("app3")
    with pytest.raises(AnsibleActionFail):
        play.judge("app2", "preflight")
    assert play.values(2) == {"app2": "unchanged", "app3": "unknown"}


def test_a_second_start_with_other_values_is_refused(play: Play) -> None:
    play.plan()
    play.good("app1")
    play.ended()
    play.hosts["app3"]["rps_cpus"] = "0-3"
    with pytest.raises(AnsibleActionFail, match="another plan: the wanted values of app3 are others"):
        play.plan()


def test_a_second_start_beside_a_running_one_is_refused(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    play.plan()
    monkeypatch.setattr(action.state, "alive", lambda pid: pid == os.getppid())
    with pytest.raises(AnsibleActionFail, match="is running"):
        play.plan()


def test_if_all_hosts_of_a_batch_are_lost_the_end_of_the_run_ends_the_batch(play: Play) -> None:
    play.plan()
    play.begin("app1")
    assert play.batch(1)["state"] == "running"
    path = closing.close(play.folder, CHANGE, {"app1": "No route to host"}, "results/rollout/1", action.stamp())
    batch = play.batch(1)
    assert (batch["state"], batch["reasons"]) == ("stopped", ["app1: No route to host"])
    assert (batch["hosts"]["app1"]["outcome"], batch["hosts"]["app1"]["values"]) == ("lost", "unchanged")
    assert play.kept["runs"][-1]["evidence"] == "results/rollout/1"
    assert path.endswith("rollout.html")
    assert closing.close(play.folder / "elsewhere", CHANGE, {}, "", action.stamp()) == ""
