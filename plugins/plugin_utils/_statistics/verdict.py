# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From two lists of round medians to an estimate and a verdict. Pure functions; every ratio above 1 means better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal, NamedTuple

from . import ranks as stats

IMPROVED = "IMPROVED"
REGRESSED = "REGRESSED"
UNCHANGED = "UNCHANGED"
INCONCLUSIVE = "INCONCLUSIVE"
NOT_COMPARABLE = "NOT COMPARABLE"
NO_DATA = "NO DATA"
VERDICTS = (IMPROVED, REGRESSED, UNCHANGED, INCONCLUSIVE, NOT_COMPARABLE, NO_DATA)

FEWEST_ROUNDS = 5
"""Three rounds a state cannot be significant (smallest p 0.10), four only with perfect separation."""

ENOUGH_FOR_RESOLUTION = 10
"""Fewer values may share a power of ten by chance."""

Better = Literal["lower", "higher"]
Cause = Literal["", "data", "fingerprint", "tuning", "rounds", "failed", "control", "noise", "coarse"]


@dataclass(frozen=True)
class Limits:
    """What counts as a change and what as evidence; ValueError for values that would make the verdict meaningless."""

    material_pct: float = 5.0
    """Smallest change that matters, in percent of the ratio."""
    material_pct_of: Mapping[str, float] = field(default_factory=dict)
    """The same for single metrics."""
    min_rounds: int = FEWEST_ROUNDS
    max_failed_pct: float = 20.0
    confidence_pct: float = 95.0

    def __post_init__(self) -> None:
        for name, value in [("material_pct", self.material_pct), *sorted(self.material_pct_of.items())]:
            if not 0.0 < value <= 100.0:
                raise ValueError(f"the material change of {name} is {value} %; it has to lie above 0 and not over 100")
        if self.min_rounds < FEWEST_ROUNDS:
            raise ValueError(
                f"min_rounds is {self.min_rounds}; with fewer than {FEWEST_ROUNDS} nothing can be concluded"
            )
        if not 0.0 <= self.max_failed_pct < 100.0:
            raise ValueError(f"max_failed_pct is {self.max_failed_pct}; it has to lie between 0 and 100")
        if not 50.0 <= self.confidence_pct < 100.0:
            raise ValueError(f"confidence_pct is {self.confidence_pct}; it has to lie between 50 and 100")

    def material(self, metric: str) -> float:
        """Smallest change of a metric that matters, as a fraction."""
        return self.material_pct_of.get(metric, self.material_pct) / 100.0


class Estimate(NamedTuple):
    """Ratio with its interval (0 and infinity: without an end) and the two-sided p of no change."""

    ratio: float
    low: float
    high: float
    p: float


class Verdict(NamedTuple):
    """One of VERDICTS, why in one sentence, and what these data could have shown."""

    word: str
    reason: str
    cause: Cause = ""
    detectable_pct: float | None = None
    rounds_needed: int | None = None


def estimate(before: Sequence[float], after: Sequence[float], better: Better, confidence_pct: float = 95.0) -> Estimate:
    """Hodges-Lehmann ratio, exact interval and Mann-Whitney p of two lists of positive round medians."""
    worse, good = (after, before) if better == "lower" else (before, after)
    low, high = stats.interval(worse, good, confidence_pct / 100.0)
    return Estimate(stats.hodges_lehmann_ratio(worse, good), low, high, stats.mann_whitney(worse, good)[1])


