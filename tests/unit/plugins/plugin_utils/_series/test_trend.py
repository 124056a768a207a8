# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trend over many changes: steps, gaps, the whole, and what is not known."""

from __future__ import annotations

import math
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.trend import MISSING, TrendStep, together, trend
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.ranks import Ratios, hodges_lehmann_ratio
from series_samples import BANKING, banking, comparison


def test_the_banking_study_goes_from_above_five_hours_to_two() -> None:
    report = banking()
    assert report["headline"].startswith("elapsed_s went from 18,234 s to 7,388 s over 6 changes: 59.5 % less")
    assert "The effect of the changes alone is unknown" in report["headline"]
    (series,) = report["series"]
    whole, steps = series["whole"], series["steps"]
    assert (round(whole["before"] / 3600, 2), round(whole["after"] / 3600, 2)) == (5.07, 2.05)
    assert whole["ratio"] == pytest.approx(18234 / 7388, abs=1e-4)
    # what the study's conclusions print: HiperSockets 2 to 4, z14 6 to 8, LPAR 7 to 22, RPS on 128 IFLs 3 %
    assert [round(step["change_pct"]) for step in steps] == [-4, -6, -26, -22, -18, -3]
    assert [step["label"] for step in steps] == [name for name, _old, _new in BANKING]
    # what moved between changes is credited to nobody
    gaps = [step["gap"] for step in steps]
    assert gaps[:4] == [None, 1.0, 1.0, 1.0]
    assert gaps[4] == pytest.approx(9399 / 9329, rel=1e-5)  # SP3 by itself
    product = math.prod(step["ratio"] for step in steps)
    assert whole["steps_ratio"] == pytest.approx(product, rel=1e-5)
    assert whole["ratio"] == pytest.approx(product * math.prod(gap for gap in gaps if gap), rel=1e-4)
    # the gain since the first ends at the whole
    assert steps[0]["cumulative"] == pytest.approx(18234 / 17467, rel=1e-5)
    assert steps[-1]["cumulative"] == whole["ratio"]


@pytest.mark.parametrize(
    ("after", "reading"),
    [
        ([80, 81, 79, 80, 81, 79], "20.0 % less. The changes alone: 25.0 % better (+22.2 % to +27.8 %)."),
        ([100, 101, 98, 99, 101, 99], "0.0 % more. The changes alone: no certain change (-1.0 % to +2.0 %)."),
        ([120, 121, 119, 120, 121, 119], "20.0 % more. The changes alone: 16.7 % worse (-18.2 % to -15.1 %)."),
    ],
)
def test_the_headline_calls_only_a_certain_change_better(after: list[float], reading: str) -> None:
    headline = trend("t", [TrendStep("a", "a", [comparison([100, 101, 99, 100, 101, 99], after)])])["headline"]
    assert headline.endswith(reading)


def change(factor: float, session: float = 1.0) -> dict[str, Any]:
    """A change by so much in a session in which everything takes this many times as long."""
    values = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1]
    return comparison([session * value for value in values[1:]], [session * value / factor for value in values[:-1]])


def test_sessions_that_differ_are_no_effect_of_the_changes() -> None:
    flat = [TrendStep(f"c{place}", "", [change(1.0, session)]) for place, session in enumerate((1.0, 1.05, 0.97, 0.9))]
    report = trend("t", flat)
    assert report["headline"].startswith("elapsed_s went from 100.1 s to 90 s over 4 changes: 10.1 % less, measured at")
    assert "The changes alone: no certain change (" in report["headline"]
    (series,) = report["series"]
    gaps = [math.log(step["gap"]) for step in series["steps"][1:]]
    # t of 3 degrees of freedom, 98.5 %
    width = 3.8960 * math.sqrt(sum(gap**2 for gap in gaps) / 3)
    assert math.log(series["whole"]["high"] / series["whole"]["ratio"]) == pytest.approx(width, rel=0.02)


def test_a_change_that_its_own_report_decides_is_named() -> None:
    noisy = comparison([100, 90, 110, 95, 105, 100], [100, 108, 92, 104, 96, 100], verdict="INCONCLUSIVE")
    better = {**change(1.1), "verdict": "IMPROVED"}
    steps = [TrendStep(f"c{place}", "", [better if place == 5 else noisy]) for place in range(1, 13)]
    headline = trend("t", steps)["headline"]
    assert "no certain change" in headline and headline.endswith("Certain by its own report: c5 10.1 % better.")
    two = [TrendStep(step.change, "", [*step.comparisons, {**better, "host": "erp2"}]) for step in steps]
    assert "c1 in 1 series" in trend("t", two)["headline"] and "c5 in 2 series" in trend("t", two)["headline"]


