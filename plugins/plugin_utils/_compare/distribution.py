# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The distribution of single round trips in both states, from tools that tell each of them. It decides nothing."""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
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
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": SLOWEST}
SHARES = (*(step / STEPS for step in range(1, STEPS)), 0.99)
NOTE = (
    "Each connection sends one message at a time, so a stall delays the following messages and is not counted for each"
    " of them (coordinated omission): the percentiles describe the round trips of this loop, not response times under a"
    " given load. They decide nothing; a p99.9 that rose is a guard."
)

bins: Callable[[list[str]], dict[int, int]] = histogram.bins


def add_distributions(comparisons: Sequence[Comparison]) -> None:
    """Set ``distribution`` of the entries of the comparisons that show one; none for controls."""
    judged = [item for item in comparisons if not item.entry["control"]]
    chosen = judged if len(judged) <= FLEET_FROM else sorted(judged, key=_important)[:MOST]
    for item in chosen:
        item.entry["distribution"] = distribution(item.rounds)


def _important(item: Comparison) -> tuple[Any, ...]:
    """Worse ones first, then better ones, the largest changes first; before them those that have a distribution."""
    known = {one.phase for one in item.rounds if one.histogram}
    ratio = item.entry["ratio"] or 1.0
    return len(known) < 2, item.entry["verdict"] != REGRESSED, item.entry["verdict"] != IMPROVED, -abs(math.log(ratio))


def distribution(rounds: Sequence[Round]) -> Part | None:
    """The percentiles and points of the distribution of both states; None if a state has no distribution."""
    before, after = (_side([item for item in rounds if item.phase == state]) for state in ("before", "after"))
    return {"unit": "\u00b5s", "before": before, "after": after, "note": NOTE} if before and after else None


def _side(rounds: Sequence[Round]) -> Part | None:
    counts = bins([item.histogram for item in rounds if item.histogram])
    total = sum(counts.values())
    if total < 2 * BEYOND:
        return None
    shares = [share for share in (*SHARES, SLOWEST) if total * (1.0 - share) >= BEYOND - 1e-6]
    known = dict(zip(shares, percentiles(counts, shares), strict=True))
    return {
        "count": total,
        **{name: known.get(share) for name, share in PERCENTILES.items()},
        "points": [[value, share] for share, value in known.items() if share != SLOWEST],
    }


def percentiles(counts: dict[int, int], shares: Sequence[float]) -> list[float]:
    """The value of each share; within a bin, which is 1 % wide, the round trips count as evenly spread.

    ``counts``: by bin, in the order of the bins.
    """
    numbers, upto = list(counts), [*accumulate(counts.values())]
    found = []
    for share in shares:
        wanted = share * upto[-1]
        place = bisect_left(upto, wanted)
        # the part of the bin that lies above
        above = (upto[place] - wanted) / counts[numbers[place]]
        found.append(short(histogram.WIDTH ** (numbers[place] + 1.0 - above), DIGITS))
    return found
