# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action rollout: the plan of a play, its batches, where it stops and how it goes on."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.zpower.sap_tuning.plugins.action import rollout as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import trusted
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import keeping, stages
from rollout_play import CHANGE, CHANGED, DRIFTED, HOSTS, Play
from sites import COMPLIANT, FAILED, Site


@pytest.fixture(name="play")
def fixture_play(tmp_path: Path) -> Play:
    return Play(tmp_path)


def in_batch_2(play: Play) -> None:
    """A rollout whose second batch is set."""
    play.plan()
    play.good("app1")
    play.apply("app2", "app3")


def stages_of(begun: dict[str, Any]) -> list[str]:
    return [stage["name"] for stage in begun["stages"]]


def stopped(play: Play, host: str, stage: str = "verifying", match: str | None = None) -> None:
    """A gate stops the batch, and the play comes to the rescue."""
    with pytest.raises(AnsibleActionFail, match=match):
        play.judge(host, stage)


def rescued(play: Play, host: str, *others: str, match: str | None = None, **result: Any) -> None:
    """What the rescue of a batch has found on these hosts."""
    play.call(host, *others, **result)
    with pytest.raises(AnsibleActionFail, match=match):
        play.step("stopped", host)


def test_the_plan_gives_the_order_and_the_sizes_of_the_batches(play: Play) -> None:
    # check mode shows the same plan and keeps nothing
    assert play.plan(check=True)["sizes"] == [1, 2, 1]
    assert stages_of(play.begin("app1", check=True)) == ["preflight", "applying"]
    assert not list(play.folder.iterdir())
    decided = play.plan()
    assert (decided["order"], decided["sizes"]) == (HOSTS, [1, 2, 1])
    assert play.kept["result"] == "running"
    assert play.kept["plan"]["tunings"] == {host: ["rps"] for host in HOSTS}


