# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that stand beside the pooled verdict: the control, the longest round trip, single workloads, restarts, and
estimates of many hosts in place of their rounds.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple, TypeVar

from . import ranks
from .looks import AFTER, Look
from .planning import student
from .series import Effect, Reading, centre, effect, sides
from .verdict import beyond

Name = TypeVar("Name", bound=Hashable)

CONTROL_CONFIDENCE = 0.99
LONGEST_P = 0.01
LONGEST_TIMES = 1.5
NAMED_P = 0.02
"""Level of the names of workloads and hosts that differ, after Holm.

Simulated for this collection (100 sites a cell, 3 of 60 hosts 10 % worse, 8 and 12 rounds): an unharmed host is named
beside them in 0 to 3 %, at 5 % in 2 to 8 %; Benjamini and Hochberg at 5 % named one in 2 to 15 %. All three are found
in 72 to 98 % at 3 % noise. With 6 rounds, at most 9 workloads or hosts can be told apart.
"""
HARM_P = 0.01
FALSE_HARM = 0.02
"""Levels of the guards on failures and CPU cost: of the row, and of any false name among many hosts.

Simulated for this collection (2,000 experiments a cell, 1 to 100 hosts with 7 workloads): 0.2 to 5 % failing runs in
both states warn in 0 to 1 %, CPU noise of 5 to 15 % in 0 to 2.3 %. One test per comparison warned in 20 to 100 %.
"""
RANKED_FROM = 10
"""Fewer hosts have no spread to compare one of them with."""
MAD_TO_SIGMA = 1.4826
STALL_DEVIATIONS = 5.0
FEWEST_STARTS = 5
STARTS_LEVEL = 0.03
MIXED_LEVEL = 0.015
"""Beside hosts that did not restart, whose slopes cost a degree of freedom: 97 % held the truth in 94.4 to 96.6 %."""
TINY = 1e-9
FEWEST_HOSTS = 6
"""Fewer hosts say nothing about others: five signs agree by chance in 6 % of all cases."""

RANKS_FROM = 10
"""Ranks of fewer hosts cannot reach the level of the first look: 2/2^9 is .0039."""

T_SHARE = 0.85
"""A t interval over fewer hosts needs this much of a look's level.

Simulated for this collection (20,000 experiments a cell): 6 to 9 hosts without a change are then wrong in 1.6 to 1.7 %
within 16 rounds and in 2.6 to 2.9 % within 32. In whole verdicts at a limit of 1 % (1,000 a cell) 0.9 to 2.7 %, and 3.2
to 3.8 % if the effects of the hosts are skewed; one level of 97 % at every look was wrong in 5 to 10 %.
"""


Deviation = tuple[str, float, float]
"""One series that differs from the others: its name, its ratio to their median (above 1 is better), p after Holm."""


class Control(NamedTuple):
    """The control's ratio (above 1 is better) and its 99 % interval.

    ``moved``: it changed by more than material for sure, and then nothing may be concluded.
    """

    ratio: float
    low: float
    high: float
    moved: bool


class Tail(NamedTuple):
    """How far long round trips rose, the one-sided p, and whether they rose for sure and by enough."""

    figure: float
    p: float
    sure: bool


def control(before: Sequence[float], after: Sequence[float], material: float) -> Control:
    """Judge the control of a host: pooled values of its rounds in both states."""
    ratios = ranks.Ratios(before, after)
    ratio, (low, high) = ratios.middle(), ratios.interval(CONTROL_CONFIDENCE)
    return Control(ratio, low, high, (low > 1.0 or high < 1.0) and beyond(ratio, material))


def longer(before: Sequence[float], after: Sequence[float]) -> Tail:
    """By how many times long round trips rose. Each value is pooled over the workloads of a round."""
    times, p = ranks.hodges_lehmann_ratio(before, after), p_of_more(before, after)
    return Tail(times, p, times >= LONGEST_TIMES and p <= LONGEST_P)


def p_of_more(before: Sequence[float], after: Sequence[float]) -> float:
    """One-sided p of larger values after the change; 1 if they are not."""
    larger, two_sided = ranks.mann_whitney(before, after)
    return two_sided / 2.0 if 2.0 * larger > len(before) * len(after) else 1.0


