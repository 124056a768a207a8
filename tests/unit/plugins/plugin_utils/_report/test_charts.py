# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drawings of the report: axes, marks, and what stands beside them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages import svg, text
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import charts, run_chart, view
from rendering import held_runs, render
from report_samples import sample


def show(item: dict[str, Any], *values: float) -> str:
    """The drawing of one item on an axis of these values."""
    return charts.RatioAxis(values or (0.9, 1.2), 5.0).show(item)


class TestCharts:
    def test_the_ratio_axis_is_logarithmic_and_holds_what_is_beyond(self) -> None:
        axis = charts.RatioAxis([0.5, 2.0], 5.0)
        assert axis.x(1.0) - axis.x(0.5) == pytest.approx(axis.x(2.0) - axis.x(1.0))
        assert axis.x(100.0) == axis.right and axis.beyond(100.0)
        assert axis.x(0.0) == axis.left and axis.beyond(0.0)
        assert 1.0 in axis.ticks()
        places = [axis.x(tick) for tick in axis.ticks()]
        assert all(later - earlier >= 43.9 for earlier, later in zip(places, places[1:], strict=False))

    def test_the_rows_that_decide_are_diamonds_on_top_and_every_row_has_its_gain_and_verdict(self) -> None:
        report = sample("improved")
        table = render(report, "html").partition('<table class="glance">')[2].partition("</table>")[0]
        assert table.count('class="pooled ') == len(report["pooled"]) == 3
        assert table.count('class="mark ') == len(report["comparisons"])
        assert table.rindex('class="pooled ') < table.index('class="mark ')
        assert table.count('<tr class="one">') == table.count("<tr") - 3, "one row decides"
        for item in [*report["pooled"], *report["comparisons"]]:
            assert f">{text.gain(item['ratio'])}</td>" in table and f"</span> {text.verdict_word(item)}</span>" in table
        diamond = re.search(r'<path d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+L([\d.]+) [^"]*" class="pooled', table)
        low, middle, high = (float(place) for place in diamond.groups())  # type: ignore[union-attr]
        assert low < middle < high  # as wide as the interval

    def test_all_rows_share_a_band_and_a_line_of_no_change(self) -> None:
        axis = charts.RatioAxis([0.5, 2.0], 5.0)
        low, high = re.findall(r"var\(--band\) ([\d.]+)% ([\d.]+)%", axis.css("ratio"))[0]
        assert float(low) < 100 * axis.x(1.0) / svg.STRIP < float(high)
        source = render(sample("improved"), "html")
        assert "tbody .ratio { background-image" in source and '<td class="drawn ratio"' in source

    def test_an_interval_without_an_end_is_drawn_to_the_edge(self) -> None:
        row = sample("improved")["pooled"][0]
        edge = f"H{svg.STRIP - 12}.0"
        open_end = show({**row, "high": None})
        assert 'class="pooled improved"' in open_end and edge in open_end
        assert 'class="pooled' not in show({**row, "ratio": None, "low": None, "high": None})
        item = {**sample("improved")["comparisons"][0], "low": None, "high": None}
        assert 'class="interval' not in show(item)
        assert edge in show({**item, "low": 1.05})
        assert text.interval({**item, "low": 1.05}) == "+5.0 % to open"

    @pytest.mark.parametrize("name", ["incomparable", "unchanged"])
    def test_without_any_ratio_nothing_is_drawn(self, name: str) -> None:
        page = render(sample(name), "html")
        drawn = name != "incomparable"
        assert ('<table class="glance">' in page, "There is no ratio to draw" in page) == (drawn, not drawn)
        assert ("Each mark is the ratio of after and before" in page) == drawn

    def test_each_verdict_has_a_shape_of_its_own(self) -> None:
        shapes = {re.search(r' d="([^"]*)"', charts.mark(word, 0, 0))[1] for word in text.VERDICT_STYLES}  # type: ignore[index]
        assert len(shapes) == len(text.VERDICT_STYLES)

    def test_every_run_has_its_mark(self) -> None:
        report = sample("regressed")
        item = next(c for c in report["comparisons"] if c["verdict"] == "REGRESSED")
        runs = view.runs_of(held_runs(report), [view.key_of(item)])[view.key_of(item)]
        drawn = run_chart.run_chart("x", item, runs)
        paths = dict(re.findall(r'<path d="([^"]*)" class="run (\w+)"', drawn))
        marks = {name: path.count("M") for path, name in paths.items()}
        assert marks["warmup"] == sum(run["warmup"] for run in runs) == 12
        assert marks["failed"] == sum(not run["ok"] for run in runs) == 1
        assert marks["median"] == 12
        assert marks["before"] + marks["after"] + marks.get("beyond", 0) == len(runs) - 13

    def test_one_spike_does_not_flatten_the_others(self) -> None:
        item = sample("improved")["comparisons"][0]
        runs = [
            {"phase": p, "round": 1, "run": n, "ok": True, "warmup": False, "value": 50.0 + n / 10, "started": None}
            for p in ("before", "after")
            for n in range(10)
        ]
        runs[3]["value"] = 5000.0
        drawn = run_chart.run_chart("x", item, runs)
        assert "1 run above the axis" in drawn
        runs[3]["value"], runs[4]["value"] = 0.5, 0.6  # where higher is better, spikes go down
        fallen = run_chart.run_chart("x", item, runs)
        assert "2 runs below the axis" in fallen and "above" not in fallen
        paths = dict(re.findall(r'<path d="([^"]*)" class="run (\w+)"', fallen))
        marks = {name: path.count("M") for path, name in paths.items()}
        assert (marks["beyond"], marks["before"], marks["after"]) == (2, 8, 10)
        assert max(float(tick.replace(",", "")) for tick in re.findall(r"tick end\">([\d.,]+)<", drawn)) < 60

    def test_text_and_attributes_are_escaped(self) -> None:
        assert svg.el("text", "<b>&", id='"x"') == '<text id="&#34;x&#34;">&lt;b&gt;&amp;</text>'
