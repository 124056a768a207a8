# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What calibrations, reports and trends say of numbers of rounds, of orders, and of one change among many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.wording import more_rounds, verdict_on
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import Loaded
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.calibration import UNSURE
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.trend import TrendStep, trend
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import looks, planning
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.verdict import INCONCLUSIVE
from guards import sinus
from noise import Logs, Model, autoregressive, pareto, per_round
from rules import Goal
from trials import MATERIAL, Host, Outcome, Seen, changed, generator, many

Ask = Callable[..., Outcome]
CALIBRATED = 12
"""Rounds of a calibration."""


def step(rng: np.random.Generator, series: int, rounds: int) -> Logs:
    """Everything becomes 10 % faster at some time."""
    return per_round(0.02)(rng, series, rounds) + 0.1 * (np.arange(rounds) >= rng.integers(rounds))


KINDS: dict[str, Model] = {
    "rounds 4 %": per_round(0.04),
    "rounds 5 %": per_round(0.05),
    "AR(1) 0.5": autoregressive(0.5, 0.05),
    "AR(1) 0.8": autoregressive(0.8, 0.05),
    "Pareto": pareto(scale=0.06),
    "sinus": sinus(40, 0.1),
    "step": step,
}


def _word(host: Host, done: int, end: int) -> str:
    """The word at the first look after ``done`` rounds per state that decides, or at the end."""
    for rounds in [*(look.rounds for look in looks.LOOKS if done < look.rounds < end), end]:
        word = pooled.of_site([host.line(2 * rounds)], MATERIAL).word
        if word != INCONCLUSIVE:
            break
    return word


@many
def calibrated(kind: str, number: int) -> Seen | None:
    """A measurement without a change, of the length that a calibration asks for; None if that is over 32 rounds."""
    seed = f"calibrated {kind} {number}"
    rng = generator(seed)
    values = KINDS[kind](rng, 1, CALIBRATED)[0].tolist()
    noise = planning.noise([values], [[value] for value in values])
    rounds = planning.rounds_for_unchanged(UNSURE * noise.upper, MATERIAL)
    if rounds is None or rounds > looks.LOOKS[-1].rounds:
        return None
    order = looks.order(seed, rounds)
    return [_word(Host("app1", order, KINDS[kind](rng, 1, len(order))[0].tolist()), 0, rounds)], rounds


@many
def continued(kind: str, first: int, change: float, number: int) -> Seen | None:
    """A measurement that is undecided after ``first`` rounds, and gets the rounds that its report names."""
    seed = f"more {kind} {number}"
    most = planning.MOST_ROUNDS
    order = looks.order(seed, most)
    values = KINDS[kind](generator(seed), 1, len(order))[0].tolist()
    host = Host("app1", order, changed(order, values, change))
    if _word(host, 0, first) != INCONCLUSIVE:
        return None
    found = pooled.of_site([host.line(2 * first)], MATERIAL)
    more = more_rounds(found, verdict_on(found, MATERIAL).cause, MATERIAL)
    if more is None or first + more > most:
        return None
    decided = _word(host, first, first + more) != INCONCLUSIVE
    return ["decided"] * decided, first + more


@many
def in_turn(number: int) -> Seen:
    """Rounds in turn, with a recorded seed that draws another order."""
    host = Host("app1", [*looks.PHASES] * 6, [0.0] * 12)
    host.seed = f"in turn {number}"
    return ["believed"] * bool(host.line(12).alternates), 6


@many
def fifth(number: int) -> Seen:
    """A trend of 12 changes of 8 rounds, of which only the fifth is 10 % better."""
    rng = generator(f"fifth {number}")
    steps = []
    for place in range(1, 13):
        order = looks.order(f"fifth {number} {place}", 8)
        worth = math.log(1.1) if place == 5 else 0.0
        host = Host("app1", order, changed(order, per_round(0.03)(rng, 1, 16)[0].tolist(), worth))
        report = compare_change(Loaded(f"c{place}", host.records(16)))
        steps.append(TrendStep(f"c{place}", "", report["comparisons"]))
    return ["named"] * ("c5 " in trend("t", steps)["headline"]), 8


def goals(ask: Ask) -> Iterator[Goal]:
    """What is said of numbers of rounds."""
    told = [ask(calibrated, kind, experiments=250) for kind in KINDS]
    yield Goal("nothing changed, as many rounds as a calibration says: UNCHANGED", 60, True, ("UNCHANGED",), told)
    for what, change, least in (("nothing changed", 0.0, 50), ("+5.3 %, a limit of 5 %", math.log(1.053), 20)):
        cells = [ask(continued, kind, first, change, experiments=250) for kind in list(KINDS)[:4] for first in (6, 16)]
        yield Goal(f"{what}, as many more rounds as the report says: decided", least, True, ("decided",), cells)
    yield Goal(
        "rounds in turn, another order than the seed draws: believed",
        0,
        False,
        ("believed",),
        [ask(in_turn, experiments=300)],
    )
    yield Goal("12 changes, only the fifth +10 %: it is named", 90, True, ("named",), [ask(fifth, experiments=150)])
