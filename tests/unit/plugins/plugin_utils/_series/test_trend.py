# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trend over many changes, and the scaling over connections, jobs or guests."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.round import Round
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.scaling import (
    curve,
    knee,
    scaling,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.trend import MISSING, TrendStep, together, trend
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.ranks import Ratios, hodges_lehmann_ratio
from series_samples import BANKING, GUESTS, banking, comparison, connections, guests, record, rounds


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


def test_no_figure_is_less_than_nothing() -> None:
    steps = [TrendStep("a", "a", [comparison([100], [100.01]), comparison([100], [90], host="erp2")])]
    assert trend("t", steps)["headline"].startswith("2 series changed by +0.0 % to +11.1 % ")


def change(factor: float, session: float = 1.0) -> dict[str, Any]:
    """A change by so much in a session in which everything takes this many times as long."""
    values = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1]
    return comparison([session * value for value in values[1:]], [session * value / factor for value in values[:-1]])


def test_sessions_that_differ_are_not_an_effect_of_the_changes() -> None:
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


def test_a_figure_that_proves_nothing_in_its_own_report_proves_nothing_in_a_sum() -> None:
    """Such as one with a control that moved, failed runs or a coarse clock."""
    moved = {**change(1.4), "verdict": "INCONCLUSIVE", "reason": "the control changed"}
    steps = [TrendStep("c1", "", [change(1.1)]), TrendStep("c2", "", [moved], unsure=[moved])]
    assert ". The effect of the changes alone is unknown: the verdict on c2 says why." in trend("t", steps)["headline"]
    assert "The changes alone: 54" in trend("t", [steps[0], replace(steps[1], unsure=())])["headline"]


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


def test_a_change_without_the_series_is_a_gap_and_not_a_value() -> None:
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


def test_a_state_that_was_measured_before_the_first_one_is_no_end() -> None:
    lost = [comparison([], [90], verdict="NO DATA"), comparison([100], [], verdict="NO DATA")]
    (series,) = trend("t", [TrendStep(name, name, [entry]) for name, entry in zip("ab", lost, strict=True)])["series"]
    assert series["whole"]["ratio"] is series["steps"][0]["cumulative"] is None
    assert series["steps"][1]["gap"] == 0.9


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


def measured(values: dict[float, float], noise: float = 0.005) -> dict[float, list[float]]:
    """Three rounds per point."""
    return {x: [v * math.exp(-noise), v, v * math.exp(noise)] for x, v in values.items()}


def test_percentages_that_are_not_of_one_are_normalized() -> None:
    scaled = guests(["mem_std"])
    for item in scaled:
        item["runs"][1]["metrics"]["mem_std"] *= 37.5
    (found,) = scaling("c", rounds(scaled), "context.guests")["curves"]
    assert tuple(round(point["pct"]) for point in found["points"]) == GUESTS["mem_std"]


class TestWork:
    @pytest.mark.parametrize(
        ("values", "better", "work", "speedup", "efficiency"),
        [
            # a rate of the whole, a time that each needs, and one of the whole
            ({1: 10, 2: 18, 4: 30}, "higher", "each", [1.0, 1.8, 3.0], [100.0, 90.0, 75.0]),
            ({1: 50, 10: 50, 50: 100}, "lower", "each", [1.0, 10.0, 25.0], [100.0, 100.0, 50.0]),
            ({1: 100, 2: 50, 4: 50}, "lower", "whole", [1.0, 2.0, 2.0], [100.0, 100.0, 50.0]),
            # x need not begin at one
            ({16: 10, 32: 20}, "higher", "each", [1.0, 2.0], [100.0, 100.0]),
        ],
    )
    def test_the_work(
        self, values: dict[float, float], better: str, work: str, speedup: list[float], efficiency: list[float]
    ) -> None:
        found = curve({x: [value] for x, value in values.items()}, better, work)
        assert [point["speedup"] for point in found] == speedup
        assert [point["efficiency_pct"] for point in found] == efficiency

    def test_the_interval_belongs_to_the_work(self) -> None:
        first, second = [50, 51, 52, 53, 54, 55.0], [60, 61, 62, 63, 64, 65.0]
        found = curve({10: second, 1: first}, "lower", "each")
        assert (found[0]["low"], found[0]["high"]) == (1.0, 1.0)
        low, high = found[1]["low"], found[1]["high"]
        assert low is not None and high is not None
        assert 10 * 50 / 65 < low < found[1]["speedup"] < high < 10 * 55 / 60


