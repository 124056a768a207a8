# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of the report of a change, schema zpower.sap_tuning/report/1."""

from typing import Any, TypedDict

from .._statistics.verdict import Better

Part = dict[str, Any]
"""A part of the report whose fields only the schema has."""


class Guard(str):
    """A sentence about harm. ``kind``: worse, groups, lost, fading, tail or other; ``name``: what got worse."""

    kind, name = "other", ""

    @classmethod
    def of(cls, kind: str, text: str, name: str = "") -> "Guard":
        """Return the guard of a kind on which decisions depend."""
        found = cls(text)
        found.kind, found.name = kind, name
        return found


class PairName(TypedDict):
    """The two hosts of a measurement."""

    host: str
    peer: str


class Figures(TypedDict):
    """How much better the state after is, as a ratio above 1, with its interval; None is unknown, or an open end."""

    ratio: float | None
    low: float | None
    high: float | None


class FiguresWithLevel(Figures):
    """Figures with the level of their interval."""

    confidence_pct: float | None


class Judged(Figures):
    """An estimate with its verdict; ``warnings``: a guard speaks against it."""

    verdict: str
    warnings: bool
    reason: str


class Finding(Judged, FiguresWithLevel):
    """A judged part of the report; ``contrast``: the level of an experiment, otherwise empty."""

    contrast: str
    material_pct: float
    guards: list[Guard]
    flags: list[str]


class State(TypedDict):
    """One of the two states of a comparison."""

    rounds: int
    runs: int
    failed_runs: int
    median: float | None
    round_medians: list[float]
    spread_pct: float | None


class Comparison(PairName, Finding):
    """Both states of a workload between two hosts."""

    workload: str
    tool: str
    bytes: int
    connections: int
    loops: int
    params: dict[str, str]
    set: str
    control: bool
    metric: str
    unit: str
    unit_of_work: str
    better: Better
    before: State
    after: State
    p: float | None
    detectable_pct: float | None
    rounds_needed: int | None
    secondary: list[Part]
    kpi: Part
    throughput: Part
    transport: dict[str, list[str]]


class Row(Finding):
    """All workloads of a host, or of all hosts, together."""

    scope: str
    host: str | None
    hosts: int
    workloads: int
    unit: str
    rounds: int
    cause: str
    deviations: list[Part]
    control_ratio: float | None
    control_low: float | None
    control_high: float | None
    more_rounds: int | None


class Report(TypedDict):
    """The whole report; ``runs`` is empty if it has too many."""

    schema: str
    change: str
    verdict: str
    headline: str
    next_steps: list[str]
    counts: dict[str, int]
    hosts: dict[str, int]
    period: dict[str, str | None]
    tools: list[str]
    protocol: Part
    thresholds: dict[str, float]
    pooled: list[Row]
    comparisons: list[Comparison]
    changes: list[Part]
    context: list[Part]
    experiment: Part | None
    comparability: list[Part]
    not_measured: list[dict[str, str]]
    warnings: list[str]
    declared: list[str]
    problems: list[str]
    runs_total: int
    runs: list[Part]
    published: list[dict[str, str]]
    method: list[str]
    repeat: str
