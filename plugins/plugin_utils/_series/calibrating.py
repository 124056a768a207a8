# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From rounds in which nothing changed to a calibration: the noise of each host, and why a measurement is pointless."""

import contextlib
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

from .._compare.cpu_cost import MOST_STEAL_PCT
from .._compare.pair import step_of
from .._compare.site import mean
from .._records.grouping import by_key
from .._records.kpi import add, kpi
from .._records.round import LOCAL_PEER, MUST_MATCH, UNKNOWN, Round
from .._statistics import planning
from .._statistics.ranks import short
from .._statistics.verdict import IMPROVED, REGRESSED, UNCHANGED
from .calibration import SCHEMA, Calibration, forecast, fraction, percent

MOST_CONTROL_PCT = 5.0
"""A control whose rounds vary by more lets wrong verdicts pass and stops right ones."""

EXPERIMENTS = 400
MOST_SIMULATED = 10
"""With more hosts only the site is simulated, because each simulation takes about a second."""

BUDGET = 16
"""Rounds per state after which a measurement ends by default."""


class Planned(NamedTuple):
    """The measurements that are planned: rounds per state, and the material limit in percent."""

    rounds: int
    material_pct: float


class Point(NamedTuple):
    """One round: its value and its runs, as logarithms that are larger if better."""

    session: int
    boot: Hashable
    value: float
    runs: tuple[float, ...]


Series = Mapping[int, Point]
"""Points by the number of their round, in the order of time."""

Ends = dict[str, dict[str, str | None]]
"""Fingerprint items as text by the name of the host; None is unknown."""

Slots = dict[int, list[Round]]
"""The records of one host by the number of their round, in the order of time."""


def calibrate(change: str, records: Iterable[Round], planned: Planned, problems: Sequence[str] = ()) -> Calibration:
    """The calibration of a change, and what the planned measurements can show."""
    by_host = by_key((item.host, item) for item in records)
    told = list(problems)
    hosts, pooled = {}, {}
    for host, items in sorted(by_host.items()):
        numbered = by_key((item.number, item) for item in items)
        slots, remarks = _comparable(host, dict(sorted(numbered.items(), key=lambda slot: (_begin(slot[1]), slot[0]))))
        told += remarks
        try:
            series = _pooled([item for slot in slots.values() for item in slot if not item.workload.control])
            hosts[host], pooled[host] = _host(slots, series, planned), series
        except ValueError as error:
            told.append(f"{host} is left out: {error}.")
    material = planned.material_pct / 100.0
    site = _site(pooled)
    spreads = _spreads_of(site, planned)
    entry = spreads and {"rounds": len(site), **spreads, **_simulated(site, material, f"{change} site")}
    if len(hosts) <= MOST_SIMULATED:
        for host, found in hosts.items():
            found.update(_simulated(pooled[host], material, f"{change} {host}"))
    report = {"schema": SCHEMA, "change": change, "hosts": hosts, "site": entry}
    for host, found in hosts.items():
        found["sentences"] = forecast(report, [host], *planned)
        found["split"] = _split(pooled[host], found, planned.material_pct)
    whole = forecast(report, hosts, *planned)
    return {
        **report,
        "planned": {**planned._asdict(), "most_rounds": BUDGET},
        "headline": _headline(report, whole),
        "sentences": whole,
        "problems": told,
    }


def _begin(items: Sequence[Round]) -> int:
    """The start of a round in microseconds; 0 if a record does not tell."""
    return min(item.started or 0 for item in items)


def _comparable(host: str, slots: Slots) -> tuple[Slots, list[str]]:
    """The rounds that were measured on the machine as it is in the last one, and a sentence if others were not."""
    last, same, changed = _ends(slots[max(slots)]), {}, set()
    for number, items in slots.items():
        # an item that is known then and now, and differs
        other = {
            f"{item} of {name}"
            for name, then in _ends(items).items()
            for item in MUST_MATCH
            if len({then.get(item), last.get(name, {}).get(item)} - {None}) > 1
        }
        changed |= other
        same.update({} if other else {number: items})
    what, count = ", ".join(sorted(changed)), len(slots) - len(same)
    return same, [f"{count} rounds of {host} are left out: measured before a change of {what}."] if what else []


def _ends(items: Sequence[Round]) -> Ends:
    """Fingerprint items by the name of the host; an item with several values, such as two interfaces, is unknown."""
    values: dict[str, dict[str, set[str]]] = {}
    for item in items:
        if not item.workload.control:
            for name, end in zip((item.host, item.peer), item.ends, strict=True):
                for key, value in zip(MUST_MATCH, end.must, strict=True) if end else ():
                    values.setdefault(name, {}).setdefault(key, set()).update([value] if value is not None else [])
    return {
        name: {key: next(iter(found)) if len(found) == 1 else None for key, found in items.items()}
        for name, items in sorted(values.items())
    }


