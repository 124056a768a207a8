# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action experiment: a plan that is made once, gone on with, refused where it differs, decided and ended."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import experiment as action
from ansible_collections.zpower.sap_tuning.plugins.action import measurement_report
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment import plans
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import steps as planned_steps
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._sessions import levels
from experiments import CHANGE, HOSTS, POLARIZATION, RPS, make_plan, make_records, make_tunings
from records_factory import write_change

STEPS = planned_steps(make_plan())
BETTER = {"all": -0.05, "every-2": -0.12, "every-4": -0.25}


def run(
    folder: Path,
    check: bool = False,
    alive: tuple[str, ...] = HOSTS,
    errors: Mapping[str, str] = MappingProxyType({}),
    **arguments: Any,
) -> dict[str, Any]:
    """The action as a task of a play would call it; ``errors``: why hosts left the measurement."""
    given = {"change": CHANGE, "results": str(folder), **arguments}
    hosts = {host: {"__session_error": errors.get(host, "")} for host in alive}
    result = run_action(action, given, check, {"ansible_play_batch": list(alive), "hostvars": hosts})
    json.dumps(result)
    return result


def planned(folder: Path, **more: Any) -> dict[str, Any]:
    return run(folder, **{"factors": [RPS], "rounds": 8, **more})


def measured(
    folder: Path,
    done: Any = None,
    effects: Any = None,
    hosts: tuple[str, ...] = HOSTS,
    noise: float = 0.005,
    plan: dict[str, Any] | None = None,
) -> None:
    """The records of these steps on these hosts, as the role leaves them."""
    plan = plan or make_plan()
    made = make_records(plan, BETTER if effects is None else effects, done, noise)
    records = [item for item in made if item["host"] in hosts]
    write_change(folder, records, [item for item in make_tunings(plan, done) if item["host"] in hosts])


def on_disk(folder: Path) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads((folder / CHANGE / "experiment.json").read_text())
    return plan


def steps(result: dict[str, Any]) -> list[tuple[str, int]]:
    return [(step["phase"], step["round"]) for step in result["steps"]]


def test_a_new_plan_has_every_step_and_is_kept(tmp_path: Path) -> None:
    looked = planned(tmp_path, check=True)
    assert looked["changed"] and list(tmp_path.iterdir()) == []
    result = planned(tmp_path)
    assert result["changed"] and not result["resumed"]
    assert steps(result) == STEPS and result["plan"] == looked["plan"]
    assert result["steps"][0]["hosts"] == ["app1", "app2"]
    assert result["tunings"] == ["rps"] and result["remarks"] == []
    kept = on_disk(tmp_path)
    assert [session["hosts"] for session in kept["sessions"]] == [["app1", "app2"]]
    assert kept["order"] == result["plan"]["order"]


def test_a_step_that_set_nothing_is_not_rolled_back(tmp_path: Path) -> None:
    """The first step may follow a session that was interrupted; a level that is set is always taken back."""
    left = planned(tmp_path, factors=[POLARIZATION])["steps"]
    assert {step["phase"]: step["set"] for step in left} == {"found": [], "vertical": ["cpu_polarization"]}
    after = [["cpu_polarization"], *(step["set"] for step in left)]
    assert [step["back"] for step in left] == after[:-1] and [] in after


def test_too_few_rounds_are_reported_and_not_refused(tmp_path: Path) -> None:
    (remark,) = planned(tmp_path, rounds=6)["remarks"]
    assert "6 rounds are too few" in remark and "3 levels beside the baseline need 8" in remark
    assert planned(tmp_path, rounds=6, max_rounds=8)["remarks"] == []


def test_the_same_command_continues_after_what_is_measured_until_there_is_a_winner(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path, STEPS[:5])
    result = planned(tmp_path)
    assert result["resumed"] and steps(result) == STEPS[5:]
    assert result["msg"] == "5 of 32 steps are done"
    assert len(on_disk(tmp_path)["sessions"]) == 2
    measured(tmp_path)
    before = on_disk(tmp_path)
    result = planned(tmp_path)
    assert (result["changed"], result["steps"], on_disk(tmp_path)) == (False, [], before)
    # the winner comes with its variables
    result = run(tmp_path, event="decided")
    assert result["winner"] == "every-4"
    assert result["vars"] == {"rps_state": "present", "rps_every": 4}
    assert result["tunings"] == ["rps"]
    assert result["progress"] == {"done": 32, "steps": 32, "complete": True}
    assert run(tmp_path, event="decided", material_pct=50)["winner"] is None, "what is material is the user's choice"


