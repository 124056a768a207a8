# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of imported records per state: the deciding figure, ETR, and the CPU time of each end."""

from collections.abc import Iterable, Sequence

from .._records import kpi
from .._records.grouping import by_key
from .._records.reading import Reader
from .._records.round import SIDES, Round
from .._statistics.ranks import PRINTED, median, short
from .fields import Values


def states_of(records: Iterable[Values]) -> list[Values]:
    """A line for each change, host, peer, workload and phase, in the order of their first records."""
    states = by_key(
        ((item["change"], item["host"], item["peer"], item["workload"]["name"], item["phase"]), item)
        for item in records
    )
    reader = Reader()
    return [_state(names, state, [reader.measurement(record) for record in state]) for names, state in states.items()]


def _state(names: Sequence[str], records: Sequence[Values], rounds: Sequence[Round]) -> Values:
    counted = [run for record in records for run in record["runs"] if not run["warmup"]]
    good = [run for run in counted if run["ok"]]
    medians = [item.median for item in rounds if item.median is not None]
    return {
        **dict(zip(("change", "host", "peer", "workload", "phase"), names, strict=True)),
        "rounds": len(rounds),
        "runs_ok": len(good),
        "runs_failed": len(counted) - len(good),
        "metric": records[0]["workload"]["metric"],
        "median": median(medians) if medians else None,
        "etr_per_h": etr_per_h(good),
        **{side: _end(good, rounds, index) for index, side in enumerate(SIDES)},
    }


def etr_per_h(runs: Iterable[Values]) -> float | None:
    """Units of work per hour of elapsed time, as a ratio of sums; None if a run lacks one of them."""
    units = elapsed = 0.0
    for run in runs:
        done, time = run["metrics"].get("units"), run["elapsed_s"]
        if done is None or time is None:
            return None
        units += done
        elapsed += time
    return short(3600.0 * units / elapsed, PRINTED) if elapsed else None


def _end(runs: Sequence[Values], rounds: Sequence[Round], index: int) -> Values | None:
    """CPU time and KPIs of one end; None if a run lacks its CPU time."""
    given = [(run["cpu"] or {}).get(SIDES[index]) for run in runs]
    windows = [found for found in map(kpi.background, given) if found is not None]
    if not windows or len(windows) < len(given):
        return None
    sums = [found for found in (item.cpu[index] for item in rounds) if found is not None]
    known = kpi.kpi(kpi.add(sums), None) if sums else None
    share_only = any("busy_pct" in (window or {}) for window in given)
    return {
        "utilization_pct": short(kpi.idle_pct(windows), PRINTED),
        "cpu_s": None if share_only else short(sum(window.busy_s for window in windows), PRINTED),
        "cpu_us_per_unit": known and short(known.cpu_us_per_unit, PRINTED),
        "itr_per_h": known and short(known.itr_per_h, PRINTED),
        "itr_reason": known.itr_reason if known else "the units of work are not known",
    }
