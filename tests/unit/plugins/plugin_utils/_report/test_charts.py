# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drawings of the report: axes, marks, and names that have to fit beside them."""

from __future__ import annotations

import re

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages import svg, text
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import charts, cpu_chart, run_chart, view
from rendering import held_runs, render
from report_samples import sample


class TestCharts:
    def test_the_ratio_axis_is_logarithmic_and_holds_what_is_beyond(self) -> None:
        axis = charts.RatioAxis([0.5, 2.0], 5.0)
        assert axis.x(1.0) - axis.x(0.5) == pytest.approx(axis.x(2.0) - axis.x(1.0))
        assert axis.x(100.0) == charts.RIGHT and axis.beyond(100.0)
        assert axis.x(0.0) == charts.LEFT and axis.beyond(0.0)
        assert 1.0 in axis.ticks()
        places = [axis.x(tick) for tick in axis.ticks()]
        assert all(later - earlier >= 43.9 for earlier, later in zip(places, places[1:], strict=False))

    @pytest.mark.parametrize("layout", ["wide", "flat", "narrow"])
    def test_pooled_rows_are_diamonds_on_top(self, layout: str) -> None:
        report = sample("improved")
        drawn = charts.interval_plot("x", report["comparisons"], 5.0, layout, report["pooled"])
        heading, first = drawn.index(">All workloads together</text>"), drawn.index('class="pooled improved"')
        assert heading < first < drawn.index('class="mark')
        assert drawn.count('class="pooled ') == len(report["pooled"]) == 3
        assert drawn.count('class="mark ') == len(report["comparisons"])
        diamond = re.search(r'<path d="M([\d.]+) [\d.]+L([\d.]+) [\d.]+L([\d.]+) [^"]*" class="pooled', drawn)
        low, middle, high = (float(place) for place in diamond.groups())  # type: ignore[union-attr]
        assert low < middle < high  # as wide as the interval

    def test_an_interval_without_an_end_is_drawn_to_the_edge(self) -> None:
        row = sample("improved")["pooled"][0]
        open_end = charts.interval_plot("x", [], 5.0, "wide", [{**row, "high": None}])
        assert 'class="pooled improved"' in open_end and f"H{charts.RIGHT}" in open_end
        empty = charts.interval_plot("x", [], 5.0, "wide", [{**row, "ratio": None, "low": None, "high": None}])
        assert 'class="pooled' not in empty
        item = {**sample("improved")["comparisons"][0], "low": None, "high": None}
        assert 'class="interval' not in charts.interval_plot("x", [item], 5.0)
        assert f"H{charts.RIGHT}" in charts.interval_plot("x", [{**item, "low": 1.05}], 5.0)
        assert text.interval({**item, "low": 1.05}) == "+5.0 % to open"

    @pytest.mark.parametrize("name", ["incomparable", "unchanged"])
    def test_without_any_ratio_nothing_is_drawn(self, name: str) -> None:
        page = render(sample(name), "html")
        drawn = name != "incomparable"
        assert ('id="plot-wide-title"' in page, "There is no ratio to draw" in page) == (drawn, not drawn)
        assert ("Each mark is the ratio of after and before" in page) == drawn

    def test_long_names_of_hosts_leave_room_for_what_tells_rows_apart(self) -> None:
        items = [
            {**item, "host": f"vhp01app{number}.sap.example.com", "peer": f"vhp01app{number + 1}.sap.example.com"}
            for number, item in enumerate(sample("improved")["comparisons"][:2], 11)
        ]
        assert view.common_domain(items) == ".sap.example.com"
        for layout in ("wide", "flat", "narrow"):
            words = re.findall(r'class="(?:pair|label)">(.*?)</text>', charts.interval_plot("x", items, 5.0, layout))
            named = [word for word in words if "\u2192" in word]
            assert all(word.count(".example.com") == 2 for word in named)  # both in the tooltip, none beside it
            for number, word in enumerate(named, 11):
                shown = word.rpartition("</title>")[2]
                assert shown.startswith(f"vhp01app{number} \u2192 vhp01app{number + 1}")
                assert layout != "flat" or items[number - 11]["workload"] in shown
        drawn = cpu_chart.cpu_chart("x", [row for item in items for row in view.cpu_rows(item)])
        assert re.search(r">vhp01app11 \u2192 vhp01app12 [^<]*, client</text>", drawn)

    def test_on_a_small_screen_a_long_name_does_not_lie_over_the_verdict(self) -> None:
        item = {**sample("improved")["comparisons"][0], "verdict": "IMPROVED", "warnings": True}
        for workload, apart in (("pingpong-1B", False), ("pingpong-database-x250", True)):
            drawn = charts.interval_plot("x", [{**item, "workload": workload}], 5.0, "narrow")
            places = {css: float(y) for y, css in re.findall(r'y="([\d.]+)" class="(label|word)', drawn)}
            assert places["word"] - places["label"] == (16 if apart else 0)

    @pytest.mark.parametrize(
        ("names", "domain"),
        [
            (("a.x.com", "b.x.com", "loopback"), ".x.com"),
            (("a.x.com", "b.y.com"), ""),
            (("10.0.0.1", "11.0.0.1"), ""),  # addresses
            (("a.x.com", "a"), ""),  # would be the same twice
            (("a", "b"), ""),
        ],
    )
    def test_a_domain_is_left_out_only_where_all_have_it(self, names: tuple[str, ...], domain: str) -> None:
        assert view.common_domain({"host": names[0], "peer": name} for name in names[1:]) == domain

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