def test_all_hosts_take_a_level_that_one_of_them_still_has_to_measure(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path, STEPS[:6], hosts=("app1",))
    measured(tmp_path, STEPS[:4], hosts=("app2",))
    result = planned(tmp_path)
    assert [step["hosts"] for step in result["steps"][:3]] == [["app2"], ["app2"], ["app1", "app2"]]
    # a step that was tuned and not measured is done again
    phase, number = STEPS[2]
    for path in (tmp_path / CHANGE / "app2").glob(f"{phase}-{number}-*"):
        path.unlink()
    first = planned(tmp_path)["steps"][0]
    assert (first["phase"], first["round"], first["hosts"]) == (phase, number, ["app2"])


def test_a_half_measured_step_is_set_aside_and_done_again(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path, STEPS[:5])
    phase, number = STEPS[4]
    folder = tmp_path / CHANGE
    (folder / "app1" / f"tunings-{phase}-{number}.json").unlink()
    there = {path.name: path.read_bytes() for path in (folder / "app1").glob(f"{phase}-{number}-*")}
    assert len(there) == 2
    assert planned(tmp_path, check=True)["changed"] and not list(folder.glob("unfinished-*"))
    result = planned(tmp_path)
    assert steps(result)[0] == STEPS[4] and result["steps"][0]["hosts"] == ["app1"]
    assert {
        path.name.removeprefix("unfinished-2-app1-"): path.read_bytes() for path in folder.glob("unfinished-*")
    } == there
    assert list((folder / "app1").glob(f"{phase}-{number}-*")) == []
    assert len(list((folder / "app2").glob(f"{phase}-{number}-*"))) == 2, "the other host has finished it"
    assert on_disk(tmp_path)["sessions"][1]["set_aside"] == 2


def test_nothing_is_set_aside_from_a_folder_that_became_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned(tmp_path)
    measured(tmp_path, STEPS[:5])
    phase, number = STEPS[4]
    host = tmp_path / CHANGE / "app1"
    (host / f"tunings-{phase}-{number}.json").unlink()
    true_set_aside = plans.set_aside

    def exchanged(*arguments: Any) -> int:
        host.rename(tmp_path / "away")
        host.symlink_to(tmp_path / "away")
        return true_set_aside(*arguments)

    monkeypatch.setattr(plans, "set_aside", exchanged)
    there = sorted((tmp_path / CHANGE / "app1").iterdir())
    with pytest.raises(AnsibleActionFail, match="symbolic link"):
        planned(tmp_path)
    assert sorted(path.name for path in (tmp_path / "away").iterdir()) == [path.name for path in there]


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"seed": 5}, "is already another experiment \\(its seed was .*, and is 5 now\\)"),
        ({"factors": [POLARIZATION]}, "its factors was"),
        ({"baseline": "all"}, "its baseline was off, and is all now"),
    ],
)
def test_another_plan_under_the_same_name_is_refused(tmp_path: Path, other: dict[str, Any], sentence: str) -> None:
    planned(tmp_path)
    before = on_disk(tmp_path)
    with pytest.raises(AnsibleActionFail, match=sentence):
        planned(tmp_path, **other)
    assert on_disk(tmp_path) == before


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"factors": []}, "factors is empty"),
        ({"change": "../x"}, "change is '../x'"),
        ({"baseline": "x"}, "baseline is 'x'"),
        ({"expected_change": ["colour"]}, "expected_change has 'colour', which names no item"),
        ({"factors": [{"name": "p", "levels": []}]}, "at least two levels"),
        ({"factors": ["rps"]}, "dictionary requested"),
        ({"factors": [{**RPS, "levls": []}]}, r"factors\.levls\. Supported parameters include: levels, name"),
        ({"factors": [{"name": "p", "levels": [{"name": "b", "vars": ["rps_every"]}]}]}, "dict"),
    ],
)
def test_bad_input_gets_one_sentence_and_leaves_nothing(tmp_path: Path, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnsibleActionFail, match=sentence):
        planned(tmp_path, **given)
    assert list(tmp_path.iterdir()) == []
    measured(tmp_path, STEPS[:1])
    with pytest.raises(AnsibleActionFail, match="already has records that belong to no experiment"):
        planned(tmp_path)


