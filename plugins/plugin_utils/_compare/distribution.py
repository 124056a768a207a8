# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The distribution of single round trips in both states, from tools that tell each of them. It decides nothing."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...module_utils._measure.net import histogram
from .._records.round import Round
from .._statistics.ranks import short
from .._statistics.verdict import IMPROVED, REGRESSED
from .pair import Comparison
from .shapes import Part

FLEET_FROM = 60
"""With more comparisons only those of :func:`_important` get a distribution: reading one takes a millisecond."""
MOST = 24
BEYOND = 10
"""A percentile needs as many round trips beyond it: 1,000 in all for the 99th."""
STEPS = 40
DIGITS = 4
SLOWEST = 0.999
SHARES = (*(step / STEPS for step in range(1, STEPS)), 0.99)
NOTE = (
    "Each connection sends one message at a time, so a stall delays the following messages and is not counted for each"
    " of them (coordinated omission): the percentiles describe the round trips of this loop, not response times under a"
    " given load. They decide nothing; a p99.9 that rose is a guard."
)

bins: Callable[[list[str]], dict[int, int]] = histogram.bins


def add_distributions(comparisons: Sequence[Comparison]) -> None:
    """Set ``distribution`` of the entries of the comparisons that show one; none for controls."""
    judged = [item for item in comparisons if not item.control]
    chosen = judged if len(judged) <= FLEET_FROM else sorted(judged, key=_important)[:MOST]
    for item in chosen:
        item.entry["distribution"] = distribution(item.rounds)


def _important(item: Comparison) -> tuple[Any, ...]:
    """Worse ones first, then better ones, the largest changes first; before them those that have a distribution."""
    known = {one.phase for one in item.rounds if one.histogram}
    ratio = item.entry["ratio"] or 1.0
    return len(known) < 2, item.verdict != REGRESSED, item.verdict != IMPROVED, -abs(math.log(ratio))


def distribution(rounds: Sequence[Round]) -> Part | None:
    """The percentiles and points of the distribution of both states; None if a state has no distribution."""
    before, after = (_side([item for item in rounds if item.phase == state]) for state in ("before", "after"))
    return {"unit": "\u00b5s", "before": before, "after": after, "note": NOTE} if before and after else None


def _side(rounds: Sequence[Round]) -> Part | None:
    counts = bins([item.histogram for item in rounds if item.histogram])
    total = sum(counts.values())
    if total < 2 * BEYOND:
        return None
    points = _points(counts, total, [share for share in SHARES if total * (1.0 - share) >= BEYOND - 1e-6])
    known = {share: value for value, share in points}
    return {
        "count": total,
        **{f"p{percent}": known.get(percent / 100) for percent in (50, 90, 99)},
        "p99.9": percentile(counts, SLOWEST) if total * (1.0 - SLOWEST) >= BEYOND - 1e-6 else None,
        "points": points,
    }


def percentile(counts: dict[int, int], share: float) -> float:
    """As in a point, for a share near 1: the largest round trips come first. ``counts``: by bin, in their order."""
    below = total = sum(counts.values())
    for number, count in reversed(counts.items()):
        below -= count
        if below < share * total:
            value: float = histogram.WIDTH ** (number + (share * total - below) / count)
            return short(value, DIGITS)
    return 0.0


def _points(counts: dict[int, int], total: int, shares: Sequence[float]) -> list[list[float]]:
    """[value, share] for each share; within a bin, which is 1 % wide, the round trips count as evenly spread."""
    points: list[list[float]] = []
    below = 0
    for number, count in counts.items():
        while len(points) < len(shares) and shares[len(points)] * total <= below + count:
            share = shares[len(points)]
            within = (share * total - below) / count if count else 0.0
            points.append([short(histogram.WIDTH ** (number + within), DIGITS), share])
        below += count
    return points
