# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU cost of a unit of work, and ETR and ITR as the published studies use them.

ETR (external throughput rate) is work per hour of elapsed time, ITR (internal throughput rate) is ETR divided by the
utilization: "Performance Evaluation of SAP Application Servers on Z", IBM, v1.02, 2018-07-16.
"""

from __future__ import annotations

import math
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
    units: float
    softirq_s: float | None = None
    """The part of ``busy_s`` in interrupts; None where they are not counted apart from system time."""
    process_s: float | None = None
    """The part of ``busy_s`` in the tool's own processes."""
    share_only: bool = False
    """Of how many CPUs ``busy_s`` is a share is not known: it and ``capacity_s`` count the machine as one."""


class Kpi(NamedTuple):
    """One end in one state. None if it cannot be known; ``net`` tells whether the background was taken off."""

    cpu_us_per_unit: float | None
    steal_pct: float | None
    softirq_pct: float | None
    utilization_pct: float | None
    etr_per_h: float | None
    itr_per_h: float | None
    itr_reason: str | None
    """Why there is no ITR; None where there is one."""
    net: bool


def background(window: Mapping[str, Any] | None) -> CpuSum | None:
    """The idle window of one end as sums; None if it was not taken or is incomplete."""
    return _window(window)


def cpu_sum(runs: Iterable[Mapping[str, Any]], side: str) -> CpuSum | None:
    """Sum over the runs (as in a record) whose CPU window of ``side`` and work are complete; None if none is."""
    sums = []
    for run in runs:
        units = units_of(run)
        if units is None or units <= 0:
            continue
        known = _window((run.get("cpu") or {}).get(side), run.get("elapsed_s") or None, units)
        if known is not None:
            sums.append(known)
    return add(sums) if sums else None


def units_of(run: Mapping[str, Any]) -> float | None:
    """The units of work that a run did; None if nobody counted them."""
    metrics = run["metrics"]
    units: float | None = metrics.get("units", metrics.get("round_trips"))
    return units


def add(sums: Sequence[CpuSum]) -> CpuSum:
    """Sum of sums, because a mean of ratios is not the ratio of the whole."""
    # One pass, because a fleet has a hundred thousand windows.
    busy = elapsed = capacity = run_s = units = 0.0
    steal: float | None = 0.0
    softirq: float | None = 0.0
    process: float | None = 0.0
    share_only, one_measure = False, True
    for item in sums:
        busy += item.busy_s
        elapsed += item.elapsed_s
        capacity += item.capacity_s
        run_s += item.run_s
        units += item.units
        # What is not known of one is not known of the whole.
        steal = None if steal is None or item.steal_s is None else steal + item.steal_s
        softirq = None if softirq is None or item.softirq_s is None else softirq + item.softirq_s
        process = None if process is None or item.process_s is None else process + item.process_s
        share_only = share_only or item.share_only
        one_measure = one_measure and item.share_only == sums[0].share_only and item.capacity_s > 0
    known_capacity = capacity if one_measure else 0.0
    return CpuSum(busy, steal, elapsed, known_capacity, run_s, units, softirq, process, share_only)


def idle_rate(windows: Sequence[CpuSum]) -> float | None:
    """CPU seconds a second that the machine uses by itself; None without an idle window."""
    elapsed = sum(window.elapsed_s for window in windows)
    return sum(window.busy_s for window in windows) / elapsed if elapsed > 0 else None


def idle_pct(windows: Sequence[CpuSum]) -> float | None:
    """Share of all CPUs that the machine uses by itself, in percent; None if a window does not tell its CPUs."""
    total = add(windows)
    return _share(total.busy_s, total.capacity_s)


def kpi(total: CpuSum, idle: float | None) -> Kpi:
    """KPIs from sums over runs; ``idle`` in CPU seconds a second is taken off the cost and the utilization.

    A net cost that is not above zero means that the background moved by more than the work cost: it is unknown, not 0.
    """
    used = total.busy_s - (idle or 0.0) * total.elapsed_s
    known = used > 0 and total.units > 0
    # A window can be longer than the run in it, by whole seconds on AIX; the work is the run's.
    capacity = total.capacity_s * min(1.0, total.run_s / total.elapsed_s) if total.elapsed_s > 0 else 0.0
    utilization = 100.0 * used / capacity if known and capacity > 0 else None
    etr = 3600.0 * total.units / total.run_s if total.run_s > 0 and total.units > 0 else None
    reason = _no_itr(etr, utilization, used)
    return Kpi(
        cpu_us_per_unit=1e6 * used / total.units if known and not total.share_only else None,
        steal_pct=_share(total.steal_s, total.capacity_s),
        softirq_pct=_share(total.softirq_s, total.capacity_s),
        utilization_pct=utilization,
        etr_per_h=etr,
        itr_per_h=100.0 * etr / utilization if etr is not None and utilization is not None and not reason else None,
        itr_reason=reason,
        net=idle is not None,
    )


def _share(part_s: float | None, capacity_s: float) -> float | None:
    """Percent of all CPUs."""
    return None if part_s is None or capacity_s <= 0 else 100.0 * part_s / capacity_s


def _no_itr(etr: float | None, utilization: float | None, used_s: float) -> str | None:
    if etr is None:
        return "how long the work took is not known"
    if used_s <= 0:
        return "the idle machine used as much CPU time as the runs"
    if utilization is None:
        return "the utilization is not known"
    if utilization < ITR_MIN_UTILIZATION_PCT:
        # Rounded down, so that 4.98 is not printed as the limit itself.
        return f"utilization {math.floor(10.0 * utilization) / 10.0:.1f} % is under {ITR_MIN_UTILIZATION_PCT:g} %"
    return None


def _window(window: Mapping[str, Any] | None, run_s: float | None = 0.0, units: float = 0.0) -> CpuSum | None:
    """The figures of one window with its work; None if a part is missing or impossible.

    A run whose length is not known took as long as its window.

    softirq_s may be missing: where interrupts are not counted apart, as on AIX, they are system time.
    """
    if not window:
        return None
    get = window.get
    elapsed, ncpu, softirq = get("elapsed_s"), get("ncpu"), get("softirq_s")
    busy, share_only = _busy(window)
    if busy is None or not elapsed or elapsed < 0 or (ncpu or 0.0) < 0:
        return None
    if not ncpu and get("user_s") is not None:
        return None  # What was measured here knows its CPUs, or is incomplete.
    capacity = elapsed if share_only else elapsed * (ncpu or 0.0)
    return CpuSum(
        busy,
        _positive(get("steal_s")),
        elapsed,
        capacity,
        elapsed if run_s is None else run_s,
        units,
        softirq,
        _positive(get("process_s")),
        share_only,
    )


def _busy(window: Mapping[str, Any]) -> tuple[float | None, bool]:
    """CPU seconds of a window, None if they are not known, and whether they are a share of the whole machine alone.

    Imported figures may not tell user and system time apart (``busy_s``), or be percent of the machine (``busy_pct``).
    """
    get = window.get
    share, elapsed = get("busy_pct"), get("elapsed_s")
    if share is not None and elapsed:
        return _positive(share / 100.0 * elapsed), True
    if get("busy_s") is not None:
        return _positive(get("busy_s")), False
    user, system, softirq = get("user_s"), get("system_s"), get("softirq_s") or 0.0
    if user is None or system is None or user < 0 or system < 0 or softirq < 0:
        return None, False
    return user + system + softirq, False


def _positive(value: float | None) -> float | None:
    return None if value is None or value < 0 else value
