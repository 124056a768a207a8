# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU cost of a unit of work, and ETR and ITR as the published studies use them.

ETR (external throughput rate) is work per hour of elapsed time, ITR (internal throughput rate) is ETR divided by the
utilization: "Performance Evaluation of SAP Application Servers on Z", IBM, v1.02, 2018-07-16.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

ITR_MIN_UTILIZATION_PCT = 5.0
"""Below it, the net utilization is a small difference between two noisy figures, and ITR divides by it."""


ITR_LOAD_PCT = 40.0
"""The CRM study used its ITR only if the utilization was above this for the whole window."""


Window = Mapping[str, float | None]
"""What a machine used from one moment to another, as in a record."""


class CpuSum(NamedTuple):
    """Sums over runs of one end. ``busy_s`` without steal; ``capacity_s`` is CPUs x seconds of the windows."""

    busy_s: float
    steal_s: float | None
    elapsed_s: float
    capacity_s: float
    run_s: float
    units: float
    softirq_s: float | None = None
    """The part of ``busy_s`` in interrupts; None if they are part of system time."""
    process_s: float | None = None
    """The part of ``busy_s`` in the tool's own processes."""
    share_only: bool = False
    """The number of CPUs is unknown: ``busy_s`` and ``capacity_s`` count the machine as one CPU."""
    least_pct: float | None = None
    """The lowest utilization of the windows; None if it is not known."""


_Sum = tuple[float, float | None, float, float, float, float, float | None, float | None, bool, float | None]


class Kpi(NamedTuple):
    """One end in one state. Unknown figures are None; ``net`` tells whether the background was subtracted."""

    cpu_us_per_unit: float | None
    steal_pct: float | None
    softirq_pct: float | None
    utilization_pct: float | None
    etr_per_h: float | None
    itr_per_h: float | None
    itr_reason: str | None
    """Why there is no ITR; None if there is one."""
    itr_weak: str | None
    """Why the ITR is weak; None if it is not, or if there is none."""
    net: bool


def background(window: Window | None) -> CpuSum | None:
    """The idle window of one end as sums; None if it is missing or incomplete."""
    known = _window(window, 0.0, 0.0)
    return None if known is None else CpuSum(*known)


def cpu_sum(runs: Iterable[Mapping[str, Any]], side: str) -> CpuSum | None:
    """Sum over the runs (as in a record) whose CPU window of ``side`` and work are complete; None if none is."""
    sums = []
    for run in runs:
        units, ends = units_of(run["metrics"]), run.get("cpu")
        if ends and units is not None and units > 0:
            known = _window(ends.get(side), run.get("elapsed_s") or None, units)
            if known is not None:
                sums.append(known)
    return add(sums) if sums else None


def units_of(metrics: Mapping[str, float | None]) -> float | None:
    """The units of work of a run; None if they were not counted."""
    return metrics["units"] if "units" in metrics else metrics.get("round_trips")


def add(sums: Sequence[_Sum]) -> CpuSum:
    """Sum of sums (at least one), because a mean of ratios is not the ratio of the sums."""
    # One pass, because a fleet has a hundred thousand windows.
    busy = elapsed = capacity = run_s = units = 0.0
    steal: float | None = 0.0
    softirq: float | None = 0.0
    process: float | None = 0.0
    shares, one_measure = 0, True
    least: float | None = math.inf
    for one in sums:
        one_busy, one_steal, one_elapsed, one_capacity, one_run, one_units, one_softirq, one_process, share, low = one
        busy += one_busy
        elapsed += one_elapsed
        capacity += one_capacity
        run_s += one_run
        units += one_units
        # A figure that one part lacks is unknown for the sum.
        steal = None if steal is None or one_steal is None else steal + one_steal
        softirq = None if softirq is None or one_softirq is None else softirq + one_softirq
        process = None if process is None or one_process is None else process + one_process
        least = None if least is None or low is None else low if low < least else least
        shares += share
        one_measure = one_measure and one_capacity > 0
    known_capacity = capacity if one_measure and shares in (0, len(sums)) else 0.0
    return CpuSum(busy, steal, elapsed, known_capacity, run_s, units, softirq, process, shares > 0, least)


def idle_rate(windows: Sequence[CpuSum]) -> float | None:
    """CPU seconds per second that the idle machine uses; None without an idle window."""
    elapsed = sum([window.elapsed_s for window in windows])
    return sum([window.busy_s for window in windows]) / elapsed if elapsed > 0 else None


