# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round of a measurement, reduced to what the comparison needs.

A record file holds raw output, both fingerprints and every metric of every run; sixty thousand of them do not fit into
memory. A :class:`Round` keeps the runs' primary values and sums, and shares everything that repeats between records.
"""

# pylint: disable=unidiomatic-typecheck  # JSON's true is no number, though bool is an int

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from .._statistics.ranks import median
from .._statistics.verdict import Better
from .kpi import CpuSum, background, cpu_sum, units_of

ROUND_TRIP: tuple[str, str, Better] = ("av2_us", "µs", "lower")
"""The metric of records that do not name theirs: the first ones, which were all of niping's kind."""

MUST_MATCH = ("system", "arch", "kernel", "machine", "cpus_online", "interface", "mtu")
"""Fingerprint items of each end that have to be equal in both states."""

SHOWN = ("python", "hostname", "address", "boot_id", "rps_cpus", "smc_r")
"""Fingerprint items of each end that are shown where they differ, and decide nothing."""

# the peer of a record whose tool has no server, as the measuring modules write it
LOCAL_PEER = "local"
EPOCH = datetime(1970, 1, 1)
ERROR_LENGTH = 500

Items = tuple[str | None, ...]


class Workload(NamedTuple):
    """What was run; ``bytes`` is the size of one message."""

    name: str
    tool: str
    version: str | None
    bytes: int
    loops: int
    connections: int
    control: bool
    transport: str
    """The kind of sockets, ``tcp`` in records that do not say."""
    metric: str
    """The metric that decides, with the next two."""
    metric_unit: str
    better: Better
    unit: str
    """One unit of work in words."""
    params: tuple[tuple[str, str], ...]
    """What else defines the workload, as text, sorted by name."""
    family: str
    """The set of workloads that it is one of."""


class Protocol(NamedTuple):
    """What was asked for: rounds a state, counted runs and warm-up runs a round."""

    name: str
    rounds: int
    runs: int
    warmup: int
    design: str


class Run(NamedTuple):
    """One execution; ``started`` in microseconds since the epoch, ``value`` the primary metric or None."""

    run: int
    warmup: bool
    ok: bool
    error: str | None
    started: int | None
    value: float | None


class End(NamedTuple):
    """Fingerprint of one end as text, in the order of MUST_MATCH and SHOWN."""

    must: Items
    shown: Items

    @property
    def boot_id(self) -> str | None:
        """Identifies the kernel: two ends with the same one share it."""
        return self.shown[SHOWN.index("boot_id")]


@dataclass(frozen=True, slots=True)
class Round:
    """One record. Times in microseconds since the epoch; medians over the counted (not warm-up) successful runs."""

    host: str
    peer: str
    phase: str
    number: int
    workload: Workload
    protocol: Protocol
    started: int | None
    finished: int | None
    runs: tuple[Run, ...]
    median: float | None
    throughput: float | None
    longest: float | None
    """Median over the counted runs of each run's longest round trip, in µs."""
    cpu: tuple[CpuSum | None, CpuSum | None]
    """Client, server."""
    idle: tuple[CpuSum | None, CpuSum | None]
    retransmits: float | None
    """Of both ends over the counted runs that know it."""
    retransmit_runs: int
    ends: tuple[End | None, End | None]
    links: tuple[str, ...]
    """What the connections of the counted runs became, where they were to be SMC: ``SMCR`` or ``TCP, why``."""
    clock_step_s: float
    """The larger step of the two ends' clocks; 0 where nobody noticed one."""
    context: tuple[tuple[str, str], ...] = ()
    """Settings of the application that are no tuning of ours, as text, sorted by name."""
    source: str | None = None
    """Where imported figures come from."""
    cpu_source: tuple[str | None, str | None] = (None, None)
    """Where the CPU time of client and server comes from; None in the first records, which had their own."""
    left_behind: str | None = None
    """What the measurement could not take back."""
    units: float | None = None
    """Median over the counted runs of the units of work that a run did."""

    @property
    def good(self) -> list[float]:
        """Primary values of the counted runs that succeeded, in their order."""
        return [run.value for run in self.runs if run.ok and not run.warmup and run.value is not None]

    @property
    def failed(self) -> int:
        """Counted runs that failed, with those that the protocol wanted and that are not there."""
        counted = sum(not run.warmup for run in self.runs)
        return max(counted, self.protocol.runs, 1) - len(self.good)


