# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as a page and in its other formats: words, drawings, escapes; tests/browser opens the page."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages import cells, svg, text
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import (
    HEADER,
    RENDERERS,
    charts,
    results,
    run_chart,
    view,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import page as report_page
from pages import Page
from rendering import held_runs, render
from report_samples import NAMES, fleet, sample

CSS = (Path(text.__file__).parent / "page.css").read_text(encoding="utf-8")
VERDICT_COLOURS = ("improved", "regressed", "unchanged", "inconclusive", "incomparable", "nodata", "muted", "accent")


def test_verdicts_are_words_and_symbols_and_warnings_are_shown() -> None:
    words = Page(render(sample("regressed"), "html")).words()
    assert "IMPROVED, WITH WARNINGS" in words
    assert "TCP retransmits rose from 0 in 30 runs to 420 in 30" in words
    mixed = Page(render(sample("mixed"), "html")).words()
    for verdict in ("IMPROVED", "UNCHANGED", "INCONCLUSIVE", "NOT COMPARABLE", "NO DATA"):
        assert text.VERDICT_STYLES[verdict].symbol in mixed
        assert verdict in mixed


def test_what_is_missing_is_never_a_zero() -> None:
    report = sample("mixed")
    source = render({**report, "comparisons": [c for c in report["comparisons"] if c["verdict"] == "NO DATA"]}, "html")
    row = source[source.index('<table class="results"><caption>app') :]
    cells = re.findall(r'<td class="num[^>]*>(.*?)</td>', row[: row.index("</tbody>")], re.DOTALL)
    assert [re.sub(r"\s*<.*", "", cell, flags=re.DOTALL) for cell in cells[1:]] == ["–", "–", "–", "–"]


def test_hosts_without_measurement_and_the_same_change_on_several_hosts_are_told_once() -> None:
    words = " ".join(Page(render(sample("mixed"), "html")).words().split())
    assert "unreachable or failed 2 erp7, erp8" in words
    assert "in the play, but no records 1 web2" in words
    page = Page(render(sample("improved"), "html"))
    assert len([a for a in page.all("div") if a.get("class") == "card"]) == 1
    assert "app1, app2" in page.words()


class TestFleet:
    @pytest.mark.gate
    def test_a_thousand_hosts_fit_and_what_is_left_out_is_said(self) -> None:
        source = render(fleet(1000), "html")
        assert len(source.encode()) < 5_000_000
        page = Page(source)
        words = " ".join(page.words().split())
        assert "The fleet at a glance" in words
        assert "the 50 comparisons to look at first, of 5,000" in words
        assert words.count("all 1,000 host pairs") == 5
        assert "1,000 rows of single hosts: 10 regressed, 990 improved. The first 20 are shown" in words
        assert "4,950 comparisons more in report.json" in words
        assert len(page.all("tr")) > 5000

    def test_the_worst_come_first(self) -> None:
        worst = view.worst_first(fleet(200)["comparisons"])
        assert {item["verdict"] for item in worst[:10]} == {"REGRESSED"}
        assert {item["verdict"] for item in worst[10:]} == {"IMPROVED"}
        assert worst[10]["ratio"] == min(item["ratio"] for item in worst[10:])

    def test_more_rows_than_fit_are_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(results, "DENSE_ROWS", 500)
        words = " ".join(Page(render(fleet(200), "html")).words().split())
        assert words.count("The first 100 of 200 pairs; the others are in report.json and report.csv.") == 5

    def test_charts_are_drawn_for_the_worst_and_the_rest_is_counted(self) -> None:
        report = fleet(40)
        report["runs"] = [
            {**run, "host": item["host"], "peer": item["peer"], "workload": item["workload"]}
            for item in report["comparisons"]
            for run in sample("improved")["runs"][:4]
        ]
        page = Page(render(report, "html"))
        assert len([a for a in page.all("svg") if a.get("class") == "runs"]) == report_page.CHARTS
        assert "The runs of 176 other comparisons are not drawn here" in page.words()


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_colours_of_words_have_enough_contrast(scheme: str) -> None:
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", blocks[("light", "dark", "print").index(scheme)]))
    for name in VERDICT_COLOURS:
        assert _contrast(colours[name], colours["paper"]) >= 4.5, f"{name} in {scheme}"


def _contrast(one: str, other: str) -> float:
    """WCAG 2.1 contrast ratio."""
    first, second = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (first + 0.05) / (second + 0.05)


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(char * 2 for char in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


WARNED = "IMPROVED, WITH WARNINGS"


@pytest.mark.parametrize("form", RENDERERS)
def test_unpaired_surrogates_and_control_characters_break_no_format(form: str) -> None:
    report = sample("mixed")
    report["headline"] = report["comparisons"][0]["reason"] = "half a \ud83d pair, \ufffe and \x00"
    report["comparisons"][0]["unit"] = report["headline"]
    for run in report["runs"]:
        run["error"] = report["headline"]
    text = render(report, form)
    assert "half a" in text
    assert text.encode("utf-8")


@pytest.mark.parametrize("form", RENDERERS)
def test_a_change_without_any_record_has_a_report(form: str) -> None:
    report = sample("mixed")
    report.update(dict.fromkeys(("comparisons", "runs", "changes", "comparability", "published", "tools"), []))
    report.update(verdict="NO DATA", period={"first": None, "last": None}, counts=dict.fromkeys(report["counts"], 0))
    text = render(report, form)
    assert text
    if form in ("html", "md"):
        assert "NO DATA" in text


class TestJson:
    @pytest.mark.parametrize("name", NAMES)
    def test_it_is_the_whole_report(self, name: str) -> None:
        assert json.loads(render(sample(name), "json")) == sample(name)

    def test_one_line_an_entry(self) -> None:
        report = sample("mixed")
        lines = render(report, "json").splitlines()
        assert sum(line.startswith('  {"after"') for line in lines) == sum(
            len(report[key]) for key in ("comparisons", "changes", "comparability")
        )

    def test_infinite_and_undefined_numbers_are_null(self) -> None:
        report = sample("improved")
        report["comparisons"][0].update(ratio=math.nan, high=math.inf)
        report["comparisons"][0]["before"]["round_medians"] = [math.inf, 1.0]
        text = render(report, "json")
        entry = json.loads(text, parse_constant=pytest.fail)["comparisons"][0]
        assert (entry["ratio"], entry["high"], entry["before"]["round_medians"]) == (None, None, [None, 1.0])


class TestCsv:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_row_a_run(self, name: str) -> None:
        report = sample(name)
        rows = list(csv.DictReader(io.StringIO(render(report, "csv"))))
        assert tuple(rows[0]) == HEADER
        assert len(rows) == len(report["runs"])
        for row, run in zip(rows, report["runs"], strict=True):
            assert row["value"] == ("" if run["value"] is None else str(run["value"]))
            assert (row["ok"], row["warmup"]) == tuple("yes" if run[key] else "no" for key in ("ok", "warmup"))
            assert row["unit"] == "µs"

    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=1", " =1", "\uff1d1"])
    def test_no_cell_is_a_formula(self, text: str) -> None:
        report = sample("improved")
        for run in report["runs"]:
            run["host"] = text
        rows = list(csv.DictReader(io.StringIO(render(report, "csv"))))
        assert {row["host"] for row in rows} == {"'" + text.strip()}

    def test_a_number_is_not_text(self) -> None:
        assert cells.cell("app-1") == "app-1"
        # a spreadsheet of a country with decimal commas begins a cell at a semicolon
        assert cells.cell('x;=HYPERLINK("http://h")') == '"x;\'=HYPERLINK(""http://h"")"'
        assert cells.cell("=1; -2;3") == "'=1;' -2;3"
        assert cells.cell('x;"=1+1') == '"x;\'""=1+1"'
        assert cells.cell(None) == ""

    def test_no_runs_leave_the_header(self) -> None:
        assert render(fleet(1), "csv") == ",".join(HEADER) + "\n"


class TestMarkdown:
    def test_it_says_verdict_reason_what_changed_and_who_is_missing(self) -> None:
        text = render(sample("regressed"), "md")
        assert text.startswith("# ▼ REGRESSED: Before/after report of change rps-everywhere\n")
        assert WARNED in text
        assert "TCP retransmits rose" in text
        assert "erp7, erp8" in render(sample("mixed"), "md")
        changed = text.partition("## What changed\n\n### rps on hsi0\n\n")[2]
        assert changed.startswith("- **Hosts:** app1, app2\n") and "- **Took effect:** ✓ yes\n" in changed
        assert "| running | rx-0 = 00000000 | rx-0 = 0000ffff |\n" in changed

    def test_a_fleet_fits_a_ticket_and_says_what_is_left_out(self) -> None:
        text = render(fleet(300), "md")
        assert len(text) < 60_000
        assert text.count("| All workloads of app") == 20
        assert "300 rows of single hosts: 3 regressed, 297 improved. The first 20 are shown" in text
        assert "**The 50 comparisons to look at first**" in text
        assert text.index("REGRESSED |") < text.index("▲ IMPROVED |")

    def test_the_pooled_rows_come_before_the_comparisons(self) -> None:
        report = sample("improved")
        report["pooled"][0]["deviations"] = [{"kind": "host", "name": "app2", "ratio": 0.9, "p": 0.001}]
        before, _title, _comparisons = render(report, "md").partition("The gain says")
        rows = before.partition("**All workloads together**")[2].splitlines()[4:]
        names = [row.split(" (")[0] for row in rows if row]
        assert names == [f"| All workloads of {name}" for name in ("2 hosts", "app1", "app2")]
        assert "app2 differs: 10.0 % worse than the others." in rows[0]


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
