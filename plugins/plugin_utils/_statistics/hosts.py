# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the effects of single hosts to the verdict of a site.

Which unit counts depends on the order of the rounds. If each host had its own random order, noise that all hosts
share falls on different states on different hosts, and the host is the unit. If all hosts shared one order, shared
noise looks like an effect on every host at once: then the round is the unit, and the hosts have to agree with it.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean, stdev

from .looks import Look
from .planning import student
from .ranks import EXACT_MOST, median, rejected, rejected_by_normal
from .series import Effect

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


def over_hosts(ratios: Sequence[float], look: Look) -> Effect | None:
    """Estimate and intervals over the hosts' own ratios at the levels of a look; None for fewer than FEWEST_HOSTS."""
    if len(ratios) < FEWEST_HOSTS:
        return None
    logs = sorted(math.log(ratio) for ratio in ratios)
    means = sorted((first + second) / 2.0 for place, first in enumerate(logs) for second in logs[place:])

    def ends(level: float) -> tuple[float, float]:
        if len(logs) < RANKS_FROM:
            width = student(1.0 - T_SHARE * (1.0 - level) / 2.0, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
            return math.exp(fmean(logs) - width), math.exp(fmean(logs) + width)
        outside = _critical(len(logs), 1.0 - level)
        return (math.exp(means[outside - 1]), math.exp(means[-outside])) if outside else (0.0, math.inf)

    return Effect.at(look, math.exp(median(means)), ends)


@lru_cache(maxsize=256)
def _critical(n: int, alpha: float) -> int:
    """How many of the outermost Walsh averages the signed-rank test rejects on each side."""
    if n > EXACT_MOST:
        return rejected_by_normal(n * (n + 1) / 4.0, math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0), alpha)
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for place, count in enumerate(counts):
            longer[place + rank] += count
        counts = longer
    return rejected(counts, 2.0**n, alpha)
