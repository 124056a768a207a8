# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML report without a browser: well-formed, self-contained, escaped, accessible; tests/browser opens it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages import text
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import page as report_page
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import results, view
from pages import Page
from rendering import render
from report_samples import fleet, sample

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