def _pooled(records: Iterable[Round]) -> dict[int, Point]:
    """The geometric mean over the workloads of each round; only rounds that have all workloads of the last session."""
    known = [item for item in records if item.median is not None and item.median > 0]
    last = max((item.protocol.session for item in known), default=0)
    wanted = {(item.peer, item.workload.name) for item in known if item.protocol.session == last}
    found: dict[int, Point] = {}
    for number, items in by_key((r.number, r) for r in known if (r.peer, r.workload.name) in wanted).items():
        if len(items) == len(wanted):
            runs = zip(*([_log(value, item) for value in item.good] for item in items), strict=False)
            value = fmean(_log(item.median or 1.0, item) for item in items)
            boot = tuple(end.boot_id if end else None for end in items[0].ends)
            found[number] = Point(items[0].protocol.session, boot, value, tuple(map(fmean, runs)))
    return found


def _log(value: float, item: Round) -> float:
    return math.log(value) * (-1.0 if item.workload.better == "lower" else 1.0)


def _site(pooled: Mapping[str, Series]) -> dict[int, Point]:
    """The mean over the hosts of each round that all of them have; empty for one host.

    Noise that hosts share does not average out in it.
    """
    if len(pooled) < 2:
        return {}
    all_series = list(pooled.values())
    first = all_series[0]
    numbers = [number for number in first if all(number in series for series in all_series)]
    return {
        number: Point(
            first[number].session,
            tuple(series[number].boot for series in all_series),
            fmean(series[number].value for series in all_series),
            tuple(map(fmean, zip(*(series[number].runs for series in all_series), strict=False))),
        )
        for number in numbers
    }


def _by_session(series: Series) -> list[list[Point]]:
    return list(by_key((point.session, point) for point in series.values()).values())


def _sessions(series: Series) -> list[list[float]]:
    return [[point.value for point in points] for points in _by_session(series)]


def _noise(series: Series) -> planning.Noise:
    return planning.noise(_sessions(series), [point.runs for point in series.values()])


def _spreads(found: planning.Noise, planned: Planned) -> dict[str, float | None]:
    """The entry of one series: its noise, and the smallest change that the planned measurements can show."""
    smallest = planning.smallest_change(found.upper, planned.rounds, planned.material_pct / 100.0)
    return {
        **{f"{name}_pct": percent(value) for name, value in found._asdict().items()},
        "smallest_change_pct": None if math.isinf(smallest) else percent(smallest),
    }


def _spreads_of(series: Series, planned: Planned) -> dict[str, float | None] | None:
    """The entry of a workload or of the site; None if it has too few rounds."""
    with contextlib.suppress(ValueError):
        return _spreads(_noise(series), planned)
    return None


def _host(slots: Slots, series: Series, planned: Planned) -> Calibration:
    """The entry of one host; ValueError if it has too few rounds."""
    noise = _noise(series)
    records = [item for found in slots.values() for item in found]
    by_name = by_key((_name(item), item) for item in records)
    lines = {name: _pooled(items) for name, items in by_name.items()}
    spreads = {name: found for name, line in lines.items() if (found := _spreads_of(line, planned)) is not None}
    controls = {name for name, items in by_name.items() if items[0].workload.control}
    control = next((spreads[name] for name in sorted(controls) if name in spreads), None)
    workloads = {name: spread for name, spread in spreads.items() if name not in controls}
    steal = _steal(records)
    boots = by_key((point.boot, point.value) for point in series.values())
    beyond = planning.of_boots(list(boots.values()), noise.medians)
    shown = {name: line for name, line in lines.items() if name not in controls}
    # one step of the figures, as a verdict has it: the mean of the workloads
    step = mean([step_of({"": items}) for name, items in by_name.items() if name not in controls])
    return {
        "rounds": len(series),
        "runs": round(median(len(point.runs) for point in series.values())),
        "boots": len(boots),
        "workloads": workloads,
        "pooled": {**_spreads(noise, planned), "boots_pct": None if beyond is None else percent(beyond)},
        "control": control,
        "seconds_per_round": _round_seconds(slots),
        "seconds_per_run": _run_seconds(slots),
        "step_pct": short(100.0 * step) if step < math.inf else None,
        "steal_pct": max(steal.values(), default=None),
        "fingerprint": _ends(slots[max(slots)]),
        "pointless": [*_stolen(steal), *_grouped(series, shown), *_restless(control)],
    }


def _name(item: Round) -> str:
    where = item.host if item.peer == LOCAL_PEER else f"{item.host} \u2192 {item.peer}"
    return f"{where}, {item.workload.name}"


