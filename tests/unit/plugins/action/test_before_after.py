# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action before_after: one plan for a play, when it ends, and how a change is continued."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import experiment as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._sessions import schedules, states
from records_factory import Plan, change_tunings, make_change, write_change

CHANGE = "rps-2026-11"
BETTER = Plan(effect=-0.10)
NOISY = Plan(session_noise=0.06)


def ready(host: str, *peers: str, **more: Any) -> dict[str, Any]:
    """What measurement_check says of a host."""
    return {
        **{"host": host, "measures": bool(peers), "peers": [*peers], "rounds": 6, "most": 16, "minutes": 0.0},
        **{"runs": 5, "throttle": 1, "seconds": 10.0, "calibration": "calibration"},
        "workloads": [{"name": "niping", "tasks": "niping"}] if peers else [],
        **more,
    }


TUNED = {"tunings": ["rps"]}
PLAY = {"app1": ready("app1", "app2", **TUNED), "app2": ready("app2", "app1", **TUNED)}
BEGUN = {"rounds": 6, "most": 16, "minutes": 0.0, "session": 1, "done": 0, "last": 0}


def run(
    folder: Path, event: str, host: str = "app1", hosts: dict[str, dict[str, Any]] | None = None, **arguments: Any
) -> dict[str, Any]:
    """The action on a host; ``hosts``: the variables of the hosts of the play."""
    variables = hosts or {name: {"__measure_ready": found} for name, found in PLAY.items()}
    given = {"event": event, "change": CHANGE, "results": str(folder), **arguments}
    play = {"inventory_hostname": host, "ansible_play_batch": list(variables), "hostvars": variables}
    return run_action(action, given, variables={**variables[host], **play}, role="before_after")


def measured(folder: Path, plan: Plan = BETTER, session: int = 1, first: int = 1, **ends: Any) -> None:
    """Records as the role leaves them, those of the second session two hours later; ``ends``: of the client."""
    records = list(make_change(plan))
    if session > 1:
        records = json.loads(json.dumps(records).replace("T10:", "T12:"))
    for record in records:
        record["round"] += first - 1
        record["protocol"]["session"] = session
        record["fingerprint"]["client"].update(ends)
    tunings = [{**file, "round": file["round"] + first - 1} for file in change_tunings(plan)]
    write_change(folder, records, tunings)


def planned(folder: Path, play: dict[str, dict[str, Any]] | None = None, **session: Any) -> dict[str, dict[str, Any]]:
    """The plans of all hosts of a play, which have no tuning unless they say so."""
    hosts = {}
    for name, item in (play or PLAY).items():
        tunings = item.get("tunings", [])
        hosts[name] = {
            "__measure_ready": item,
            "__session_mine": tunings,
            "__session_play": {"design": item.get("design", "auto")},
            "__session_found": {},
            "__session": {**BEGUN, **session},
        }
    return {name: run(folder, "planned", name, hosts, seed="s") for name in hosts}


def looked(
    folder: Path, step: int, behind: tuple[str, ...] = (), minutes: float = 0.0, **session: Any
) -> dict[str, Any]:
    """The look after a step, which ends a part of the session; the hosts ``behind`` have failed before."""
    hosts = {
        name: {
            "__session": {**plan, "at": time.time() - 60.0 * (step + 1)},
            # ansible-core 2.16 keeps a text
            "__session_held": {"step": "1" if name in behind else str(step)},
            "__session_play": {"hosts": [*PLAY]},
        }
        for name, plan in planned(folder, minutes=minutes, **session).items()
    }
    (part,) = [part for part in hosts["app1"]["__session"]["parts"] if part["end"] == step + 1]
    play = {"inventory_hostname": "app1", "ansible_play_batch": [*hosts], "hostvars": hosts}
    return run_action(action, {"event": "looked", "part": part}, variables={**hosts["app1"], **play})


def refused(folder: Path, event: str = "begun", **arguments: Any) -> str:
    with pytest.raises(AnsibleActionFail) as caught:
        run(folder, event, **arguments)
    return str(caught.value)


def test_hosts_have_orders_of_their_own_unless_they_measure_against_each_other(tmp_path: Path) -> None:
    play = {**PLAY, "web1": ready("web1", "db1"), "web2": ready("web2", "db1"), "db1": ready("db1")}
    plans = planned(tmp_path, play)
    orders = {name: [(step["phase"], step["round"]) for step in plan["steps"]] for name, plan in plans.items()}
    assert orders["app1"] == orders["app2"] != orders["web1"] != orders["web2"]
    assert [plans[name]["seed"] for name in play] == [f"s {first}" for first in ("app1", "app1", "web1", "web2", "db1")]
    # otherwise Ansible would run the steps of one host after those of another
    assert [plan["parts"] for plan in plans.values()] == [plans["app1"]["parts"]] * 5
    assert len({tuple(step["label"] for step in plan["steps"]) for plan in plans.values()}) == 1
    assert [part["end"] for part in plans["app1"]["parts"]] == [12, 16, 20, 24, 32]
    assert {plan["most"] for plan in plans.values()} == {16}


