# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One verdict per host and one for the site: the pooled rows of a report.

The value of a round on a host is the geometric mean over its workloads. Noise of single workloads averages out, and
there is one question instead of one per workload, so that the number of comparisons does not make a wrong verdict more
likely. A single workload is judged in the same way, as a line of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from .._records.round import Round
from .._statistics import hosts as over
from .._statistics import series
from .._statistics.gates import FEWEST_STARTS, of_starts
from .._statistics.looks import AFTER, BEFORE, LOOKS, look_at
from .._statistics.ranks import hodges_lehmann_ratio, median
from .._statistics.series import Effect, Reading
from .._statistics.verdict import INCONCLUSIVE, NO_DATA

Slot = tuple[str, int]
"""State and number of a round: what all workloads of a host were measured in."""


class Line(NamedTuple):
    """The pooled rounds of one host, in the order of time."""

    host: str
    slots: tuple[Slot, ...]
    readings: tuple[Reading, ...]
    workloads: int
    alternates: bool | None
    """Whether the states are mixed in time, so that a drift can be told from the change; None: unknown."""
    starts: tuple[tuple[float, ...], tuple[float, ...]] | None
    """If the states have no start of the machine in common: per state and start, the median of its rounds."""
    sessions: tuple[int, ...] = ()
    """Per reading the number of its session; empty: there is one."""
    times: tuple[float, ...] = ()
    """Per reading the second in which its round began; empty if that is unknown.

    In an experiment the rounds of two levels are not evenly spaced, so that a drift is straight in time only.
    """


class Pooled(NamedTuple):
    """A verdict on several workloads or hosts; ``unit``: rounds, hosts or starts.

    ``spread``: standard deviation of the logarithms of the rounds within a state.
    """

    word: str
    effect: Effect | None
    rounds: int
    unit: str
    hosts: int
    workloads: int
    spread: float | None = None


def line(host: str, rounds: Iterable[Round]) -> Line:
    """Pool the rounds of a host; a round counts only if every workload has a value in it."""
    return _line(host, rounds, _better)


def longest_line(host: str, rounds: Iterable[Round]) -> Line:
    """The same for the longest round trips, of the workloads that have them; above 0 is longer."""
    return _line(host, rounds, lambda item: item.longest)


def _line(host: str, rounds: Iterable[Round], value: Callable[[Round], float | None]) -> Line:
    values: dict[Slot, dict[tuple[str, str], tuple[Round, float]]] = {}
    for item in rounds:
        known = value(item)
        if known:
            key = item.peer, item.workload.name
            values.setdefault((item.phase, item.number), {})[key] = item, math.log(known)
    wanted = {key for found in values.values() for key in found}
    complete = {slot: found for slot, found in values.items() if len(found) == len(wanted)}
    whole = {slot: [item for item, _log in found.values()] for slot, found in complete.items()}
    slots = _compared(sorted(whole, key=lambda slot: _time(slot, whole[slot])), whole)
    logs = {slot: math.fsum([log for _item, log in complete[slot].values()]) for slot in slots}
    readings = [(slot[0], logs[slot] / len(wanted)) for slot in slots]
    return Line(
        host,
        tuple(slots),
        tuple(readings),
        len(wanted),
        _alternates(slots, whole),
        _starts(slots, readings, whole),
        tuple(whole[slot][0].protocol.session for slot in slots),
        _seconds([_begin(whole[slot]) for slot in slots]),
    )


def _compared(slots: Sequence[Slot], rounds: Mapping[Slot, Sequence[Round]]) -> list[Slot]:
    """Without the sessions that have one state only, if another one has both: they say nothing about the change."""
    states: dict[int, set[str]] = {}
    for slot in slots:
        states.setdefault(rounds[slot][0].protocol.session, set()).add(slot[0])
    both = {session for session, known in states.items() if len(known) > 1}
    return [slot for slot in slots if not both or rounds[slot][0].protocol.session in both]


def of_host(found: Line, material: float, contrasts: int = 1) -> Pooled:
    """The verdict of one host; ``contrasts``: how many changes share the error rate."""
    return _of_lines([found], material, contrasts)


