# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flags and guards: remarks that a reader needs beside the verdict.

A flag never changes a verdict. A guard turns IMPROVED into IMPROVED, WITH WARNINGS and changes no other verdict.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from .._records.kpi import CpuSum, idle_pct
from .._records.round import SIDES, Round
from .._statistics.ranks import median, trend, two_clusters, variation_pct
from .._statistics.verdict import Better

MOST_VARIATION_PCT = 10.0
MOST_BACKGROUND_PCT = 20.0
SLOW_FIRST_RUN = 1.10
TREND_P = 0.01
TREND_ROUNDS = 8
CLUSTER_RUNS = 10
OTHER_WORK = "busy with other work"
CLOCK_STEP_S = 0.1
"""NTP slews a clock by at most 500 ppm: less than this in a round of three minutes."""

States = Mapping[str, Sequence[Round]]
"""``before`` and ``after``: the rounds of one comparison in the order of their numbers."""


def flags(states: States, better: Better) -> list[str]:
    """Sentences on the quality of one comparison's data."""
    return [
        sentence
        for check in (_variation, _trend, _first_run, _clusters, _background, _clock)
        for sentence in check(states, better)
    ]


def _variation(states: States, _better: Better) -> Iterator[str]:
    for phase, rounds in states.items():
        known = [value for value in (variation_pct(item.good) for item in rounds) if value is not None]
        if known and median(known) > MOST_VARIATION_PCT:
            yield f"the runs of a round vary by {median(known):.1f} % {phase} the change (median of the rounds)."


def _trend(states: States, _better: Better) -> Iterator[str]:
    timed = []
    for rounds in states.values():
        known = [(item.started, item.median) for item in rounds if item.started is not None and item.median is not None]
        if known:
            centre = math.log(median([value for _started, value in known]))
            timed += [(started, math.log(value) - centre) for started, value in known]
    if len(timed) >= TREND_ROUNDS:
        p = trend([round(rest, 12) for _started, rest in sorted(timed)])
        if p < TREND_P:
            yield f"the rounds of both states drift in one direction over time (p = {p:.2g})."


def _first_run(states: States, better: Better) -> Iterator[str]:
    for phase, rounds in states.items():
        ratios = []
        for item in rounds:
            first, *rest = item.good or [0.0]
            if len(rest) >= 2:
                ratios.append(first / median(rest) if better == "lower" else median(rest) / first)
        if ratios and median(ratios) > SLOW_FIRST_RUN:
            slower = 100.0 * (median(ratios) - 1.0)
            yield (
                f"the first counted run is {slower:.0f} % worse than the others {phase} the change: the warm-up is"
                " too short."
            )


def _clusters(states: States, _better: Better) -> Iterator[str]:
    for phase, rounds in states.items():
        values = [value for item in rounds for value in item.good]
        found = two_clusters(values) if len(values) >= CLUSTER_RUNS else None
        if found and found[1] > 1.05 * found[0]:
            yield f"the runs {phase} the change fall into two clusters, around {found[0]:.4g} and {found[1]:.4g}."


def _background(states: States, _better: Better) -> Iterator[str]:
    for phase, rounds in states.items():
        for index, side in enumerate(SIDES):
            share = idle_pct(idle_windows(rounds, index))
            if share is not None and share > MOST_BACKGROUND_PCT:
                yield f"the {side} was {share:.0f} % {OTHER_WORK} {phase} the change."


def idle_windows(rounds: Sequence[Round], index: int) -> list[CpuSum]:
    """The idle windows of one end."""
    return [window for window in (item.idle[index] for item in rounds) if window is not None]


def _clock(states: States, _better: Better) -> Iterator[str]:
    step = max((item.clock_step_s for rounds in states.values() for item in rounds), default=0.0)
    if step > CLOCK_STEP_S:
        yield f"a clock stepped by {step:.3g} s during the measurement."
