# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes and curves for the tests of trend and scaling, among them those of the published studies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import median_high
from typing import Any

import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.round import Round
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.scaling import scaling
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.trend import TrendStep, trend
from report_samples import HOSTILE, HOSTILE_INVISIBLE

Record = dict[str, Any]

BANKING = (
    ("HiperSockets", 18234, 17467),
    ("z14", 17467, 16366),
    ("topology", 16366, 12036),
    ("LPARs in place of z/VM", 12036, 9399),
    ("128 IFLs, SP3, no SMT", 9329, 7635),
    ("RPS on all CPUs", 7635, 7388),
)
"""Elapsed seconds of the settlement, from 'above 5 hours' to 'to 2 hours': tables 1 to 5 of the banking study.

The last change but one starts from the run with SP3, which nobody measured together with the change before it.
"""

GUESTS = {
    "db_create": (100, 123, 198, 251, 333, 409, 481, 549),
    "db_load": (100, 112, 147, 154, 212, 230, 259, 291),
    "db_update": (100, 112, 120, 125, 131, 131, 139, 152),
    "mem_std": (100, 192, 257, 307, 315, 322, 326, 327),
    "mem_map": (100, 194, 272, 308, 338, 344, 346, 342),
}
"""Percent of one guest's value with 1 to 8 guests of 4 CPUs on 16 cores: the virtualization study's table."""


def comparison(before: Sequence[float], after: Sequence[float], **changes: Any) -> dict[str, Any]:
    """Return a comparison as in the report, with the parts that a trend reads."""
    sides = [
        {"median": median_high(values) if values else None, "round_medians": list(values), "rounds": len(values)}
        for values in (before, after)
    ]
    known = all(side["median"] is not None for side in sides)
    return {
        "host": "erp1",
        "peer": "db1",
        "workload": "settlement",
        "metric": "elapsed_s",
        "unit": "s",
        "better": "lower",
        "control": False,
        "before": sides[0],
        "after": sides[1],
        "ratio": float(f"{sides[0]['median'] / sides[1]['median']:.6g}") if known else None,
        "low": None,
        "high": None,
        "verdict": "INCONCLUSIVE",
        "warnings": False,
        "reason": "only 1 round in the state with fewer rounds; at least 5 are needed.",
        **changes,
    }


def banking() -> dict[str, Any]:
    steps = enumerate(BANKING, 1)
    return trend("banking", [TrendStep(f"c{n}", name, [comparison([old], [new])]) for n, (name, old, new) in steps])


def record(
    value: float,
    *,
    phase: str = "before",
    number: int = 1,
    metric: tuple[str, str, str] = ("av2_us", "µs", "lower"),
    name: str = "pingpong-onlTrans",
    connections: int = 1,
    params: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
) -> Record:
    """Return a record of one counted run whose deciding metric has this value."""
    made = factory.make_record([50.0, 50.0], phase=phase, number=number)
    made["runs"][1]["metrics"][metric[0]] = value
    made["workload"].update(
        name=name,
        connections=connections,
        metric=dict(zip(("name", "unit", "better"), metric, strict=True)),
        params=dict(params or {}),
    )
    made["context"] = dict(context or {})
    return made


def rounds(records: Sequence[Record]) -> list[Round]:
    return factory.load(records).records


def guests(metrics: Sequence[str] = tuple(GUESTS)) -> list[Record]:
    """Return the virtualization study's table as records: each number of guests was measured in a separate phase."""
    made = [
        (
            count,
            record(value, phase=f"guests-{count}", metric=(name, "%", "higher"), name=name, context={"guests": count}),
        )
        for name in metrics
        for count, value in enumerate(GUESTS[name], 1)
    ]
    # one phase an hour
    return [json.loads(json.dumps(one).replace("T10:", f"T{9 + count:02}:")) for count, one in made]


def virtualization() -> dict[str, Any]:
    return scaling("slcs", rounds(guests()), "context.guests")


def connections() -> dict[str, Any]:
    """Return round trips with 1 to 250 connections before and after a change that helps where there are many."""
    made = []
    for phase, times in (("before", (50, 62, 190, 900)), ("after", (51, 58, 120, 420))):
        for number in range(1, 6):
            made += [
                record(
                    value * (1 + number / 200),
                    phase=phase,
                    number=number,
                    name=f"pingpong-onlTrans-x{count}",
                    connections=count,
                    params={"request": 200, "response": 1000},
                )
                for count, value in zip((1, 10, 50, 250), times, strict=True)
            ]
    return scaling("rps-2026-11", rounds(made), "connections")


def hostile_trend() -> dict[str, Any]:
    names = [*HOSTILE, HOSTILE_INVISIBLE[0], "`x` | <b>"]
    steps = [
        TrendStep("c", name, [comparison([100, 90, 95], [80, 85, 81], host=name, workload=name)]) for name in names
    ]
    return trend("hostile", steps)


def hostile_scaling() -> dict[str, Any]:
    names = [*HOSTILE, HOSTILE_INVISIBLE[0]]
    made = [record(50, name=name, connections=count) for name in names for count in (1, 10)]
    for item in made:
        item["host"] = item["workload"]["name"]
    return scaling("hostile", rounds(made), "connections")


def empty_trend() -> dict[str, Any]:
    return trend("empty", [TrendStep("a", "a", [])])


def empty_scaling() -> dict[str, Any]:
    return scaling("empty", [], "connections")
