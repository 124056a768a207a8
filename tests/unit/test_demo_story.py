# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of the demo, and what fails it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "demo"))

import story as demo  # noqa: E402

FOUND = {"app1": ["rps_cpus:0", "abc  /etc/udev/rules.d/x"], "app2": ["rps_cpus:0"]}
AS_THEY_WERE = "as they were: all 3 values and files that were read before the experiment are the same after it."


def report(kept: str | None = None, complete: bool = True) -> dict[str, Any]:
    """The fields of a report that the story is made from."""
    levels = [{"name": name, "verdict": "IMPROVED", "baseline": name == "off"} for name in ("off", "all", "every-2")]
    progress = {"sessions": [{"kept": kept}], "hosts": [{"host": "app1"}, {"host": "app2"}], "complete": complete}
    experiment = {"levels": levels, "baseline": "off", "rounds": 8, "reason": "Because.", "progress": progress}
    return {"experiment": experiment, "pooled": [{"contrast": "all", "reason": "best guess 19.8 %."}]}


@pytest.mark.parametrize(("kept", "told"), [(None, "nothing. Because."), ("all", "all. Because.")])
def test_the_story(kept: str | None, told: str) -> None:
    lines = demo.story(report(kept), FOUND, FOUND, Path("/results/report.html"))
    assert lines[:6] == [
        "Tried:   RPS all and every-2, against off: 8 rounds of each in random order on app1, app2.",
        "         all      IMPROVED: best guess 19.8 %",
        "         every-2  IMPROVED: no data",
        f"Kept:    {told}",
        f"Hosts:   {AS_THEY_WERE}{' Rollback took the level back.' if kept else ''}",
        "Report:  /results/report.html",
    ]
    assert demo.problems(report(kept), FOUND, FOUND) == []


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (FOUND, {**FOUND, "app2": ["rps_cpus:3"]}, "NOT as they were: app2 rps_cpus:0; app2 rps_cpus:3"),
        (FOUND, {"app1": FOUND["app1"]}, "NOT as they were: app2 rps_cpus:0"),
        (FOUND, {**FOUND, "app1": [*FOUND["app1"], "d  /y"]}, "NOT as they were: app1 d  /y"),
        ({}, {}, "nothing could be read"),
        ({"app1": []}, {"app1": []}, "nothing could be read"),
    ],
)
def test_a_host_that_is_not_as_it_was_fails_the_demo(first: demo.Found, last: demo.Found, told: str) -> None:
    assert demo.as_found(first, last).startswith(told)
    assert demo.problems(report(), first, last) == ["the hosts are not as they were"]
