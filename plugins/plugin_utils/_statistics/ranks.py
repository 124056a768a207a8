# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exact rank statistics for two small samples of positive values; standard library only.

Samples are round medians. Shifts are taken on logarithms, so an estimate is a ratio: 1.05 means that ``after`` is 5 %
larger than ``before``. The caller knows which direction is better. A rank method is used because a t interval
misses most true changes once a tenth of the runs are spikes, where the rank interval still finds nearly all of them.
"""

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TypeVar

EXACT_MOST = 40
"""Up to this number of values the exact distribution is used; above it the normal approximation is as good."""

MOST_SORTED = 10_000
"""More differences than these are searched instead of sorted: a site of 1,000 hosts has tens of millions."""

LOG_UNIT = 1e14
"""Logarithms are whole multiples of 1/LOG_UNIT: equal ratios are then equal numbers, and order cannot matter."""

SIGNIFICANT = 6
"""Digits of the figures in a report."""

PRINTED = 12
"""Digits that a product of printed figures can have; further digits are rounding noise of floats."""


Figure = TypeVar("Figure", float, float | None)


def short(value: Figure, digits: int = SIGNIFICANT) -> Figure:
    """A figure with few significant digits: more would be noise, and would differ between mathematical libraries."""
    return None if value is None else float(f"{value:.{digits}g}")


def closed_end(value: float) -> float | None:
    """An end of an interval for a report; None for 0 and infinity, which are open ends."""
    return short(value) if 0.0 < value < math.inf else None


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones; ValueError for an empty list."""
    return float(statistics.median(values))


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
    return Ratios(before, after).middle()