class TestKnee:
    def test_it_is_where_the_curve_leaves_the_straight_line_farthest(self) -> None:
        found = knee(measured({1: 10, 2: 20, 4: 40, 8: 42, 16: 43}), "higher")
        assert found == {"x": 4.0, "above_pct": pytest.approx(100 * (3 - 3 * 3.3 / 15) / 3.3, rel=1e-5)}

    def test_a_time_that_each_needs_and_a_time_of_the_whole_bend_as_well(self) -> None:
        each = measured({1: 10, 2: 10, 4: 10, 8: 20, 16: 40})
        whole = measured({1: 80, 2: 40, 4: 20, 8: 20, 16: 20})
        assert [found and found["x"] for found in (knee(each, "lower"), knee(whole, "lower", "whole"))] == [4.0, 4.0]

    @pytest.mark.parametrize(("noise", "claimed"), [(0.01, True), (0.5, False)])
    def test_the_bend_must_exceed_the_noise(self, noise: float, claimed: bool) -> None:
        """The claim by hand: t of K(R - 1) degrees of freedom for the rise, and for the bend over a tenth of it."""
        values = {1: 10, 2: 20, 4: 40, 8: 42, 16: 43}
        spread = noise  # the deviation of -noise, 0 and noise
        # t of 10 degrees of freedom at 1 - .02/20 and 1 - .02/3
        rise = math.log(4.3) > 4.1437 * spread * math.sqrt(2 / 3)
        line = (0.8 * 1.0, 0.2 * 4.3)
        above = 4 - sum(line) - 3.0005 * spread / math.sqrt(3) * math.hypot(4, *line)
        assert (rise and above > 0.1 * 3.3) == claimed
        assert (knee(measured(values, noise), "higher") is not None) == claimed

    def test_few_rounds_or_points_prove_nothing(self) -> None:
        assert knee({1: [10, 10], 4: [40, 40], 16: [43, 43]}, "higher") is None
        assert knee(measured({1: 10, 4: 40}), "higher") is None
        # a curve that falls again has its knee before
        found = knee(measured({1: 10, 4: 40, 16: 20, 64: 10}), "higher")
        assert found is not None and found["x"] == 4.0

    @pytest.mark.parametrize(
        "values",
        [
            {1: 10, 2: 20, 4: 40, 8: 80},  # straight
            {1: 10, 2: 11, 4: 20, 8: 80},  # bends upwards
            {1: 10, 2: 10, 4: 10},  # level
            {1: 10, 2: 12},  # a line
            {1: 100, 2: 112, 3: 120, 4: 125, 5: 131, 6: 131, 7: 139, 8: 152},  # 9.8 % above, under the tenth
        ],
    )
    def test_none(self, values: dict[float, float]) -> None:
        assert knee(measured(values), "higher") is None


class TestCurves:
    def test_phases_that_measured_every_x_have_a_curve_each(self) -> None:
        report = connections()
        before, after = report["curves"]
        assert [item["phases"] for item in (before, after)] == [["before"], ["after"]]
        assert {item["workload"] for item in (before, after)} == {"pingpong-onlTrans"}
        assert report["headline"] == "At 250 connections, 13.9 to 30.4 times the work of 1; the curves bend at 50."
        assert [point["x"] for point in before["points"]] == [1.0, 10.0, 50.0, 250.0]
        assert {point["rounds"] for point in (*before["points"], *after["points"])} == {5}
        assert [round(point["speedup"], 1) for point in before["points"]] == [1.0, 8.1, 13.2, 13.9]
        assert before["knee"]["x"] == 50.0

    @pytest.mark.parametrize(
        ("name", "workload"), [("fio-randread-{}", "fio-randread"), ("openssl-sha1", "openssl-sha1")]
    )
    def test_a_parameter_can_be_x(self, name: str, workload: str) -> None:
        """A number in a name is not x where there is nothing to tell apart."""
        made = [
            record(value, metric=("iops", "1/s", "higher"), name=name.format(jobs), params={"jobs": jobs, "bs": 8})
            for jobs, value in ((1, 100), (2, 190), (4, 200))
        ]
        (found,) = scaling("c", rounds(made), "params.jobs")["curves"]
        assert [point["x"] for point in found["points"]] == [1.0, 2.0, 4.0]
        assert found["workload"] == workload

    def test_workloads_that_only_their_names_tell_apart_are_curves_of_their_own(self) -> None:
        made = [record(50, connections=count, name=f"{kind}-x{count}") for count in (1, 10) for kind in "ab"]
        found = scaling("c", rounds(made), "connections")["curves"]
        assert [item["workload"] for item in found] == ["a", "b"]
        assert [len(item["points"]) for item in found] == [2, 2]
        assert len(scaling("c", rounds(made), "connections", workload="a-*")["curves"]) == 1

    def test_values_that_are_not_numbers_and_failures_are_reported(self) -> None:
        made = [record(50, context={"guests": "many"}), record(50, phase="p2", context={"guests": "2"})]
        failed = record(50, phase="p3", context={"guests": 3})
        failed["runs"][1].update(ok=False, error="refused", metrics={})
        report = scaling("c", rounds([*made, failed]), "context.guests")
        number, none = report["problems"]
        assert "context.guests is 'many', which is not a number above 0" in number
        assert "no run succeeded at context.guests 3" in none
        assert [point["x"] for point in report["curves"][0]["points"]] == [2.0]
        # controls stay out
        made = [record(50, connections=count) for count in (1, 10)]
        for item in made:
            item["workload"]["control"] = True
        assert scaling("c", rounds(made), "connections")["curves"] == []

    @pytest.mark.parametrize("x", ["", "params.", "context", "bytes", "loops.x"])
    def test_an_invalid_x(self, x: str) -> None:
        with pytest.raises(ValueError, match="it must be connections, params"):
            scaling("c", [], x)


