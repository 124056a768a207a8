# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that stand beside the pooled verdict: the control, the longest round trip, single workloads, restarts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from . import ranks
from .looks import Look
from .series import Effect, Reading, effect, split, word
from .verdict import INCONCLUSIVE, beyond

Name = TypeVar("Name", bound=Hashable)

CONTROL_CONFIDENCE = 0.99
LONGEST_P = 0.01
LONGEST_TIMES = 1.5
NAMED_P = 0.05
FALSE_NAMES = 0.05
FEWEST_STARTS = 5
STARTS_LEVEL = 0.03


class Deviation(NamedTuple):
    """One series that differs from the others: its ratio to their median (above 1 is better), and p after Holm."""

    name: str
    ratio: float
    p: float


class Control(NamedTuple):
    """The control's ratio (above 1 is better) and its 99 % interval.

    ``moved``: it changed by more than material for sure, and then nothing may be concluded.
    """

    ratio: float
    low: float
    high: float
    moved: bool


class Longer(NamedTuple):
    """By how many times the longest round trip rose, and the one-sided p."""

    times: float
    p: float

    @property
    def sure(self) -> bool:
        """It rose for sure, and by half at least."""
        return self.times >= LONGEST_TIMES and self.p <= LONGEST_P


def control(before: Sequence[float], after: Sequence[float], material: float) -> Control:
    """Judge the control of a host: pooled values of its rounds in both states."""
    ratios = ranks.Ratios(before, after)
    ratio, (low, high) = ratios.middle(), ratios.interval(CONTROL_CONFIDENCE)
    return Control(ratio, low, high, (low > 1.0 or high < 1.0) and beyond(ratio, material))


def longer(before: Sequence[float], after: Sequence[float]) -> Longer:
    """Compare the longest round trips. Each value is pooled over the workloads of a round."""
    two_sided = ranks.mann_whitney(before, after)[1]
    times = ranks.hodges_lehmann_ratio(before, after)
    return Longer(times, two_sided / 2.0 if times > 1.0 else 1.0)


def from_the_others(series: Mapping[Name, Sequence[Reading]]) -> dict[Name, list[Reading]]:
    """Each series relative to the median of all of them in the same round: what they have in common drops out.

    All series have the same rounds in the same order.
    """
    middles = [ranks.median([value for _state, value in line]) for line in zip(*series.values(), strict=True)]
    return {
        name: [(state, value - middle) for (state, value), middle in zip(readings, middles, strict=True)]
        for name, readings in series.items()
    }


def deviations(series: Mapping[str, Sequence[Sequence[Sequence[Reading]]]], material: float) -> list[Deviation]:
    """The series whose change differs from that of the others by more than material, by name (Holm).

    Per name and host the sessions of its values as :func:`from_the_others` returns them. The ratio is the median of the
    hosts.
    """
    found = []
    for name, hosts in sorted(series.items()):
        sides = [(before, after) for before, after in map(split, hosts) if before and after]
        if sides:
            ratio = ranks.median([ranks.hodges_lehmann_ratio(*both) for both in sides])
            before, after = ([value for both in sides for value in both[state]] for state in (0, 1))
            found.append((name, ratio, ranks.mann_whitney(before, after)[1]))
    corrected = ranks.holm([p for _name, _ratio, p in found])
    return [
        Deviation(name, ratio, p)
        for (name, ratio, _p), p in zip(found, corrected, strict=True)
        if p <= NAMED_P and beyond(ratio, material)
    ]


def differing(
    values: Mapping[str, tuple[Sequence[float], Sequence[float]]], site: float, material: float
) -> list[Deviation]:
    """The hosts whose change differs from that of the site by more than material (Benjamini and Hochberg, 5 %).

    Per host its values before and after; ``site`` is the ratio of the site.
    """
    found = []
    for name, (before, after) in sorted(values.items()):
        alone = [value / site for value in after]
        found.append(Deviation(name, ranks.hodges_lehmann_ratio(before, alone), ranks.mann_whitney(before, alone)[1]))
    named = benjamini_hochberg([item.p for item in found], FALSE_NAMES)
    return [item for item, sure in zip(found, named, strict=True) if sure and beyond(item.ratio, material)]


def benjamini_hochberg(ps: Sequence[float], share: float) -> list[bool]:
    """Which of these p values count if at most ``share`` of the named ones may be false."""
    ordered = sorted(ps)
    limit = max((p for rank, p in enumerate(ordered, 1) if p <= share * rank / len(ps)), default=-1.0)
    return [p <= limit for p in ps]


def of_starts(
    before: Sequence[float], after: Sequence[float], material: float, contrasts: int = 1
) -> tuple[str, Effect | None]:
    """The verdict where each value is the median of the rounds after one start of the machine or instance."""
    if min(len(before), len(after)) < FEWEST_STARTS:
        return INCONCLUSIVE, None
    found = effect(before, after, Look(FEWEST_STARTS, STARTS_LEVEL, STARTS_LEVEL / 2.0).shared_by(contrasts))
    return word(found, material), found
