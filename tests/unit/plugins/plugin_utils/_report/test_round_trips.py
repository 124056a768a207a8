# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single round trips in the report: percentiles, charts, and the words about what they describe."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.distribution import NOTE
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import round_trips
from rendering import render
from report_samples import sample


def side(*values: float, count: int = 4000) -> dict[str, Any]:
    points = [[value, (place + 1) / (len(values) + 1)] for place, value in enumerate(values)]
    return {"count": count, "p50": values[0], "p90": values[-1], "p99": None, "p99.9": None, "points": points}


def comparison(before: dict[str, Any], after: dict[str, Any], **more: Any) -> dict[str, Any]:
    known = {"unit": "µs", "before": before, "after": after, "note": NOTE}
    return {"host": "app1", "peer": "app2", "workload": "pingpong-1B", "contrast": "", "distribution": known, **more}


def drawn(item: dict[str, Any], name: str) -> list[tuple[float, float]]:
    """The points of a line."""
    path = re.search(rf'<path d="M([^"]*)" class="run {name}"', round_trips.ecdf_chart("x", item))
    assert path is not None
    return [(float(x), float(y)) for x, y in (point.split() for point in path[1].split("L"))]


def test_the_lines_rise_between_the_smallest_and_the_largest_value() -> None:
    item = comparison(side(40, 50, 60), side(45, 50, 80))
    before, after = drawn(item, "gap"), drawn(item, "change")
    assert before[0][0] == round_trips.LEFT and after[-1][0] == round_trips.RIGHT
    assert before[1] == after[1] and before[0][0] < after[0][0]
    for line in (before, after):
        assert line == sorted(line) and [y for _x, y in line] == sorted((y for _x, y in line), reverse=True)


@pytest.mark.parametrize(("largest", "log"), [(200, False), (201, True)])
def test_a_wide_range_has_a_logarithmic_axis(largest: float, log: bool) -> None:
    item = comparison(side(40, 80, largest), side(40, 80, 100))
    assert ("logarithmic" in round_trips.ecdf_chart("x", item)) == log
    first, middle, last = (x for x, _y in drawn(item, "gap"))
    assert (middle - first > (last - first) / 3) == log  # 80 is a quarter of the way, or more than a third


def test_the_marks_are_the_percentiles_that_are_known() -> None:
    item = comparison(side(40, 50, 60), side(40, 50, 60) | {"p99": 60})
    chart = round_trips.ecdf_chart("x", item)
    marks = {state: re.search(rf'<path d="([^"]*)" class="run {state}"', chart) for state in ("before", "after")}
    assert [mark[1].count("z") for mark in marks.values() if mark] == [2, 3]


def test_the_description_says_the_figures_and_hostile_names_are_text() -> None:
    item = comparison(side(40.0, 50.0), side(42.0, 48.0, count=12), workload="</desc><script>")
    chart = round_trips.ecdf_chart("x", item)
    assert 'role="img" aria-labelledby="x-title x-desc"' in chart
    assert "p50 40.00 → 42.00 µs, p90 50.00 → 48.00 µs (4,000 and 12 round trips)." in chart
    assert "<script>" not in chart and "&lt;script&gt;" in chart


def test_values_that_no_clock_measures_are_drawn_too() -> None:
    chart = round_trips.ecdf_chart("x", comparison(side(1e43, 1.2e43), side(1.0, 1.0)))
    assert chart.count('class="tick middle"') < 12 and "nan" not in chart
    same = round_trips.ecdf_chart("x", comparison(side(50.0), side(50.0)))
    assert "nan" not in same


def test_a_percentile_that_only_one_state_has_is_shown_with_a_dash() -> None:
    item = comparison(side(40, 50) | {"p99": 70.0}, side(40, 50))
    assert "p99 70.00 → –" in round_trips.sentences([item])[0]


@pytest.mark.parametrize("form", ["html", "md"])
def test_the_report_says_what_the_percentiles_describe(form: str) -> None:
    text = render(sample("unchanged"), form)
    assert "coordinated omission" in text and text.count("p99") >= 4
    without = render(sample("improved"), form)
    assert "coordinated omission" not in without and "ingle round trips" not in without


def test_only_the_most_important_ones_are_drawn() -> None:
    report = sample("unchanged")
    first = next(item for item in report["comparisons"] if item["distribution"])
    report["comparisons"] = [
        {**first, "host": f"app{number}", "verdict": "REGRESSED" if number == 17 else "UNCHANGED"}
        for number in range(20)
    ]
    page = render(report, "html")
    assert page.count('id="ecdf-') == 4 * 2
    assert re.search(r'id="ecdf-0-title">Round trips of [^<]* app17 ', page)
    table = page.partition('id="cap-distribution"')[2].partition("</table>")[0]
    assert table.count("<tr>") == 20 + 1