def of_site(lines: Sequence[Line], material: float, contrasts: int = 1) -> Pooled:
    """The verdict of all hosts together.

    Hosts whose rounds have the same order are one group, because noise that they share falls on the same state. From
    six groups on a group is the unit. Fewer are judged by their rounds.
    """
    usable = [item for item in lines if item.readings]
    if not usable:
        return Pooled(NO_DATA, None, 0, "rounds", 0, 0)
    if any(item.starts is not None for item in usable):
        return _of_lines(usable, material, contrasts)
    groups = _groups(usable)
    if len(groups) >= over.FEWEST_HOSTS:
        return _over_groups(usable, groups, material)
    found = _of_lines([_merged(group) for group in groups], material, contrasts)
    found = found._replace(hosts=len(usable), workloads=max(item.workloads for item in usable))
    by_host = over.over_hosts([_ratio(item) for item in usable if fewest(item)])
    if found.effect is not None and by_host is not None:
        return found._replace(word=over.agreed(by_host, found.effect, material))
    return found


def sides(item: Line) -> tuple[list[float], list[float]]:
    """Values before and after as positive ratios, without slope where a drift can be told from the change."""
    return _sides(_levelled(item))


def sessions(item: Line) -> list[list[Reading]]:
    """The readings of each session."""
    return [[item.readings[place] for place in places] for places in _places(item)]


def _places(item: Line) -> list[list[int]]:
    """The places of the readings of each session."""
    found: dict[int, list[int]] = {}
    for place, number in enumerate(item.sessions or [1] * len(item.readings)):
        found.setdefault(number, []).append(place)
    return list(found.values())


def _of_lines(lines: Sequence[Line], material: float, contrasts: int) -> Pooled:
    """Hosts as one: each has its own slope and level, and what is left of all of them is compared."""
    restarted = [item for item in lines if item.starts is not None]
    workloads = max(item.workloads for item in lines)
    if restarted:
        before = [value for item in restarted for value in item.starts[0]]  # type: ignore[index]
        after = [value for item in restarted for value in item.starts[1]]  # type: ignore[index]
        starts = min(min(len(side) for side in item.starts or ()) for item in restarted)
        word, effect = INCONCLUSIVE, None
        if starts >= FEWEST_STARTS:
            word, effect = of_starts(before, after, material, contrasts)
        return Pooled(word, effect, starts, "starts", len(lines), workloads, _spread(before, after))
    rounds = min(map(fewest, lines))
    look = look_at(rounds)
    before, after = _sides([reading for item in lines for reading in _levelled(item)])
    found = Pooled(INCONCLUSIVE, None, rounds, "rounds", len(lines), workloads, _spread(before, after))
    if not before or not after:
        return found._replace(word=NO_DATA)
    effect = series.effect(before, after, (look or LOOKS[0]).shared_by(contrasts))
    return found._replace(effect=effect, word=series.word(effect, material) if look else INCONCLUSIVE)


def _over_groups(lines: Sequence[Line], groups: Sequence[Sequence[Line]], material: float) -> Pooled:
    merged = [_merged(group) for group in groups]
    rounds = min(map(fewest, merged))
    workloads = max(item.workloads for item in lines)
    effect = over.over_hosts([_ratio(item) for item in merged if fewest(item)])
    if rounds < LOOKS[0].rounds or effect is None:
        return Pooled(INCONCLUSIVE, effect, rounds, "hosts", len(lines), workloads)
    return Pooled(series.word(effect, material), effect, rounds, "hosts", len(lines), workloads)


def _groups(lines: Sequence[Line]) -> list[list[Line]]:
    """Hosts in groups of the same order; lost rounds do not matter."""
    groups: list[list[Line]] = []
    rounds: list[set[Slot]] = []
    by_slots: dict[tuple[Slot, ...], list[Line]] = {}
    for item in lines:
        if item.slots in by_slots:
            by_slots[item.slots].append(item)
            continue
        own = set(item.slots)
        for known, group in zip(rounds, groups, strict=True):
            # with the same rounds, other slots are another order
            if known != own and [slot for slot in item.slots if slot in known] == [
                slot for slot in group[0].slots if slot in own
            ]:
                group.append(item)
                by_slots[item.slots] = group
                break
        else:
            groups.append([item])
            rounds.append(own)
            by_slots[item.slots] = groups[-1]
    return groups


