# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU cost of one comparison: the KPIs of both ends, their test, and the flags and guards about them.

The cost is a secondary metric: it raises flags, guards against an improvement that costs more, and decides nothing.
If other work on the machine changed between the states, a lower cost is not credited to the change.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .._records import kpi
from .._records.round import SIDES, Round
from .._statistics.looks import LOOKS, PHASES
from .._statistics.ranks import holm, short
from .._statistics.verdict import Limits, beyond, estimate
from .pooled import Slot
from .shapes import Guard, Part
from .wording import gain

SECONDARY_P = 0.05
MOST_STEAL_PCT = 5.0
MOVED_POINTS = 5.0
"""Percent of all CPUs by which other work has to differ between the states to be an explanation by itself."""

OWN = "the measurement itself"
OWN_SOURCES = (None, "procfs", "lparstat", "vmstat")
"""The sources of CPU time read during the measurement; the oldest records name none."""

States = Mapping[str, Sequence[Round]]
"""``before`` and ``after``: the rounds of one comparison in the order of their numbers."""
Costs = Mapping[str, Mapping[Slot, float]]
"""Per end (client, server or machine) whose costs can be compared: the cost of each round."""
Kpis = Mapping[str, kpi.Kpi | None]
"""Of one end in each state."""


class _Used(NamedTuple):
    """The CPU time of one end in one state: that of its runs, and the rate and share that the idle machine uses."""

    total: kpi.CpuSum | None
    rate: float | None
    share: float | None


_Ends = Mapping[str, Mapping[str, _Used]]


Doubt = tuple[str, str, bool]
"""Why a difference in cost may come from elsewhere: a flag; a guard if that may also explain an improvement, else "";
whether the figures mean the same in both states."""


def cpu_cost(
    useful: States, limits: Limits, comparable: bool = True
) -> tuple[Part, list[Part], list[str], list[Guard], Costs]:
    """The KPIs of both states, their tests, flags and guards as the report has them, and the costs of the rounds.

    ``useful``: the rounds that have data. Nothing is tested unless ``comparable``.
    """
    used = {side: {phase: _used(useful[phase], index) for phase in PHASES} for index, side in enumerate(SIDES)}
    kpis = {side: {phase: _kpi(known) for phase, known in both.items()} for side, both in used.items()}
    shared = _shared(useful)
    ends = SIDES[:1] if shared else SIDES
    doubts = {side: [*_doubts(useful, used, side, shared, limits)] for side in ends}
    tested = [side for side in ends if comparable and all(same for _flag, _guard, same in doubts[side])]
    costs = {
        side: {
            slot: cost
            for phase, rounds in useful.items()
            for slot, cost in _costs(rounds, index, used[side][phase].rate).items()
        }
        for index, side in enumerate(ends)
    }
    work = next((item.workload.unit for rounds in useful.values() for item in rounds), "")
    entries: list[Part] = []
    judged: list[tuple[Part, float, float, str]] = []
    for side in ends:
        old, new = kpis[side].values()
        if old is None or new is None:
            continue
        entry = {
            "metric": "cpu_us_per_unit" + (f"_{side}" if len(ends) > 1 else ""),
            "unit": "µs",
            "before": short(old.cpu_us_per_unit),
            "after": short(new.cpu_us_per_unit),
            "ratio": None,
            "p_holm": None,
            "flag": None,
        }
        entries.append(entry)
        samples = [[cost for (state, _number), cost in costs[side].items() if state == phase] for phase in PHASES]
        if side in tested and min(map(len, samples)) >= LOOKS[0].rounds:
            but = ", which is not credited: other work changed as well" if doubts[side] else ""
            ratio, _low, _high, p = estimate(samples[0], samples[1], "lower")
            judged.append((entry, ratio, p, but))
    # the ends are one family of this comparison
    for (entry, ratio, _p, but), p in zip(judged, holm([p for _entry, _ratio, p, _but in judged]), strict=True):
        entry.update(ratio=short(ratio), p_holm=short(p))
        if p < SECONDARY_P and beyond(ratio, limits.material):
            entry["flag"] = f"the CPU time of one {work} is {gain(ratio)} (p = {p:.2g} after Holm's correction){but}."
    every = [doubt for side in ends for doubt in doubts[side]]
    return (
        {"shared_kernel": shared, **{side: _numbers(kpis[side]) if side in ends else None for side in SIDES}},
        entries,
        [flag for flag, _guard, _same in every],
        [*map(Guard, [*_stolen(kpis), *(guard for _flag, guard, _same in every if guard)])],
        {side if len(ends) > 1 else "machine": costs[side] for side in tested},
    )


def _stolen(kpis: Mapping[str, Kpis]) -> Iterator[str]:
    for side, known in kpis.items():
        for phase, value in known.items():
            if value is not None and value.steal_pct is not None and value.steal_pct > MOST_STEAL_PCT:
                yield f"the hypervisor took {value.steal_pct:.1f} % of the {side}'s CPU time {phase} the change."


def _used(rounds: Sequence[Round], index: int) -> _Used:
    windows = idle_windows(rounds, index)
    known = [total for total in (item.cpu[index] for item in rounds) if total is not None]
    return _Used(kpi.add(known) if known else None, kpi.idle_rate(windows), kpi.idle_pct(windows))


