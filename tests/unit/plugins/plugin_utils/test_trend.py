# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trend over many changes: steps, gaps, the whole, and what is not known."""

from __future__ import annotations

import math

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.trend import Step, trend
from series_samples import BANKING, banking, comparison


def test_the_banking_study_goes_from_above_five_hours_to_two() -> None:
    report = banking()
    assert report["headline"] == "elapsed_s went from 18,234 s to 7,388 s over 6 changes: 59.5 % less, better."
    (series,) = report["series"]
    whole = series["whole"]
    assert (round(whole["before"] / 3600, 2), round(whole["after"] / 3600, 2)) == (5.07, 2.05)
    assert whole["ratio"] == pytest.approx(18234 / 7388, abs=1e-4)
    # what the study's conclusions print: HiperSockets 2 to 4, z14 6 to 8, LPAR 7 to 22, RPS on 128 IFLs 3 %
    assert [round(step["change_pct"]) for step in series["steps"]] == [-4, -6, -26, -22, -18, -3]
    assert [step["label"] for step in series["steps"]] == [name for name, _old, _new in BANKING]


@pytest.mark.parametrize(
    ("after", "reading"),
    [
        ([80, 81, 79, 80, 81, 79], "20.0 % less, better."),
        ([100, 101, 98, 99, 101, 99], "0.0 % more, no certain change."),
        ([120, 121, 119, 120, 121, 119], "20.0 % more, worse."),
    ],
)
def test_the_headline_calls_only_a_certain_change_better(after: list[float], reading: str) -> None:
    headline = trend("t", [Step("a", "a", [comparison([100, 101, 99, 100, 101, 99], after)])])["headline"]
    assert headline.endswith(reading)


def test_what_moved_between_changes_is_credited_to_nobody() -> None:
    (series,) = banking()["series"]
    gaps = [step["gap"] for step in series["steps"]]
    assert gaps[0] is None
    assert gaps[1:4] == [1.0, 1.0, 1.0]
    assert gaps[4] == pytest.approx(9399 / 9329, rel=1e-5)  # SP3 by itself
    together = math.prod(step["ratio"] for step in series["steps"])
    assert series["whole"]["steps_ratio"] == pytest.approx(together, rel=1e-5)
    assert series["whole"]["ratio"] == pytest.approx(together * math.prod(gap for gap in gaps if gap), rel=1e-4)


def test_the_gain_since_the_first_ends_at_the_whole() -> None:
    (series,) = banking()["series"]
    assert series["steps"][0]["cumulative"] == pytest.approx(18234 / 17467, rel=1e-5)
    assert series["steps"][-1]["cumulative"] == series["whole"]["ratio"]


def test_the_whole_has_the_interval_of_its_two_states_alone() -> None:
    first = comparison([100, 101, 102, 103, 104], [90, 91, 92, 93, 94])
    last = comparison([95, 96, 97, 98, 99], [80, 81, 82, 83, 84])
    (series,) = trend("t", [Step("a", "a", [first]), Step("b", "b", [last])])["series"]
    whole = series["whole"]
    assert 104 / 80 >= whole["high"] > whole["ratio"] > whole["low"] >= 100 / 84
    (again,) = banking()["series"]
    assert (again["whole"]["low"], again["whole"]["high"]) == (None, None)  # one round a state has no interval


def test_a_rate_is_better_where_it_is_higher() -> None:
    entry = comparison([100], [80], metric="ops_per_min", unit="1/min", better="higher")
    report = trend("t", [Step("a", "a", [entry])])
    assert report["series"][0]["whole"]["ratio"] == 0.8
    assert report["headline"] == "ops_per_min went from 100 1/min to 80 1/min over 1 change: 20.0 % less, worse."


@pytest.mark.parametrize("other", [{"unit": "ms"}, {"better": "higher"}])
def test_figures_of_another_unit_or_direction_are_another_series(other: dict[str, str]) -> None:
    """Imports of two changes know nothing of each other."""
    steps = [Step("a", "a", [comparison([100], [80])]), Step("b", "b", [comparison([80000], [80000], **other)])]
    series = trend("t", steps)["series"]
    assert [item["whole"]["steps_ratio"] for item in series] == [None, None]
    assert sorted(item["whole"]["ratio"] for item in series) == [1.0, 1.25]


def test_a_change_without_the_series_is_a_hole_and_no_value() -> None:
    there, other = comparison([100], [90]), comparison([50], [50], host="erp2")
    report = trend("t", [Step("a", "a", [there]), Step("b", "b", [other]), Step("c", "c", [there])])
    series = next(item for item in report["series"] if item["host"] == "erp1")
    hole = series["steps"][1]
    assert (hole["verdict"], hole["before"], hole["ratio"], hole["gap"]) == ("NO DATA", None, None, None)
    assert series["steps"][2]["gap"] == 0.9
    assert series["whole"]["steps_ratio"] is None
    assert series["whole"]["ratio"] == pytest.approx(100 / 90, rel=1e-5)


def test_a_state_without_data_is_null_everywhere() -> None:
    report = trend("t", [Step("a", "a", [comparison([], [90], verdict="NO DATA")])])
    (series,) = report["series"]
    assert series["whole"] == dict.fromkeys(("before", "after", "change_pct", "ratio", "low", "high", "steps_ratio"))
    assert report["headline"] == "There is no result over 1 change: no comparison has data."


def test_patterns_choose_and_controls_are_in_no_trend() -> None:
    entries = [
        comparison([1], [1], workload="pingpong-1B", metric="av2_us"),
        comparison([2], [2]),
        comparison([3], [3], workload="control-1B", control=True),
    ]
    everything = trend("t", [Step("a", "a", entries)])
    assert [item["workload"] for item in everything["series"]] == ["pingpong-1B", "settlement"]
    chosen = trend("t", [Step("a", "a", entries)], "pingpong-*")
    assert [item["workload"] for item in chosen["series"]] == ["pingpong-1B"]
    nothing = trend("t", [Step("a", "a", entries)], "*", "max_us")
    assert (nothing["series"], nothing["problems"]) == ([], ["The change a has no matching comparison."])


def test_several_series_are_summed_up_by_their_range() -> None:
    entries = [comparison([100], [90]), comparison([100], [125], host="erp2")]
    assert trend("t", [Step("a", "a", entries)])["headline"] == (
        "2 series changed by -20.0 % to +11.1 % from the first state to the last one over 1 change; above 0 is better."
    )