def _merged(group: Sequence[Line]) -> Line:
    """One line for hosts with the same order: the mean per round of those that have it, each levelled first."""
    if len(group) == 1:
        return group[0]
    values: dict[Slot, list[float]] = {}
    for item in group:
        for slot, (_state, value) in zip(item.slots, _levelled(item), strict=True):
            values.setdefault(slot, []).append(value)
    longest = max(group, key=lambda item: len(item.slots))
    slots = tuple(slot for slot in longest.slots if slot in values)
    readings = tuple((slot[0], math.fsum(values[slot]) / len(values[slot])) for slot in slots)
    return longest._replace(slots=slots, readings=readings)


def _levelled(item: Line) -> list[Reading]:
    """Each session around 0, and without slope where a drift can be told from the change."""
    flat: list[Reading] = []
    for places, readings in zip(_places(item), sessions(item), strict=True):
        if item.alternates:
            flat += series.levelled(readings, [item.times[place] for place in places] if item.times else ())
        elif readings:
            centre = median([value for _state, value in readings])
            flat += [(state, value - centre) for state, value in readings]
    return flat


def _ratio(item: Line) -> float:
    return hodges_lehmann_ratio(*sides(item))


def _sides(readings: Iterable[Reading]) -> tuple[list[float], list[float]]:
    values: dict[str, list[float]] = {BEFORE: [], AFTER: []}
    for state, value in readings:
        values[state].append(math.exp(value))
    return values[BEFORE], values[AFTER]


def _spread(*states: Sequence[float]) -> float | None:
    """Standard deviation of logarithms within the states; None without two values in one of them."""
    squares, free = 0.0, 0
    for values in states:
        logs = [math.log(value) for value in values]
        if len(logs) > 1:
            mean = math.fsum(logs) / len(logs)
            squares += math.fsum((log - mean) ** 2 for log in logs)
            free += len(logs) - 1
    return math.sqrt(squares / free) if free else None


def fewest(item: Line) -> int:
    """Rounds of the state that has fewer."""
    states = [state for state, _value in item.readings]
    return min(states.count(BEFORE), states.count(AFTER))


def _better(item: Round) -> float | None:
    """The value of a round, or its inverse if lower is better."""
    return 1.0 / item.median if item.median and item.workload.better == "lower" else item.median


def _time(slot: Slot, rounds: Sequence[Round]) -> tuple[Any, ...]:
    """Rounds without a start time come in the order of their numbers."""
    return (rounds[0].protocol.session, _begin(rounds) or 0, slot[1], slot[0])


def _begin(rounds: Sequence[Round]) -> int | None:
    return min((item.started for item in rounds if item.started is not None), default=None)


def _seconds(begins: Sequence[int | None]) -> tuple[float, ...]:
    """Seconds since the first one; empty unless each is later than the one before."""
    known = [begin for begin in begins if begin is not None]
    if len(known) < len(begins) or any(earlier >= later for earlier, later in pairwise(known)):
        return ()
    return tuple((begin - known[0]) / 1e6 for begin in known)


def _alternates(slots: Sequence[Slot], rounds: Mapping[Slot, Sequence[Round]]) -> bool | None:
    """Two blocks switch once; a random order of n rounds per state does so n times on average, seldom under n/2."""
    states = [state for state, _number in slots]
    fewest = min(states.count(BEFORE), states.count(AFTER))
    if not fewest or any(item.started is None for slot in slots for item in rounds[slot]):
        return None
    return sum(earlier != later for earlier, later in pairwise(states)) >= max(2.0, fewest / 2.0)


def _starts(
    slots: Sequence[Slot], readings: Sequence[Reading], rounds: Mapping[Slot, Sequence[Round]]
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Per state the median of the rounds of each start; None if a start has rounds of both states, or is unknown."""
    # ends are shared between equal rounds, so that most hosts are done here
    ends: dict[str, set[Any]] = {BEFORE: set(), AFTER: set()}
    for slot in slots:
        ends[slot[0]].add(rounds[slot][0].ends)
    booted = {both: tuple(end.boot_id if end else None for end in both) for state in ends.values() for both in state}
    starts = [{booted[both] for both in state} for state in ends.values()]
    if not all(starts) or starts[0] & starts[1]:
        return None
    values: dict[str, dict[tuple[str | None, ...], list[float]]] = {BEFORE: {}, AFTER: {}}
    for slot, (state, value) in zip(slots, readings, strict=True):
        values[state].setdefault(booted[rounds[slot][0].ends], []).append(value)
    before, after = (tuple(math.exp(median(found)) for found in values[state].values()) for state in (BEFORE, AFTER))
    return before, after