def _kpi(known: _Used) -> kpi.Kpi | None:
    return None if known.total is None else kpi.kpi(known.total, known.rate)


def idle_windows(rounds: Sequence[Round], index: int) -> list[kpi.CpuSum]:
    """The idle windows of one end."""
    return [window for window in (item.idle[index] for item in rounds) if window is not None]


def _shared(useful: States) -> bool:
    ends = {item.ends for rounds in useful.values() for item in rounds}
    return any(client and server and client.boot_id and client.boot_id == server.boot_id for client, server in ends)


def _numbers(known: Kpis) -> Part | None:
    """The KPIs of an end as the report has them; None if no state has any."""
    found = {
        phase: value
        and {name: short(item) if isinstance(item, float) else item for name, item in value._asdict().items()}
        for phase, value in known.items()
    }
    return found if any(found.values()) else None


def _costs(rounds: Sequence[Round], index: int, idle: float | None) -> dict[Slot, float]:
    """Net CPU cost of each round that has one; ``idle``: of the whole state, because single windows are short."""
    sums = {item.slot: item.cpu[index] for item in rounds}
    costs = {slot: kpi.cost_us(total, idle) for slot, total in sums.items() if total is not None}
    return {slot: cost for slot, cost in costs.items() if cost is not None}


def _doubts(useful: States, used: _Ends, side: str, shared: bool, limits: Limits) -> Iterator[Doubt]:
    """Why a difference between the costs of an end may come from elsewhere."""
    index = SIDES.index(side)
    old, new = used[side].values()
    if old.total is None or new.total is None:
        return
    sources = {}
    for phase, rounds in useful.items():
        names = {item.cpu_source[index] for item in rounds if item.cpu[index] is not None}
        sources[phase] = sorted({OWN if name in OWN_SOURCES else str(name) for name in names})
    if len({*sources["before"], *sources["after"]}) > 1:
        named = [" and ".join(sources[phase]) for phase in PHASES]
        come = f"the CPU time of the {side} comes from {named[0]} before the change and from {named[1]} after"
        yield f"{come}: the costs are not comparable.", "", False
    if (old.rate is None) != (new.rate is None):
        one = "after" if old.rate is None else "before"
        why = "the costs are not comparable, because the background is subtracted from only one of them"
        yield f"idle windows of the {side} are known only {one} the change: {why}.", "", False
    moved_by = list(_background_moved(used[side].values(), side, limits))
    yield from moved_by or _others_moved(used, side, shared)


def _background_moved(states: Iterable[_Used], side: str, limits: Limits) -> Iterator[Doubt]:
    """A doubt if the CPU use of the idle machine differs by 5 % of its CPUs, or by a material part of the cost."""
    rates, shares, net = [], [], []
    for total, rate, share in states:
        if rate is None or share is None or total is None or total.elapsed_s <= 0:
            return
        rates.append(rate)
        shares.append(share)
        net.append(total.busy_s / total.elapsed_s - rate)
    of_cost = abs(rates[1] - rates[0]) / min(net) if min(net) > 0 else 0.0
    if abs(shares[1] - shares[0]) > MOVED_POINTS or of_cost > limits.material:
        moved = f"the idle {side} was {shares[0]:.1f} % busy before the change and {shares[1]:.1f} % after"
        yield _doubt_about_others(moved, shares)


def _others_moved(used: _Ends, side: str, shared: bool) -> Iterator[Doubt]:
    """A doubt if other processes used more or less CPU during the runs than the tool's own ones explain.

    Only for the client: on the other end, SAP's servers do the work, and they are not the tool's processes.
    """
    ends = zip(*([known.total for known in used[end].values()] for end in SIDES), strict=True)
    shares = [_others_pct(total, server, shared) for total, server in ends] if side == "client" else [None]
    known = [share for share in shares if share is not None]
    if len(known) == len(PHASES) and abs(known[1] - known[0]) > MOVED_POINTS:
        moved = (
            f"processes other than the tool's took {known[0]:.1f} % of the {side}'s CPUs during the runs before the"
            f" change and {known[1]:.1f} % after"
        )
        yield _doubt_about_others(moved, known)


def _doubt_about_others(moved: str, shares: Sequence[float]) -> Doubt:
    """The doubt that other work causes; less of it may also explain an improvement."""
    guard = f"{moved}: this may explain an improvement." if shares[0] - shares[1] > MOVED_POINTS else ""
    return f"{moved}: the change alone does not explain a difference in CPU cost.", guard, True


def _others_pct(total: kpi.CpuSum | None, server: kpi.CpuSum | None, shared: bool) -> float | None:
    """Percent of all CPUs used neither by the tool's processes nor by interrupts; None if unknown."""
    if total is None or total.process_s is None or total.capacity_s <= 0:
        return None
    own = total.process_s
    if shared:
        if server is None or server.process_s is None:
            return None
        own += server.process_s
    return 100.0 * max(0.0, total.busy_s - (total.softirq_s or 0.0) - own) / total.capacity_s
