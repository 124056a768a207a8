# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of the report as OpenMetrics text, for a monitoring system.

An unknown figure has no sample. ``zpower_comparison_info`` holds metric, unit and verdict once per comparison; the
other families of a comparison have its change, host, peer and workload as labels. The families of ``zpower_pooled`` are
about all workloads of a host or of all hosts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._compare.shapes import Report
from .._pages.openmetrics import family, joined, seconds
from .._pages.text import VERDICT_STYLES, Item, Runs, verdict_of
from .view import ordered

Labels = dict[str, object]
Places = list[tuple[str, tuple[str, ...]]]  # more labels, and the way to the fields that they stand for
Gauges = dict[str, tuple[str, float, Places, str]]

STATES = ("before", "after")
ENDS = ("client", "server")
ITSELF: Places = [("", ())]
STATE: Places = [(f',state="{state}"', (state,)) for state in STATES]
END: Places = [(f',end="{end}",state="{state}"', ("kpi", end, state)) for end in ENDS for state in STATES]
OF_ROW = ("contrast", "scope", "host")
OF_PAIR = ("host", "peer", "workload", "contrast")
MICRO = 1e-6
PERCENT = 0.01
OF_POOLED: Gauges = {
    "zpower_pooled_ratio": ("ratio", 1, ITSELF, "How much better the state after is on the whole; above 1 is better."),
    "zpower_pooled_ratio_low": ("low", 1, ITSELF, "The lower end of its interval."),
    "zpower_pooled_ratio_high": ("high", 1, ITSELF, "The upper end of its interval."),
    "zpower_pooled_rounds": ("rounds", 1, ITSELF, "Rounds per state, or starts per state if the unit is starts."),
}
OF_COMPARISON: Gauges = {
    "zpower_comparison_ratio": ("ratio", 1, ITSELF, "How much better the state after is; above 1 is better."),
    "zpower_comparison_ratio_low": ("low", 1, ITSELF, "The lower end of its interval."),
    "zpower_comparison_ratio_high": ("high", 1, ITSELF, "The upper end of its interval."),
    "zpower_comparison_median": ("median", 1, STATE, "Median of the round medians, in the unit of the comparison."),
    "zpower_comparison_rounds": ("rounds", 1, STATE, "Rounds with data."),
    "zpower_comparison_failed_runs": ("failed_runs", 1, STATE, "Runs that failed or are missing."),
    "zpower_cpu_seconds_per_unit": (
        "cpu_us_per_unit",
        MICRO,
        END,
        "CPU time of one unit of work, minus the idle background.",
    ),
    "zpower_cpu_utilization_ratio": ("utilization_pct", PERCENT, END, "Net utilization of all CPUs."),
    "zpower_cpu_steal_ratio": ("steal_pct", PERCENT, END, "CPU time that the hypervisor took."),
    "zpower_etr_per_hour": ("etr_per_h", 1, END, "External throughput rate: units of work per hour."),
    "zpower_itr_per_hour": ("itr_per_h", 1, END, "Internal throughput rate: ETR divided by the utilization."),
}
"""Gauges by name: the field of the report, its factor, where it stands, and what it means."""


def lines(report: Report, _runs: Runs | None = None) -> Iterator[str]:
    """The text, one family of metrics per piece; the samples of a family must stand together."""
    change: Labels = {"change": report["change"]}
    yield family("zpower_report", "info", "The change that these figures are about.", [(joined(change), 1)])
    verdict = verdict_of(report).word
    words = [(joined({**change, "zpower_report_verdict": word}), int(word == verdict)) for word in VERDICT_STYLES]
    yield family("zpower_report_verdict", "stateset", "The overall verdict.", words)
    counts, hosts = report["counts"], report["hosts"]
    verdicts = [(joined({**change, "verdict": word}), counts.get(word)) for word in VERDICT_STYLES]
    yield family("zpower_report_comparisons", "gauge", "Comparisons with each verdict, without controls.", verdicts)
    states = [(joined({**change, "state": state}), hosts.get(state)) for state in ("measured", "not_measured")]
    yield family("zpower_report_hosts", "gauge", "Expected hosts that were measured, and those that were not.", states)
    last = [(joined(change), seconds((report["period"]).get("last")))]
    name = "zpower_report_last_run_timestamp_seconds"
    yield family(name, "gauge", "When the last run of the change ended.", last, unit="seconds")
    rows = [(joined({**change, **_labels(row, OF_ROW)}), row) for row in report["pooled"]]
    infos = [(f"{labels},{joined({**_verdict(row), 'unit': row['unit']})}", 1) for labels, row in rows]
    yield family("zpower_pooled", "info", "All workloads together: what was pooled, and its verdict.", infos)
    yield from _gauges(OF_POOLED, rows)
    items = [(joined({**change, **_labels(item, OF_PAIR)}), item) for item in ordered(report["comparisons"])]
    infos = [(f"{labels},{joined(_info(item))}", 1) for labels, item in items]
    yield family("zpower_comparison", "info", "What was compared, and its verdict.", infos)
    yield from _gauges(OF_COMPARISON, items)
    yield "# EOF\n"


def _labels(item: Item, names: Iterable[str]) -> Labels:
    return {name: item.get(name) or None for name in names}


def _gauges(gauges: Gauges, items: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    for name, (key, factor, places, words) in gauges.items():
        samples = ((labels + more, _at(item, where).get(key)) for labels, item in items for more, where in places)
        yield family(name, "gauge", words, samples, factor=factor)


def _at(item: Mapping[str, Any], where: tuple[str, ...]) -> Mapping[str, Any]:
    for name in where:
        item = item.get(name) or {}
    return item


def _info(item: Item) -> Labels:
    told = {key: item.get(key) for key in ("metric", "unit", "better")}
    return {**told, "control": "yes" if item["control"] else "no", **_verdict(item)}


def _verdict(item: Item) -> Labels:
    return {"verdict": verdict_of(item).word, "warnings": "yes" if item["warnings"] is True else "no"}
