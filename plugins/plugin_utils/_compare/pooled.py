# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One verdict per host and one for the site: the pooled rows of a report.

The value of a round on a host is the geometric mean over its workloads. Noise of single workloads averages out, and
there is one question instead of one per workload, so that the number of comparisons does not make a wrong verdict more
likely. A single workload is judged in the same way, as a line of its own.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from .._records.grouping import by_key
from .._records.round import Protocol, Round
from .._statistics import gates, series
from .._statistics.gates import FEWEST_HOSTS, FEWEST_STARTS, RANKS_FROM, over_hosts
from .._statistics.looks import AFTER, BEFORE, LOOKS, Look, look_at, order
from .._statistics.planning import MOST_ROUNDS
from .._statistics.ranks import hodges_lehmann_ratio, median
from .._statistics.series import Effect, Reading
from .._statistics.verdict import INCONCLUSIVE, NO_DATA

LEVELS = "alternate levels"
"""The design of two levels of an experiment, whose seed drew the order of all its levels."""
Slot = tuple[str, int]
"""State and number of a round: what all workloads of a host were measured in."""


class Line(NamedTuple):
    """The pooled rounds of one host, in the order of time."""

    host: str
    slots: tuple[Slot, ...]
    readings: tuple[Reading, ...]
    alternates: bool | None
    """Whether the states are mixed in time, so that a drift can be told from the change; None: unknown."""
    starts: tuple[tuple[float, ...], tuple[float, ...]] | None
    """If the states have no start of the machine in common: per state and start, the median of its rounds."""
    sessions: tuple[int, ...]
    """Per reading the number of its session."""
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
    spread: float | None = None


def better(item: Round) -> float | None:
    """The value of a round, or its inverse if lower is better."""
    return 1.0 / item.median if item.median and item.workload.better == "lower" else item.median


def of_levels(protocol: Protocol) -> Protocol:
    """The protocol of a level of an experiment."""
    return protocol._replace(design=LEVELS) if protocol.design == "alternate" else protocol


def line(host: str, rounds: Iterable[Round], value: Callable[[Round], float | None] = better) -> Line:
    """Pool the rounds of a host; a round counts only if every workload has a value in it."""
    values: dict[Slot, dict[tuple[str, str], tuple[Round, float]]] = {}
    for item in rounds:
        known = value(item)
        if known:
            key = item.peer, item.workload.name
            values.setdefault(item.slot, {})[key] = item, math.log(known)
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
        _alternates(slots, whole),
        _starts(slots, readings, whole),
        tuple(whole[slot][0].protocol.session for slot in slots),
        _seconds([_begin(whole[slot]) for slot in slots]),
    )


def _compared(slots: Sequence[Slot], rounds: Mapping[Slot, Sequence[Round]]) -> list[Slot]:
    """Without the sessions that have one state only, if another one has both: they say nothing about the change."""
    states = by_key((rounds[slot][0].protocol.session, slot[0]) for slot in slots)
    both = {session for session, known in states.items() if len(set(known)) > 1}
    return [slot for slot in slots if not both or rounds[slot][0].protocol.session in both]


def of_site(lines: Sequence[Line], material: float, contrasts: int = 1, step: float = 0.0) -> Pooled:
    """The verdict of one host, or of several together.

    ``contrasts``: how many changes share the error rate; ``step``: that of the figures.

    Hosts whose rounds have the same order are one group, because noise that they share falls on the same state. From
    six groups on a group is the unit. Fewer are judged by their rounds. Hosts that restarted are judged by their
    starts, and beside them the others by their rounds.
    """
    usable = [item for item in lines if item.readings]
    if not usable:
        return Pooled(NO_DATA, None, 0, "rounds")
    restarts = [item for item in usable if item.starts is not None]
    groups = merged(usable)
    if len(groups) >= FEWEST_HOSTS and _draws(restarts, len(groups), len(usable)):
        rounds = min(map(fewest, groups))
        effect = over_hosts([_ratio(item) for item in groups if fewest(item)], _look(rounds, contrasts))
        few = rounds < LOOKS[0].rounds
        word = INCONCLUSIVE if few or effect is None else series.word(effect, material, step)
        return Pooled(word, effect, rounds, "hosts")
    found = _of_lines(usable if restarts else groups, material, contrasts, step)
    if found.effect is None or len(usable) < FEWEST_HOSTS:
        return found
    look = gates.starts_look(len(restarts) < len(usable), contrasts) if restarts else _look(found.rounds, contrasts)
    by_host = over_hosts([_ratio(item) for item in usable if fewest(item)], look)
    if by_host is not None and found.word != series.word(by_host, material, step):
        # hosts that share an order feel the same noise, so the rounds and the hosts have to say the same
        return found._replace(word=INCONCLUSIVE)
    return found


