# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scaling action: what it writes, and what it says when it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import records_factory as factory
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import measurement_scaling as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report.of_scaling import FORMATS
from published_studies import study
from series_samples import GUESTS, guests

CHANGE = "rps-2026-11"


def run(arguments: dict[str, Any], check: bool = False) -> dict[str, Any]:
    return run_action(action, arguments, check)


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> Path:
    factory.write_change(tmp_path, guests())
    return tmp_path


HEADLINE = "At 8 guests, 1.52 to 5.49 times the work of 1"


def test_the_virtualization_study_from_records_on_disk(results: Path) -> None:
    arguments = {"results": str(results), "change": CHANGE, "x": "context.guests"}
    assert run(arguments, check=True)["changed"] is True
    assert not list((results / CHANGE).glob("scaling-*"))
    result = run(arguments)
    assert (result["changed"], result["curves"]) == (True, len(GUESTS))
    assert list(result["paths"]) == list(FORMATS)
    report = json.loads((results / CHANGE / "scaling-context.guests.json").read_text())
    found = {item["workload"]: tuple(point["pct"] for point in item["points"]) for item in report["curves"]}
    assert found == GUESTS
    assert result["headline"].startswith(HEADLINE)
    # the files of a scaling are not a problem of the change
    result = run(arguments)
    assert result["changed"] is False
    assert "warnings" not in result


def test_the_imported_virtualization_study(tmp_path: Path) -> None:
    factory.write_change(tmp_path, study("slcs"))
    result = run({"results": str(tmp_path), "change": "published-slcs", "x": "context.guests"})
    assert result["headline"].startswith(HEADLINE)
    curves = json.loads(Path(result["paths"]["json"]).read_text())["curves"]
    found = {item["workload"].removeprefix("slcs-"): tuple(p["pct"] for p in item["points"]) for item in curves}
    assert found == GUESTS
    assert not any(item["knee"] for item in curves), "a study with one value for each point proves no knee"


def test_a_terminal_shows_headline_and_page_or_the_first_file(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(action.ActionModule, "say", lambda _self, lines: said.extend(lines))
    arguments = {"results": str(results), "change": CHANGE, "x": "context.guests"}
    first = run(arguments)
    assert said == [first["headline"], first["paths"]["html"]]
    run({**arguments, "formats": ["csv", "md"]})
    assert said[2:] == [first["headline"], first["paths"]["md"]]


def test_phases_can_be_chosen(results: Path) -> None:
    phases = ["guests-1", "guests-4"]
    run({"results": str(results), "change": CHANGE, "x": "context.guests", "phases": phases, "workload": "mem_std"})
    (found,) = json.loads((results / CHANGE / "scaling-context.guests.json").read_text())["curves"]
    assert [(point["x"], point["pct"]) for point in found["points"]] == [(1.0, 100.0), (4.0, 307.0)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"x": "guests"}, "x is 'guests'; it has to be connections, params.<name> or context.<name>"),
        ({"change": "nobody"}, "there is no measurement record of change nobody"),
        ({"change": "../etc"}, "change is '../etc'; it has to begin"),
        ({"phases": ["after"]}, "has no phase after; it has guests-1, guests-2"),
    ],
)
def test_what_cannot_be_is_one_sentence(results: Path, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(AnsibleActionFail) as caught:
        run({"results": str(results), "change": CHANGE, **arguments})
    assert said in str(caught.value)
    assert caught.value.__cause__ is None  # ansible-core 2.21 prints a cause behind the sentence


def test_an_x_that_nobody_noted_is_a_problem_and_no_curve(results: Path) -> None:
    result = run({"results": str(results), "change": CHANGE, "x": "params.jobs", "workload": "mem_std"})
    assert result["curves"] == 0
    assert result["warnings"] == ["mem_std from app1 to app2: params.jobs is None, which is not a number above 0."]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (FileNotFoundError(2, "No such file", "/srv/x"), "/srv/x on the controller: No such file"),
        (OSError("no room is left"), "no room is left"),
        (ValueError("one\nline"), "one line"),
    ],
)
def test_an_error_while_an_action_acts_is_its_sentence(
    results: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, sentence: str
) -> None:
    monkeypatch.setattr(action, "scaling", Mock(side_effect=error))
    with pytest.raises(AnsibleActionFail) as caught:
        run({"results": str(results), "change": CHANGE, "x": "context.guests"})
    assert str(caught.value) == sentence
