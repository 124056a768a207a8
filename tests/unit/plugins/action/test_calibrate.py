# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calibrate action: its plan, what it writes, and what it says when it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import records_factory as factory
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import calibrate as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series import calibrating

PLAN = factory.Plan(change="calibration", rounds=8, design="blocks", control=False)


def run(arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
    return run_action(action, arguments, check)


@pytest.fixture(autouse=True)
def few_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrating, "EXPERIMENTS", 5)


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> Path:
    found = [item for item in factory.make_change(PLAN) if item["phase"] == "before"]
    factory.write_change(tmp_path, [{**item, "phase": "calibration"} for item in found])
    return tmp_path


def test_the_first_session_begins_with_round_1_and_a_later_one_goes_on_counting(tmp_path: Path, results: Path) -> None:
    plan = run({"results": str(tmp_path / "new"), "event": "planned", "rounds": 12})
    assert (plan["changed"], plan["first_round"], plan["session"]) == (False, 1, 1)
    assert not (tmp_path / "new").exists()
    plan = run({"results": str(results), "event": "planned", "rounds": 8})
    assert (plan["first_round"], plan["session"]) == (9, 2)


def test_calibration_and_text_are_written_beside_the_records(results: Path) -> None:
    assert run({"results": str(results)}, check=True)["changed"] is True
    assert not list((results / "calibration").glob("calibration.*"))
    result = run({"results": str(results)})
    assert result["changed"] is True
    assert result["paths"] == {form: str(results / "calibration" / f"calibration.{form}") for form in ("json", "md")}
    found = json.loads((results / "calibration" / "calibration.json").read_text())
    assert sorted(found["hosts"]) == ["app1", "app2"]
    assert result["lines"][0] == result["headline"] == found["headline"]
    again = run({"results": str(results)})
    assert again["changed"] is False
    assert "warnings" not in again


def test_the_table_is_printed_in_columns(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run({"results": str(results)}, check=True)
    table = [line for line in result["lines"] if "   " in line]
    assert len(table) > 2 and {*table} <= {*capsys.readouterr().out.splitlines()}


def test_check_mode_without_records_does_not_fail(tmp_path: Path) -> None:
    """A play in check mode measures nothing."""
    result = run({"results": str(tmp_path)}, check=True)
    assert result["changed"] is False
    (line,) = result["lines"]
    assert line.startswith("there is no record of the calibration") and str(tmp_path) in line


def test_the_planned_measurement_can_be_another(results: Path) -> None:
    result = run({"results": str(results), "rounds": 10, "material_pct": 2.0})
    assert "10 rounds per state can show" in result["headline"]
    found = json.loads(Path(result["paths"]["json"]).read_text())
    assert found["planned"] == {"rounds": 10, "most_rounds": 16, "material_pct": 2.0}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"event": "planned", "rounds": 7}, "calibrate_rounds is 7; fewer than 8 rounds"),
        ({"change": "nobody"}, "there is no record of the calibration nobody"),
        ({"change": "../etc"}, "change is '../etc'; it must begin"),
        ({"change": "rps-2026-11"}, "change rps-2026-11 holds records of other phases"),
        ({"change": "rps-2026-11", "event": "planned", "rounds": 8}, "other phases"),
        ({"rounds": 0}, "rounds is 0 and material_pct 5; rounds have to be at least 1"),
        ({"material_pct": 0}, "rounds is 6 and material_pct 0;"),
    ],
)
def test_an_impossible_request_is_one_sentence(results: Path, arguments: dict[str, Any], said: str) -> None:
    factory.write_change(results, factory.make_change(factory.Plan(rounds=1)))
    with pytest.raises(AnsibleActionFail) as caught:
        run({"results": str(results), **arguments})
    assert said in str(caught.value)
    assert caught.value.__cause__ is None  # ansible-core 2.21 prints a cause behind the sentence


def test_files_that_are_not_records_are_named(results: Path) -> None:
    (results / "calibration" / "app1" / "calibration-9-x-app2.json").write_text("{")
    assert run({"results": str(results)})["warnings"][0].startswith(
        "app1/calibration-9-x-app2.json: left out: it is not JSON"
    )