def _draws(restarts: Sequence[Line], groups: int, hosts: int) -> bool:
    """Whether hosts are a unit although some restarted: with orders of their own, and enough starts on each or in all.

    One start on each of ten hosts is ten draws of what a start is worth.
    """
    if not restarts:
        return True
    return groups == hosts and (groups >= RANKS_FROM or min(map(_fewest_starts, restarts)) >= FEWEST_STARTS)


def _fewest_starts(item: Line) -> int:
    return min(map(len, item.starts or ()), default=0)


def sides(item: Line) -> tuple[list[float], list[float]]:
    """Values before and after as positive ratios, without slope where a drift can be told from the change."""
    return series.sides(levelled(item))


def _of_lines(lines: Sequence[Line], material: float, contrasts: int, step: float) -> Pooled:
    """Pool hosts: fit a slope and a level for each, then compare the residuals of all hosts together."""
    restarted = [item for item in lines if item.starts is not None]
    if restarted:
        strata = [both for both in map(_values, lines) if all(both)]
        starts = min(map(_fewest_starts, restarted))
        word, effect = INCONCLUSIVE, None
        if starts >= FEWEST_STARTS:
            look = gates.starts_look(len(restarted) < len(lines), contrasts)
            effect = gates.stratified(strata, look)
            word = series.word(effect, material, step)
        spread = _spread(*(side for both in strata for side in both))
        return Pooled(word, effect, starts, "starts", spread)
    rounds = min(map(fewest, lines))
    before, after = series.sides([reading for item in lines for reading in levelled(item)])
    found = Pooled(INCONCLUSIVE, None, rounds, "rounds", _spread(before, after))
    if not before or not after:
        return found._replace(word=NO_DATA)
    effect = series.effect(before, after, _look(rounds, contrasts))
    enough = rounds >= LOOKS[0].rounds
    word = series.word(effect, material, step) if enough else INCONCLUSIVE
    return found._replace(effect=effect, word=word)


def _look(rounds: int, contrasts: int) -> Look:
    """The levels for this many rounds per state: those of the first look if there are fewer."""
    return (look_at(rounds) or LOOKS[0]).shared_by(contrasts)


def _groups(lines: Sequence[Line]) -> list[list[Line]]:
    """Hosts in groups of the same order, the longest first; lost rounds do not matter, and names do not either."""
    groups: list[tuple[set[Slot], list[Line]]] = []
    alike = by_key((item.slots, item) for item in lines)
    for slots in sorted(alike, key=lambda slots: (-len(slots), slots)):
        own = set(slots)
        for known, group in groups:
            # with the same rounds, other slots are another order
            if known != own and [slot for slot in slots if slot in known] == [
                slot for slot in group[0].slots if slot in own
            ]:
                group.extend(alike[slots])
                break
        else:
            groups.append((own, alike[slots]))
    return [group for _known, group in groups]


def _merged(group: Sequence[Line]) -> Line:
    """One line for hosts with the same order: the mean per round of those that have it, each levelled first.

    The first has most rounds; those that it lost follow the round before which another host has them.
    """
    first, *others = group
    if not others:
        return first
    slots = [*first.slots]
    for item in others:
        place = 0
        for slot in item.slots:
            if slot not in slots:
                slots.insert(place, slot)
            place = slots.index(slot) + 1
    values = _by_slot(group, [[value for _state, value in levelled(item)] for item in group])
    times = _by_slot(group, [item.times for item in group]) if all(item.times for item in group) else {}
    sessions = {slot: session for item in group for slot, session in zip(item.slots, item.sessions, strict=True)}
    moments = [times[slot] for slot in slots] if times else []
    rising = all(earlier < later for earlier, later in pairwise(moments))
    return first._replace(
        slots=tuple(slots),
        readings=tuple((slot[0], values[slot]) for slot in slots),
        sessions=tuple(sessions[slot] for slot in slots),
        times=tuple(moments) if rising else (),
    )