@pytest.mark.parametrize("database", [{"throttle": 2}, TUNED])
def test_a_peer_that_feels_the_change_joins_those_measuring_with_it(tmp_path: Path, database: dict[str, Any]) -> None:
    """Tuned itself, or loaded by several hosts at the same time."""
    play = {name: ready(name, "db1", **{**TUNED, **database}) for name in ("web1", "web2")}
    plans = planned(tmp_path, {**play, "db1": ready("db1", **database)})
    assert {plan["seed"] for plan in plans.values()} == {"s db1"}
    orders = [[(step["phase"], step["round"]) for step in plan["steps"]] for plan in plans.values()]
    assert orders[0] == orders[1] == orders[2]


def test_a_play_has_one_plan(tmp_path: Path) -> None:
    for name, variable in [
        ("rounds", "measure_rounds"),
        ("most", "measure_max_rounds"),
        ("minutes", "measure_max_minutes"),
    ]:
        hosts = {"app1": PLAY["app1"], "app2": {**PLAY["app2"], name: 99}}
        sentence = refused(tmp_path, hosts={host: {"__measure_ready": found} for host, found in hosts.items()})
        assert sentence.startswith(f"{variable} is {PLAY['app1'][name]} on app1 and 99 on app2: all hosts of a play")
    with pytest.raises(AnsibleActionFail, match="before_after_design is auto on app1 and blocks on app2"):
        planned(tmp_path, {**PLAY, "app2": {**PLAY["app2"], "design": "blocks"}})


def test_a_host_that_is_not_measured_is_not_tuned(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="app3 would be tuned and not measured: it has no measure_peer"):
        planned(tmp_path, {**PLAY, "app3": ready("app3", **TUNED)})


@pytest.mark.parametrize(
    ("restarts", "design", "steps"),
    [
        ([[("drifted", "none")]], "auto", 32),
        ([[]], "auto", 32),
        ([[("drifted", "instance")]], "auto", 12),
        ([[("drifted", "none"), ("drifted", "reboot")]], "auto", 12),
        ([[("not_applicable", "instance"), ("unsupported", "reboot")]], "auto", 32),
        ([[("drifted", "none")], [("drifted", "device")]], "auto", 12),
        ([[("drifted", "instance")]], "alternate", 32),
        ([[("drifted", "instance")]], "blocks", 12),
    ],
)
def test_states_take_turns_unless_something_waits_for_a_restart_or_a_design_is_named(
    tmp_path: Path, restarts: list[list[tuple[str, str]]], design: str, steps: int
) -> None:
    hosts = {
        f"app{at}": {
            "__measure_ready": PLAY["app1"],
            "__session_mine": ["rps"],
            "__session_play": {"design": design},
            "__session_found": answers(row("rps")),
            "__session": dict(BEGUN),
            "__tunings_result": {"tunings": {"rps": {}}, "tuning": [row("rps", *one) for one in rows]},
        }
        for at, rows in enumerate(restarts, 1)
    }
    plan = run(tmp_path, "planned", "app1", hosts, seed="s")
    assert (len(plan["steps"]), plan["design"]) == (steps, "alternate" if steps == 32 else "blocks")
    assert ("waits for a restart" in str(plan["warnings"])) is ((design, steps) == ("auto", 12))
    # blocks have no looks
    assert [part["end"] for part in plan["parts"]] == ([12] if steps == 12 else [12, 16, 20, 24, 32])


def test_a_certain_verdict_ends_the_measurement(tmp_path: Path) -> None:
    measured(tmp_path)
    result = looked(tmp_path, 11)
    assert result["over"] and result["msg"].startswith("6 rounds of each state: IMPROVED. ")
    # a host that failed keeps nobody from a verdict
    for path in (tmp_path / CHANGE / "app2").glob("*-[3-6]*"):
        path.unlink()
    assert looked(tmp_path, 11, behind=("app2",))["msg"].startswith("6 rounds of each state: IMPROVED. ")


def test_an_uncertain_one_goes_on(tmp_path: Path) -> None:
    measured(tmp_path, NOISY)
    result = looked(tmp_path, 11)
    assert not result["over"] and result["msg"].startswith("6 rounds of each state: INCONCLUSIVE. ")
    assert "2 more rounds of each state" in result["msg"]
    # 12 steps took 12 minutes, so the next look is 16 minutes after the beginning
    assert not looked(tmp_path, 11, minutes=16.1)["over"]
    result = looked(tmp_path, 11, minutes=15.5)
    assert result["over"] and "after 16 min (measure_max_minutes is 15.5)" in result["msg"]


