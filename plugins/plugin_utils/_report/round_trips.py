# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The comparisons whose single round trips are known, for the page and the Markdown text."""

from __future__ import annotations

from collections.abc import Sequence

from .._compare.shapes import Comparison, Part, Report
from .._pages.text import ARROW, measured, number
from . import view

PERCENTILES = ("p50", "p90", "p99")


def told(report: Report) -> list[Comparison]:
    """The comparisons that have a distribution, in reading order."""
    return [item for item in view.ordered(report["comparisons"]) if item["distribution"]]


def note(items: Sequence[Comparison]) -> str:
    """What the percentiles describe, and what not; empty without any."""
    return str((items[0]["distribution"] or {}).get("note", "")) if items else ""


def sentences(items: Sequence[Comparison]) -> list[str]:
    """One line for each comparison: ``app1 -> app2, pingpong-1000B: p50 51.2 -> 48.0 µs, ...``."""
    return [
        f"{view.pair_name(item)}, {view.workload_name(item)}: {_changes(item['distribution'] or {})}." for item in items
    ]


def _changes(known: Part) -> str:
    sides = known["before"], known["after"]
    words = [
        f"{name} {number(sides[0][name])} {ARROW} {measured(sides[1][name], known['unit'])}"
        for name in PERCENTILES
        if any(side[name] is not None for side in sides)
    ]
    counts = " and ".join(number(side["count"]) for side in sides)
    return f"{', '.join(words)} ({counts} round trips)"