def test_the_sum_of_the_changes_has_the_root_of_the_squares_of_their_widths() -> None:
    entries = [change(1.03), change(1.02, 1.1), change(1.01, 0.9)]
    ratio, low, high = together(entries, "lower")
    assert ratio == pytest.approx(math.prod(entry["ratio"] for entry in entries))
    widths = []
    for entry in entries:
        sides = [entry[state]["round_medians"] for state in ("after", "before")]
        middle = hodges_lehmann_ratio(*sides)
        ends = Ratios(*sides).interval(0.97)
        widths.append((math.log(middle / ends[0]), math.log(ends[1] / middle)))
    assert math.log(ratio / low) == pytest.approx(math.hypot(*(width for width, _high in widths)), abs=1e-9)
    assert math.log(high / ratio) == pytest.approx(math.hypot(*(width for _low, width in widths)), abs=1e-9)
    assert together([*entries, MISSING], "lower") is None
    assert together([comparison([100], [90])], "lower") is None


def test_the_whole_of_few_changes_has_no_interval() -> None:
    first = comparison([100, 101, 102, 103, 104], [90, 91, 92, 93, 94])
    last = comparison([95, 96, 97, 98, 99], [80, 81, 82, 83, 84])
    (series,) = trend("t", [TrendStep("a", "a", [first]), TrendStep("b", "b", [last])])["series"]
    whole = series["whole"]
    assert (whole["low"], whole["high"]) == (None, None)
    (alone,) = trend("t", [TrendStep("a", "a", [first])])["series"]
    assert 104 / 90 >= alone["whole"]["high"] > alone["whole"]["ratio"] > alone["whole"]["low"] >= 100 / 94


def test_a_rate_is_better_where_it_is_higher_and_several_series_have_a_range() -> None:
    entry = comparison([100], [80], metric="ops_per_min", unit="1/min", better="higher")
    report = trend("t", [TrendStep("a", "a", [entry])])
    assert report["series"][0]["whole"]["ratio"] == 0.8
    assert report["headline"].startswith("ops_per_min went from 100 1/min to 80 1/min over 1 change: 20.0 % less.")
    entries = [comparison([100], [90]), comparison([100], [125], host="erp2")]
    headline = trend("t", [TrendStep("a", "a", entries)])["headline"]
    assert headline.startswith("2 series changed by -20.0 % to +11.1 % ") and "above 0 is better" in headline


@pytest.mark.parametrize("other", [{"unit": "ms"}, {"better": "higher"}])
def test_figures_of_another_unit_or_direction_are_another_series(other: dict[str, str]) -> None:
    """Imports of two changes know nothing of each other."""
    steps = [
        TrendStep("a", "a", [comparison([100], [80])]),
        TrendStep("b", "b", [comparison([80000], [80000], **other)]),
    ]
    series = trend("t", steps)["series"]
    assert [item["whole"]["steps_ratio"] for item in series] == [None, None]
    assert sorted(item["whole"]["ratio"] for item in series) == [1.0, 1.25]


def test_a_change_without_the_series_is_a_hole_and_no_value() -> None:
    there, other = comparison([100], [90]), comparison([50], [50], host="erp2")
    report = trend("t", [TrendStep("a", "a", [there]), TrendStep("b", "b", [other]), TrendStep("c", "c", [there])])
    series = next(item for item in report["series"] if item["host"] == "erp1")
    hole = series["steps"][1]
    assert (hole["verdict"], hole["before"], hole["ratio"], hole["gap"]) == ("NO DATA", None, None, None)
    assert series["steps"][2]["gap"] == 0.9
    assert series["whole"]["steps_ratio"] is None
    assert series["whole"]["ratio"] == pytest.approx(100 / 90, rel=1e-5)


def test_a_state_without_data_is_null_everywhere() -> None:
    report = trend("t", [TrendStep("a", "a", [comparison([], [90], verdict="NO DATA")])])
    (series,) = report["series"]
    assert series["whole"] == dict.fromkeys(("before", "after", "change_pct", "ratio", "low", "high", "steps_ratio"))
    assert report["headline"] == "There is no result over 1 change: no comparison has data."


def test_patterns_choose_and_controls_are_in_no_trend() -> None:
    entries = [
        comparison([1], [1], workload="pingpong-1B", metric="av2_us"),
        comparison([2], [2]),
        comparison([3], [3], workload="control-1B", control=True),
    ]
    everything = trend("t", [TrendStep("a", "a", entries)])
    assert [item["workload"] for item in everything["series"]] == ["pingpong-1B", "settlement"]
    chosen = trend("t", [TrendStep("a", "a", entries)], "pingpong-*")
    assert [item["workload"] for item in chosen["series"]] == ["pingpong-1B"]
    nothing = trend("t", [TrendStep("a", "a", entries)], "*", "max_us")
    assert (nothing["series"], nothing["problems"]) == ([], ["The change a has no matching comparison."])
