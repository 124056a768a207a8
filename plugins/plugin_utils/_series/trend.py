# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many changes in their order: the effect of each on one metric, the gaps between them, and the overall result.

A pure function of the changes' comparisons. Each step keeps the ratio and the verdict of its own change, whose states
were measured together. From the end of one change to the begin of the next nothing was measured together: that is the
``gap``, shown and credited to nobody. The whole is the first state against the last one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from .._statistics.ranks import short
from .._statistics.verdict import NO_DATA, Better, estimate

SCHEMA = "zpower.sap_tuning/trend/1"

Key = tuple[str, str, str, str, str, Better]
"""Host, peer, workload, metric, unit and direction: seconds and milliseconds of one metric are two series."""


@dataclass(frozen=True)
class Step:
    """One change: its name, its label in the trend, and its comparisons from the report."""

    change: str
    label: str
    comparisons: Sequence[Mapping[str, Any]]


def trend(name: str, steps: Sequence[Step], workload: str = "*", metric: str = "*") -> dict[str, Any]:
    """The trend (schema ``zpower.sap_tuning/trend/1``) of changes in the given order: the same for the same records.

    ``workload`` and ``metric`` are patterns as for file names. Controls are in no trend.
    """
    found = [_chosen(step, workload, metric) for step in steps]
    keys = sorted({key for entries in found for key in entries})
    series = [_series(key, steps, [entries.get(key) for entries in found]) for key in keys]
    return {
        "schema": SCHEMA,
        "name": name,
        "headline": _headline(series, steps),
        "changes": [{"change": step.change, "label": step.label} for step in steps],
        "series": series,
        "problems": _problems(steps, found),
    }


def _chosen(step: Step, workload: str, metric: str) -> dict[Key, Mapping[str, Any]]:
    return {
        (item["host"], item["peer"], item["workload"], item["metric"], item["unit"], item["better"]): item
        for item in step.comparisons
        if not item["control"] and fnmatchcase(item["workload"], workload) and fnmatchcase(item["metric"], metric)
    }


def _series(key: Key, steps: Sequence[Step], entries: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    host, peer, workload, metric, unit, better = key
    known = [entry for entry in entries if entry is not None]
    first = next((entry["before"]["median"] for entry in known if entry["before"]["median"] is not None), None)
    found = []
    last: float | None = None
    for step, entry in zip(steps, entries, strict=True):
        found.append(_step(step, entry, (first, last), better))
        if entry is not None and entry["after"]["median"] is not None:
            last = entry["after"]["median"]
    return {
        "host": host,
        "peer": peer,
        "workload": workload,
        "metric": metric,
        "unit": unit,
        "better": better,
        "steps": found,
        "whole": _overall(known, found, better),
    }


def _step(
    step: Step, entry: Mapping[str, Any] | None, known: tuple[float | None, float | None], better: Better
) -> dict[str, Any]:
    """``known``: the first value of the series, and the last one before this step."""
    empty = dict.fromkeys(("before", "after", "change_pct", "ratio", "low", "high", "gap", "cumulative"))
    named = {"change": step.change, "label": step.label}
    if entry is None:
        reason = "The change has no record of this pair and workload."
        return {**named, **empty, "verdict": NO_DATA, "warnings": False, "reason": reason}
    before, after = _side(entry["before"]), _side(entry["after"])
    old, new = entry["before"]["median"], entry["after"]["median"]
    return {
        **named,
        "before": before,
        "after": after,
        "change_pct": None if old is None or new is None else short(100.0 * (new / old - 1.0)),
        "ratio": entry["ratio"],
        "low": entry["low"],
        "high": entry["high"],
        "gap": short(gain(known[1], old, better)),
        "cumulative": short(gain(known[0], new, better)),
        "verdict": entry["verdict"],
        "warnings": bool(entry.get("warnings")),
        "reason": entry["reason"],
    }


def _side(side: Mapping[str, Any]) -> dict[str, Any] | None:
    values = side["round_medians"]
    if side["median"] is None or not values:
        return None
    return {"median": side["median"], "least": min(values), "most": max(values), "rounds": side["rounds"]}


def _overall(known: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]], better: Better) -> dict[str, Any]:
    """The first state that has data against the last one, and the product of what the changes themselves did."""
    begin = next((entry["before"] for entry in known if entry["before"]["median"] is not None), None)
    end = next((entry["after"] for entry in reversed(known) if entry["after"]["median"] is not None), None)
    ratios = [step["ratio"] for step in steps]
    product = None if None in ratios else short(math.prod(ratios))
    if begin is None or end is None:
        return {**dict.fromkeys(("before", "after", "change_pct", "ratio", "low", "high")), "steps_ratio": product}
    low, high = estimate(begin["round_medians"], end["round_medians"], better).ends()
    return {
        "before": begin["median"],
        "after": end["median"],
        "change_pct": short(100.0 * (end["median"] / begin["median"] - 1.0)),
        "ratio": short(gain(begin["median"], end["median"], better)),
        "low": low,
        "high": high,
        "steps_ratio": product,
    }


def gain(old: float | None, new: float | None, better: Better) -> float | None:
    """How many times better ``new`` is than ``old``; None if one of them is unknown."""
    if old is None or new is None:
        return None
    return old / new if better == "lower" else new / old


def _headline(series: Sequence[Mapping[str, Any]], steps: Sequence[Step]) -> str:
    known = [item for item in series if item["whole"]["ratio"] is not None]
    over = f"over {len(steps)} change{'s' if len(steps) != 1 else ''}"
    if not known:
        return f"There is no result {over}: no comparison has data."
    if len(known) == 1:
        overall, unit = known[0]["whole"], known[0]["unit"]
        change = f"{abs(overall['change_pct']):.1f} % {'less' if overall['change_pct'] < 0 else 'more'}"
        low, high = (overall["ratio"] if overall[end] is None else overall[end] for end in ("low", "high"))
        reading = ", better" if low > 1 else ", worse" if high < 1 else ", no certain change"
        return (
            f"{known[0]['metric']} went from {overall['before']:,.6g} {unit} to {overall['after']:,.6g} {unit} {over}:"
            f" {change}{reading}."
        )
    gains = sorted(100.0 * (item["whole"]["ratio"] - 1.0) for item in known)
    return (
        f"{len(known)} series changed by {gains[0]:+.1f} % to {gains[-1]:+.1f} % from the first state to the last one"
        f" {over}; above 0 is better."
    )


def _problems(steps: Sequence[Step], found: Sequence[Mapping[Key, Any]]) -> list[str]:
    return [
        f"The change {step.change} has no matching comparison."
        for step, entries in zip(steps, found, strict=True)
        if not entries
    ]
