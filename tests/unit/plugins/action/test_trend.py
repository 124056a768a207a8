# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trend action: which changes it takes, what it writes, and what it says when it cannot."""

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
from ansible_collections.zpower.sap_tuning.plugins.action import measurement_trend as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment import plan_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report.of_trend import FORMATS
from experiments import CHANGE, make_plan, make_records
from published_studies import study

SMALL = factory.Plan(hosts=("app1",), control=False)


def run(arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
    return run_action(action, arguments, check)


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two changes whose names sort against their time: zz was measured a week before aa."""
    for days, (name, effect) in enumerate((("zz-first", -0.2), ("aa-second", -0.1))):
        monkeypatch.setattr(factory, "START", factory.START + timedelta(days=7 * days))
        factory.write_change(tmp_path, factory.make_change(replace(SMALL, change=name, effect=effect, seed=days + 1)))
    return tmp_path


def test_all_changes_in_the_order_of_time(results: Path) -> None:
    (results / "half").mkdir()
    plan = replace(SMALL, change="only-before")
    factory.write_change(results, (item for item in factory.make_change(plan) if item["phase"] == "before"))
    (results / "no slug!").mkdir()
    assert run({"results": str(results)}, check=True)["changed"] is True
    assert not list(results.glob("trend.*"))
    result = run({"results": str(results)})
    assert result["changes"] == ["zz-first", "aa-second"]
    assert result["changed"] is True
    assert list(result["paths"]) == list(FORMATS)
    report = json.loads((results / "trend.json").read_text())
    assert [item["verdict"] for item in report["series"][0]["steps"]] == ["IMPROVED", "IMPROVED"]
    assert report["series"][0]["steps"][0]["ratio"] == pytest.approx(1.25, rel=0.02)
    # the second change begins where the first one began: that is a step back, and nobody's
    assert report["series"][0]["steps"][1]["gap"] == pytest.approx(0.8, rel=0.03)
    assert report["headline"] == result["headline"] == result["msg"]
    for check in (True, False):
        assert run({"results": str(results)}, check=check)["changed"] is False


def test_changes_with_labels_and_phases_of_their_own(results: Path) -> None:
    changes = [{"change": "aa-second", "label": "RPS", "before": "after", "after": "before"}, "zz-first"]
    result = run({"results": str(results), "name": "mine", "changes": changes, "formats": ["json", "md"]})
    assert {path.name for path in results.glob("mine.*")} == {"mine.json", "mine.md"}
    series = json.loads(Path(result["paths"]["json"]).read_text())["series"][0]
    assert [step["label"] for step in series["steps"]] == ["RPS", "zz-first"]
    assert series["steps"][0]["ratio"] == pytest.approx(0.9, rel=0.02)
    assert series["steps"][0]["verdict"] == "REGRESSED"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"changes": ["nobody"]}, "there is no measurement record of change nobody below"),
        ({"changes": [{"label": "x"}]}, "an entry is the name of a change, or a dict of change"),
        ({"changes": [{"change": "zz-first", "phase": "x"}]}, "an entry is the name of a change, or a dict"),
        ({"changes": ["../etc"]}, "it has to begin with a letter or digit"),
        ({"changes": [7.5]}, "an entry is the name of a change"),
        ({"changes": [4711]}, "there is no measurement record of change 4711 below"),
        ({"changes": ["zz-first", {"change": "zz-first"}]}, "changes has zz-first twice (before to after)"),
        ({"name": "../x"}, "name is '../x'; it has to begin"),
        ({"material_pct": 0}, "material_pct is 0.0 %; it has to lie above 0"),
        ({"expected_change": ["colour"]}, "expected_change has 'colour', which names no item that must match"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_writes_nothing(results: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(AnsibleActionFail) as caught:
        run({"results": str(results), **arguments})
    assert said in str(caught.value)
    assert caught.value.__cause__ is None  # ansible-core 2.21 prints a cause behind the sentence
    assert not list(results.glob("*.html"))


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="holds no change with records of both phases"):
        run({"results": str(tmp_path)})
    with pytest.raises(AnsibleActionFail, match="missing on the controller: No such file"):
        run({"results": str(tmp_path / "missing")})


def test_every_change_is_read_once(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some hold a hundred thousand runs."""
    reading = Mock(wraps=record_files.load_change)
    monkeypatch.setattr(record_files, "load_change", reading)
    assert run({"results": str(results)})["changes"] == ["zz-first", "aa-second"]
    assert [call.args[1] for call in reading.call_args_list] == ["aa-second", "zz-first"]
    reading.side_effect = PermissionError(13, "Permission denied")
    with pytest.raises(AnsibleActionFail, match="the records of change 'aa-second' below .* cannot be read: .*denied"):
        run({"results": str(results)})


def test_a_broken_record_is_a_problem_with_the_name_of_its_change(results: Path) -> None:
    broken = next((results / "zz-first" / "app1").glob("after-3-*.json"))
    broken.write_text("{")
    result = run({"results": str(results), "changes": ["zz-first"]})
    assert result["warnings"][0].startswith("zz-first: app1/after-3-")


def test_the_imported_banking_study(tmp_path: Path) -> None:
    factory.write_change(tmp_path, study("banking"))
    names = ("hipersockets-smt", "z14-smt", "topology-smt", "native-smt", "128-ifl-against-smt", "rps-all-128")
    arguments = {
        "results": str(tmp_path),
        "metric": "elapsed_s",
        "changes": [f"published-banking-{name}" for name in names],
        "expected_change": ["interface", "machine", "cpus_online", "context.*"],
    }
    result = run(arguments)
    assert result["headline"].startswith(
        "elapsed_s went from 18,234 s to 7,388 s over 6 changes: 59.5 % less, measured at different times. "
    )
    (series,) = json.loads(Path(result["paths"]["json"]).read_text())["series"]
    assert [round(step["change_pct"], 1) for step in series["steps"]] == [-4.2, -6.3, -26.5, -21.9, -18.2, -3.2]
    assert {step["verdict"] for step in series["steps"]} == {"INCONCLUSIVE"}
    undeclared = run({**arguments, "expected_change": [], "name": "undeclared"})
    (series,) = json.loads(Path(undeclared["paths"]["json"]).read_text())["series"]
    assert "NOT COMPARABLE" in {step["verdict"] for step in series["steps"]}
    assert series["whole"]["steps_ratio"] is None and series["whole"]["change_pct"] == pytest.approx(-59.4823)


def test_two_levels_of_an_experiment_are_a_step(tmp_path: Path) -> None:
    plan = make_plan()
    factory.write_change(tmp_path, make_records(plan, {"every-4": -0.2}))
    plan_files.write(tmp_path, plan)
    with pytest.raises(AnsibleActionFail, match="no change with records of both phases"):
        run({"results": str(tmp_path)})
    changes = [{"change": CHANGE, "before": "off", "after": "every-4"}]
    result = run({"results": str(tmp_path), "changes": changes})
    series = json.loads(Path(result["paths"]["json"]).read_text())["series"]
    assert [item["steps"][0]["verdict"] for item in series] == ["IMPROVED", "IMPROVED"]
    assert series[0]["whole"]["ratio"] == pytest.approx(1.25, rel=0.02)
