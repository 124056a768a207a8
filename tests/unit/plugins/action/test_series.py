# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The actions of trend and scaling: what they take, what they write, and what they say when they cannot."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import records_factory as factory
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import measurement_scaling, measurement_trend
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment import plans
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import of_scaling, of_trend
from experiments import CHANGE as EXPERIMENT
from experiments import make_plan, make_records
from published_studies import study
from series_samples import GUESTS, guests

SMALL = factory.Plan(hosts=("app1",), control=False)
CHANGE = "rps-2026-11"
HEADLINE = "At 8 guests, 1.52 to 5.49 times the work of 1"


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two changes whose names sort against their time: zz was measured a week before aa."""
    for days, (name, effect) in enumerate((("zz-first", -0.2), ("aa-second", -0.1))):
        monkeypatch.setattr(factory, "START", factory.START + timedelta(days=7 * days))
        factory.write_change(tmp_path, factory.make_change(replace(SMALL, change=name, effect=effect, seed=days + 1)))
    return tmp_path


@pytest.fixture(name="table")
def fixture_table(tmp_path: Path) -> Path:
    """The virtualization study's table: each number of guests was measured in a phase of its own."""
    factory.write_change(tmp_path, guests())
    return tmp_path


def trend(results: Path, check: bool = False, **arguments: Any) -> dict[str, Any]:
    return run_action(measurement_trend, {"results": str(results), **arguments}, check)


def test_a_change_with_a_control_that_moved_is_not_called_better(tmp_path: Path) -> None:
    for moved, said in ((0.0, "The changes alone: 41"), (-0.3, "unknown: the verdict on c1 says why.")):
        plan = replace(SMALL, change="c1", effect=-0.3, control=True, control_effect=moved)
        factory.write_change(tmp_path / said[:3], factory.make_change(plan))
        assert said in trend(tmp_path / said[:3])["headline"]


def scaling(results: Path, check: bool = False, **arguments: Any) -> dict[str, Any]:
    given = {"results": str(results), "change": CHANGE, "x": "context.guests", **arguments}
    return run_action(measurement_scaling, given, check)


def written(result: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(result["paths"]["json"]).read_text())
    assert result["headline"] == result["msg"] == found["headline"]
    return found


def test_all_changes_in_the_order_of_time(results: Path) -> None:
    (results / "half").mkdir()
    plan = replace(SMALL, change="only-before")
    factory.write_change(results, (item for item in factory.make_change(plan) if item["phase"] == "before"))
    (results / "no slug!").mkdir()
    assert trend(results, check=True)["changed"] is True
    assert not list(results.glob("trend.*"))
    result = trend(results)
    assert (result["changes"], result["changed"]) == (["zz-first", "aa-second"], True)
    assert list(result["paths"]) == list(of_trend.FORMATS)
    first, second = written(result)["series"][0]["steps"]
    assert [item["verdict"] for item in (first, second)] == ["IMPROVED", "IMPROVED"]
    assert first["ratio"] == pytest.approx(1.25, rel=0.02)
    # the second change begins where the first one began: that is a step back, and nobody's
    assert second["gap"] == pytest.approx(0.8, rel=0.03)
    for check in (True, False):
        assert trend(results, check=check)["changed"] is False