def idle_pct(windows: Sequence[CpuSum]) -> float | None:
    """Percent of all CPUs that the idle machine uses; None if a window lacks its number of CPUs."""
    total = add(windows)
    return _share(total.busy_s, total.capacity_s)


def cost_us(total: CpuSum, idle: float | None) -> float | None:
    """CPU time of one unit of work; ``idle`` as for :func:`kpi`."""
    used = total.busy_s - (idle or 0.0) * total.elapsed_s
    return 1e6 * used / total.units if used > 0 and total.units > 0 and not total.share_only else None


def kpi(total: CpuSum, idle: float | None) -> Kpi:
    """KPIs from sums over runs; ``idle``, in CPU seconds per second, is subtracted from cost and utilization.

    If the net cost is not above zero, the background moved by more than the cost of the work: it is unknown, not 0.
    """
    used = total.busy_s - (idle or 0.0) * total.elapsed_s
    known = used > 0 and total.units > 0
    # A window can be longer than the run in it, by whole seconds on AIX; the work is the run's.
    capacity = total.capacity_s * min(1.0, total.run_s / total.elapsed_s) if total.elapsed_s > 0 else 0.0
    utilization = 100.0 * used / capacity if known and capacity > 0 else None
    etr = 3600.0 * total.units / total.run_s if total.run_s > 0 and total.units > 0 else None
    reason = _no_itr(etr, utilization, used)
    weak = None
    if not reason and total.least_pct is not None and total.least_pct <= ITR_LOAD_PCT:
        weak = f"the utilization was down to {total.least_pct:.1f} %, not above {ITR_LOAD_PCT:g} % for the whole window"
    return Kpi(
        cpu_us_per_unit=cost_us(total, idle),
        steal_pct=_share(total.steal_s, total.capacity_s),
        softirq_pct=_share(total.softirq_s, total.capacity_s),
        utilization_pct=utilization,
        etr_per_h=etr,
        itr_per_h=100.0 * etr / utilization if etr is not None and utilization is not None and not reason else None,
        itr_reason=reason,
        itr_weak=weak,
        net=idle is not None,
    )


def _share(part_s: float | None, capacity_s: float) -> float | None:
    """Percent of all CPUs."""
    return None if part_s is None or capacity_s <= 0 else 100.0 * part_s / capacity_s


def _no_itr(etr: float | None, utilization: float | None, used_s: float) -> str | None:
    if etr is None:
        return "the elapsed time of the work is not known"
    if used_s <= 0:
        return "the idle machine used as much CPU time as the runs"
    if utilization is None:
        return "the utilization is not known"
    if utilization < ITR_MIN_UTILIZATION_PCT:
        # Rounded down, so that 4.98 is not printed as the limit itself.
        return f"utilization {math.floor(10.0 * utilization) / 10.0:.1f} % is under {ITR_MIN_UTILIZATION_PCT:g} %"
    return None


def _window(window: Window | None, run_s: float | None, units: float) -> _Sum | None:
    """The figures of one window with its work as those of a CpuSum; None if a part is missing or impossible.

    A run of unknown length took as long as its window. Without softirq_s, as on AIX, interrupts are system time.
    Imported figures may have user and system time in one (``busy_s``), or be percent of the machine (``busy_pct``).
    """
    if not window:
        return None
    get = window.get
    elapsed, ncpu, user, softirq = get("elapsed_s"), get("ncpu") or 0.0, get("user_s"), get("softirq_s")
    share, busy = get("busy_pct"), get("busy_s")
    if not elapsed or elapsed < 0 or ncpu < 0 or (user is not None and not ncpu):
        return None  # Our own measurements have their number of CPUs, or are incomplete.
    if share is not None:
        busy = share / 100.0 * elapsed
    elif busy is None:
        system, interrupts = get("system_s"), softirq or 0.0
        if user is None or system is None or user < 0 or system < 0 or interrupts < 0:
            return None
        busy = user + system + interrupts
    if busy < 0:
        return None
    steal, process = get("steal_s"), get("process_s")
    capacity = elapsed * ncpu
    return (
        busy,
        None if steal is None or steal < 0 else steal,
        elapsed,
        capacity if share is None else elapsed,
        elapsed if run_s is None else run_s,
        units,
        softirq,
        None if process is None or process < 0 else process,
        share is not None,
        share if share is not None else 100.0 * busy / capacity if capacity > 0 else None,
    )
