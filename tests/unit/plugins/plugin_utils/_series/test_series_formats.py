# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of trend and scaling, and the samples of all reports against their schemas."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.svg import Axis
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import of_scaling, of_trend
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report.curves import scaling_chart, trend_chart
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.scaling import scaling
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.trend import TrendStep, trend
from documents import schema_errors
from page_samples import SCALINGS, TRENDS
from report_samples import NAMES, sample
from series_samples import banking, comparison, connections, record, rounds, virtualization

Made = dict[str, Any]


EVERYTHING = [(of_trend.FORMATS, make) for make in TRENDS.values()]
EVERYTHING += [(of_scaling.FORMATS, make) for make in SCALINGS.values()]


@pytest.mark.parametrize("make", [*TRENDS.values(), *SCALINGS.values()])
def test_they_are_what_their_schemas_say(make: Callable[[], Made]) -> None:
    report = json.loads(json.dumps(make()))
    name = report["schema"].split("/")[1]
    assert schema_errors(name, report) == []
    spoilt = {**report, "headline": None}
    assert schema_errors(name, spoilt)


@pytest.mark.parametrize("name", NAMES)
def test_the_samples_of_the_report_are_what_its_schema_says(name: str) -> None:
    assert schema_errors("report", sample(name)) == []


def test_the_text_of_a_trend_names_what_moved_between_changes() -> None:
    lines = "".join(of_trend.FORMATS["md"](banking())).splitlines()
    cells = [[cell.strip() for cell in line.split(" | ")] for line in lines if line.startswith("| ")]
    place = cells[0].index("Gap before it")
    assert [row[place] for row in cells[2:]] == ["\u2013", "0.0 %", "0.0 %", "0.0 %", "+0.8 %", "0.0 %", ""]
    assert all(len(row) == len(cells[0]) for row in cells)
    assert "product of all changes" in cells[-1][-1]
    assert not any("chart" in line for line in lines)


@pytest.mark.parametrize("formats, make", EVERYTHING)
def test_many_problems_are_counted_and_no_other_report_is_named(formats: Made, make: Callable[[], Made]) -> None:
    text = "".join(formats["md"]({**make(), "problems": [f"problem {number}" for number in range(53)]}))
    assert "- problem 49\n- 3 more in the JSON file.\n" in text
    assert "report.json" not in text


def test_csv_has_a_row_a_change_and_a_row_a_point() -> None:
    rows = list(csv.DictReader(io.StringIO("".join(of_trend.csv(banking())))))
    assert [row["label"] for row in rows][:2] == ["HiperSockets", "z14"]
    assert (rows[0]["before"], rows[0]["gap_ratio"], rows[1]["gap_ratio"]) == ("18234", "", "1.0")
    rows = list(csv.DictReader(io.StringIO("".join(of_scaling.csv(connections())))))
    assert [(row["phases"], row["x"]) for row in rows][:2] == [("before", "1.0"), ("before", "10.0")]
    assert {row["knee"] for row in rows} == {"50.0"}


def test_the_table_of_a_curve_has_the_intervals_that_are_known() -> None:
    """The first point has none: it is what the others are measured by."""
    interval = re.compile(r"[\d.]+ to [\d.]+")
    for report, known in ((connections(), [False, True, True, True]), (virtualization(), [False] * 8)):
        rows = of_scaling.point_rows(report["curves"][0])
        assert [bool(interval.fullmatch(str(row.cells[4]))) for row in rows] == known
        assert all(row.cells[4] == "\u2013" or with_one for row, with_one in zip(rows, known, strict=True))


def test_large_numbers_of_the_axis_keep_their_digits() -> None:
    made = [
        record(value, number=number, name=f"w-x{size}", params={"size": size})
        for size, value in ((1048576, 50), (4194304, 60), (16777216, 240))
        for number in range(1, 4)
    ]
    report = scaling("c", rounds(made), "params.size")
    (curve,) = report["curves"]
    assert [row.cells[0] for row in of_scaling.point_rows(curve)] == ["1048576", "4194304", "16777216"]
    drawn = scaling_chart("x", "params.size", report["curves"])
    assert "at 16777216" in drawn and ">1,048,576</text>" in drawn and "e+0" not in drawn


