# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on a series of rounds of two states in the order in which they were measured.

A slow drift is estimated from pairs of rounds of the same state and taken out, so that only the change is left between
the states. The interval is the rank interval of _statistics.ranks, because a t interval misses most true changes once a
tenth of the rounds are disturbed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from statistics import fmean
from typing import NamedTuple

from . import ranks
from .looks import AFTER, BEFORE, PHASES, Look
from .verdict import IMPROVED, INCONCLUSIVE, REGRESSED, UNCHANGED, beyond

Reading = tuple[str, float]
"""State (BEFORE or AFTER) and logarithm of the round's value, turned so that a larger one is better."""


class Effect(NamedTuple):
    """Ratio after / before (above 1 is better), its interval, and the narrower inner one, each with its level."""

    ratio: float
    low: float
    high: float
    inner_low: float
    inner_high: float
    confidence: float
    inner_confidence: float

    @classmethod
    def at(cls, look: Look, ratio: float, ends: Callable[[float], tuple[float, float]]) -> "Effect":
        """The effect with both intervals at the levels of a look; ``ends``: those of the interval of a level."""
        levels = look.confidence, look.inner_confidence
        return cls(ratio, *ends(levels[0]), *ends(levels[1]), *levels)


def slope(readings: Sequence[Reading], times: Sequence[float] = ()) -> float:
    """Median of the slopes of all pairs of the same state, in logarithm per unit of time; 0 without such a pair.

    Without ``times`` the readings are one unit apart. Readings of one moment have no slope.
    """
    moments = times or range(len(readings))
    values = [value for _state, value in readings]
    pairs = _pairs(tuple([state for state, _value in readings]))
    slopes = [
        (values[end] - values[begin]) / (moments[end] - moments[begin])
        for begin, end in pairs
        if moments[end] != moments[begin]
    ]
    return ranks.median(slopes) if slopes else 0.0


@lru_cache(maxsize=1024)
def _pairs(states: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Both places of all pairs of the same state; kept, because all workloads of a host share them."""
    return tuple(
        (begin, end)
        for begin, state in enumerate(states)
        for end, other in enumerate(states[begin + 1 :], begin + 1)
        if state == other
    )


def levelled(readings: Sequence[Reading], times: Sequence[float] = ()) -> list[Reading]:
    """The readings of one session without their slope, around 0."""
    moments = times or range(len(readings))
    steepness = slope(readings, times)
    begin = moments[0] if readings else 0.0
    straight = [
        (state, value - steepness * (moment - begin)) for moment, (state, value) in zip(moments, readings, strict=True)
    ]
    middle = centre(straight)
    return [(state, value - middle) for state, value in straight]


def centre(readings: Sequence[Reading]) -> float:
    """Midway between the medians of the states: lost rounds of one state do not move it, as they do a common median."""
    states = ([value for state, value in readings if state == wanted] for wanted in PHASES)
    return fmean([ranks.median(values) for values in states if values])


def sides(readings: Iterable[Reading]) -> tuple[list[float], list[float]]:
    """Values before and after, as positive ratios."""
    values: dict[str, list[float]] = {BEFORE: [], AFTER: []}
    for state, value in readings:
        values[state].append(math.exp(value))
    return values[BEFORE], values[AFTER]


def effect(before: Sequence[float], after: Sequence[float], look: Look) -> Effect:
    """Estimate and intervals at the levels of a look."""
    ratios = ranks.Ratios(before, after)
    return Effect.at(look, ratios.middle(), ratios.interval)


def word(found: Effect, material: float, step: float = 0.0) -> str:
    """IMPROVED, REGRESSED, UNCHANGED or INCONCLUSIVE; ``material`` as a fraction.

    ``step``: one step of the figures as a fraction; infinity: unknown. The true values may lie a step further out than
    the ends. Simulated for this collection (300 experiments a cell, steps of 1 to 42 %): a true 10 % is never called
    UNCHANGED; without the step it was in 29 to 98 %.
    """
    finite = step if step < math.inf else 0.0
    if (found.low > 1.0 or found.high < 1.0) and beyond(found.ratio, material) and beyond(found.ratio, finite):
        return IMPROVED if found.ratio > 1.0 else REGRESSED
    if not beyond(found.inner_low / (1.0 + step), material) and not beyond(found.inner_high * (1.0 + step), material):
        return UNCHANGED
    return INCONCLUSIVE
