# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON, CSV and Markdown of the report."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages import cells
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import HEADER, RENDERERS
from rendering import render
from report_samples import NAMES, fleet, sample

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
    def test_no_cell_becomes_a_formula(self, text: str) -> None:
        report = sample("improved")
        for run in report["runs"]:
            run["host"] = text
        rows = list(csv.DictReader(io.StringIO(render(report, "csv"))))
        assert {row["host"] for row in rows} == {"'" + text.strip()}

    def test_a_number_is_not_a_text(self) -> None:
        assert cells.text_cell("app-1") == "app-1"
        # a spreadsheet of a country with decimal commas begins a cell at a semicolon
        assert cells.text_cell('x;=HYPERLINK("http://h")') == 'x;\'=HYPERLINK("http://h")'
        assert cells.text_cell("=1; -2;3") == "'=1;' -2;3"
        assert cells.text_cell(None) == ""

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
