# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sample reports for the tests of the formats, in unit tests and in the browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "report"
NAMES = ("improved", "regressed", "mixed", "hostile")

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</style><style>*{display:none}</style>",
    "javascript:alert(3)",
    "</title><svg onload=alert(4)><text>svg</text></svg>",
    "=cmd|' /C calc'!A0",
    "{{ 7*7 }}{% raw %}",
)
"""Texts of hostile.json that must be shown as they are."""

HOSTILE_INVISIBLE = ("evil\u202egnp.exe\u200b", "evil[U+202E]gnp.exe[U+200B]")
"""A text with invisible characters, and how it must be shown."""


def sample(name: str) -> dict[str, Any]:
    """One of NAMES, fresh at each call."""
    report: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return report


def fleet(hosts: int, workloads: int = 5) -> dict[str, Any]:
    """A report of many host pairs; every hundredth has regressed, and there are no runs in it."""
    report = sample("improved")
    first = report["comparisons"][0]
    comparisons = []
    for number in range(hosts):
        for index in range(workloads):
            bad = number % 100 == 99
            comparisons.append(
                {
                    **first,
                    "host": f"app{number:04d}",
                    "peer": f"app{(number + 1) % hosts:04d}",
                    "workload": f"pingpong-{10**index}B",
                    "bytes": 10**index,
                    "verdict": "REGRESSED" if bad else "IMPROVED",
                    "ratio": 0.9 if bad else 1.1 + number / 10 / hosts,
                }
            )
    change = report["changes"][0]
    report["changes"] = [{**change, "host": f"app{number:04d}"} for number in range(hosts)]
    report["comparisons"] = comparisons
    report["runs"] = []
    regressed = sum(1 for item in comparisons if item["verdict"] == "REGRESSED")
    report["counts"].update(IMPROVED=len(comparisons) - regressed, REGRESSED=regressed, UNCHANGED=0)
    report["not_measured"] = [{"host": f"db{number:04d}", "reason": "unreachable"} for number in range(hosts)]
    return report