def marks(drawn: str) -> dict[str, int]:
    """How many marks of each kind a chart has."""
    found = re.findall(r'<path d="([^"]*)" class="run (\w+)"', drawn)
    return {name: path.count("M") for path, name in found}


class TestCharts:
    def test_a_trend_has_a_mark_for_every_state_and_tells_gaps_from_changes(self) -> None:
        drawn = trend_chart("x", banking()["series"][0])
        assert marks(drawn) == {"gap": 5, "change": 6, "before": 6, "after": 6}

    def test_lines_that_end_together_have_names_one_below_the_other(self) -> None:
        made = [
            record(value * factor, phase=phase, name=f"w-x{count}", connections=count)
            for phase, factor in (("before", 1.0), ("after", 1.001), ("later", 1.002))
            for count, value in ((1, 50), (250, 900))
        ]
        drawn = scaling_chart("x", "connections", scaling("c", rounds(made), "connections")["curves"])
        places = {name: float(y) for y, name in re.findall(r'y="([\d.]+)" class="tick">([a-z]+)</text>', drawn)}
        assert set(places) == {"before", "after", "later"}
        first, second, third = sorted(places.values())
        assert second - first >= 12.9 and third - second >= 12.9
        assert "both axes logarithmic" in drawn

    def test_an_axis_without_its_zero_says_so(self) -> None:
        words = "the axis does not begin at 0"
        assert words not in trend_chart("x", banking()["series"][0])
        close = trend("t", [TrendStep("c1", "c1", [comparison([100.0], [97.0])])])
        assert words in trend_chart("x", close["series"][0])

    def test_a_hole_has_no_mark(self) -> None:
        there, other = comparison([100], [90]), comparison([50], [50], host="erp2")
        report = trend("t", [TrendStep("a", "a", [there]), TrendStep("b", "b", [other]), TrendStep("c", "c", [there])])
        drawn = trend_chart("x", next(item for item in report["series"] if item["host"] == "erp1"))
        assert marks(drawn) == {"gap": 1, "change": 2, "before": 2, "after": 2}
        assert "NO DATA" not in drawn and "\u2205" in drawn

    def test_many_changes_are_numbered(self) -> None:
        steps = [TrendStep(f"change-{n}", f"a long name of a change {n}", [comparison([100], [99])]) for n in range(40)]
        drawn = trend_chart("x", trend("t", steps)["series"][0])
        assert ">40</text>" in drawn and "numbered in the order of the table" in drawn
        assert "numbered" not in trend_chart("x", banking()["series"][0])

    def test_a_scaling_rings_the_knee_and_names_its_lines(self) -> None:
        drawn = scaling_chart("x", "connections", connections()["curves"])
        assert drawn.count('class="run knee"') == 2
        assert ">before</text>" in drawn and ">after</text>" in drawn
        assert 'class="run knee"' not in scaling_chart("x", "context.guests", virtualization()["curves"][:1])


class TestAxis:
    def test_a_linear_axis_begins_at_0_if_the_values_stay_visible(self) -> None:
        assert Axis([7388, 18234], 0, 100).at(0) == 0
        close = Axis([100.0, 104.0], 0, 100)
        assert 95 < close.low < 100 and close.at(100.0) > 5
        assert close.ticks(6) == [100, 101, 102, 103, 104]

    @pytest.mark.parametrize("log", [False, True])
    def test_ticks_lie_within_and_are_few(self, log: bool) -> None:
        for values in ([5.0], [1.0, 250.0], [0.001, 0.002], [1e9, 3e9], [1.0, 1.0]):
            axis = Axis(values, 0, 100, log=log)
            ticks = axis.ticks(6)
            assert len(ticks) <= 7
            assert all(-0.1 <= axis.at(tick) <= 100.1 for tick in ticks)

    def test_a_logarithmic_axis_gives_equal_steps_equal_room(self) -> None:
        axis = Axis([1.0, 100.0], 0, 100, log=True)
        assert axis.at(10.0) - axis.at(1.0) == pytest.approx(axis.at(100.0) - axis.at(10.0))
