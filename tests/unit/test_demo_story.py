# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of the demo, from the report of an experiment with known effects."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from experiments import make_plan, make_records, make_tunings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "demo"))

import story as demo  # noqa: E402

PAGE = Path("/results/demo/report.html")
FOUND = {"app1": ["rps_cpus:0", "abc  /etc/udev/rules.d/x"], "app2": ["rps_cpus:0"]}


def report(effects: dict[str, float], kept: str | None = None, **more: Any) -> dict[str, Any]:
    plan = make_plan(**more)
    plan["sessions"][-1]["kept"] = kept
    return compare_change(replace(factory.load(make_records(plan, effects), make_tunings(plan)), experiment=plan))


def test_a_demo_without_a_winner_tells_what_each_level_did_and_that_nothing_was_kept() -> None:
    found = report({"all": 0.25, "every-2": 0.12})
    lines = demo.story(found, FOUND, FOUND, PAGE)
    assert lines[0] == (
        "Tried:   RPS all and every-2 and every-4, against off: 8 rounds of each in random order on app1, app2."
    )
    assert lines[1].startswith("         all      REGRESSED: ") and "best guess 19.8 %" in lines[1]
    assert lines[2].startswith("         every-2  REGRESSED: ") and "best guess 10.4 %" in lines[2]
    assert lines[3].startswith("         every-4  UNCHANGED: ")
    assert lines[4].startswith("Kept:    nothing. No level is surely better than off")
    assert lines[5] == (
        "Hosts:   as they were: all 3 values and files that were read before the experiment are the same after it."
    )
    assert lines[6] == "Report:  /results/demo/report.html"
    assert demo.problems(found, FOUND, FOUND) == []


def test_a_demo_with_a_winner_names_it_and_why() -> None:
    found = report({"every-4": -0.2}, kept="every-4")
    assert demo.kept(found) == "every-4"
    (line,) = [line for line in demo.story(found, FOUND, FOUND, PAGE) if line.startswith("Kept:")]
    assert line.startswith("Kept:    every-4. every-4 is better than off: 2")
    (line,) = [line for line in demo.story(found, FOUND, FOUND, PAGE) if line.startswith("Hosts:")]
    assert line.endswith("are the same after it. Rollback took the level back.")


@pytest.mark.parametrize(
    ("last", "changed"),
    [
        ({**FOUND, "app2": ["rps_cpus:3"]}, "app2 rps_cpus:0; app2 rps_cpus:3"),
        ({"app1": FOUND["app1"]}, "app2 rps_cpus:0"),
        ({**FOUND, "app1": [*FOUND["app1"], "def  /etc/udev/rules.d/y"]}, "app1 def  /etc/udev/rules.d/y"),
    ],
)
def test_a_host_that_is_not_as_it_was_is_told_and_fails_the_demo(last: demo.Found, changed: str) -> None:
    found = report({})
    assert f"Hosts:   NOT as they were: {changed}" in demo.story(found, FOUND, last, PAGE)
    assert demo.problems(found, FOUND, last) == ["the hosts are not as they were"]


@pytest.mark.parametrize("nothing", [{}, {"app1": []}])
def test_hosts_of_which_nothing_was_read_are_never_called_as_they_were(nothing: demo.Found) -> None:
    found = report({})
    assert not any("as they were: all" in line for line in demo.story(found, nothing, nothing, PAGE))
    assert demo.problems(found, nothing, nothing) == ["the hosts are not as they were"]


def test_an_incomplete_experiment_fails_the_demo() -> None:
    plan = make_plan(rounds=6, most=8)
    records = list(make_records(plan, {}))[:-8]
    found = compare_change(replace(factory.load(records, make_tunings(plan)), experiment=plan))
    assert demo.problems(found, FOUND, FOUND) == ["the experiment is not complete"]