def test_what_the_task_leaves_out_are_the_variables_of_the_role(play: Play) -> None:
    for host in HOSTS:
        play.hosts[host].update(trusted({"rollout_canaries": "app4", "rollout_batches": [3], "rollout_soak": "10m"}))
    play.options = {}
    decided = play.plan()
    assert (decided["order"], decided["sizes"]) == (["app4", "app1", "app2", "app3"], [1, 3])
    assert play.kept["plan"]["soak_s"] == 600


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"change": ""}, "rollout_change is not set"),
        ({"soak": "soon"}, "rollout_soak is 'soon'; it must be seconds, or a duration"),
        ({"soak": "2h", "confirm_within": "1h"}, "a time that is longer than the soak"),
        ({"soak": "2h", "confirm_within": "8d"}, "probation for at most 7d"),
        ({"canaries": "app9"}, "app9"),
        ({"time_zone": "Mars/Olympus"}, "Mars/Olympus"),
    ],
)
def test_a_mistake_gets_one_sentence_before_anything_is_kept(
    play: Play, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(AnsibleActionFail, match=re.escape(sentence)):
        play.plan(**options)
    play.hosts["app3"]["zpower_tunings"] = ["rsp"]
    with pytest.raises(AnsibleActionFail, match="^app3: there is no tuning 'rsp'"):
        play.plan()
    assert not list(play.folder.iterdir())


def test_the_guard_needs_a_name_that_has_room_for_the_batches(play: Play) -> None:
    assert play.plan(change="c" * 64)["order"] == HOSTS
    with pytest.raises(AnsibleActionFail, match=r"^rollout_change with the name of a batch is 'c{50,}.*at most 64"):
        play.plan(guard=True, change="c" * 60)


def test_the_guard_needs_a_peer_in_each_batch(play: Play) -> None:
    for host in HOSTS[:3]:
        play.hosts[host]["measure_peer"] = "db1"
    with pytest.raises(AnsibleActionFail, match=r"no host of batch 3 \(app4\) has a measure_peer"):
        play.plan(guard=True)
    play.hosts["app4"]["measure_peer"] = "db1"
    assert play.plan(guard=True)["sizes"] == [1, 2, 1]
    assert stages_of(play.begin("app1")) == [
        *("preflight", "measuring before", "applying", "verifying", "measuring after", "confirming")
    ]
    with pytest.raises(AnsibleActionFail, match=r"report_material_pct 50; .* \(was: .*_pct 5; "):
        play.plan(guard=True, material_pct=50)


@pytest.mark.parametrize(
    "name, value, told",
    [
        ("report_material_pct", 10, "report_material_pct is 5.0 on app1 and 10 on app3"),
        ("report_expected_change", ["kernel"], r"report_expected_change is \[\] on app1 and \['kernel'\] on app3"),
    ],
)
def test_the_guard_wants_the_same_limits_for_all_hosts(play: Play, name: str, value: object, told: str) -> None:
    for host in HOSTS:
        play.hosts[host]["measure_peer"] = "db1"
    play.hosts["app3"][name] = value
    with pytest.raises(AnsibleActionFail, match=f"^rollout_guard is set, and {told}: give all hosts of the play"):
        play.plan(guard=True)
    assert not list(play.folder.iterdir())
    assert play.plan()["sizes"] == [1, 2, 1], "without a guard nothing is measured"
    for host, same in zip(HOSTS, (5, 5.0, "5", "{{ 5 }}"), strict=True):
        play.hosts[host].update(trusted({"report_material_pct": same, "report_expected_change": []}))
    play.ended()
    assert play.plan(guard=True, change="the-same")["sizes"] == [1, 2, 1]


@pytest.mark.parametrize("tags, skipped", [(("rps",), ()), (("all",), ("rps",)), (("all",), ("always",))])
def test_tags_are_refused_except_those_of_other_tasks(
    play: Play, tags: tuple[str, ...], skipped: tuple[str, ...]
) -> None:
    play.tags, play.skipped = tags, skipped
    with pytest.raises(AnsibleActionFail, match="a rollout does not support --tags"):
        play.plan()
    play.tags, play.skipped = ("all",), ("notest",)
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
    stopped(play, "app1", "preflight", "^batch 1 stops after preflight: app1: the file system of /var/lib")
    rescued(play, "app1", match="Batch 1 of 3 stopped")
    assert play.values(1) == {"app1": "unchanged"}
    assert play.kept["result"] == "stopped"


def test_drift_after_the_soak_rolls_the_batch_back(play: Play) -> None:
    in_batch_2(play)
    assert set(play.values(2).values()) == {"probation"}
    play.call("app3", tuning=[DRIFTED], drift=[DRIFTED["reason"]])
    stopped(play, "app2", match="app3: hsi0 is not as requested")
    rescued(play, "app2", "app3", tuning=[CHANGED])
    assert play.values(2) == {"app2": "taken back", "app3": "taken back"}
    assert play.batch(2)["reasons"] == ["app3: hsi0 is not as requested"]
    assert play.values(3) == {"app4": "unchanged"}


def test_a_value_that_waits_for_a_restart_is_not_drift(play: Play) -> None:
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
    stopped(play, "app2", "applying", "app3: could not be reached")
    rescued(play, "app2", tuning=[CHANGED])
    assert play.values(2) == {"app2": "taken back", "app3": "unknown"}
    play.close({"app3": "No route to host", "app2": "the rollout stopped"}, "")
    assert play.batch(2)["reasons"] == ["app3: No route to host"]
    assert play.batch(2)["hosts"]["app3"]["reasons"] == ["No route to host"]


@pytest.mark.parametrize(
    "result, later, reasons",
    [
        ({"errors": ["rps: full"]}, {}, ["rps: full"]),
        ({"errors": ["rps: full"]}, {"failed": True, "failing": ["smc: no", "rps: full"]}, ["rps: full", "smc: no"]),
        ({"unreachable": True}, {}, [stages.LOST]),
        ({}, {}, ["the call failed"]),
    ],
)
def test_values_that_cannot_be_rolled_back_are_unknown_with_the_reason(
    play: Play, result: dict[str, Any], later: dict[str, Any], reasons: list[str]
) -> None:
    play.plan()
    play.apply("app1")
    play.call("app1", tuning=[DRIFTED], drift=[DRIFTED["reason"]])
    stopped(play, "app1")
    play.hosts["app1"]["__rollout_error"] = {"stage": "stopped", "reason": "the call failed"}
    play.hosts["app1"]["__tunings_later"] = later
    rescued(play, "app1", **result)
    assert play.values(1) == {"app1": "unknown"}
    assert play.batch(1)["hosts"]["app1"]["reasons"] == [DRIFTED["reason"], *reasons]


def test_a_host_that_fails_for_all_in_a_gate_is_not_lost(play: Play) -> None:
    """Ansible then takes it out of the hosts of the play, although it comes to the rescue."""
    in_batch_2(play)
    play.hosts["app2"]["__rollout_error"] = {"stage": "verifying", "reason": "the module crashed"}
    stopped(play, "app2", match="app2: the module crashed")
    play.alive = ["app4"]
    rescued(play, "app2", "app3", tuning=[CHANGED])
    assert play.values(2) == {"app2": "taken back", "app3": "taken back"}


def test_a_batch_may_be_left_as_it_is(play: Play) -> None:
    play.plan(on_failure="leave")
    play.apply("app1")
    play.call("app1", tuning=[DRIFTED], drift=[DRIFTED["reason"]])
    stopped(play, "app1")
    rescued(play, "app1")
    assert play.values(1) == {"app1": "confirmed"}
    assert play.kept["headline"].endswith("0 of 4 hosts are confirmed, 1 left in force, 3 unchanged.")
    # the next attempt takes back a probation only
    play.ended()
    play.plan(on_failure="leave")
    play.begin("app1")
    play.call("app1", errors=["rps: no"])
    stopped(play, "app1", "preflight")
    rescued(play, "app1")
    assert play.values(1) == {"app1": "confirmed"} and "1 left in force" in play.kept["headline"]
    page = (play.folder / "rollouts" / CHANGE / "rollout.md").read_text()
    assert "Batch 1 keeps the new values on app1. To take these hosts back" in page


@pytest.mark.parametrize(("changed", "values"), [((), "confirmed"), ((CHANGED,), "taken back")])
def test_what_an_earlier_attempt_confirmed_is_not_called_taken_back(
    play: Play, changed: tuple[Any, ...], values: str
) -> None:
    in_batch_2(play)
    play.judge("app2", "verifying")
    play.alive.remove("app3")
    stopped(play, "app2", "confirming", match="app3: could not be reached")
    rescued(play, "app2")
    assert play.values(2) == {"app2": "confirmed", "app3": "unknown"}
    play.alive.append("app3")
    play.ended()
    play.plan()
    play.begin("app2", "app3")
    play.call("app2", "app3")
    play.judge("app2", "preflight")
    play.call("app2", tuning=[*changed])
    play.judge("app2", "applying")
    play.call("app3", drift=[DRIFTED["reason"]])
    stopped(play, "app2")
    rescued(play, "app2", "app3")
    assert play.values(2) == {"app2": values, "app3": "taken back"}


@pytest.mark.parametrize(("guard", "hours"), [(False, 1), (True, 2)])
def test_a_probation_of_auto_outlasts_the_soak_and_a_measurement_of_the_guard(
    play: Play, guard: bool, hours: int
) -> None:
    for host in HOSTS:
        play.hosts[host]["measure_peer"] = "app9"
    play.plan(soak="30m", guard=guard, confirm_within="auto")
    assert play.kept["plan"]["confirm_within_s"] == 30 * 60 + hours * 3600


def test_outside_the_window_no_batch_begins(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(Display(), "warning", said.append)
    # check mode warns and goes on
    play.plan(check=True, not_after="2026-01-01 00:00")
    assert stages_of(play.begin("app1", check=True)) == ["preflight", "applying"]
    (warning,) = said
    assert warning.startswith("batch 1 would not begin now: ") and "The change window closed" in warning
    assert not list(play.folder.iterdir())
    play.plan(not_after="2026-01-01 00:00")
    with pytest.raises(AnsibleActionFail, match="^Stopped before batch 1 of 3: "):
        play.begin("app1")
    assert play.values(1) == {"app1": "unchanged"}
    play.ended()
    assert (play.kept["result"], play.batch(1)["attempt"]) == ("stopped", 0)
    assert play.kept["headline"].startswith("Stopped before batch 1 of 3: ")
    assert play.plan()["order"] == HOSTS  # the window is not part of the plan


def test_a_batch_that_has_begun_goes_on_when_the_window_closes(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = action.now() + timedelta(minutes=1)
    play.plan(not_after=f"{soon:%Y-%m-%d %H:%M:%S}")
    play.begin("app1")
    monkeypatch.setattr(action, "now", lambda: soon + timedelta(hours=1))
    play.call("app1")
    play.judge("app1", "preflight", "applying")
    assert play.batch(1)["state"] == "running"
    with pytest.raises(AnsibleActionFail, match="The change window closed"):
        play.begin("app2", "app3")


def test_a_second_start_continues_after_the_last_good_batch(play: Play) -> None:
    in_batch_2(play)
    play.killed()
    decided = play.plan()
    assert (decided["order"], decided["sizes"]) == (["app2", "app3", "app4"], [2, 1])
    begun = play.begin("app2", "app3")
    assert [(one["name"], one["call"]) for one in begun["stages"][:2]] == [
        ("preflight", {"zpower_rollback": True}),
        ("preflight", {"zpower_confirm_within": ""}),
    ]
    assert begun["measurement"] == f"{CHANGE}-batch-2-2"
    assert set(play.values(2).values()) == {"unknown"}
    play.alive.remove("app3")
    stopped(play, "app2", "preflight")
    assert play.values(2) == {"app2": "unchanged", "app3": "unknown"}


DEAD = {"host": "app3", "owner": "Ada Byron", "reason": "a new machine comes in May"}
WHY = "left out by Ada Byron: a new machine comes in May"


def test_a_dead_host_is_left_out_and_the_rollout_goes_on_to_its_end(play: Play) -> None:
    play.plan()
    play.good("app1")
    play.begin("app2", "app3")
    play.alive.remove("app3")
    play.call("app2")
    stopped(play, "app2", "preflight", "app3: could not be reached")
    rescued(play, "app2")
    play.ended()
    result = play.step("planned", **play.options, leave_out=[DEAD])
    assert f"    app3: {WHY}" in result["lines"] and result["rollout"]["left_out"] == {"app3": WHY}
    play.hosts["localhost"]["ansible_facts"] = result["ansible_facts"]
    decided = result["ansible_facts"]["__rollout_plan"]
    assert (decided["order"], decided["sizes"]) == (["app2", "app4"], [1, 1])
    play.good("app2")
    assert play.batch(2)["state"] == "good"
    left_out = play.batch(2)["hosts"]["app3"]
    assert left_out == {"outcome": "left out", "values": "unchanged", "changed": 0, "reasons": [WHY]}
    assert play.kept["headline"].endswith("2 of 4 hosts are confirmed, 1 unchanged, 1 left out.")
    play.ended()
    assert play.plan()["order"] == ["app4"], "it stays left out without the variable, too"
    play.good("app4")
    assert play.kept["result"] == "complete"
    assert play.kept["headline"] == "All 3 hosts in 3 batches are confirmed. 1 host left out."
    for name in ("rollout.html", "rollout.md"):
        assert "a new machine comes in May" in (play.folder / "rollouts" / CHANGE / name).read_text()


def test_a_batch_of_only_left_out_hosts_is_over(play: Play) -> None:
    play.plan(leave_out=[{**DEAD, "host": "app1"}])
    assert play.batch(1)["state"] == "good" and play.batch(1)["hosts"]["app1"]["values"] == "unchanged"
    assert "0 of 4 hosts are confirmed" in play.kept["headline"] and "1 left out" in play.kept["headline"]
    play.good("app2", "app3")
    play.ended()
    assert play.plan(leave_out=[{**DEAD, "host": "app4"}])["order"] == ["!all"]
    assert play.kept["headline"] == "All 2 hosts in 3 batches are confirmed. 2 hosts left out."


def test_a_lost_controller_says_nothing_about_hosts_that_were_left_out(play: Play) -> None:
    play.plan(leave_out=[DEAD])
    play.good("app1")
    play.begin("app2")
    play.close({"app2": "No route to host"}, "")
    assert play.batch(2)["reasons"] == ["app2: No route to host"]
    assert play.batch(2)["hosts"]["app3"]["outcome"] == "left out"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("app3", ", entry 1 is 'app3'; it must be an object with host, owner, reason"),
        ({**DEAD, "owner": " "}, ", entry 1 is an object; it must be an object with host, owner, reason"),
        ({**DEAD, "until": "2027"}, ", entry 1 is an object; it must be an object with host, owner, reason"),
        ({**DEAD, "host": "app17"}, f" names 'app17', which is not a host of rollout {CHANGE}"),
        ({**DEAD, "host": "app1"}, " names 'app1', which is confirmed already"),
    ],
)
def test_what_cannot_be_left_out(play: Play, given: Any, words: str) -> None:
    play.plan()
    play.good("app1")
    play.ended()
    before = play.kept
    with pytest.raises(AnsibleActionFail, match=f"rollout_leave_out{words}"):
        play.plan(leave_out=[given])
    assert play.kept == before


def test_a_second_start_beside_a_running_one_or_with_other_values_is_refused(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    play.plan()
    with monkeypatch.context() as patch:
        patch.setattr(action.state, "alive", lambda pid: pid == os.getppid())
        with pytest.raises(AnsibleActionFail, match="is running"):
            play.plan()
    play.good("app1")
    play.ended()
    play.hosts["app3"]["rps_cpus"] = "0-3"
    with pytest.raises(AnsibleActionFail, match="another plan: the wanted values of app3 are others"):
        play.plan()


def test_if_all_hosts_of_a_batch_are_lost_the_end_of_the_run_ends_the_batch(play: Play) -> None:
    play.plan()
    play.begin("app1")
    assert play.batch(1)["state"] == "running"
    path = play.close({"app1": "No route to host"}, "results/rollout/1")
    batch = play.batch(1)
    assert (batch["state"], batch["reasons"]) == ("stopped", ["app1: No route to host"])
    assert (batch["hosts"]["app1"]["outcome"], batch["hosts"]["app1"]["values"]) == ("lost", "unchanged")
    assert play.kept["runs"][-1]["evidence"] == "results/rollout/1"
    assert path.endswith("rollout.html")
    assert keeping.close(play.folder / "elsewhere", CHANGE, "r1", {}, "", action.stamp()) == ""


@pytest.mark.gate
def test_no_host_goes_on_before_the_gate_whatever_ansible_cfg_says(tmp_path: Path) -> None:
    """With the strategy free a host would be set while others are in the preflight, and any_errors_fatal would call it
    lost."""
    site = Site(tmp_path, {"app1": COMPLIANT, "app2": FAILED})
    script = tmp_path / "python-app1"
    note = f'grep -o "_ansible_check_mode[^,]*" "$1" >>"{tmp_path}/calls"\ncat '
    script.write_text(script.read_text().replace("cat ", note, 1))
    site.environment |= {"ANSIBLE_STRATEGY": "free", "ANSIBLE_ANY_ERRORS_FATAL": "true"}
    status, said = site.play("zpower.sap_tuning.rollout", "-e", f"rollout_change={CHANGE}", "-e", "rollout_canaries=2")
    assert status == 2 and "Batch 1 of 1 stopped: app2: rps: the journal is broken. 0 of 2" in said
    # the preflight, and the call that takes back
    assert [line.rpartition(" ")[2] for line in (tmp_path / "calls").read_text().splitlines()] == ["true", "false"]


@pytest.mark.gate
@pytest.mark.parametrize(
    ("more", "flags"), [((), ["true", "false", "true", "false"]), (("--check",), ["true", "true"])], ids=str
)
def test_only_applying_and_confirming_change_a_host(tmp_path: Path, more: tuple[str, ...], flags: list[str]) -> None:
    """The check mode of each stage is a template."""
    site = Site(tmp_path, {"app1": COMPLIANT})
    script = tmp_path / "python-app1"
    note = f'grep -o "_ansible_check_mode[^,]*" "$1" >>"{tmp_path}/calls"\ncat '
    script.write_text(script.read_text().replace("cat ", note, 1))
    status, said = site.play("zpower.sap_tuning.rollout", "-e", f"rollout_change={CHANGE}", *more)
    assert status == 0, said
    assert [line.rpartition(" ")[2] for line in (tmp_path / "calls").read_text().splitlines()] == flags
