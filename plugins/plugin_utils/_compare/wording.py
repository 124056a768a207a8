# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on pooled rounds in words, and the rounds that would decide; each figure is a gain: above 0 is better."""

import math
from collections.abc import Sequence

from .._statistics.gates import FEWEST_STARTS, Control
from .._statistics.looks import LOOKS, next_look
from .._statistics.planning import MOST_ROUNDS, rounds_for, rounds_for_unchanged
from .._statistics.ranks import closed_end, short
from .._statistics.series import Effect, word
from .._statistics.verdict import IMPROVED, INCONCLUSIVE, NO_DATA, REGRESSED, UNCHANGED, Cause, Verdict, beyond, coarse
from .pooled import Pooled
from .shapes import FiguresWithLevel

SEVERAL = "the hosts form more than one group: look at the row of each host."


def verdict_on(found: Pooled, material: float, step: float = 0.0) -> Verdict:
    """The verdict with its reason; ``step``: one step of the figures as a fraction, infinity: unknown."""
    if found.word == NO_DATA:
        return Verdict(NO_DATA, "no round has a value of every workload", "data")
    if found.unit == "starts" and found.effect is None:
        times = "once" if found.rounds == 1 else f"{found.rounds} times"
        why = "differences from start to start cannot be told from the change; at least"
        few = f"each state was started {times}, and {why} {FEWEST_STARTS} starts per state are needed"
        return Verdict(INCONCLUSIVE, few, "starts")
    if found.effect is None or (found.rounds < LOOKS[0].rounds and found.unit != "starts"):
        only = f"only {found.rounds} {'round' if found.rounds == 1 else 'rounds'} per state"
        return Verdict(INCONCLUSIVE, f"{only}; at least {LOOKS[0].rounds} are needed", "rounds")
    return _on_effect(found.word, found.effect, material, step)


def _on_effect(decided: str, effect: Effect, material: float, step: float) -> Verdict:
    limit = f"the material limit of {100.0 * material:.3g} %"
    if decided == INCONCLUSIVE and coarse(step, material) and word(effect, material) != word(effect, material, step):
        # The step is inferred: 100 s and 200 s may be real values, and a band of 100 % proves nothing either way.
        what = f"one step of these figures is {100.0 * step:.3g} %" if step < math.inf else "all figures are equal"
        return Verdict(INCONCLUSIVE, f"{gain(effect.ratio)} as they are, but {what}: too coarse to decide", "coarse")
    if decided in (IMPROVED, REGRESSED):
        nearest = effect.low if decided == IMPROVED else effect.high
        size = f"beyond {limit}" if beyond(nearest, material) else "size uncertain"
        return Verdict(decided, f"{_between(effect)}, estimate {_size(effect.ratio)} %, {size}")
    if decided == UNCHANGED:
        return Verdict(UNCHANGED, f"{gain(effect.ratio)}, within {limit} ({interval(effect, UNCHANGED)})")
    if word(effect, material, step) != decided:
        return Verdict(INCONCLUSIVE, f"{change(effect)}, but the hosts differ too much from each other", "noise")
    return Verdict(INCONCLUSIVE, f"{change(effect)}: neither clearly beyond nor within {limit}", "noise")


def deciding(word: str, effect: Effect) -> tuple[float, float, float]:
    """Low, high and level of the interval that decided: the inner one lies within the material limit, if UNCHANGED."""
    if word == UNCHANGED:
        return effect.inner_low, effect.inner_high, effect.inner_confidence
    return effect.low, effect.high, effect.confidence


def figures(verdict: Verdict, effect: Effect | None) -> FiguresWithLevel:
    """Ratio, interval and level of an effect, as the report has them; steps that are too coarse give no interval."""
    if effect is None or verdict.cause == "coarse":
        return {"ratio": short(effect.ratio) if effect else None, "low": None, "high": None, "confidence_pct": None}
    low, high, level = deciding(verdict.word, effect)
    ratio, confidence = short(effect.ratio), short(100.0 * level)
    return {"ratio": ratio, "low": closed_end(low), "high": closed_end(high), "confidence_pct": confidence}


def more_rounds(found: Pooled, cause: Cause, material: float, contrasts: int = 1) -> int | None:
    """Rounds per state to add until a verdict is likely; None if more rounds of this kind would not help.

    Over MOST_ROUNDS in all: no look has that many rounds.

    ``contrasts``: how many changes share the error rate.
    """
    if cause == "starts":
        return None
    if cause == "rounds":
        return LOOKS[0].rounds - found.rounds
    following = next_look(found.rounds, contrasts)
    if cause == "stalls":
        return following.rounds - found.rounds if following else None
    if cause != "noise" or found.effect is None:
        return None
    least = following.rounds if following else found.rounds + 1
    needed: int | None = least
    if found.spread is not None and found.unit == "rounds":
        size = abs(math.log(found.effect.ratio))
        if size > math.log1p(material):
            needed = rounds_for(found.spread, size, material, contrasts)
        else:
            needed = rounds_for_unchanged(found.spread, material, contrasts)
    return max(least, MOST_ROUNDS + 1 if needed is None else needed) - found.rounds


def _between(effect: Effect) -> str:
    """``0.7 to 14.6 % better (99.8 % interval)``."""
    ends = sorted((effect.low, effect.high), key=lambda end: abs(math.log(end)) if 0.0 < end < math.inf else math.inf)
    near, far = (gain(end) if 0.0 < end < math.inf else "" for end in ends)
    text = f"{_size(ends[0])} to {far}" if far else f"at least {near}"
    return f"{text} ({certainty(100.0 * effect.confidence)} % interval)"


def _size(ratio: float) -> str:
    """``3.1`` of 3.1 % better or worse."""
    return signed(ratio)[1:-2]


def change(effect: Effect) -> str:
    """The gain with its interval."""
    return f"{gain(effect.ratio)} ({interval(effect)})"


def gain(ratio: float) -> str:
    """``3.1 % better``."""
    text = signed(ratio)
    return f"{text[1:]} {'better' if text[0] == '+' else 'worse'}" if text != "+0.0 %" else "no difference"


def interval(effect: Effect, word: str = "") -> str:
    """``99.8 % interval +0.7 % to +14.6 %``: the one that decided on the word."""
    low, high, level = deciding(word, effect)
    ends = "without ends" if low <= 0.0 or math.isinf(high) else f"{signed(low)} to {signed(high)}"
    return f"{certainty(100.0 * level)} % interval {ends}"


def certainty(pct: float) -> str:
    """``99.8``, and ``99.98``; never 100, which no interval has."""
    return f"{min(pct, 99.99):.{4 if pct > 99.9 else 3}g}"


def signed(ratio: float) -> str:
    """``+3.1 %``."""
    # of the figure that the report holds, so that a sentence and a table round the same number
    return f"{100.0 * (short(ratio) - 1.0):+.1f} %".replace("-0.0 %", "+0.0 %")


def on_control(control: Control | None) -> Verdict | None:
    """The verdict if the control of a host moved, so that nothing may be concluded."""
    if control is None or not control.moved:
        return None
    text = (
        f"the control workload, which the change cannot affect, changed by {signed(control.ratio)} (99 % interval"
        f" {signed(control.low)} to {signed(control.high)}; above 0 is better)"
    )
    return Verdict(INCONCLUSIVE, text, "control")


def some(names: Sequence[str], most: int = 5) -> str:
    """Up to ``most`` names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
