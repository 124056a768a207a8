# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of the report as OpenMetrics text, for a monitoring system.

An unknown figure has no sample. ``zpower_comparison_info`` holds metric, unit and verdict once per comparison; the
other families of a comparison have its change, host, peer and workload as labels. The families of ``zpower_pooled`` are
about all workloads of a host or of all hosts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from functools import lru_cache

from .text import VERDICT_STYLES, Item, Report, Runs, one_line, verdict_of
from .view import ordered

STATES = ("before", "after")
ENDS = ("client", "server")
MICRO = 1e-6
PERCENT = 0.01

Labels = dict[str, object]
Sample = tuple[str, object]
"""The labels as text, because those of a comparison are written many times, and the value."""


def lines(report: Report, _runs: Runs | None = None) -> Iterator[str]:
    """The text, one family of metrics per piece; the samples of a family must stand together."""
    change: Labels = {"change": report.get("change")}
    yield family("zpower_report", "info", "The change that these figures are about.", [(joined(change), 1)])
    verdict = verdict_of(report).word
    words = [(joined({**change, "zpower_report_verdict": word}), int(word == verdict)) for word in VERDICT_STYLES]
    yield family("zpower_report_verdict", "stateset", "The overall verdict.", words)
    counts = report.get("counts") or {}
    yield family(
        "zpower_report_comparisons",
        "gauge",
        "Comparisons with each verdict, without controls.",
        [(joined({**change, "verdict": word}), counts.get(word)) for word in VERDICT_STYLES],
    )
    hosts = report.get("hosts") or {}
    yield family(
        "zpower_report_hosts",
        "gauge",
        "Expected hosts that were measured, and those that were not.",
        [(joined({**change, "state": state}), hosts.get(state)) for state in ("measured", "not_measured")],
    )
    period = report.get("period") or {}
    yield family(
        "zpower_report_last_run_timestamp_seconds",
        "gauge",
        "When the last run of the change ended.",
        [(joined(change), seconds(period.get("last")))],
        unit="seconds",
    )
    yield from _pooled([(joined({**change, **_pooled_labels(row)}), row) for row in report.get("pooled") or ()])
    comparisons = [(joined({**change, **_labels(item)}), item) for item in ordered(report.get("comparisons") or ())]
    yield from _comparisons(comparisons)
    yield from _costs(comparisons)
    yield "# EOF\n"


def _labels(item: Item) -> Labels:
    names = {key: item.get(key) for key in ("host", "peer", "workload")}
    contrast = item.get("contrast")
    return {**names, "contrast": contrast} if contrast else names


def _pooled_labels(row: Item) -> Labels:
    return {key: row.get(key) or None for key in ("contrast", "scope", "host")}


def _pooled(rows: list[tuple[str, Item]]) -> Iterator[str]:
    """Families of all workloads together: of a host, or of all hosts."""
    infos: list[Sample] = [(_with(labels, {**_verdict(row), "unit": row.get("unit")}), 1) for labels, row in rows]
    yield family("zpower_pooled", "info", "All workloads together: what was pooled, and its verdict.", infos)
    for name, key, words in (
        ("zpower_pooled_ratio", "ratio", "How much better the state after is on the whole; above 1 is better."),
        ("zpower_pooled_ratio_low", "low", "The lower end of its interval."),
        ("zpower_pooled_ratio_high", "high", "The upper end of its interval."),
        ("zpower_pooled_rounds", "rounds", "Rounds per state, or starts per state if the unit is starts."),
    ):
        yield family(name, "gauge", words, [(labels, row.get(key)) for labels, row in rows])


