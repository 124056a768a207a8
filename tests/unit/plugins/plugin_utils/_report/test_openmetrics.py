# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""OpenMetrics text, read back by Prometheus's own parser."""

from __future__ import annotations

import importlib
import math
from typing import Any

import pytest
from rendering import render
from report_samples import HOSTILE, HOSTILE_INVISIBLE, NAMES, fleet, sample

pytestmark = pytest.mark.gate  # which installs the parser


def samples(report: dict[str, Any]) -> dict[str, list[tuple[dict[str, str], float]]]:
    """The samples by name, as a monitoring system would take them in; it refuses what is no OpenMetrics text."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    parser = importlib.import_module("prometheus_client.openmetrics.parser")
    for family in parser.text_string_to_metric_families(render(report, "om")):
        for item in family.samples:
            found.setdefault(item.name, []).append((item.labels, item.value))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_parser_takes_it_and_finds_every_comparison(name: str) -> None:
    report, found = sample(name), samples(sample(name))
    assert len(found["zpower_comparison_info"]) == len(report["comparisons"])
    keys = [tuple(sorted(labels.items())) for labels, _value in found.get("zpower_comparison_ratio", [])]
    assert len(keys) == len(set(keys)) == sum(item["ratio"] is not None for item in report["comparisons"])
    told = {labels["zpower_report_verdict"]: value for labels, value in found["zpower_report_verdict"]}
    assert [word for word, value in told.items() if value] == [report["verdict"]]


def test_the_figures_are_those_of_the_report_in_base_units() -> None:
    report = sample("improved")
    item = next(entry for entry in report["comparisons"] if not entry["control"])
    found = samples(report)

    def value(name: str, **more: str) -> float:
        wanted = {"change": report["change"], **{key: item[key] for key in ("host", "peer", "workload")}, **more}
        (found_value,) = [value for labels, value in found[name] if labels == wanted]
        return found_value

    assert value("zpower_comparison_ratio") == item["ratio"]
    assert value("zpower_comparison_ratio_low") == item["low"]
    assert value("zpower_comparison_median", state="after") == item["after"]["median"]
    kpi = item["kpi"]["client"]["before"]
    where = {"end": "client", "state": "before"}
    assert value("zpower_cpu_seconds_per_unit", **where) == pytest.approx(kpi["cpu_us_per_unit"] / 1e6)
    assert value("zpower_cpu_utilization_ratio", **where) == pytest.approx(kpi["utilization_pct"] / 100)
    assert value("zpower_itr_per_hour", **where) == kpi["itr_per_h"]


def test_the_levels_of_an_experiment_are_told_apart_and_the_time_is_that_of_the_last_run() -> None:
    found = samples(sample("experiment"))
    assert {labels["contrast"] for labels, _value in found["zpower_comparison_ratio"]} == {"all", "every-2", "every-4"}
    report = sample("improved")
    report["period"]["last"] = "2026-11-20T10:00:00.250000Z"
    ((_labels, value),) = samples(report)["zpower_report_last_run_timestamp_seconds"]
    assert value == 1795168800.25
    assert len(samples(fleet(50))["zpower_comparison_ratio"]) == 250


def test_what_is_not_known_has_no_sample() -> None:
    report = sample("improved")
    for item in report["comparisons"]:
        item.update(
            ratio=None, low=math.nan, high=math.inf, kpi={"shared_kernel": False, "client": None, "server": None}
        )
    report["period"] = {"first": None, "last": None}
    found = samples(report)
    gone = {"zpower_comparison_ratio", "zpower_comparison_ratio_low", "zpower_comparison_ratio_high"}
    gone |= {"zpower_itr_per_hour", "zpower_cpu_seconds_per_unit", "zpower_report_last_run_timestamp_seconds"}
    assert not gone & set(found)
    assert found["zpower_comparison_median"]


def test_hostile_texts_come_through_as_they_are() -> None:
    hosts = {labels["host"] for labels, _value in samples(sample("hostile"))["zpower_comparison_info"]}
    assert {*HOSTILE, HOSTILE_INVISIBLE[1]} <= hosts
    report = sample("improved")
    report["comparisons"][0]["host"] = 'a\\n"b\nc'
    labels = [labels["host"] for labels, _value in samples(report)["zpower_comparison_info"]]
    assert 'a\\n"b c' in labels
