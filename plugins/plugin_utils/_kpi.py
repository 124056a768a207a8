# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU cost of a round trip, and ETR and ITR as the published studies use them.

ETR (external throughput rate) is work per hour of elapsed time, ITR (internal throughput rate) is ETR divided by the
utilization: "Performance Evaluation of SAP Application Servers on Z", IBM, v1.02, 2018-07-16.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

ITR_MIN_UTILIZATION_PCT = 5.0
"""Below it the net utilization is a small difference between two noisy figures, and ITR divides by it."""


class CpuSum(NamedTuple):
    """Sums over runs of one end. ``busy_s`` without steal; ``capacity_s`` is CPUs x seconds of the windows."""

    busy_s: float
    steal_s: float | None
    elapsed_s: float
    capacity_s: float
    run_s: float
    round_trips: float


class Background(NamedTuple):
    """One idle window: CPU seconds used in ``elapsed_s``, of ``capacity_s`` that there were."""

    busy_s: float
    elapsed_s: float
    capacity_s: float


class Kpi(NamedTuple):
    """One end in one state. None where it cannot be known; ``net`` tells whether the background was taken off."""

    cpu_us_per_round_trip: float | None
    steal_pct: float | None
    utilization_pct: float | None
    etr_per_h: float | None
    itr_per_h: float | None
    net: bool


def background(window: Mapping[str, Any] | None) -> Background | None:
    """The idle window of one end as sums; None where it was not taken or is incomplete."""
    known = _window(window)
    return None if known is None else Background(known[0], known[1], known[2])


def cpu_sum(runs: Iterable[Mapping[str, Any]], side: str) -> CpuSum | None:
    """Sum over the runs (as in a record) whose CPU window of ``side`` and work are complete; None where none is."""
    busy = elapsed = capacity = run_s = work = 0.0
    steal: float | None = 0.0
    count = 0
    for run in runs:
        known = _window((run.get("cpu") or {}).get(side))
        trips = run["metrics"].get("round_trips")
        if known is None or trips is None or trips <= 0:
            continue
        count += 1
        busy += known[0]
        elapsed += known[1]
        capacity += known[2]
        steal = None if steal is None or known[3] is None else steal + known[3]
        run_s += run.get("elapsed_s") or known[1]
        work += trips
    return CpuSum(busy, steal, elapsed, capacity, run_s, work) if count else None


def add(sums: Sequence[CpuSum]) -> CpuSum:
    """Sum of sums, because a mean of ratios is not the ratio of the whole."""
    steals = [item.steal_s for item in sums if item.steal_s is not None]
    return CpuSum(
        sum(item.busy_s for item in sums),
        sum(steals) if len(steals) == len(sums) else None,
        sum(item.elapsed_s for item in sums),
        sum(item.capacity_s for item in sums),
        sum(item.run_s for item in sums),
        sum(item.round_trips for item in sums),
    )


def idle_rate(windows: Sequence[Background]) -> float | None:
    """CPU seconds a second that the machine uses by itself; None without an idle window."""
    elapsed = sum(window.elapsed_s for window in windows)
    return sum(window.busy_s for window in windows) / elapsed if elapsed > 0 else None


def idle_pct(windows: Sequence[Background]) -> float | None:
    """Share of all CPUs that the machine uses by itself, in percent; None without an idle window."""
    capacity = sum(window.capacity_s for window in windows)
    return 100.0 * sum(window.busy_s for window in windows) / capacity if capacity > 0 else None


def kpi(total: CpuSum, idle: float | None) -> Kpi:
    """KPIs from sums over runs; ``idle`` in CPU seconds a second is taken off the cost and the utilization.

    A net cost that is not above zero means that the background moved by more than the work cost: it is unknown, not 0.
    """
    used = total.busy_s - (idle or 0.0) * total.elapsed_s
    known = used > 0 and total.round_trips > 0
    # A window can be longer than the run in it, by whole seconds on AIX; the work is the run's.
    capacity = total.capacity_s * min(1.0, total.run_s / total.elapsed_s) if total.elapsed_s > 0 else 0.0
    utilization = 100.0 * used / capacity if known and capacity > 0 else None
    etr = 3600.0 * total.round_trips / total.run_s if total.run_s > 0 and total.round_trips > 0 else None
    itr = None
    if etr is not None and utilization is not None and utilization >= ITR_MIN_UTILIZATION_PCT:
        itr = 100.0 * etr / utilization
    return Kpi(
        cpu_us_per_round_trip=1e6 * used / total.round_trips if known else None,
        steal_pct=None if total.steal_s is None or total.capacity_s <= 0 else 100.0 * total.steal_s / total.capacity_s,
        utilization_pct=utilization,
        etr_per_h=etr,
        itr_per_h=itr,
        net=idle is not None,
    )


def _window(window: Mapping[str, Any] | None) -> tuple[float, float, float, float | None] | None:
    """(busy, elapsed, capacity, steal) of one window in seconds; None where a part is missing or impossible.

    softirq_s may be missing: where interrupts are not counted apart, as on AIX, they are system time.
    """
    if not window:
        return None
    get = window.get
    user, system, elapsed, ncpu = get("user_s"), get("system_s"), get("elapsed_s"), get("ncpu")
    softirq = get("softirq_s") or 0.0
    if user is None or system is None or not elapsed or not ncpu:
        return None
    if user < 0 or system < 0 or softirq < 0 or elapsed < 0 or ncpu < 0:
        return None
    steal = get("steal_s")
    return user + system + softirq, elapsed, elapsed * ncpu, None if steal is None or steal < 0 else steal
