# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a series of rounds may be judged, and how sure a verdict has to be at that time.

A measurement that stops when it knows looks at its data several times, and each look is a chance to be wrong. The
levels below are small enough that all looks together are wrong in at most 3 % of the experiments in which nothing
changed. `make simulate` measures that; docs/verdicts_simulated.md has its table.
"""

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

BEFORE, AFTER = PHASES = "before", "after"


class Look(NamedTuple):
    """One look at the data.

    ``rounds``: rounds per state; ``change``: two-sided level at which a change counts; ``same``: one-sided level at
    which the interval has to lie inside the material band.
    """

    rounds: int
    change: float
    same: float

    def shared_by(self, contrasts: int) -> "Look":
        """The same look for several changes that are judged together: each gets its share of the level."""
        return self._replace(change=self.change / contrasts)

    @property
    def confidence(self) -> float:
        """Level of the interval to print."""
        return 1.0 - self.change

    @property
    def inner_confidence(self) -> float:
        """Level of the interval that has to lie inside the material band."""
        return 1.0 - 2.0 * self.same


# With 6 and 6 rounds the smallest two-sided p is 2/924 = 0.00216: complete separation of the states is needed.
LOOKS = (
    Look(6, 0.0022, 0.010),
    Look(8, 0.004, 0.0125),
    Look(10, 0.006, 0.0125),
    Look(12, 0.007, 0.0125),
    Look(16, 0.008, 0.0125),
    Look(24, 0.009, 0.0125),
    Look(32, 0.010, 0.0125),
)


def look_at(rounds: int) -> Look | None:
    """The last look that this number of rounds per state has reached; None before the first."""
    return next((look for look in reversed(LOOKS) if look.rounds <= rounds), None)


def next_look(rounds: int, contrasts: int = 1) -> Look | None:
    """The first of LOOKS after these rounds per state that can tell a change from chance; None after the last."""
    able = (look for look in LOOKS if 2.0 / math.comb(2 * look.rounds, look.rounds) <= look.change / contrasts)
    return next((look for look in able if look.rounds > rounds), None)


def blocks(most: int, done: int = 0) -> list[int]:
    """Rounds per state that each block adds, after ``done`` rounds per state and up to ``most``.

    Every block but the last ends at a look. ``blocks(13)`` is ``[6, 2, 2, 2, 1]``, ``blocks(13, 7)`` is
    ``[1, 2, 2, 1]``.
    """
    ends = [look.rounds for look in LOOKS if done < look.rounds < most] + [most]
    return [end - begin for begin, end in zip([done, *ends], ends, strict=False)]


def order(seed: str, most: int, states: Sequence[str] = PHASES, done: int = 0) -> list[str]:
    """The states in the order in which they are measured: a random permutation inside each block.

    Only full randomness inside the blocks has no period in common with a disturbance that comes and goes: any limit on
    equal states in a row resonates with one (simulated with square waves of 2 to 8 rounds). The same seed gives the
    same order on every machine; a longer order begins with the shorter one if both end at a look.
    """
    generator = random.Random(seed)
    planned: list[str] = []
    for size in blocks(most, done):
        block = [state for state in states for _round in range(size)]
        generator.shuffle(block)
        planned += block
    return planned