def decide(found: Estimate, rounds: int, material: float, limits: Limits, metric: str, better: Better) -> Verdict:
    """The verdict on an estimate from ``rounds`` rounds in the state that has fewer; ``material`` as a fraction."""
    band = math.log1p(material)
    size = math.log(found.ratio)
    width = stats.detectable(found.low, found.high)
    shown = None if width is None else 100.0 * math.expm1(width)
    change = change_text(found, metric, better, limits.confidence_pct)
    if rounds < limits.min_rounds:
        needed = stats.rounds_needed(rounds, width, size, band, limits.min_rounds)
        reason = f"{rounds} {_rounds(rounds)} of the state that has fewer; at least {limits.min_rounds} are needed"
        return Verdict(INCONCLUSIVE, reason, "rounds", shown, needed)
    excludes_one = found.low > 1.0 or found.high < 1.0
    if excludes_one and beyond(found.ratio, material):
        return Verdict(IMPROVED if size > 0 else REGRESSED, f"{change}, beyond {_material(material)}", "", shown)
    if excludes_one and beyond(found.ratio, limits.material(metric)):
        # The step is inferred: 100 s and 200 s may be what was measured, and a band of 100 % shows that nothing changed
        # as little as that something did.
        reason = f"{change}, and one step of these figures is {100.0 * material:.3g} %: they are too coarse to say"
        return Verdict(INCONCLUSIVE, reason, "coarse", shown)
    if not beyond(found.low, material) and not beyond(found.high, material):
        return Verdict(UNCHANGED, f"{change}, all of it within {_material(material)}", "", shown)
    needed = stats.rounds_needed(rounds, width, size, band, limits.min_rounds)
    least = "nothing" if shown is None else f"no change under {shown:.1f} %"
    reason = f"{change}, neither clearly beyond nor within {_material(material)}; these data could show {least}"
    return Verdict(INCONCLUSIVE, reason, "noise", shown, needed)


def judge(
    before: Sequence[float], after: Sequence[float], better: Better = "lower", limits: Limits | None = None
) -> str:
    """The verdict word on two lists of round medians alone: no fingerprints, no control, no failed runs."""
    limits = limits or Limits()
    if not before or not after:
        return NO_DATA
    found = estimate(before, after, better, limits.confidence_pct)
    return decide(found, min(len(before), len(after)), limits.material(""), limits, "the metric", better).word


def moved(found: Estimate, material: float) -> bool:
    """Whether an estimate lies beyond material, whatever its interval says: the question to a control workload."""
    return beyond(found.ratio, material)


def beyond(ratio: float, material: float) -> bool:
    """Whether a ratio lies outside the material band, which reaches from 1 / (1 + material) to 1 + material.

    A billionth is forgiven, so that one step of a coarse clock does not become a finding by rounding.
    """
    edge = (1.0 + material) * (1.0 + 1e-9)
    return not 1.0 / edge <= ratio <= edge


def resolution(values: Sequence[float]) -> float:
    """The step of the clock or of the printed figure, in the values' unit: the largest power of ten that divides all.

    0 for fewer than ENOUGH_FOR_RESOLUTION values and for steps under 0.001.
    """
    thousandths = [round(value * 1000.0) for value in values]
    if len(values) < ENOUGH_FOR_RESOLUTION or any(
        abs(value * 1000.0 - whole) > 1e-3 for value, whole in zip(values, thousandths, strict=True)
    ):
        return 0.0
    common = reduce(math.gcd, thousandths)
    step = 1
    while common and common % (step * 10) == 0:
        step *= 10
    return step / 1000.0


def change_text(found: Estimate, metric: str, better: Better, confidence_pct: float) -> str:
    """The estimate as the change of the metric itself, which may be the inverse of the ratio."""
    ratio, low, high = found[:3]
    if better == "lower":
        ratio, low, high = 1.0 / ratio, 1.0 / high, math.inf if low <= 0.0 else 1.0 / low
    ends = "without ends" if low <= 0.0 or math.isinf(high) else f"{_signed(low)} to {_signed(high)}"
    return f"the change of {metric} is {_signed(ratio)} ({confidence_pct:.3g} % interval {ends})"


def _signed(ratio: float) -> str:
    return f"{100.0 * (ratio - 1.0):+.1f} %"


def _material(material: float) -> str:
    return f"the material {100.0 * material:.3g} %"


def _rounds(count: int) -> str:
    return "round" if count == 1 else "rounds"