def test_what_no_host_has_is_refused_as_a_factor(tmp_path: Path) -> None:
    hosts = {"app1": {"__session_mine": ["rps"]}, "app2": {"__session_mine": []}}
    play = {**hosts["app1"], "ansible_play_batch": [*HOSTS], "hostvars": hosts}
    given = {"change": CHANGE, "results": str(tmp_path), "rounds": 1, "tunings": []}
    assert run_action(action, {**given, "factors": [RPS]}, True, play)["tunings"] == ["rps"]
    with pytest.raises(
        AnsibleActionFail, match="^the levels set cpu_polarization, which is in zpower_tunings of no host"
    ):
        run_action(action, {**given, "factors": [POLARIZATION, RPS]}, True, play)


@pytest.mark.parametrize("text", ["{", '{"schema": "zpower.sap_tuning/experiment/1"}'])
def test_a_damaged_plan_is_never_continued(tmp_path: Path, text: str) -> None:
    (tmp_path / CHANGE).mkdir()
    (tmp_path / CHANGE / "experiment.json").write_text(text)
    with pytest.raises(AnsibleActionFail, match=r"experiment\.json cannot be used"):
        planned(tmp_path)
    assert (tmp_path / CHANGE / "experiment.json").read_text() == text


@pytest.mark.parametrize("what", ["pipe", "device", "nested", "huge", "link"])
def test_what_is_in_place_of_a_plan_blocks_nobody(tmp_path: Path, what: str) -> None:
    planned(tmp_path)
    path = tmp_path / CHANGE / "experiment.json"
    path.rename(tmp_path / "elsewhere.json")
    if what == "pipe":
        os.mkfifo(path)
    elif what in ("device", "link"):
        path.symlink_to("/dev/zero" if what == "device" else tmp_path / "elsewhere.json")
    else:
        path.write_text("[" * (100_000 if what == "nested" else 9_000_000))
    with pytest.raises(AnsibleActionFail, match="symbolic link" if what == "link" else r"cannot be used: it (is|has) "):
        planned(tmp_path)


@pytest.mark.parametrize("event", ["planned", "ended"])
def test_a_plan_is_never_written_over_a_link(tmp_path: Path, event: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / CHANGE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AnsibleActionFail, match="symbolic link|has no plan of an experiment"):
        planned(tmp_path) if event == "planned" else run(tmp_path, event="ended", change=CHANGE)
    assert list((tmp_path / "elsewhere").iterdir()) == []


LONG = make_plan(rounds=6, most=16)
LONG_STEPS = planned_steps(LONG)
WIDE = {"rounds": 6, "max_rounds": 16}


def looked(folder: Path, part: dict[str, int], **more: Any) -> dict[str, Any]:
    return run(folder, event="looked", part=part, **more)


def test_the_steps_come_in_parts_up_to_each_look(tmp_path: Path) -> None:
    result = planned(tmp_path, **WIDE)
    assert result["msg"] == "at most 64 steps are planned"
    assert result["parts"] == [
        {"rounds": 6, "begin": 0, "end": 24, "next": 8},
        {"rounds": 8, "begin": 24, "end": 32, "next": 8},
        {"rounds": 10, "begin": 32, "end": 40, "next": 8},
        {"rounds": 12, "begin": 40, "end": 48, "next": 16},
        {"rounds": 16, "begin": 48, "end": 64, "next": 0},
    ]
    assert planned(tmp_path / "short", rounds=3)["parts"] == [{"rounds": 3, "begin": 0, "end": 12, "next": 0}]
    # a later first look is kept, and what is left after it
    planned(tmp_path / "late", rounds=10, max_rounds=16)
    measured(tmp_path / "late", LONG_STEPS[:32], plan=LONG)
    result = planned(tmp_path / "late", rounds=10, max_rounds=16)
    assert [(part["rounds"], part["end"]) for part in result["parts"]] == [(10, 8), (12, 16), (16, 32)]