def test_the_plan_in_words(tmp_path: Path) -> None:
    lines = planned(tmp_path)["app1"]["lines"]
    assert lines[0].startswith("At most 16 rounds of each state") and "after 6, 8, 10 or 12 if" in lines[0]
    assert lines[1].startswith("app1, app2: ") and lines[1].endswith(" and 20 more")
    assert lines[2].startswith("About 4 min to the first look and 11 min at most for 2 hosts")
    assert lines[3].endswith("ansible-playbook zpower.sap_tuning.calibrate") and len(lines) == 4
    calibrated(tmp_path)
    lines = planned(tmp_path)["app1"]["lines"]
    assert lines[3].startswith("6 rounds per state can show a change of 6")


def calibrated(folder: Path, **more: Any) -> None:
    spreads = {"runs_pct": 2.0, "rounds_pct": 1.0, "medians_pct": 1.5, "upper_pct": 2.0}
    one = {"pooled": spreads, "seconds_per_round": 10.0, "seconds_per_run": 1.0, "pointless": [], **more}
    found = {"schema": "zpower.sap_tuning/calibration/1", "change": "calibration", "hosts": {"app1": one, "app2": one}}
    (folder / "calibration").mkdir(exist_ok=True)
    (folder / "calibration" / "calibration.json").write_text(json.dumps({**found, "site": {"upper_pct": 2.0}}))


def test_a_pointless_measurement_is_refused(tmp_path: Path) -> None:
    calibrated(tmp_path)
    assert run(tmp_path, "begun")["session"] == 1
    calibrated(tmp_path, pointless=["The hypervisor took 20 % of the CPU time."])
    sentence = refused(tmp_path)
    assert "measuring on app1 is pointless" in sentence and "The hypervisor took 20 %" in sentence
    assert "-e before_after_force=true" in sentence
    assert run(tmp_path, "begun", force=True)["session"] == 1


def test_an_undecided_change_is_continued(tmp_path: Path) -> None:
    measured(tmp_path, NOISY)
    result = run(tmp_path, "begun", **{"continue": True})
    assert [result[name] for name in ("session", "done", "last", "most")] == [2, 6, 6, 16]
    plan = planned(tmp_path, session=2, done=6, last=6)["app1"]
    assert plan["seed"] == "s app1 session 2" and {step["session"] for step in plan["steps"]} == {2}
    # the first step alone, because it may show another machine
    assert [(part["rounds"], part["end"]) for part in plan["parts"]] == [(0, 1), (8, 4), (10, 8), (12, 12), (16, 20)]
    assert {step["round"] for step in plan["steps"]} == set(range(7, 17))
    phases = [step["phase"] for step in plan["steps"]]
    assert phases != [step["phase"] for step in schedules.steps("alternate", "s app1", 16, 6, 6)]
    with pytest.raises(AnsibleActionFail, match="cannot be continued in blocks"):
        planned(tmp_path, {name: {**item, "design": "blocks"} for name, item in PLAY.items()}, session=2)
    # a round without its partner keeps its number
    for path in (tmp_path / CHANGE).glob("*/before-6-*"):
        path.unlink()
    result = run(tmp_path, "begun", **{"continue": True})
    assert (result["done"], result["last"]) == (5, 6)


@pytest.mark.parametrize(
    ("plan", "app1", "words"),
    [
        (None, {}, "has no records, so there is nothing to continue"),
        (BETTER, {}, "needs no more rounds, it is IMPROVED: "),
        (replace(NOISY, design="blocks"), {}, "was measured in blocks and cannot be continued"),
        (NOISY, {"peers": ["app3"]}, "its peers of app1 were app2, now app3"),
        (NOISY, {"runs": 9}, "its measure_runs of app1 were 5, now 9"),
        (
            NOISY,
            {"workloads": [{"name": "network", "tasks": "network"}]},
            "its workloads of app1 were niping, now network",
        ),
        (NOISY, {"measures": False}, "its hosts were app1, app2, now app2"),
    ],
)
def test_it_is_said_what_cannot_be_continued(
    tmp_path: Path, plan: Plan | None, app1: dict[str, Any], words: str
) -> None:
    if plan:
        measured(tmp_path, plan)
    hosts = {name: {"__measure_ready": found} for name, found in PLAY.items()}
    hosts["app1"] = {"__measure_ready": {**PLAY["app1"], **app1}}
    sentence = refused(tmp_path, hosts=hosts, **{"continue": True})
    assert words in sentence
    assert "; use the same again" in sentence or not app1
    if plan == BETTER:
        assert run(tmp_path, "begun", **{"continue": True, "force": True})["session"] == 2