def _comparisons(comparisons: list[tuple[str, Item]]) -> Iterator[str]:
    told = ("metric", "unit", "better")
    yield family(
        "zpower_comparison",
        "info",
        "What was compared, and its verdict.",
        [
            (
                _with(
                    labels,
                    {
                        **{key: item.get(key) for key in told},
                        "control": "yes" if item.get("control") else "no",
                        **_verdict(item),
                    },
                ),
                1,
            )
            for labels, item in comparisons
        ],
    )
    for name, key, words in (
        ("zpower_comparison_ratio", "ratio", "How much better the state after is; above 1 is better."),
        ("zpower_comparison_ratio_low", "low", "The lower end of its interval."),
        ("zpower_comparison_ratio_high", "high", "The upper end of its interval."),
    ):
        yield family(name, "gauge", words, [(labels, item.get(key)) for labels, item in comparisons])
    for name, key, words in (
        ("zpower_comparison_median", "median", "Median of the round medians, in the unit of the comparison."),
        ("zpower_comparison_rounds", "rounds", "Rounds with data."),
        ("zpower_comparison_failed_runs", "failed_runs", "Runs that failed or are missing."),
    ):
        samples = [
            (f'{labels},state="{state}"', (item.get(state) or {}).get(key))
            for labels, item in comparisons
            for state in STATES
        ]
        yield family(name, "gauge", words, samples)


def _costs(comparisons: list[tuple[str, Item]]) -> Iterator[str]:
    for name, key, factor, words in (
        (
            "zpower_cpu_seconds_per_unit",
            "cpu_us_per_unit",
            MICRO,
            "CPU time of one unit of work, minus the idle background.",
        ),
        ("zpower_cpu_utilization_ratio", "utilization_pct", PERCENT, "Net utilization of all CPUs."),
        ("zpower_cpu_steal_ratio", "steal_pct", PERCENT, "CPU time that the hypervisor took."),
        ("zpower_etr_per_hour", "etr_per_h", 1.0, "External throughput rate: units of work per hour."),
        ("zpower_itr_per_hour", "itr_per_h", 1.0, "Internal throughput rate: ETR divided by the utilization."),
    ):
        samples: list[Sample] = []
        for labels, item in comparisons:
            kpi = item.get("kpi") or {}
            for end in ENDS:
                for state in STATES:
                    value = ((kpi.get(end) or {}).get(state) or {}).get(key)
                    samples.append((f'{labels},end="{end}",state="{state}"', _times(value, factor)))
        yield family(name, "gauge", words, samples)


def _times(value: object, factor: float) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if factor == 1 else float(f"{value * factor:.9g}")


def family(name: str, kind: str, words: str, samples: Iterable[Sample], unit: str = "") -> str:
    """The lines of one family of metrics; nothing if no value is known."""
    known = [(labels, text) for labels, value in samples if (text := _number(value))]
    if not known:
        return ""
    head = [f"# TYPE {name} {kind}\n", f"# UNIT {name} {unit}\n" if unit else "", f"# HELP {name} {words}\n"]
    suffix = "_info" if kind == "info" else ""
    return "".join([*head, *(f"{name}{suffix}{{{labels}}} {text}\n" for labels, text in known)])


def _number(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return ""
    return repr(value)


def joined(labels: Mapping[str, object]) -> str:
    """Labels as text, escaped; those without a value are left out."""
    return ",".join([f'{name}="{_escaped(value)}"' for name, value in labels.items() if value is not None])


def _with(labels: str, more: Mapping[str, object]) -> str:
    return ",".join(filter(None, (labels, joined(more))))


def _verdict(item: Item) -> Labels:
    return {"verdict": verdict_of(item).word, "warnings": "yes" if item.get("warnings") is True else "no"}


@lru_cache(maxsize=4096)
def _escaped(value: object) -> str:
    return one_line(value).replace("\\", "\\\\").replace('"', '\\"')


def seconds(stamp: object) -> float | None:
    """UTC as the report writes it, in seconds since 1970; None for anything else."""
    if not isinstance(stamp, str) or not stamp.endswith("Z"):
        return None
    try:
        return datetime.fromisoformat(stamp[:-1]).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