def test_the_experiment_ends_at_the_look_at_which_every_level_is_decided(tmp_path: Path) -> None:
    result = planned(tmp_path, **WIDE)
    first, second = result["parts"][:2]
    measured(tmp_path, LONG_STEPS[:24], plan=LONG)
    before = on_disk(tmp_path)
    # with 6 rounds three levels are never far enough apart
    assert looked(tmp_path, first) == {"changed": False, "msg": "the experiment goes on", "over": False, "so_far": ""}
    assert on_disk(tmp_path) == before
    measured(tmp_path, LONG_STEPS[:32], plan=LONG)
    assert looked(tmp_path, second, check=True)["over"] and on_disk(tmp_path) == before
    found = looked(tmp_path, second)
    assert found["changed"] and found["over"]
    assert found["msg"] == "the experiment ends after 8 rounds of each level: every level is decided"
    assert on_disk(tmp_path) == {**before, "stopped": 8}
    decided = run(tmp_path, event="decided")
    assert decided["winner"] == "every-4" and decided["progress"]["complete"]
    again = planned(tmp_path, **WIDE)
    assert (again["changed"], again["steps"], again["parts"]) == (False, [], [])
    # nor does it go on with more rounds
    assert planned(tmp_path, **{**WIDE, "max_rounds": 24})["steps"] == [] and on_disk(tmp_path)["stopped"] == 8
    assert again["msg"] == "32 of 32 steps are done"


def test_while_a_level_is_undecided_the_experiment_goes_on(tmp_path: Path) -> None:
    part = planned(tmp_path, **WIDE)["parts"][1]
    measured(tmp_path, LONG_STEPS[:32], plan=LONG, effects={"every-4": -0.3}, noise=0.1)
    going = looked(tmp_path, part)
    end = r"[+−]?[0-9.]+ %"
    assert re.fullmatch(rf"all {end} to {end}, every-2 {end} to {end}, every-4 {end} to {end}", going["so_far"]), going
    assert not going["over"] and on_disk(tmp_path)["stopped"] is None
    # what is material decides about the end as well
    quiet = tmp_path / "quiet"
    planned(quiet, **WIDE)
    measured(quiet, LONG_STEPS[:32], plan=LONG, effects={}, noise=0.03)
    assert not looked(quiet, part, material_pct=1.0, check=True)["over"]
    assert looked(quiet, part, material_pct=20.0, check=True)["over"]


def winners(folder: Path, **limits: Any) -> list[str | None]:
    """The winner by the experiment and the one by its report, with these limits."""
    given = {"change": CHANGE, "results": str(folder), "formats": ["json"], **limits}
    report = json.loads(Path(run_action(measurement_report, given)["paths"]["json"]).read_text())
    return [run(folder, event="decided", **limits)["winner"], report["experiment"]["winner"]]


def test_a_report_decides_by_the_limit_of_its_experiment(tmp_path: Path) -> None:
    planned(tmp_path, material_pct=50)
    measured(tmp_path)
    assert winners(tmp_path) == [None, None]
    assert winners(tmp_path, material_pct=5) == ["every-4", "every-4"], "the limit that is asked for counts"
    # the last limit is kept, although there is nothing left to measure
    assert planned(tmp_path, material_pct=3)["material_pct"] == 3 and on_disk(tmp_path)["material_pct"] == 3
    assert winners(tmp_path) == ["every-4", "every-4"]
    assert planned(tmp_path)["material_pct"] == 3
    path = tmp_path / CHANGE / "experiment.json"
    path.write_text(json.dumps({**on_disk(tmp_path), "material_pct": 0}))
    with pytest.raises(AnsibleActionFail, match="experiment.json.* material_pct is 0 %; it must be above 0"):
        winners(tmp_path)
    plan = on_disk(tmp_path)
    del plan["material_pct"]  # as in 0.9.0
    path.write_text(json.dumps(plan))
    assert winners(tmp_path) == ["every-4", "every-4"]