def test_changes_with_labels_and_phases_of_their_own(results: Path) -> None:
    changes = [{"change": "aa-second", "label": "RPS", "before": "after", "after": "before"}, "zz-first"]
    result = trend(results, name="mine", changes=changes, formats=["json", "md"])
    assert {path.name for path in results.glob("mine.*")} == {"mine.json", "mine.md"}
    steps = written(result)["series"][0]["steps"]
    assert [step["label"] for step in steps] == ["RPS", "zz-first"]
    assert steps[0]["ratio"] == pytest.approx(0.9, rel=0.02) and steps[0]["verdict"] == "REGRESSED"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"changes": ["nobody"]}, "there is no measurement record of change nobody below"),
        ({"changes": [{"label": "x"}]}, "an entry is the name of a change, or a dict of change"),
        ({"changes": [{"change": "zz-first", "phase": "x"}]}, "an entry is the name of a change, or a dict"),
        ({"changes": ["../etc"]}, "it must begin with a letter or digit"),
        ({"changes": [7.5]}, "an entry is the name of a change"),
        ({"changes": [4711]}, "there is no measurement record of change 4711 below"),
        ({"changes": ["zz-first", {"change": "zz-first"}]}, "changes has zz-first twice (before to after)"),
        ({"name": "../x"}, "name is '../x'; it must begin"),
        ({"material_pct": 0}, "material_pct is 0.0 %; it must be above 0"),
        ({"expected_change": ["colour"]}, "expected_change has 'colour', which names no item that must match"),
        ({"results": "empty"}, "holds no change with records of both phases"),
        ({"results": "missing"}, "missing on the controller: No such file"),
    ],
)
def test_an_impossible_trend_is_one_sentence(
    results: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(results)
    Path("empty").mkdir()
    with pytest.raises(AnsibleActionFail) as caught:
        run_action(measurement_trend, {"results": ".", **arguments})
    assert said in str(caught.value)
    assert caught.value.__cause__ is None  # ansible-core 2.21 prints a cause behind the sentence
    assert not list(results.glob("*.html"))


def test_every_change_is_read_once_and_a_broken_record_is_named(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some hold a hundred thousand runs."""
    next((results / "zz-first" / "app1").glob("after-3-*.json")).write_text("{")
    assert trend(results, changes=["zz-first"])["warnings"][0].startswith("zz-first: app1/after-3-")
    reading = Mock(wraps=record_files.load_change)
    monkeypatch.setattr(record_files, "load_change", reading)
    assert trend(results)["changes"] == ["zz-first", "aa-second"]
    assert [call.args[1] for call in reading.call_args_list] == ["aa-second", "zz-first"]
    reading.side_effect = PermissionError(13, "Permission denied")
    with pytest.raises(AnsibleActionFail, match="the records of change 'aa-second' below .* cannot be read: .*denied"):
        trend(results)


def test_the_imported_banking_study_with_and_without_its_declared_changes(tmp_path: Path) -> None:
    factory.write_change(tmp_path, study("banking"))
    names = ("hipersockets-smt", "z14-smt", "topology-smt", "native-smt", "128-ifl-against-smt", "rps-all-128")
    asked: dict[str, Any] = {"metric": "elapsed_s", "changes": [f"published-banking-{name}" for name in names]}
    (series,) = written(trend(tmp_path, **asked, expected_change=["interface", "machine", "cpus_online", "context.*"]))[
        "series"
    ]
    assert [round(step["change_pct"], 1) for step in series["steps"]] == [-4.2, -6.3, -26.5, -21.9, -18.2, -3.2]
    assert {step["verdict"] for step in series["steps"]} == {"INCONCLUSIVE"}
    (series,) = written(trend(tmp_path, **asked))["series"]
    assert "NOT COMPARABLE" in {step["verdict"] for step in series["steps"]}
    assert series["whole"]["steps_ratio"] is None and series["whole"]["change_pct"] == pytest.approx(-59.4823)


def test_two_levels_of_an_experiment_are_a_step(tmp_path: Path) -> None:
    plan = make_plan()
    factory.write_change(tmp_path, make_records(plan, {"every-4": -0.2}))
    plans.write_plan(tmp_path, plan)
    with pytest.raises(AnsibleActionFail, match="no change with records of both phases"):
        trend(tmp_path)
    series = written(trend(tmp_path, changes=[{"change": EXPERIMENT, "before": "off", "after": "every-4"}]))["series"]
    assert [item["steps"][0]["verdict"] for item in series] == ["IMPROVED", "IMPROVED"]
    assert series[0]["whole"]["ratio"] == pytest.approx(1.25, rel=0.02)


def test_the_virtualization_study_as_records_and_imported(table: Path, tmp_path: Path) -> None:
    assert scaling(table, check=True)["changed"] is True
    assert not list((table / CHANGE).glob("scaling-*"))
    result = scaling(table)
    assert (result["changed"], result["curves"], list(result["paths"])) == (True, 5, list(of_scaling.FORMATS))
    # the files of a scaling are not a problem of the change
    again = scaling(table)
    assert again["changed"] is False and "warnings" not in again
    factory.write_change(tmp_path / "imported", study("slcs"))
    imported = scaling(tmp_path / "imported", change="published-slcs")
    for one in (result, imported):
        curves = {item["workload"].removeprefix("slcs-"): item for item in written(one)["curves"]}
        assert {name: tuple(point["pct"] for point in curves[name]["points"]) for name in curves} == GUESTS
        assert one["headline"].startswith(HEADLINE)
        efficiency = [round(point["efficiency_pct"]) for point in curves["mem_std"]["points"]]
        assert efficiency == [100, 96, 86, 77, 63, 54, 47, 41]
        # one value for each point proves no knee
        assert not any(curve["knee"] for curve in curves.values())


def test_a_terminal_shows_headline_and_page_or_the_first_file(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(measurement_scaling.ActionModule, "say", lambda _self, lines: said.extend(lines))
    first = scaling(table)
    assert said == [first["headline"], first["paths"]["html"]]
    scaling(table, formats=["csv", "md"])
    assert said[2:] == [first["headline"], first["paths"]["md"]]


def test_phases_can_be_chosen_and_an_x_that_nobody_noted_is_a_problem(table: Path) -> None:
    (found,) = written(scaling(table, phases=["guests-1", "guests-4"], workload="mem_std"))["curves"]
    assert [(point["x"], point["pct"]) for point in found["points"]] == [(1.0, 100.0), (4.0, 307.0)]
    result = scaling(table, x="params.jobs", workload="mem_std")
    assert result["curves"] == 0
    assert result["warnings"] == ["mem_std from app1 to app2: params.jobs is None, which is not a number above 0."]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"x": "guests"}, "x is 'guests'; it must be connections, params.<name> or context.<name>"),
        ({"change": "nobody"}, "there is no measurement record of change nobody"),
        ({"change": "../etc"}, "change is '../etc'; it must begin"),
        ({"phases": ["after"]}, "has no phase after; it has guests-1, guests-2"),
    ],
)
def test_an_impossible_scaling_is_one_sentence(table: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(AnsibleActionFail) as caught:
        scaling(table, **arguments)
    assert said in str(caught.value) and caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (FileNotFoundError(2, "No such file", "/srv/x"), "/srv/x on the controller: No such file"),
        (OSError("no room is left"), "no room is left"),
        (ValueError("one\nline"), "one line"),
    ],
)
def test_an_error_of_an_action_is_its_message(
    table: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str
) -> None:
    monkeypatch.setattr(measurement_scaling, "scaling", Mock(side_effect=error))
    with pytest.raises(AnsibleActionFail) as caught:
        scaling(table)
    assert str(caught.value) == sentence