def test_rounds_of_another_machine_are_set_aside(tmp_path: Path) -> None:
    measured(tmp_path, NOISY)
    old = sorted(path.relative_to(tmp_path) for path in tmp_path.glob("*/*/*.json"))
    again = {"session": 2, "done": 6, "last": 6}
    one = replace(NOISY, rounds=1)
    measured(tmp_path, one, session=2, first=7)
    result = looked(tmp_path, 0, **again)
    # a step that is not the end of a block says nothing, if the machine is the same
    assert not result["over"] and (result["msg"], result["unlike"]) == ("", "")
    for path in tmp_path.glob("*/*/*-7*.json"):
        path.unlink()
    for _time in (1, 2):
        measured(tmp_path, one, session=2, first=7, kernel="6.12")
        result = looked(tmp_path, 0, **again)
        assert result["over"] and result["changed"]
        assert "app1 with app2, workload pingpong-1000B: client.kernel was 6.4.0-150600 and is 6.12" in result["unlike"]
        assert sorted(path.relative_to(tmp_path) for path in tmp_path.glob("*/*/*.json")) == old
    # nothing is lost, not even the second time
    aside = [name for name in os.listdir(tmp_path / CHANGE) if name.startswith("unfinished-2")]
    assert len(aside) == 2 * len([*make_change(one), *change_tunings(one)])
    assert record_files.load_change(tmp_path, CHANGE).problems == []
    # other values of a tuning are another machine
    measured(tmp_path, one, session=2, first=7)
    for path in tmp_path.glob("*/app1/tunings-after-7.json"):
        path.write_text(path.read_text().replace("0000ffff", "0000000f"))
    assert "was not the same in all rounds of the state after" in looked(tmp_path, 0, **again)["unlike"]


def row(name: str, verdict: str = "compliant", restart: str = "none") -> dict[str, str]:
    return {"name": name, "subject": "x", "verdict": verdict, "restart": restart, "reason": ""}


def answers(*rows: dict[str, str]) -> dict[str, Any]:
    """The result of a call of tunings that had these rows."""
    called = {item["name"]: {"changed": item["verdict"] == "drifted"} for item in rows}
    return {"tunings": called, "tuning": list(rows), "deferred": []}


def test_tunings_of_the_second_call_of_a_host_count() -> None:
    """Tunings that another host comes before are in another result, and older results of them may be in the first."""
    first = {**answers(row("rps"), row("sap_profile", "drifted")), "deferred": ["sap_profile"]}
    later = answers(row("sap_profile"))
    for then, untouched in [
        (later, ["rps", "sap_profile"]),
        ({"skipped": True, "changed": False}, ["rps"]),
        (None, ["rps"]),
    ]:
        known = {"__tunings_result": first, **({"__tunings_later": then} if then else {})}
        assert states.compliant(["rps", "sap_profile", "smc_r"], known) == untouched


LEFT = {
    # (final state, whether only a checkpoint leads back, both measured): (tunings back, to the checkpoint, tunings set)
    ("tuned", False, True): ([], False, ["rps", "smc_r"]),
    ("tuned", True, True): (["rps", "smc_r"], True, ["rps", "smc_r"]),
    ("restored", False, True): (["rps", "smc_r"], False, []),
    # to the first values, and the checkpoint goes with them
    ("restored", True, True): (["rps", "smc_r"], False, []),
    ("tuned", False, False): (["smc_r"], False, ["rps"]),
    ("restored", False, False): (["smc_r"], False, ["rps"]),
    ("tuned", True, False): (["rps", "smc_r"], True, []),
    ("restored", True, False): (["rps", "smc_r"], True, []),
}


@pytest.mark.parametrize(("final", "checkpoint", "both"), list(LEFT))
def test_a_host_ends_in_its_final_state_or_as_found(tmp_path: Path, final: str, checkpoint: bool, both: bool) -> None:
    session = {"tunings": ["rps", "smc_r"], "tuned": ["rps"], "untouched": ["smc_r"]}
    session |= {"partners": ["app1"], "steps": [{"phase": "before"}, {"phase": "after"}]}
    session |= {"checkpoint": CHANGE if checkpoint else ""}
    hosts = {"app1": {"__session": session, "__session_held": {"step": int(both)}}}
    result = run(tmp_path, "ended", hosts=hosts, final=final)
    back, to_checkpoint, set_ = LEFT[final, checkpoint, both]
    assert result["succeeded"] is both
    assert (result["back"], result["checkpoint"], result["set"]) == (back, CHANGE if to_checkpoint else "", set_)
