# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before measuring: the noise of rounds in which nothing changes, and what a planned measurement can show with it.

All values and spreads are natural logarithms, and a spread is a standard deviation, so 0.05 is 5 %.
"""

import math
import random
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import NormalDist, fmean, median, variance
from typing import NamedTuple

from .looks import AFTER, LOOKS, look_at, order
from .ranks import two_clusters
from .series import effect, levelled, sides, word
from .verdict import INCONCLUSIVE

FEWEST_ROUNDS = 8
"""Fewer rounds tell too little: with 6, a true spread of 5 % looks like anything from 2.6 to 7.4 %."""

FEWEST_BOOTS = 3
POWER = 0.8
MOST_ROUNDS = LOOKS[-1].rounds
"""No look has more."""
COUNTS = range(LOOKS[0].rounds, MOST_ROUNDS + 1)
FEWEST_RUNS = 5
MOST_RUNS = 45
MEDIAN_OF_5 = 1.44
MEDIAN_OF_MANY = 1.57
"""Variance of the median of r runs: this many times the variance of a run, divided by r (5 runs; many runs, pi/2)."""

APART = math.log(1.05)
"""Two groups of values count only if their centres differ by more."""


class Noise(NamedTuple):
    """What a calibration found for one series: spread of runs, of rounds beyond that, of round medians, and its bound.

    ``upper`` is exceeded by the true spread of round medians in one calibration of five.
    """

    runs: float
    rounds: float
    medians: float
    upper: float

    def with_runs(self, runs: int) -> float:
        """The bound if each round had ``runs`` runs and not as many as now."""
        return self.upper / self.medians * math.hypot(self.rounds, self.runs * math.sqrt(_of_median(runs)))


Split = tuple[int, int, float]
"""Runs per round, rounds per state, and the seconds that a measurement of both states takes."""


def residuals(sessions: Iterable[Sequence[float]]) -> list[list[float]]:
    """The values of each session without its slope, around 0."""
    found = []
    for values in sessions:
        flat = [value for _state, value in levelled([(AFTER, value) for value in values])]
        found.append([value - fmean(flat) for value in flat])
    return found


def noise(sessions: Sequence[Sequence[float]], runs: Sequence[Sequence[float]]) -> Noise:
    """Spreads from the values of the rounds of each session, and from the runs of each round.

    ValueError for fewer than FEWEST_ROUNDS rounds. A session of one or two rounds says nothing beside its slope.
    """
    rounds = sum(len(values) for values in sessions)
    free = _free(sessions)
    if rounds < FEWEST_ROUNDS or free < 1:
        raise ValueError(f"{rounds} rounds say too little about noise; at least {FEWEST_ROUNDS} are needed")
    several = [values for values in runs if len(values) > 1]
    within = fmean(variance(values) for values in several) if several else 0.0
    of_medians = math.fsum(value**2 for values in residuals(sessions) if len(values) > 2 for value in values) / free
    if not of_medians:
        raise ValueError("all rounds have the same value, so the clock of this measurement is too coarse")
    own = max(0.0, of_medians - _of_median(median(len(values) for values in runs)) * within)
    spread = math.sqrt(of_medians)
    return Noise(math.sqrt(within), math.sqrt(own), spread, spread * math.sqrt(free / chi_square(1.0 - POWER, free)))


def _free(sessions: Iterable[Sequence[float]]) -> int:
    """Degrees of freedom: each session has its own level and slope."""
    return sum(max(0, len(values) - 2) for values in sessions)


def _of_median(runs: float) -> float:
    """Variance of the median of this many runs, if that of one run is 1."""
    return (MEDIAN_OF_5 if runs <= 5 else MEDIAN_OF_MANY) / runs


def of_boots(boots: Sequence[Sequence[float]], medians: float) -> float | None:
    """Spread from boot to boot beyond that of rounds; None for fewer than FEWEST_BOOTS boots."""
    if len(boots) < FEWEST_BOOTS:
        return None
    by_chance = medians**2 * fmean(1.0 / len(values) for values in boots)
    return math.sqrt(max(0.0, variance([fmean(values) for values in boots]) - by_chance))


def two_groups(values: Sequence[float], rounds: int) -> bool:
    """Whether the values of this many rounds fall into two groups: a result then depends on which one a round hits.

    The fewer the rounds, the clearer the groups have to be: 1 % of normal samples of 8 to 12 rounds pass, and fewer of
    more rounds. Runs of the same round are alike, so they do not count one by one.
    """
    if rounds < FEWEST_ROUNDS:
        return False
    found = two_clusters(values, explained=0.8 + 1.1 / rounds)
    return found is not None and found[1] - found[0] > APART


def smallest_change(spread: float, rounds: int, material: float, contrasts: int = 1) -> float:
    """Smallest true change, as a logarithm, that ``rounds`` rounds per state find in 80 of 100 measurements.

    ``contrasts``: in an experiment, the levels beside the baseline. Infinity if so few rounds cannot decide anything.
    No change within the material band can be found.
    """
    look = look_at(rounds)
    if look is None or 2.0 / math.comb(2 * rounds, rounds) > look.change / contrasts:
        return math.inf
    free = 2 * rounds - 3
    error = spread * math.sqrt(2.0 / rounds)
    # fitted to simulations; the first look needs complete separation of the states
    factor = 1.1 if look is LOOKS[0] else 1.05
    by_noise = factor * (student(1.0 - look.change / contrasts / 2.0, free) + student(POWER, free)) * error
    return max(by_noise, math.log1p(material) + NormalDist().inv_cdf(POWER) * error)


def rounds_for(spread: float, change: float, material: float, contrasts: int = 1) -> int | None:
    """The fewest rounds per state that find such a change; None if not even MOST_ROUNDS do."""
    # more rounds find smaller changes
    place = bisect_left(COUNTS, -change, key=lambda n: -smallest_change(spread, n, material, contrasts))
    return COUNTS[place] if place < len(COUNTS) else None


def rounds_for_unchanged(spread: float, material: float, contrasts: int = 1) -> int | None:
    """Rounds per state after which nothing changed is called UNCHANGED in 80 of 100 measurements; None as above."""
    z = NormalDist().inv_cdf
    width = z(1.0 - LOOKS[-1].same / contrasts) + z((1.0 + POWER) / 2.0)
    needed = math.ceil(2.0 * (spread * width / math.log1p(material)) ** 2 + 1.0)
    return next((count for count in COUNTS if count >= needed), None)


def cheapest(found: Noise, seconds: tuple[float, float], change: float, material: float) -> Split | None:
    """The split into runs and rounds that finds a change in the least time; None if none does.

    ``seconds``: what a round costs before its first counted run (setting the state, warm-up), and what a run costs.
    """
    splits = []
    for runs in range(FEWEST_RUNS, MOST_RUNS + 1):
        rounds = rounds_for(found.with_runs(runs), change, material)
        if rounds is not None:
            splits.append((runs, rounds, 2 * rounds * (seconds[0] + runs * seconds[1])))
    return min(splits, key=lambda split: split[2], default=None)


def try_out(
    sessions: Sequence[Sequence[float]], most: int, material: float, experiments: int, seed: str
) -> Counter[str]:
    """The verdicts of simulated measurements in which nothing changes, with up to ``most`` rounds per state.

    The values are drawn from what is left of the calibration's own rounds, and judged at every look.
    """
    longer = [values for values in sessions if len(values) > 2]
    pool = [value for values in residuals(longer) for value in values]
    # a slope and a level were taken out of each session
    scale = math.sqrt(len(pool) / _free(longer))
    generator = random.Random(seed)
    found: Counter[str] = Counter()
    for number in range(experiments):
        states = order(f"{seed} {number}", most)
        values = generator.choices(pool, k=len(states))
        readings = [(state, scale * value) for state, value in zip(states, values, strict=True)]
        found[_verdict(readings, most, material)] += 1
    return found


def _verdict(readings: Sequence[tuple[str, float]], most: int, material: float) -> str:
    """The word at the first look that decides."""
    for look in LOOKS:
        if look.rounds <= most:
            found = word(effect(*sides(levelled(readings[: 2 * look.rounds])), look), material)
            if found != INCONCLUSIVE:
                return found
    return INCONCLUSIVE


def student(probability: float, free: int) -> float:
    """Quantile of Student's t (Cornish-Fisher expansion of the normal one): within 0.4 % from 5 degrees on."""
    z = NormalDist().inv_cdf(probability)
    return (
        z
        + (z**3 + z) / (4.0 * free)
        + (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / (96.0 * free**2)
        + (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / (384.0 * free**3)
        + (79.0 * z**9 + 776.0 * z**7 + 1482.0 * z**5 - 1920.0 * z**3 - 945.0 * z) / (92160.0 * free**4)
    )


def chi_square(probability: float, free: int) -> float:
    """Quantile of chi-square (Wilson and Hilferty)."""
    part = 2.0 / (9.0 * free)
    return float(free * (1.0 - part + NormalDist().inv_cdf(probability) * math.sqrt(part)) ** 3)