def of_jobs(values: dict[float, float], name: str = "batch") -> list[dict[str, Any]]:
    """A batch with this many jobs each, whose number stands in the name of the workload, too."""
    metric = ("elapsed_s", "s", "lower")
    return [
        record(value, metric=metric, name=f"{name}-{jobs:.0f}", context={"jobs": jobs})
        for jobs, value in values.items()
    ]


def test_another_setting_of_the_application_is_another_curve() -> None:
    """Half of the packets by another size: what that did is not the work of the jobs."""
    records = of_jobs({1: 80.0, 2: 40.0}) + of_jobs({1: 40.0, 2: 20.0})
    for place, made in enumerate(records):
        made["context"]["packet_size"] = 500 if place < 2 else 1000
        made["round"] = 1 + place // 2
    report = scaling("c", rounds(records), "context.jobs", "whole")
    found = [[point["value"] for point in item["points"]] for item in report["curves"]]
    assert sorted(found) == [[40.0, 20.0], [80.0, 40.0]]
    assert report["problems"] == [
        "batch-1 from app1 to app2: context.packet_size differs, so these runs are not points of one curve."
    ]


def test_a_million_in_the_name_of_a_workload_is_x_as_well() -> None:
    many = {5e5: 90.0, 1e6: 45.0, 2_000_000: 30.0}
    records = of_jobs(many) + of_jobs(many, "other")
    report = scaling("c", rounds(records), "context.jobs", "whole")
    assert [(item["workload"], len(item["points"])) for item in report["curves"]] == [("batch", 3), ("other", 3)]
    assert report["headline"].startswith("At 2000000 jobs, 3 times the work of 500000; ")


def test_the_headline_covers_curves_with_the_first_point_it_names() -> None:
    """The work of a curve from 4 on is not that of 1; one value of x is not a scaling."""
    records = of_jobs({1: 80.0, 4: 20.0}) + of_jobs({4: 80.0, 8: 40.0}, "other")
    report = scaling("c", rounds(records), "context.jobs", "whole")
    assert report["headline"] == "At 4 jobs, 4 times the work of 1; no curve has a proven knee."
    report = scaling("c", rounds(of_jobs({4: 10.0})), "context.jobs")
    assert "only value of context.jobs is 4" in report["headline"]


def test_the_headline_counts_the_curves_with_a_knee() -> None:
    bent, straight = {1: 80.0, 2: 40.0, 8: 39.0}, {1: 80.0, 2: 40.0, 8: 10.0}
    one = scaling("c", in_time(bent), "context.jobs", "whole")
    assert one["headline"].endswith("; the curve bends at 2.") and one["problems"] == []
    some = scaling("c", in_time(bent) + in_time(straight, "other"), "context.jobs", "whole")
    assert some["headline"].endswith("; 1 of 2 curves bends, at 2.")
    # points that were measured in blocks prove none
    found = scaling("c", in_time(bent, turns=False), "context.jobs", "whole")
    assert found["headline"].endswith("; no curve has a proven knee.")
    (problem,) = found["problems"]
    assert "each point was measured at its own time" in problem


def in_time(values: dict[float, float], name: str = "batch", turns: bool = True) -> list[Round]:
    """Three rounds of each x, in turns or one x after the other."""
    found = []
    for place in range(3):
        for at, item in enumerate(rounds(of_jobs({x: v * (1 + place / 200) for x, v in values.items()}, name))):
            order = place * len(values) + at if turns else 3 * at + place
            found.append(replace(item, number=place + 1, started=1_000_000 * order))
    return found