def test_a_level_with_another_kernel_wins_only_if_that_was_declared(tmp_path: Path) -> None:
    planned(tmp_path)
    plan, declared = make_plan(), {"expected_change": ["kernel"]}
    records = list(make_records(plan, BETTER))
    for record in records:
        if record["phase"] == "every-4":
            record["fingerprint"]["client"]["kernel"] = "6.12"
    write_change(tmp_path, records, make_tunings(plan))
    assert winners(tmp_path) == ["every-2", "every-2"]
    assert winners(tmp_path, **declared) == ["every-4", "every-4"]


def test_an_experiment_does_not_end_before_every_host_has_come_to_the_look(tmp_path: Path) -> None:
    result = planned(tmp_path, **WIDE)
    measured(tmp_path, LONG_STEPS[:32], plan=LONG, hosts=("app1",))
    measured(tmp_path, LONG_STEPS[:31], plan=LONG, hosts=("app2",))
    going = looked(tmp_path, result["parts"][1])
    assert (going["over"], going["so_far"]) == (False, "")
    # the host that was behind has done its step, and nobody looked since
    measured(tmp_path, LONG_STEPS[31:32], plan=LONG, hosts=("app2",))
    assert planned(tmp_path, check=True, **WIDE)["steps"] == []
    assert on_disk(tmp_path)["stopped"] is None
    assert planned(tmp_path, **WIDE)["changed"] and on_disk(tmp_path)["stopped"] == 8


def test_a_part_that_would_end_after_the_limit_is_not_begun(tmp_path: Path) -> None:
    result = planned(tmp_path, **WIDE, max_minutes=10)
    measured(tmp_path, LONG_STEPS[:24], plan=LONG)

    def after(minutes: float) -> dict[str, Any]:
        plan = on_disk(tmp_path)
        began = datetime.now(timezone.utc) - timedelta(minutes=minutes)
        plan["sessions"][-1]["started"] = began.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        plans.write_plan(tmp_path, plan)
        return looked(tmp_path, result["parts"][0])

    assert not after(7.0)["over"]  # 8 steps more: 9 minutes 20 seconds
    found = after(8.0)
    assert found["over"] and on_disk(tmp_path)["stopped"] == 6
    assert found["msg"].endswith("the next rounds would end after the limit of 10 minutes")
    assert planned(tmp_path, **WIDE, max_minutes=10)["steps"] == []
    more = planned(tmp_path, **WIDE, max_minutes=20)
    assert len(more["steps"]) == 40 and on_disk(tmp_path)["stopped"] is None


def test_an_undecided_experiment_goes_on_with_more_rounds_under_its_name(tmp_path: Path) -> None:
    plan = make_plan(rounds=6, most=8)
    planned(tmp_path, rounds=6, max_rounds=8)
    measured(tmp_path, plan=plan, effects={"every-4": -0.3}, noise=0.1)
    assert planned(tmp_path, rounds=6, max_rounds=8)["steps"] == []
    result = planned(tmp_path, **WIDE)
    assert steps(result) == LONG_STEPS[32:]
    assert on_disk(tmp_path)["order"] == LONG["order"]
    # time lies between the two parts, and each has its own level
    assert on_disk(tmp_path)["continued"] == [8] and {step["session"] for step in result["steps"]} == {2}
    assert {step["session"] for step in planned(tmp_path, **WIDE)["steps"]} == {2}, "resumed, and not continued again"


def test_undeclared_rounds_are_not_added_after_the_last_look(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="^experiment_max_rounds is 40: the looks at a verdict end at 32$"):
        planned(tmp_path, rounds=6, max_rounds=40)
    planned(tmp_path, **WIDE)
    before = on_disk(tmp_path)
    with pytest.raises(
        AnsibleActionFail, match="has 16 rounds of each state and cannot get 64: its last look is at 32"
    ):
        planned(tmp_path, rounds=6, max_rounds=64)
    assert on_disk(tmp_path) == before
    assert len(planned(tmp_path, rounds=6, max_rounds=32)["steps"]) == 128
    longest = planned(tmp_path / "longest", rounds=6, max_rounds=32)
    assert [part["rounds"] for part in longest["parts"]] == [6, 8, 10, 12, 16, 24, 32]


