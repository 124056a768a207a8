# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words and limits of verdicts, and the estimate from two lists of figures; every ratio above 1 means better."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from . import ranks as stats

IMPROVED = "IMPROVED"
REGRESSED = "REGRESSED"
UNCHANGED = "UNCHANGED"
INCONCLUSIVE = "INCONCLUSIVE"
NOT_COMPARABLE = "NOT COMPARABLE"
NO_DATA = "NO DATA"
VERDICTS = (IMPROVED, REGRESSED, UNCHANGED, INCONCLUSIVE, NOT_COMPARABLE, NO_DATA)

ENOUGH_FOR_RESOLUTION = 10
"""Fewer values may share a step by chance."""

FLOATS, ROUNDING, FINEST = 1e-9, 2e-4, 2e-3
"""Parts of a median: what floats and the rounding of printed figures hide, and the finest step that is told apart."""

COARSE = 0.5
"""Steps over this part of the material limit decide nothing, however many rounds there are."""

Better = Literal["lower", "higher"]
Cause = Literal[
    "",
    "data",
    "fingerprint",
    "sessions",
    "tuning",
    "failed",
    "lost",
    "control",
    "rounds",
    "starts",
    "coarse",
    "noise",
    "stalls",
]
"""Why a verdict is none of IMPROVED, REGRESSED and UNCHANGED."""


@dataclass(frozen=True)
class Limits:
    """The limits for a change and its evidence; ValueError for values that would make the verdict meaningless."""

    material_pct: float = 5.0
    """Smallest change that matters, in percent of the ratio."""
    max_failed_pct: float = 20.0
    cpu_pct: float | None = None
    """By how much a unit of work may cost more CPU time before a guard says so; None: by material_pct."""

    def __post_init__(self) -> None:
        if not 0.0 < self.material_pct <= 100.0:
            raise ValueError(f"material_pct is {self.material_pct} %; it must be above 0 and at most 100")
        if not 0.0 <= self.max_failed_pct < 100.0:
            raise ValueError(f"max_failed_pct is {self.max_failed_pct}; it must be between 0 and 100")

    @property
    def material(self) -> float:
        """Smallest change that matters, as a fraction."""
        return self.material_pct / 100.0

    @property
    def dearer(self) -> float:
        """The bound for the CPU cost of a unit of work, as a fraction."""
        return (self.material_pct if self.cpu_pct is None else self.cpu_pct) / 100.0


class Verdict(NamedTuple):
    """One of VERDICTS and its reason in one sentence, without the point at its end."""

    word: str
    reason: str
    cause: Cause = ""


def estimate(before: Sequence[float], after: Sequence[float], better: Better) -> tuple[float, float, float, float]:
    """Hodges-Lehmann ratio, both ends of the exact 95 % interval (0 and infinity: without an end) and two-sided p."""
    worse, good = (after, before) if better == "lower" else (before, after)
    ratios = stats.Ratios(worse, good)
    return ratios.middle(), *ratios.interval(0.95), stats.mann_whitney(worse, good)[1]


def beyond(ratio: float, material: float) -> bool:
    """Whether a ratio lies outside the material band, which reaches from 1 / (1 + material) to 1 + material.

    A billionth is tolerated, so that rounding does not turn one step of a coarse clock into a finding.
    """
    edge = (1.0 + material) * (1.0 + 1e-9)
    return not 1.0 / edge <= ratio <= edge


def coarse(step: float, material: float) -> bool:
    """Whether figures in such steps are too coarse for the material limit; both as fractions."""
    return step > COARSE * material


def resolution(states: Sequence[Sequence[float]]) -> float:
    """The step of the clock or of the printed figures of both states, as a fraction of the smaller median.

    It is what divides all gaps between the values, or between their inverses: a rate comes from a time. So the unit
    does not matter. 0 for fewer than ENOUGH_FOR_RESOLUTION values, and for a step below FINEST; infinity (unknown) if
    all are equal.
    """
    known = [[value for value in values if value > 0.0] for values in states]
    inverses = [[1.0 / value for value in values] for values in known]
    return max(_step(known), _step(inverses))


def _step(states: Sequence[Sequence[float]]) -> float:
    values = [value for state in states for value in state]
    if len(values) < ENOUGH_FOR_RESOLUTION:
        return 0.0
    usual = stats.median(values)
    step = 0.0
    gaps = [later - earlier for earlier, later in pairwise(sorted(values)) if later - earlier > FLOATS * usual]
    if gaps and min(gaps) <= ROUNDING * usual:
        return 0.0
    for gap in gaps:
        one, other = step, gap
        # Euclid; what is left below ROUNDING comes from rounding
        while other > ROUNDING * usual:
            one, other = other, abs(one - other * round(one / other))
        step = one
    if not step:
        return math.inf
    return step / min(stats.median(state) for state in states if state) if step >= FINEST * usual else 0.0