def microseconds(stamp: Any) -> int | None:
    """``2026-11-20T10:00:00.123456Z`` as microseconds since the epoch; None for everything that is no UTC time."""
    if not isinstance(stamp, str) or not stamp.endswith("Z"):
        return None
    try:
        since = datetime.fromisoformat(stamp[:-1]) - EPOCH
    except (ValueError, TypeError):  # TypeError: a second time zone before the Z
        return None
    return (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds


def time_text(moment: int | None) -> str | None:
    """The inverse of :func:`microseconds`, in its canonical form."""
    if moment is None:
        return None
    return (EPOCH + timedelta(microseconds=moment)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Reducer:
    """Turns validated records into rounds; equal workloads, protocols, fingerprints and names become one object."""

    def __init__(self) -> None:
        self._shared: dict[Any, Any] = {}

    def share(self, value: Any) -> Any:
        """The first object that was equal to ``value``; the type belongs to the key, because 1 == True == 1.0."""
        return self._shared.setdefault((type(value), value), value)

    def share_tree(self, value: Any) -> Any:
        """Like :meth:`share` for anything that came from JSON."""
        key = (dict, json.dumps(value, sort_keys=True))
        return self._shared.setdefault(key, value)

    def reduce(self, record: Mapping[str, Any]) -> Round:
        """A round from a record that :func:`_validate.validate` found sound."""
        workload = _workload(record["workload"])
        metric = workload.metric
        protocol = record.get("protocol") or {}
        runs = tuple(self._run(item, metric) for item in record["runs"])
        counted = [item for item, run in zip(record["runs"], runs, strict=True) if run.ok and not run.warmup]
        retransmits = list(_retransmits(counted))
        ends = record.get("fingerprint") or {}
        return Round(
            host=self.share(record["host"]),
            peer=self.share(record["peer"]),
            phase=self.share(record["phase"]),
            number=record["round"],
            workload=self.share(workload),
            protocol=self.share(
                Protocol(
                    protocol.get("name") or "",
                    protocol.get("rounds") or 0,
                    protocol.get("runs") or 0,
                    protocol.get("warmup") or 0,
                    protocol.get("design") or "",
                )
            ),
            started=microseconds(record.get("started")),
            finished=microseconds(record.get("finished")),
            runs=runs,
            median=_median([run.value for run in runs if run.ok and not run.warmup and run.value is not None]),
            throughput=_median(_positive(item["metrics"].get("tr2_kib_per_s") for item in counted)),
            longest=_median(_positive(item["metrics"].get("max_us") for item in counted)),
            cpu=(cpu_sum(counted, "client"), cpu_sum(counted, "server")),
            idle=_both(record, "idle", background),
            retransmits=sum(retransmits) if retransmits else None,
            retransmit_runs=len(retransmits),
            ends=(self._end(ends.get("client")), self._end(ends.get("server"))),
            links=self.share(tuple(sorted(set(_links(counted))))),
            context=self.share(_items(record.get("context"))),
            source=self.share(_source(record.get("source"))),
            cpu_source=self.share(_both(record, "cpu_source", lambda end: end)),
            left_behind=self.share(record.get("left_behind")),
            units=_median(_positive(units_of(item) for item in counted)),
            clock_step_s=max(abs((ends.get(side) or {}).get("clock_step_s") or 0.0) for side in ("client", "server")),
        )

    def _run(self, item: Mapping[str, Any], metric: str) -> Run:
        value = item["metrics"].get(metric) if item["ok"] else None
        error = item.get("error")
        if item["ok"] and (value is None or value <= 0):
            value, error = None, f"the run ended well but brought no {metric}"
        return Run(
            item["run"],
            item["warmup"],
            value is not None,
            self.share(error[:ERROR_LENGTH]) if error else None,
            microseconds(item.get("started")),
            value if value is None else float(value),
        )

    def _end(self, end: Mapping[str, Any] | None) -> End | None:
        if not end:
            return None
        values = list(map(end.get, MUST_MATCH + SHOWN))
        key = (End, repr(values))
        found: End | None = self._shared.get(key)
        if found is None:
            items = tuple(map(_text, values))
            found = self._shared[key] = self.share(End(items[: len(MUST_MATCH)], items[len(MUST_MATCH) :]))
        return found


def _workload(item: Mapping[str, Any]) -> Workload:
    metric = item.get("metric")
    name, unit, better = (metric["name"], metric["unit"], metric["better"]) if metric else ROUND_TRIP
    return Workload(
        name=item["name"],
        tool=item["tool"],
        version=item.get("version"),
        bytes=item["bytes"],
        loops=item["loops"],
        connections=item["connections"],
        control=item["control"],
        transport=item.get("transport") or "tcp",
        metric=name,
        metric_unit=unit,
        better=better,
        unit=item.get("unit") or "round trip",
        params=_items(item.get("params")),
        family=item.get("set") or "",
    )


def _items(values: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    return tuple((name, _text(values[name]) or "") for name in sorted(values)) if values else ()


def _source(source: Mapping[str, Any] | None) -> str | None:
    return ", ".join(str(source[name]) for name in ("kind", "file", "text") if source.get(name)) if source else None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _median(values: list[float]) -> float | None:
    return median(values) if values else None


def _positive(values: Iterable[Any]) -> list[float]:
    return [float(value) for value in values if value is not None and value > 0]


def _both(record: Mapping[str, Any], name: str, function: Any) -> tuple[Any, Any]:
    ends = record.get(name) or {}
    return function(ends.get("client")), function(ends.get("server"))


def _links(counted: list[Mapping[str, Any]]) -> Iterable[str]:
    for item in counted:
        for link in item.get("links") or ():
            mode, fallback = link.get("mode") or "unknown", link.get("fallback")
            yield f"{mode}, {fallback[:ERROR_LENGTH]}" if fallback else mode


def _retransmits(counted: list[Mapping[str, Any]]) -> Iterable[float]:
    for item in counted:
        numbers = [
            end["retransmits"]
            for end in (item.get("net") or {}).values()
            if end is not None and end.get("retransmits") is not None
        ]
        if numbers:
            yield sum(numbers)