def test_a_plan_of_an_earlier_version_is_continued(tmp_path: Path) -> None:
    planned(tmp_path)
    plan = on_disk(tmp_path)
    plan["order"] = [["off", "all", "every-2", "every-4"]] * 8
    for name in ("max_rounds", "max_minutes", "stopped", "continued"):
        del plan[name]
    (tmp_path / CHANGE / "experiment.json").write_text(json.dumps(plan))
    done = [(name, number) for number in (1, 2, 3) for name in plan["order"][0]]
    measured(tmp_path, done, plan=plan)
    result = planned(tmp_path)
    assert steps(result) == [(name, number) for number in range(4, 9) for name in plan["order"][0]]
    assert {step["session"] for step in planned(tmp_path, **WIDE)["steps"]} == {1}, "it was not complete"
    assert result["msg"] == "12 of 32 steps are done"


def test_without_a_winner_there_is_nothing_to_set_and_without_a_plan_nothing_to_decide(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="has no plan of an experiment") as caught:
        run(tmp_path, event="decided")
    assert caught.value.__cause__ is None  # ansible-core 2.21 prints a cause behind the sentence
    planned(tmp_path)
    measured(tmp_path, effects={})
    result = run(tmp_path, event="decided")
    assert (result["winner"], result["vars"], result["tunings"]) == (None, {}, [])


def test_the_end_of_a_session_names_the_hosts_that_failed_and_those_that_are_lost(tmp_path: Path) -> None:
    planned(tmp_path, alive=("app1", "app2", "app3"))
    result = run(tmp_path, event="ended", errors={"app2": "no route"}, alive=HOSTS)
    assert result["changed"]
    session = on_disk(tmp_path)["sessions"][-1]
    assert session["failures"] == {"app2": "no route", "app3": levels.LOST}
    assert session["ended"] is not None and session["kept"] is None
    assert run(tmp_path, event="ended", alive=HOSTS)["changed"] is False


def test_what_was_kept_is_noted_once(tmp_path: Path) -> None:
    planned(tmp_path)
    run(tmp_path, event="ended")
    (ended,) = on_disk(tmp_path)["sessions"]
    assert run(tmp_path, event="ended", kept="every-4", check=True)["changed"]
    assert on_disk(tmp_path)["sessions"] == [ended] and ended["kept"] is None
    assert run(tmp_path, event="ended", kept="every-4")["changed"]
    assert on_disk(tmp_path)["sessions"] == [{**ended, "kept": "every-4"}]
    assert run(tmp_path, event="ended", kept="every-4")["changed"] is False


@pytest.mark.parametrize(("so_far", "end"), [("", ""), ("all −3.0 % to +14.2 %", "; so far all −3.0 % to +14.2 %")])
def test_the_first_host_that_takes_part_announces_a_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], so_far: str, end: str
) -> None:
    """app1 has failed before, and app3 is only measured against."""
    hosts = ("app1", "app2", "app3")
    session = {**planned(tmp_path, alive=hosts), "kind": "state"}
    session["steps"] = [{**step, "hosts": ["app1", "app2"], "set": None} for step in session["steps"]]
    known = {host: {"__session": session, "__session_held": {"step": -1 if host == "app1" else 0}} for host in hosts}
    for host in hosts:
        play = {**known[host], "inventory_hostname": host, "ansible_play_batch": [*hosts], "hostvars": known}
        play["__session_looked"] = {"over": False, "so_far": so_far}
        given = {"event": "set", "level": session["steps"][1], "step": 1, "part": session["parts"][0]}
        capsys.readouterr()
        run_action(action, given, variables=play)
        said = capsys.readouterr().out
        line = rf"round 2 of 32, about .* left: {session['steps'][1]['phase']} on app2{re.escape(end)}\n"
        assert bool(re.search(line, said)) == (host == "app2"), said