def mann_whitney(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """(U of ``after``, two-sided p): exact over all permutations, ties by midranks; ValueError for an empty sample.

    U counts the pairs in which ``after`` is the larger one, ties as a half. p is twice the smaller tail, at most 1.
    With more than EXACT_MOST values the normal approximation with corrections for ties and continuity is used.
    """
    _not_empty(before, after)
    ranks, doubled = _doubled_midranks(before, after, 0)
    return doubled / 2.0 - len(after) * (len(after) + 1) / 2.0, _p_two_sided(ranks, len(after), doubled)


class Ratios:
    """All ratios after / before of two samples, in order: sorted once for an estimate and its intervals.

    ValueError unless all values are positive.
    """

    def __init__(self, before: Sequence[float], after: Sequence[float]) -> None:
        _not_empty(before, after)
        self._before, self._after = before, after
        self._size = len(before) * len(after)
        self._sorted: list[int] | None = None
        self._tied = False
        if self._size <= MOST_SORTED:
            self._sorted = _differences(before, after)
            self._tied = len(before) + len(after) <= EXACT_MOST and len(set(self._sorted)) < self._size
        else:
            self._first, self._second = sorted(_logs(before)), sorted(_logs(after))

    def middle(self) -> float:
        """The median of the ratios, taken on logarithms (Hodges-Lehmann)."""
        upper = self._at(self._size // 2)
        lower = upper if self._size % 2 else self._at(self._size // 2 - 1)
        return math.exp((lower + upper) / 2 / LOG_UNIT)

    def interval(self, level: float) -> tuple[float, float]:
        """Confidence interval: all ratios that the Mann-Whitney test does not reject.

        The ends are ratios of pairs of values, or 0 and infinity if the samples are too small to exclude anything.
        With more than EXACT_MOST values the normal approximation tells how many of the outermost ratios are rejected.
        ValueError unless ``level`` lies between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"the confidence level is {level}; it must be between 0 and 1")
        n, m = len(self._before), len(self._after)
        if self._tied and self._sorted is not None:
            return _tied_interval(_logs(self._before), _logs(self._after), self._sorted, 1.0 - level)
        k = _critical(n, m, 1.0 - level)
        if k == 0:
            return 0.0, math.inf
        return math.exp(self._at(k - 1) / LOG_UNIT), math.exp(self._at(self._size - k) / LOG_UNIT)

    def _at(self, place: int) -> int:
        """The difference of logarithms at a place, from 0."""
        return self._sorted[place] if self._sorted is not None else _select(self._first, self._second, place)


def holm(ps: Sequence[float]) -> list[float]:
    """p values corrected after Holm, in the given order: they hold for all tests of the family together."""
    corrected = [0.0] * len(ps)
    worst = 0.0
    for place, index in enumerate(sorted(range(len(ps)), key=lambda index: ps[index])):
        worst = max(worst, min(1.0, (len(ps) - place) * ps[index]))
        corrected[index] = worst
    return corrected


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


def two_clusters(values: Sequence[float], explained: float = 0.9) -> tuple[float, float] | None:
    """Centres of the two clusters that values fall into; None if one cluster describes them as well.

    The best split has to explain ``explained`` of the variance (an optimal split explains 64 % of a normal and 75 % of
    a uniform distribution) and to leave a fifth of the values on each side, so that a few spikes are not a cluster.
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
    if best < explained * spread or min(cut, n - cut) < 0.2 * n:
        return None
    return math.fsum(ordered[:cut]) / cut, math.fsum(ordered[cut:]) / (n - cut)


def _not_empty(before: Sequence[float], after: Sequence[float]) -> None:
    if not before or not after:
        raise ValueError("a comparison needs at least one value of each state")


def _logs(values: Sequence[float]) -> list[int]:
    if values and not 0.0 < min(values) <= max(values) < math.inf:
        raise ValueError("ratios need positive values")
    return [round(math.log(value) * LOG_UNIT) for value in values]


def _differences(before: Sequence[float], after: Sequence[float]) -> list[int]:
    _not_empty(before, after)
    first = _logs(before)
    return sorted(new - old for new in _logs(after) for old in first)


def _select(before: list[int], after: list[int], place: int) -> int:
    """The difference after - before at a place (from 0) in the order of all; both lists are sorted.

    This is the smallest limit that has more than ``place`` differences at or below it.
    """
    low, high = after[0] - before[-1] - 1, after[-1] - before[0]
    while high - low > 1:
        middle = (low + high) // 2
        if sum(len(before) - bisect_left(before, new - middle) for new in after) > place:
            high = middle
        else:
            low = middle
    return high


def _doubled_midranks(before: Sequence[float], after: Sequence[float], shift: float) -> tuple[tuple[int, ...], int]:
    """Twice the midranks of all values (sorted) and of ``after`` alone (summed), with ``after`` shifted down."""
    moved = [value - shift for value in after]
    together = sorted([*before, *moved])
    if len(set(together)) == len(together):
        return tuple(range(2, 2 * len(together) + 1, 2)), 2 * sum([bisect_right(together, value) for value in moved])
    ranks = []
    place = 0
    while place < len(together):
        end = bisect_right(together, together[place], place)
        ranks += [place + 1 + end] * (end - place)
        place = end
    return tuple(ranks), sum(ranks[bisect_left(together, value)] for value in moved)


@lru_cache(maxsize=512)
def _distribution(ranks: tuple[int, ...], size: int) -> tuple[int, tuple[int, ...]]:
    """Over all choices of ``size`` ranks: the smallest sum, and the number of choices for it, for it + 1 and so on.

    One polynomial per number of chosen ranks, each in one big integer: adding a rank is a shift and an addition.
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
    """How many of the outermost differences the test rejects on each side, without ties."""
    if n + m > EXACT_MOST:
        return rejected_by_normal(n * m / 2.0, math.sqrt(n * m * (n + m + 1) / 12.0), alpha)
    _least, counts = _distribution(tuple(range(2, 2 * (n + m) + 1, 2)), m)
    return rejected(counts[::2], math.comb(n + m, m), alpha)


def rejected(counts: Iterable[int], total: float, alpha: float) -> int:
    """How many values of a statistic a two-sided test rejects on each side; ``counts``: the cases of each, of all."""
    return next(place for place, below in enumerate(accumulate(counts)) if 2.0 * below / total > alpha)


def rejected_by_normal(mean: float, deviation: float, alpha: float) -> int:
    """The same for a statistic that counts from 0 and is nearly normal."""
    return max(0, math.floor(mean + statistics.NormalDist().inv_cdf(alpha / 2.0) * deviation + 0.5))


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
