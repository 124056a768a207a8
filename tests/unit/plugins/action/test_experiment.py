# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action experiment: a plan that is made once, gone on with, refused where it differs, decided and ended."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import experiment as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment import plan_files
from experiments import CHANGE, HOSTS, POLARIZATION, RPS, make_plan, make_records, make_tunings
from records_factory import write_change

STEPS = [(name, block) for block, names in enumerate(make_plan()["order"], 1) for name in names]
BETTER = {"all": -0.05, "every-2": -0.12, "every-4": -0.25}


def run(folder: Path, check: bool = False, alive: tuple[str, ...] = HOSTS, **arguments: Any) -> dict[str, Any]:
    """The action as a task of a play would call it."""
    given = {"change": CHANGE, "results": str(folder), **arguments}
    result = run_action(action, given, check, {"ansible_play_batch": list(alive)})
    json.dumps(result)
    return result


def planned(folder: Path, **more: Any) -> dict[str, Any]:
    return run(folder, **{"factors": [RPS], **more})


def measured(folder: Path, done: Any = None, effects: Any = None, hosts: tuple[str, ...] = HOSTS) -> None:
    """The records of these steps on these hosts, as the role leaves them."""
    records = [
        item
        for item in make_records(make_plan(), BETTER if effects is None else effects, done)
        if item["host"] in hosts
    ]
    write_change(folder, records, [item for item in make_tunings(make_plan(), done) if item["host"] in hosts])


def on_disk(folder: Path) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads((folder / CHANGE / "experiment.json").read_text())
    return plan


def steps(result: dict[str, Any]) -> list[tuple[str, int]]:
    return [(step["phase"], step["round"]) for step in result["steps"]]


def test_a_new_plan_has_every_step_and_is_kept(tmp_path: Path) -> None:
    result = planned(tmp_path)
    assert result["changed"] and not result["resumed"]
    assert steps(result) == STEPS
    assert result["steps"][0]["hosts"] == ["app1", "app2"]
    assert result["tunings"] == ["rps"] and result["remarks"] == []
    kept = on_disk(tmp_path)
    assert [session["hosts"] for session in kept["sessions"]] == [["app1", "app2"]]
    assert kept["order"] == result["plan"]["order"]


def test_check_mode_shows_the_plan_of_the_run_and_writes_nothing(tmp_path: Path) -> None:
    looked = planned(tmp_path, check=True)
    assert looked["changed"] and list(tmp_path.iterdir()) == []
    assert planned(tmp_path)["plan"] == looked["plan"]


def test_too_few_rounds_are_told_and_not_refused(tmp_path: Path) -> None:
    result = planned(tmp_path, rounds=3)
    assert result["remarks"] == ["3 rounds cannot have a winner: with 3 levels beside the baseline it takes 5"]


def test_the_same_command_goes_on_after_what_is_measured(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path, STEPS[:5])
    result = planned(tmp_path)
    assert result["resumed"] and steps(result) == STEPS[5:]
    assert result["msg"] == "5 of 24 steps are done"
    assert len(on_disk(tmp_path)["sessions"]) == 2


def test_an_experiment_that_is_complete_changes_nothing_more(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path)
    before = on_disk(tmp_path)
    result = planned(tmp_path)
    assert (result["changed"], result["steps"], on_disk(tmp_path)) == (False, [], before)


def test_all_hosts_take_a_level_that_one_of_them_still_has_to_measure(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path, STEPS[:6], hosts=("app1",))
    measured(tmp_path, STEPS[:4], hosts=("app2",))
    result = planned(tmp_path)
    assert [step["hosts"] for step in result["steps"][:3]] == [["app2"], ["app2"], ["app1", "app2"]]


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


def test_nothing_is_set_aside_out_of_a_folder_that_became_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(tmp_path)
    measured(tmp_path, STEPS[:5])
    phase, number = STEPS[4]
    host = tmp_path / CHANGE / "app1"
    (host / f"tunings-{phase}-{number}.json").unlink()
    true_set_aside = plan_files.set_aside

    def exchanged(*arguments: Any) -> int:
        host.rename(tmp_path / "away")
        host.symlink_to(tmp_path / "away")
        return true_set_aside(*arguments)

    monkeypatch.setattr(plan_files, "set_aside", exchanged)
    there = sorted((tmp_path / CHANGE / "app1").iterdir())
    with pytest.raises(AnsibleActionFail, match="symbolic link"):
        planned(tmp_path)
    assert sorted(path.name for path in (tmp_path / "away").iterdir()) == [path.name for path in there]


def test_a_step_that_was_tuned_and_not_measured_is_done_again(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path, STEPS[:3])
    phase, number = STEPS[2]
    for path in (tmp_path / CHANGE / "app2").glob(f"{phase}-{number}-*"):
        path.unlink()
    assert planned(tmp_path)["steps"][0]["hosts"] == ["app2"]


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"rounds": 7}, "is another experiment already \\(its rounds was 6, and is 7 now\\): name another change"),
        ({"seed": 5}, "its seed was"),
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


