# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on pooled rounds in words, and the rounds that would decide; each figure is a gain: above 0 is better."""

from __future__ import annotations

import math

from .._statistics.gates import FEWEST_STARTS, Control
from .._statistics.looks import LOOKS, next_look
from .._statistics.planning import MOST_ROUNDS, rounds_for, rounds_for_unchanged
from .._statistics.ranks import short
from .._statistics.series import Effect, word
from .._statistics.verdict import (
    IMPROVED,
    INCONCLUSIVE,
    NO_DATA,
    REGRESSED,
    UNCHANGED,
    Cause,
    Verdict,
    beyond,
)
from .pooled import Pooled


def verdict_on(found: Pooled, material: float, asked: float) -> Verdict:
    """The verdict with its reason. ``material``: at least one step of the figures; ``asked``: the limit alone."""
    if found.word == NO_DATA:
        return Verdict(NO_DATA, "no round has a value of every workload", "data")
    if found.unit == "starts" and found.effect is None:
        return Verdict(INCONCLUSIVE, _few_starts(found.rounds), "starts")
    if found.effect is None or (found.rounds < LOOKS[0].rounds and found.unit != "starts"):
        return Verdict(INCONCLUSIVE, _few_rounds(found.rounds), "rounds")
    return _on_effect(found.word, found.effect, material, asked)


def _on_effect(decided: str, effect: Effect, material: float, asked: float) -> Verdict:
    limit = f"the material limit of {100.0 * material:.3g} %"
    outside = effect.low > 1.0 or effect.high < 1.0
    if outside and beyond(effect.ratio, asked) and not beyond(effect.ratio, material):
        # The step is inferred: 100 s and 200 s may be real values, and a band of 100 % proves nothing either way.
        reason = f"{change(effect)}, but one step of these figures is {100.0 * material:.3g} %: too coarse to decide"
        return Verdict(INCONCLUSIVE, reason, "coarse")
    if decided in (IMPROVED, REGRESSED):
        nearest = effect.low if decided == IMPROVED else effect.high
        size = f"beyond {limit}" if beyond(nearest, material) else "size uncertain"
        return Verdict(decided, f"{gain(effect.ratio)}, {size} ({interval(effect)})")
    if decided == UNCHANGED:
        return Verdict(UNCHANGED, f"{gain(effect.ratio)}, within {limit} ({interval(effect, inner=True)})")
    if word(effect, material) != decided:
        return Verdict(INCONCLUSIVE, f"{change(effect)}, but the hosts differ too much from each other", "noise")
    return Verdict(INCONCLUSIVE, f"{change(effect)}: neither clearly beyond nor within {limit}", "noise")


def deciding(word: str, effect: Effect) -> tuple[float, float, float]:
    """Low, high and level of the interval that decided: the inner one lies within the material limit, if UNCHANGED."""
    if word == UNCHANGED:
        return effect.inner_low, effect.inner_high, effect.inner_confidence
    return effect.low, effect.high, effect.confidence


def more_rounds(found: Pooled, cause: Cause, material: float) -> int | None:
    """Rounds per state to add until a verdict is likely; None if more rounds of this kind would not help."""
    if cause == "starts":
        return None
    if cause == "rounds":
        return LOOKS[0].rounds - found.rounds
    following = next_look(found.rounds)
    if cause != "noise" or found.effect is None:
        return None
    least = following.rounds if following else found.rounds + 1
    needed: int | None = least
    if found.spread is not None and found.unit == "rounds":
        size = abs(math.log(found.effect.ratio))
        if size > math.log1p(material):
            needed = rounds_for(found.spread, size, material)
        else:
            needed = rounds_for_unchanged(found.spread, material)
    return max(least, MOST_ROUNDS if needed is None else needed) - found.rounds


def change(effect: Effect) -> str:
    """The gain with its interval."""
    return f"{gain(effect.ratio)} ({interval(effect)})"


def gain(ratio: float) -> str:
    """``3.1 % better``."""
    text = signed(ratio)
    return f"{text[1:]} {'better' if text[0] == '+' else 'worse'}" if text != "+0.0 %" else "no difference"


def interval(effect: Effect, inner: bool = False) -> str:
    """``99.8 % interval +0.7 % to +14.6 %``."""
    low, high, level = effect.low, effect.high, effect.confidence
    if inner:
        low, high, level = effect.inner_low, effect.inner_high, effect.inner_confidence
    ends = "without ends" if low <= 0.0 or math.isinf(high) else f"{signed(low)} to {signed(high)}"
    return f"{100.0 * level:.3g} % interval {ends}"


def signed(ratio: float) -> str:
    """``+3.1 %``."""
    # of the figure that the report holds, so that a sentence and a table round the same number
    return f"{100.0 * (short(ratio) - 1.0):+.1f} %".replace("-0.0 %", "+0.0 %")


def control_text(control: Control) -> str:
    """Why a control that moved blocks the verdict."""
    return (
        f"the control workload, which the change cannot affect, changed by {signed(control.ratio)} (99 % interval"
        f" {signed(control.low)} to {signed(control.high)}; above 0 is better)"
    )


def _few_rounds(rounds: int) -> str:
    return f"only {rounds} {'round' if rounds == 1 else 'rounds'} per state; at least {LOOKS[0].rounds} are needed"


def _few_starts(starts: int) -> str:
    times = "once" if starts == 1 else f"{starts} times"
    return (
        f"each state was started {times}, and differences from start to start cannot be told from the change; at"
        f" least {FEWEST_STARTS} starts per state are needed"
    )