def from_the_others(series: Mapping[Name, Sequence[Reading]], others: Collection[Name]) -> dict[Name, list[Reading]]:
    """Each series relative to the median of the ``others`` in the same round: what they have in common drops out.

    Of two, each is relative to the other one. All series have the same rounds in the same order. Each is put around 0
    first: otherwise the median would be that of the workload of middle speed, whatever the others do.
    """
    if len(series) < 2 or not series[next(iter(series))]:
        return {}
    around = {name: [value - centre(readings) for _state, value in readings] for name, readings in series.items()}
    known = [around[name] for name in (others or series)]
    middles = [ranks.median(values) for values in zip(*known, strict=True)]
    times = 2.0 if len(known) == len(series) == 2 else 1.0
    return {
        name: [
            (state, times * (value - middle))
            for (state, _value), value, middle in zip(readings, around[name], middles, strict=True)
        ]
        for name, readings in series.items()
    }


def deviations(
    series: Mapping[str, Sequence[tuple[Sequence[float], Sequence[float]]]], limits: Mapping[str, float]
) -> list[Deviation]:
    """The workloads or hosts whose change differs from that of the others by more than its limit, by name (Holm).

    Per name and host the values before and after, relative to the others. The ratio is the median of the hosts.
    """
    found = []
    for name, hosts in sorted(series.items()):
        sides = [(before, after) for before, after in hosts if before and after]
        if sides:
            ratio = ranks.median([ranks.hodges_lehmann_ratio(*both) for both in sides])
            before, after = ([value for both in sides for value in both[state]] for state in (0, 1))
            found.append((name, ratio, ranks.mann_whitney(before, after)[1]))
    corrected = ranks.holm([p for _name, _ratio, p in found])
    return [
        (name, ratio, p)
        for (name, ratio, _p), p in zip(found, corrected, strict=True)
        if p <= NAMED_P and beyond(ratio, limits[name])
    ]


def harmed(ratios: Mapping[str, float], regressed: Collection[str], material: float, contrasts: int = 1) -> list[str]:
    """The hosts that got worse by themselves, from the ratios of all of them and the names of the REGRESSED ones.

    Among many hosts one is REGRESSED by chance: it also has to lie 1 + z(1 - .01/H) robust deviations below the median.
    One of few has to be worse than the median of the others by more than the limit: if all lose a little, some seem to
    lose more.
    Simulated for this collection (250 to 2,000 sites of 10 to 300 hosts a cell, 6 rounds, noise to 8 %): without harm
    0 to 0.3 % of the sites name a host; one that is 20 % worse at 5 % noise is named in 87 to 91 %, 50 % worse always.
    """
    if len(ratios) < RANKED_FROM:
        others = {name: [ratio for other, ratio in ratios.items() if other != name] or [1.0] for name in regressed}
        return sorted(name for name in regressed if beyond(ratios[name] / ranks.median(others[name]), material))
    logs = {name: math.log(ratio) for name, ratio in ratios.items()}
    middle = ranks.median([*logs.values()])
    deviation = MAD_TO_SIGMA * ranks.median([abs(log - middle) for log in logs.values()])
    far = 1.0 + NormalDist().inv_cdf(1.0 - HARM_P / (len(logs) * contrasts))
    return sorted(name for name in regressed if logs[name] < middle and logs[name] - middle <= -far * deviation)


def stalled(values: Sequence[float]) -> list[bool]:
    """Which rounds of one host stalled: far below the median of both states, and over twice as long.

    Simulated for this collection (1,500 experiments a cell, 16 rounds): with noise, drift, two modes or bursts common
    to both states, two after the change and none before come by chance in 0 to 0.8 %, with stalls of 3 times in 2 to
    20 % of the rounds in 2 to 8 %, and p <= .01 in 0 to 0.4 %.
    """
    middle = ranks.median(values)
    deviation = MAD_TO_SIGMA * ranks.median([abs(value - middle) for value in values])
    return [middle - value > max(math.log(2.0), STALL_DEVIATIONS * deviation) for value in values]


def sure(ps: Mapping[Name, float], level: float) -> list[Name]:
    """The names that count although there are many tests (Holm): any of them is false with at most this chance."""
    return [name for name, p in zip(ps, ranks.holm([*ps.values()]), strict=True) if p <= level]