def test_a_change_with_records_of_something_else_is_refused(tmp_path: Path) -> None:
    measured(tmp_path, STEPS[:1])
    with pytest.raises(AnsibleActionFail, match="has records already that belong to no experiment"):
        planned(tmp_path)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"factors": []}, "factors is empty"),
        ({"change": "../x"}, "change is '../x'"),
        ({"baseline": "x"}, "baseline is 'x'"),
        ({"factors": [{"name": "p", "levels": []}]}, "at least two levels"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(tmp_path: Path, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnsibleActionFail, match=sentence):
        planned(tmp_path, **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "zpower.sap_tuning/experiment/1"}', '"x"'])
def test_a_spoilt_plan_is_never_gone_on_with(tmp_path: Path, text: str) -> None:
    (tmp_path / CHANGE).mkdir()
    (tmp_path / CHANGE / "experiment.json").write_text(text)
    with pytest.raises(AnsibleActionFail, match=r"experiment\.json cannot be used"):
        planned(tmp_path)
    assert (tmp_path / CHANGE / "experiment.json").read_text() == text


def test_a_plan_behind_a_link_is_not_followed(tmp_path: Path) -> None:
    planned(tmp_path)
    place = tmp_path / CHANGE / "experiment.json"
    place.rename(tmp_path / "elsewhere.json")
    place.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(AnsibleActionFail, match="symbolic link"):
        planned(tmp_path)


@pytest.mark.parametrize("what", ["pipe", "device", "nested", "huge"])
def test_what_lies_in_the_place_of_a_plan_keeps_nobody_waiting(tmp_path: Path, what: str) -> None:
    path = tmp_path / CHANGE / "experiment.json"
    path.parent.mkdir()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        path.write_text("[" * (100_000 if what == "nested" else 9_000_000))
    with pytest.raises(AnsibleActionFail, match=r"experiment.json cannot be used: it (is|has) "):
        planned(tmp_path)


@pytest.mark.parametrize("state", ["planned", "ended"])
def test_a_plan_is_never_written_over_a_link(tmp_path: Path, state: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / CHANGE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AnsibleActionFail, match="symbolic link|has no plan to go by"):
        planned(tmp_path) if state == "planned" else run(tmp_path, state="ended", change=CHANGE)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_winner_comes_with_its_variables(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path)
    result = run(tmp_path, state="decided")
    assert result["winner"] == "every-4"
    assert result["vars"] == {"rps_state": "present", "rps_every": 4}
    assert result["tunings"] == ["rps"]
    assert result["progress"] == {"done": 24, "steps": 24, "complete": True}


def test_without_a_winner_there_is_nothing_to_set(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path, effects={})
    result = run(tmp_path, state="decided")
    assert (result["winner"], result["vars"], result["tunings"]) == (None, {}, [])


def test_what_is_material_is_the_users_choice(tmp_path: Path) -> None:
    planned(tmp_path)
    measured(tmp_path)
    assert run(tmp_path, state="decided", material_pct=50)["winner"] is None


def test_there_is_nothing_to_decide_without_a_plan(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="has no plan to go by") as caught:
        run(tmp_path, state="decided")
    assert caught.value.__cause__ is None  # ansible-core 2.21 prints a cause behind the sentence


def test_the_end_of_a_session_names_the_hosts_that_failed_and_those_that_are_lost(tmp_path: Path) -> None:
    planned(tmp_path, alive=("app1", "app2", "app3"))
    result = run(tmp_path, state="ended", failures={"app1": "", "app2": "no route"}, alive=HOSTS)
    assert result["changed"]
    session = on_disk(tmp_path)["sessions"][-1]
    assert session["failures"] == {"app2": "no route", "app3": action.LOST}
    assert session["ended"] is not None and session["kept"] is None
    assert run(tmp_path, state="ended", alive=HOSTS)["changed"] is False


def test_what_was_kept_is_noted_once(tmp_path: Path) -> None:
    planned(tmp_path)
    run(tmp_path, state="ended")
    ended = on_disk(tmp_path)["sessions"][-1]["ended"]
    assert run(tmp_path, state="ended", kept="every-4", check=True)["changed"]
    assert on_disk(tmp_path)["sessions"][-1]["kept"] is None
    assert run(tmp_path, state="ended", kept="every-4")["changed"]
    assert on_disk(tmp_path)["sessions"][-1] == {**on_disk(tmp_path)["sessions"][-1], "kept": "every-4", "ended": ended}
    assert run(tmp_path, state="ended", kept="every-4")["changed"] is False


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(AnsibleActionFail) as caught:
        planned(tmp_path / "results")
    assert caught.value.__cause__ is None
