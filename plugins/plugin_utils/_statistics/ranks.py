# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact rank statistics for two small samples of positive values; standard library only.

Samples are round medians. Shifts are taken on logarithms, so an estimate is a ratio: 1.05 means that ``after`` is 5 %
larger than ``before``. Which direction is better is for the caller to say. A rank method is used because a t interval
misses most true changes once a tenth of the runs are spikes, where the rank interval still finds nearly all of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

EXACT_MOST = 40
"""Largest total number of values for which the exact distribution is built; beyond it the normal one is as good."""

LOG_UNIT = 1e14
"""Logarithms are whole multiples of 1/LOG_UNIT: equal ratios are then equal numbers, and order cannot matter."""

SIGNIFICANT = 6
"""Digits of the figures in a report."""

PRINTED = 12
"""Digits that a product of printed figures can have; what follows is the float's own."""


Figure = TypeVar("Figure", float, float | None)


def short(value: Figure, digits: int = SIGNIFICANT) -> Figure:
    """So many significant digits: more would be noise, and would differ between mathematical libraries."""
    return None if value is None else float(f"{value:.{digits}g}")


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones; ValueError for none."""
    if not values:
        raise ValueError("the median of no values is not defined")
    ordered = sorted(values)
    half, odd = divmod(len(ordered), 2)
    return float(ordered[half]) if odd else (ordered[half - 1] + ordered[half]) / 2.0


def variation_pct(values: Sequence[float]) -> float | None:
    """Coefficient of variation (sample standard deviation / mean) in percent; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    if mean <= 0:
        return None
    return 100.0 * math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)) / mean


def hodges_lehmann_ratio(before: Sequence[float], after: Sequence[float]) -> float:
    """The median of all ratios after / before, taken on logarithms; ValueError unless all values are positive."""
    return math.exp(_middle(_differences(before, after)) / LOG_UNIT)