def fading(lines: Sequence[Sequence[Reading]]) -> tuple[float, float, float]:
    """Gains in the first and in the second half of the rounds, and the one-sided p that the second one is as large.

    Per host its readings in the order of time. What the state and the half are worth is taken out of each; what is left
    ranks higher after the change and early, or before it and late, if the gain fades.
    """
    halves: list[list[Reading]] = [[], []]
    rest: dict[bool, list[float]] = {True: [], False: []}
    for readings in lines:
        states = {state: ranks.median([value for other, value in readings if other == state]) for state, _v in readings}
        for late, part in enumerate((readings[: len(readings) // 2], readings[len(readings) // 2 :])):
            halves[late] += part
            flat = [value - states[state] for state, value in part]
            middle = ranks.median(flat)
            for (state, _value), value in zip(part, flat, strict=True):
                rest[(state == AFTER) != bool(late)].append(math.exp(value - middle))
    known = [sides(half) for half in halves]
    if not all(side for both in known for side in both):
        return 1.0, 1.0, 1.0
    first, second = (ranks.hodges_lehmann_ratio(*both) for both in known)
    return first, second, p_of_more(rest[False], rest[True])


def more_after(hits: tuple[int, int], of: tuple[int, int]) -> float:
    """One-sided p of this many hits before and after: that at least as many of all fall after (hypergeometric)."""
    total, (before, after) = sum(hits), of
    ways = sum(math.comb(after, k) * math.comb(before, total - k) for k in range(hits[1], min(total, after) + 1))
    return ways / math.comb(before + after, total)


def starts_look(mixed: bool, contrasts: int) -> Look:
    """The levels for starts; ``mixed``: hosts that did not restart are judged together with them."""
    level = MIXED_LEVEL if mixed else STARTS_LEVEL
    return Look(FEWEST_STARTS, level, level / 2.0).shared_by(contrasts)


def stratified(strata: Sequence[tuple[Sequence[float], Sequence[float]]], look: Look) -> Effect:
    """Estimate and intervals from the differences within each host, so that levels of hosts do not matter.

    Of one host they are those of its two lists. The differences of a host with N values count 1/(N + 1) each; the
    interval inverts van Elteren's test. Simulated for this collection (3,000 experiments a cell, 97 %): with 2 to 5
    hosts of 50 to 500 µs and 5 to 12 starts a state it holds the truth in 96.9 to 98.1 %, and pooled values did so in
    61 to 90 %.
    """
    if len(strata) == 1:
        return effect(*strata[0], look)
    shares = [1.0 / (len(before) + len(after) + 1) for before, after in strata]
    weighted = sorted(
        (math.log(new / old), share)
        for (before, after), share in zip(strata, shares, strict=True)
        for new in after
        for old in before
    )
    upto = list(accumulate(share for _difference, share in weighted))
    pairs = [len(before) * len(after) for before, after in strata]
    deviation = math.sqrt(math.fsum(count * share for count, share in zip(pairs, shares, strict=True)) / 12.0)

    def at(distance: float) -> float:
        place = upto[-1] / 2.0 + distance
        return weighted[bisect_left(upto, place)][0] if 0.0 < place <= upto[-1] else math.copysign(math.inf, distance)

    def ends(level: float) -> tuple[float, float]:
        width = NormalDist().inv_cdf((1.0 + level) / 2.0) * deviation
        return math.exp(at(-width)), math.exp(at(width))

    return Effect.at(look, math.exp((at(-TINY) + at(TINY)) / 2.0), ends)


def over_hosts(ratios: Sequence[float], look: Look) -> Effect | None:
    """Estimate and intervals over the hosts' own ratios at the levels of a look; None for fewer than FEWEST_HOSTS.

    If each host had its own random order, noise that all hosts share falls on different states on different hosts, and
    the host is the unit. With one order, shared noise looks like an effect on every host at once, and the round is the
    unit.
    """
    if len(ratios) < FEWEST_HOSTS:
        return None
    logs = sorted(math.log(ratio) for ratio in ratios)
    means = sorted((first + second) / 2.0 for place, first in enumerate(logs) for second in logs[place:])

    def ends(level: float) -> tuple[float, float]:
        if len(logs) < RANKS_FROM:
            width = student((1.0 + level) / 2.0, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
            return math.exp(fmean(logs) - width), math.exp(fmean(logs) + width)
        outside = _critical(len(logs), 1.0 - level)
        return (math.exp(means[outside - 1]), math.exp(means[-outside])) if outside else (0.0, math.inf)

    share = T_SHARE if len(logs) < RANKS_FROM else 1.0
    found = Effect.at(look._replace(change=share * look.change), math.exp(ranks.median(means)), ends)
    return found._replace(confidence=look.confidence)


@lru_cache(maxsize=256)
def _critical(n: int, alpha: float) -> int:
    """How many of the outermost Walsh averages the signed-rank test rejects on each side."""
    if n > ranks.EXACT_MOST:
        return ranks.rejected_by_normal(n * (n + 1) / 4.0, math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0), alpha)
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for place, count in enumerate(counts):
            longer[place + rank] += count
        counts = longer
    return ranks.rejected(counts, 2.0**n, alpha)
