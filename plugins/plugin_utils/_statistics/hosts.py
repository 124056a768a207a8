# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the effects of single hosts to the verdict of a site.

Which unit counts depends on the order of the rounds. If each host had its own random order, noise that all hosts
share falls on different states on different hosts, and the host is the unit. If all hosts shared one order, shared
noise looks like an effect on every host at once: then the round is the unit, and the hosts have to agree with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from .ranks import EXACT_MOST, median
from .series import Effect, word
from .verdict import INCONCLUSIVE

FEWEST_HOSTS = 6
"""Fewer hosts say nothing about others: five signs agree by chance in 6 % of all cases."""


def confidence(hosts: int) -> float:
    """Level of the interval over hosts: 95 % for 6 hosts, where 97 % would have no ends, else 97 %."""
    return 0.95 if hosts == FEWEST_HOSTS else 0.97


def over_hosts(ratios: Sequence[float]) -> Effect | None:
    """Estimate and signed-rank interval over the hosts' own ratios; None for fewer than FEWEST_HOSTS."""
    if len(ratios) < FEWEST_HOSTS:
        return None
    logs = sorted(math.log(ratio) for ratio in ratios)
    means = sorted((first + second) / 2.0 for place, first in enumerate(logs) for second in logs[place:])
    level = confidence(len(logs))
    outside = _critical(len(logs), 1.0 - level)
    low, high = math.exp(means[outside - 1]), math.exp(means[-outside])
    return Effect(math.exp(median(means)), low, high, low, high, level, level)


def agreed(hosts: Effect, rounds: Effect, material: float) -> str:
    """The verdict of hosts that shared one order: that of their rounds, if the hosts have the same."""
    found = word(rounds, material)
    return found if found == word(hosts, material) else INCONCLUSIVE


@lru_cache(maxsize=256)
def _critical(n: int, alpha: float) -> int:
    """How many of the outermost Walsh averages the signed-rank test rejects on each side; at least 1."""
    if n > EXACT_MOST:
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0)
        return max(1, math.floor(n * (n + 1) / 4.0 + NormalDist().inv_cdf(alpha / 2.0) * deviation + 0.5))
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for place, count in enumerate(counts):
            longer[place + rank] += count
        counts = longer
    below = 0
    for outside, count in enumerate(counts):
        below += count
        if 2.0 * below / 2.0**n > alpha:
            return max(1, outside)
    return 1