def merged(lines: Sequence[Line]) -> list[Line]:
    """One line for all hosts that share an order."""
    return [_merged(group) for group in _groups([item for item in lines if item.readings])]


def _by_slot(group: Sequence[Line], values: Iterable[Sequence[float]]) -> dict[Slot, float]:
    """The mean of each round over the hosts that have it."""
    known = by_key(pair for item, own in zip(group, values, strict=True) for pair in zip(item.slots, own, strict=True))
    return {slot: math.fsum(found) / len(found) for slot, found in known.items()}


@lru_cache(maxsize=64)
def levelled(item: Line) -> Sequence[Reading]:
    """Each session around 0, and without slope where a drift can be told from the change.

    Kept, because a comparison and the row of a host ask several times.
    """
    flat: list[Reading] = []
    for places in by_key((number, place) for place, number in enumerate(item.sessions)).values():
        readings = [item.readings[place] for place in places]
        if item.alternates:
            flat += series.levelled(readings, [item.times[place] for place in places] if item.times else ())
        else:
            centre = median([value for _state, value in readings])
            flat += [(state, value - centre) for state, value in readings]
    return flat


def _values(item: Line) -> tuple[Sequence[float], Sequence[float]]:
    """What is compared: the starts of a host that restarted, else its rounds."""
    return item.starts or sides(item)


def _ratio(item: Line) -> float:
    return hodges_lehmann_ratio(*_values(item))


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


def _time(slot: Slot, rounds: Sequence[Round]) -> tuple[Any, ...]:
    """Rounds without a start time come in the order of their numbers."""
    return (rounds[0].protocol.session, _begin(rounds) or 0, slot[1], slot[0])


def _begin(rounds: Sequence[Round]) -> int | None:
    return min((item.started for item in rounds if item.started is not None), default=None)


def _seconds(begins: Sequence[int | None]) -> tuple[float, ...]:
    """Seconds; empty unless each is later than the one before."""
    known = [begin for begin in begins if begin is not None]
    if len(known) < len(begins) or any(earlier >= later for earlier, later in pairwise(known)):
        return ()
    return tuple(begin / 1e6 for begin in known)


def _alternates(slots: Sequence[Slot], rounds: Mapping[Slot, Sequence[Round]]) -> bool | None:
    """Whether the order is the one that the recorded seed draws; without a seed two switches are still blocks.

    One of 80 random orders of 6 rounds has as few: many hosts would have one. Two levels of an experiment, and a
    session that was continued, only have to switch more than once.
    """
    states = [state for state, _number in slots]
    fewest = min(states.count(BEFORE), states.count(AFTER))
    if not fewest or any(item.started is None for slot in slots for item in rounds[slot]):
        return None
    switches = sum(earlier != later for earlier, later in pairwise(states))
    first = [slot for slot in slots if rounds[slot][0].protocol.session == 1]
    protocols = {item.protocol for slot in slots for item in rounds[slot]}
    if all(protocol.seed and protocol.design in ("alternate", LEVELS) for protocol in protocols):
        drawn = {protocol for protocol in protocols if protocol.session == 1 and protocol.design == "alternate"}
        return all(_drawn(first, protocol, fewest) for protocol in drawn) if drawn else switches > 1
    return switches >= max(2, min(3, fewest))


def _drawn(slots: Sequence[Slot], protocol: Protocol, fewest: int) -> bool:
    """Whether the rounds of a first session have the order that its seed draws; some may be lost."""
    # the last block of an order is as long as its budget allows
    planned = (_planned(protocol.seed, most) for most in (protocol.rounds, MOST_ROUNDS, fewest))
    known = {*slots}
    return any([slot for slot in plan if slot in known] == [*slots] for plan in planned)


@lru_cache(maxsize=256)
def _planned(seed: str, most: int) -> list[Slot]:
    """The rounds in the order that this seed draws; kept, because all workloads of a host share it."""
    states = order(seed, most)
    return [(state, states[: place + 1].count(state)) for place, state in enumerate(states)]


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
