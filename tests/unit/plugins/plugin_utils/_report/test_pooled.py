# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the report says about its pooled rows, in words."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages import text
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import pooled
from rendering import render
from report_samples import fleet, sample

ROW: dict[str, Any] = {
    "contrast": "",
    "scope": "site",
    "host": None,
    "hosts": 1,
    "workloads": 7,
    "unit": "rounds",
    "rounds": 8,
    "ratio": 1.031,
    "low": 1.012,
    "high": 1.05,
    "confidence_pct": 99.78,
    "verdict": "IMPROVED",
    "deviations": [],
    "more_rounds": None,
}


@pytest.mark.parametrize(
    ("changes", "title", "label"),
    [
        ({}, "All workloads of this host", "all workloads"),
        ({"workloads": 1}, "The workload of this host", "all workloads"),
        ({"hosts": 1000}, "All workloads of 1,000 hosts", "all 1,000 hosts"),
        ({"scope": "host", "host": "app1"}, "All workloads of app1", "app1"),
        ({"contrast": "every-4", "hosts": 3}, "every-4: all workloads of 3 hosts", "every-4"),
        ({"contrast": "off", "scope": "host", "host": "app1"}, "off: all workloads of app1", "off, app1"),
        ({"hosts": 0, "workloads": 0}, "All workloads", "all 0 hosts"),
    ],
)
def test_a_row_names_its_scope(changes: dict[str, Any], title: str, label: str) -> None:
    assert (pooled.title({**ROW, **changes}), pooled.label({**ROW, **changes})) == (title, label)


def test_a_row_says_what_it_contains_and_how_certain_it_is() -> None:
    for changes, words in (
        ({}, "7 workloads, 8 rounds per state"),
        ({"hosts": 3, "unit": "hosts"}, "7 workloads, 3 hosts, 8 rounds per state"),
        ({"workloads": 1, "unit": "starts", "rounds": 1}, "1 workload, 1 start per state"),
    ):
        assert pooled.extent({**ROW, **changes}) == words
    # never rounded to certainty
    levels = {99.78: "99.8 % interval", 95.0: "95 % interval", 99.96: "99.96 % interval", None: "interval"}
    assert {level: pooled.level({**ROW, "confidence_pct": level}) for level in levels} == levels
    figures = {1.105: "10.5 % better", 0.905: "9.5 % worse", 1.0004: "no different", None: text.DASH}
    assert {ratio: text.better_by(ratio) for ratio in figures} == figures


def test_deviations_are_one_sentence() -> None:
    one = {"kind": "workload", "name": "app1 \u2192 app2, 1000B", "ratio": 1.1, "p": 0.001}
    other = {"kind": "host", "name": "app3", "ratio": 0.9, "p": 0.001}
    assert pooled.deviations(ROW) == ""
    differs = "app1 \u2192 app2, 1000B differs: 10.0 % better than the others."
    assert pooled.deviations({**ROW, "deviations": [one]}) == differs
    unchanged = {**ROW, "verdict": "UNCHANGED", "deviations": [one]}
    assert pooled.deviations(unchanged) == f"No change on the whole, but {differs}"
    assert pooled.deviations({**ROW, "deviations": [one, other]}) == (
        "2 parts differ from the others: app1 \u2192 app2, 1000B (10.0 % better), app3 (10.0 % worse)."
    )
    assert pooled.deviations({**ROW, "deviations": [other] * 12}).endswith(" and 4 more.")


def test_the_rounds_to_add_are_said_once_in_the_next_steps() -> None:
    report = sample("mixed")
    report["pooled"][0]["more_rounds"] = 4
    for row in report["pooled"][1:]:
        row["more_rounds"] = 77
    for item in report["comparisons"]:
        item["rounds_needed"] = 8899
    for form in ("html", "md"):
        said = render(report, form)
        assert said.count("more round") == 1 and "measure 2 more rounds of each state" in said
        assert "77 more" not in said and "8899" not in said


def test_the_control_of_a_host_is_said() -> None:
    row = {**ROW, "control_ratio": 1.002, "control_low": None, "control_high": 1.014}
    assert pooled.control(row) == "The control: +0.2 % (99 % interval open to +1.4 %)."
    assert pooled.control({**ROW, "control_ratio": None}) == ""


def test_hosts_come_worst_first_and_only_a_fleet_counts_them() -> None:
    report = fleet(300)
    rows = pooled.shown(report)
    assert len(rows) == 21 and rows[0]["scope"] == "site"
    assert [row["verdict"] for row in rows[1:5]] == ["REGRESSED"] * 3 + ["IMPROVED"]
    assert pooled.host_counts(pooled.of_hosts(report)).startswith(
        "300 rows of single hosts: 3 regressed, 297 improved."
    )
    assert pooled.host_counts(pooled.of_hosts(sample("improved"))) == ""


def test_the_word_of_a_report_has_the_warnings_of_the_row_that_decides() -> None:
    report = sample("improved")
    report["warnings"] = ["a list of the report"]
    report["comparisons"][0]["warnings"] = report["pooled"][1]["warnings"] = True
    assert text.verdict_word(report) == "IMPROVED"
    report["pooled"][0]["warnings"] = True
    assert text.verdict_word(report) == "IMPROVED, WITH WARNINGS"
    assert render(report, "md").startswith("# \u25b2 IMPROVED, WITH WARNINGS")