def mann_whitney(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """(U of ``after``, two-sided p): exact over all permutations, ties by midranks; ValueError for an empty sample.

    U counts the pairs in which ``after`` is the larger one, ties as a half. p is twice the smaller tail, at most 1.
    With more than EXACT_MOST values the normal approximation with corrections for ties and continuity is used.
    """
    _not_empty(before, after)
    ranks, doubled = _doubled_midranks(before, after, 0)
    return doubled / 2.0 - len(after) * (len(after) + 1) / 2.0, _p_two_sided(ranks, len(after), doubled)


def interval(before: Sequence[float], after: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """Confidence interval of the ratio after / before: all ratios that the Mann-Whitney test does not reject.

    The ends are ratios of pairs of values, or 0 and infinity where the samples are too small to exclude anything.
    With more than EXACT_MOST values the normal approximation tells how many of the outermost ratios are rejected.
    ValueError unless all values are positive and ``level`` lies between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"the confidence level is {level}; it has to lie between 0 and 1")
    differences = _differences(before, after)
    alpha = 1.0 - level
    n, m = len(before), len(after)
    if n + m > EXACT_MOST or len(set(differences)) == n * m:
        k = _critical(n, m, alpha)
        if k == 0:
            return 0.0, math.inf
        return math.exp(differences[k - 1] / LOG_UNIT), math.exp(differences[n * m - k] / LOG_UNIT)
    return _tied_interval(_logs(before), _logs(after), differences, alpha)


def holm(ps: Sequence[float]) -> list[float]:
    """p values corrected after Holm, in the given order: they hold for all tests of the family together."""
    corrected = [0.0] * len(ps)
    worst = 0.0
    for place, index in enumerate(sorted(range(len(ps)), key=lambda index: ps[index])):
        worst = max(worst, min(1.0, (len(ps) - place) * ps[index]))
        corrected[index] = worst
    return corrected


def detectable(low: float, high: float) -> float | None:
    """Half of an interval's width on the log scale: the smallest log ratio that these data could have shown.

    An estimate nearer to 1 would have had 1 inside its interval. None for an interval without ends.
    """
    if low <= 0.0 or math.isinf(high):
        return None
    return (math.log(high) - math.log(low)) / 2.0


def rounds_needed(rounds: int, half_width: float | None, estimate: float, material: float, least: int) -> int:
    """Rounds a state after which an estimate that stays where it is would decide (all widths are log ratios).

    A change beyond material needs an interval that leaves out 1, a smaller one an interval inside the material band.
    Widths shrink with the square root of the rounds. An estimate at the very edge of the band would need rounds without
    end: the distance counts as half of the band at least, because the estimate moves as well.
    """
    if half_width is None:
        return max(least, rounds + 1)
    size = abs(estimate)
    distance = size if size > material else material - size
    factor = (half_width / max(distance, material / 2.0)) ** 2
    return max(least, rounds + 1, math.ceil(rounds * factor))


def trend(values: Sequence[float]) -> float:
    """Two-sided p of the Mann-Kendall test for a trend in values by time (normal approximation, ties counted)."""
    n = len(values)
    score = sum(
        (later > earlier) - (later < earlier) for place, earlier in enumerate(values) for later in values[place + 1 :]
    )
    groups = [values.count(value) for value in set(values)]
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in groups)) / 18.0
    if variance <= 0.0:
        return 1.0
    return math.erfc(max(abs(score) - 1, 0) / math.sqrt(2.0 * variance))


def two_clusters(values: Sequence[float], share: float = 0.2, explained: float = 0.9) -> tuple[float, float] | None:
    """Centres of the two clusters that values fall into; None if one cluster describes them as well.

    The best split has to explain ``explained`` of the variance (an optimal split explains 64 % of a normal and 75 % of
    a uniform distribution) and to leave ``share`` of the values on each side, so that a few spikes are no cluster.
    """
    ordered = sorted(values)
    n = len(ordered)
    total = math.fsum(ordered)
    mean = total / n if n else 0.0
    spread = math.fsum((value - mean) ** 2 for value in ordered)
    if n < 4 or spread <= 0.0:
        return None
    best, cut, left = 0.0, 0, 0.0
    for place in range(1, n):
        left += ordered[place - 1]
        between = place * (left / place - mean) ** 2 + (n - place) * ((total - left) / (n - place) - mean) ** 2
        if between > best:
            best, cut = between, place
    if best < explained * spread or min(cut, n - cut) < share * n:
        return None
    return math.fsum(ordered[:cut]) / cut, math.fsum(ordered[cut:]) / (n - cut)


def _not_empty(before: Sequence[float], after: Sequence[float]) -> None:
    if not before or not after:
        raise ValueError("a comparison needs at least one value of each state")


def _logs(values: Sequence[float]) -> list[int]:
    if any(not 0.0 < value < math.inf for value in values):
        raise ValueError("ratios need positive values")
    return [round(math.log(value) * LOG_UNIT) for value in values]


def _differences(before: Sequence[float], after: Sequence[float]) -> list[int]:
    _not_empty(before, after)
    first = _logs(before)
    return sorted(new - old for new in _logs(after) for old in first)


def _middle(ordered: Sequence[int]) -> float:
    half, odd = divmod(len(ordered), 2)
    return float(ordered[half]) if odd else (ordered[half - 1] + ordered[half]) / 2.0


def _doubled_midranks(before: Sequence[float], after: Sequence[float], shift: float) -> tuple[tuple[int, ...], int]:
    """Twice the midranks of all values (sorted) and of ``after`` alone (summed), with ``after`` shifted down."""
    moved = [value - shift for value in after]
    together = sorted([*before, *moved])
    ranks = []
    place = 0
    while place < len(together):
        end = bisect_right(together, together[place], place)
        ranks += [place + 1 + end] * (end - place)
        place = end
    return tuple(ranks), sum(ranks[bisect_left(together, value)] for value in moved)


@lru_cache(maxsize=512)
def _distribution(ranks: tuple[int, ...], size: int) -> tuple[int, tuple[int, ...]]:
    """Over all choices of ``size`` ranks: the smallest sum, and how many choices reach it, it + 1, it + 2 and so on.

    One polynomial a number of chosen ranks, each held in one big integer: adding a rank is a shift and an addition.
    """
    width = len(ranks) + 1
    polynomials = [1] + [0] * size
    for rank in ranks:
        for chosen in range(size, 0, -1):
            polynomials[chosen] += polynomials[chosen - 1] << (rank * width)
    packed, least = polynomials[size], sum(ranks[:size])
    packed >>= least * width
    mask = (1 << width) - 1
    counts = []
    while packed:
        counts.append(packed & mask)
        packed >>= width
    return least, tuple(counts)


@lru_cache(maxsize=65536)
def _p_two_sided(ranks: tuple[int, ...], size: int, doubled: int) -> float:
    """p of a doubled rank sum of ``size`` values among ``ranks`` (all doubled midranks, sorted)."""
    n = len(ranks)
    if n > EXACT_MOST:
        mean = size * (n + 1.0)
        variance = size * (n - size) / (n * (n - 1.0)) * math.fsum((rank - n - 1.0) ** 2 for rank in ranks)
        # 1 = half a step of U on the doubled scale.
        distance = max(abs(doubled - mean) - 1.0, 0.0)
        return math.erfc(distance / math.sqrt(2.0 * variance)) if variance > 0.0 else 1.0
    least, counts = _distribution(ranks, size)
    place = doubled - least
    lower, upper = sum(counts[: place + 1]), sum(counts[place:])
    return min(1.0, 2.0 * min(lower, upper) / math.comb(n, size))


@lru_cache(maxsize=1024)
def _critical(n: int, m: int, alpha: float) -> int:
    """How many of the outermost differences the test rejects on each side, where nothing ties."""
    if n + m > EXACT_MOST:
        deviation = math.sqrt(n * m * (n + m + 1) / 12.0)
        return max(0, math.floor(n * m / 2.0 + NormalDist().inv_cdf(alpha / 2.0) * deviation + 0.5))
    _least, counts = _distribution(tuple(range(2, 2 * (n + m) + 1, 2)), m)
    total = math.comb(n + m, m)
    below = 0
    for k in range(n * m // 2 + 1):
        below += counts[2 * k]
        if 2.0 * below / total > alpha:
            return k
    return n * m // 2


def _tied_interval(before: list[int], after: list[int], differences: list[int], alpha: float) -> tuple[float, float]:
    """The inversion itself: try each shift from the outside in, every difference and the open space beside it."""
    points = sorted(set(differences))

    def kept(shift: float) -> bool:
        ranks, doubled = _doubled_midranks(before, after, shift)
        return _p_two_sided(ranks, len(after), doubled) > alpha

    def scan(ordered: list[int], outward: int) -> float:
        # Doubled scale: between two neighbours lies a whole number that equals neither.
        if kept(ordered[0] + outward):
            return outward * math.inf
        for place, point in enumerate(ordered):
            beside = (point + ordered[place + 1]) // 2 if place + 1 < len(ordered) else point - outward
            if kept(point) or kept(beside):
                return float(point)
        return float(ordered[-1])

    before, after, points = ([2 * value for value in values] for values in (before, after, points))
    low, high = scan(points, -1), scan(points[::-1], 1)
    return math.exp(low / (2.0 * LOG_UNIT)), math.exp(high / (2.0 * LOG_UNIT)) if high < math.inf else math.inf