def _steal(records: Sequence[Round]) -> dict[str, float]:
    """Percent of its CPU time that the hypervisor took from each end, by its name."""
    found: dict[str, float] = {}
    for side in (0, 1):
        known = (((item.host, item.peer)[side], item.cpu[side]) for item in records)
        sums = by_key((name, value) for name, value in known if value is not None)
        for name, values in sums.items():
            share = kpi(add(values), None).steal_pct
            if share is not None:
                found[name] = short(share)
    return found


def _stolen(steal: Mapping[str, float]) -> list[str]:
    return [
        f"the hypervisor takes {share:.1f} % of the CPU time of {name} (the limit is {MOST_STEAL_PCT:g} %): measure"
        " when the machine has fewer guests at work, or give it more entitlement."
        for name, share in sorted(steal.items())
        if share > MOST_STEAL_PCT
    ]


def _grouped(series: Series, lines: Mapping[str, Series]) -> list[str]:
    """A sentence if the rounds, or else the runs of half of the workloads, fall into two groups."""
    if planning.two_groups(_rests(series), len(series)):
        return [
            "its rounds fall into two groups, so a result depends on which of them a round hits: find out what switches"
            " between them (another job, a CPU that is parked, another path of the network)."
        ]
    names = []
    for name, line in sorted(lines.items()):
        points = zip((point for session in _by_session(line) for point in session), _rests(line), strict=True)
        if planning.two_groups([run - point.value + rest for point, rest in points for run in point.runs], len(line)):
            names.append(name)
    if not names or 2 * len(names) < len(lines):
        return []
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return [
        f"the runs of {'; '.join(names[:3])}{more} fall into two groups: find out what switches between them, or make"
        " the runs longer (measure_run_seconds)."
    ]


def _rests(series: Series) -> list[float]:
    """What is left of each round without the slope and level of its session, in the order of time."""
    return [rest for session in planning.residuals(_sessions(series)) for rest in session]


def _restless(control: Mapping[str, float | None] | None) -> list[str]:
    moves = (control["medians_pct"] if control else None) or 0.0
    if moves <= MOST_CONTROL_PCT:
        return []
    return [
        f"its control workload varies by {moves:.1f} % from round to round (the limit is"
        f" {MOST_CONTROL_PCT:g} %), so it cannot tell other causes from the change: measure when the host is quieter."
    ]


def _round_seconds(slots: Slots) -> float | None:
    """From one round to the next, with all that lies between them."""
    begins = [(items[0].protocol.session, _begin(items)) for items in slots.values()]
    steps = [later - begin for (one, begin), (other, later) in pairwise(begins) if one == other and begin]
    return short(median(steps) / 1e6) if steps else None


def _run_seconds(slots: Slots) -> float | None:
    """One run of each workload together."""
    known = by_key(
        (_name(item), later - started)
        for items in slots.values()
        for item in items
        for started, later in pairwise(item.times)
        if UNKNOWN not in (started, later)
    )
    return short(math.fsum(median(steps) for steps in known.values()) / 1e6) if known else None


def _simulated(series: Series, material: float, seed: str) -> Calibration:
    """How measurements would end in which nothing changes, with the noise of these rounds."""
    words = planning.try_out(_sessions(series), BUDGET, material, EXPERIMENTS, seed)
    wrong, unchanged = words[IMPROVED] + words[REGRESSED], words[UNCHANGED]
    return {"simulation": {"experiments": EXPERIMENTS, "wrong": wrong, "unchanged": unchanged}}


def _split(series: Series, entry: Calibration, material_pct: float) -> Calibration | None:
    """The runs and rounds that find twice the material limit in the least time."""
    whole, run = entry["seconds_per_round"], entry["seconds_per_run"]
    if not whole or not run:
        return None
    change = 2.0 * material_pct
    seconds = max(0.0, whole - entry["runs"] * run), run
    found = planning.cheapest(_noise(series), seconds, fraction(change), material_pct / 100.0)
    if found is None:
        return None
    runs, rounds, seconds_in_all = found
    return {"runs": runs, "rounds": rounds, "seconds": short(seconds_in_all), "change_pct": change}


def _headline(report: Calibration, sentences: Sequence[str]) -> str:
    hosts = report["hosts"]
    if not hosts:
        return "There is no calibration: no host has enough rounds."
    first = f"{len(hosts)} host{'s' if len(hosts) != 1 else ''} calibrated. {sentences[0]}"
    pointless = [host for host, found in hosts.items() if found["pointless"]]
    if pointless:
        first += f" A measurement is pointless now on {len(pointless)} of {len(hosts)}."
    return first
