# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the comparisons say together: overall verdict, headline, evidence, and how it was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .._statistics.ranks import median
from .._statistics.verdict import (
    IMPROVED,
    INCONCLUSIVE,
    NO_DATA,
    NOT_COMPARABLE,
    REGRESSED,
    UNCHANGED,
    VERDICTS,
    Limits,
)
from .pair import Comparison

UNDECIDED = (INCONCLUSIVE, NOT_COMPARABLE, NO_DATA)
"""Of several that stand beside decided comparisons, the first one names the whole."""

FACT = {
    IMPROVED: "got better",
    REGRESSED: "got worse",
    UNCHANGED: "showed no material change",
    INCONCLUSIVE: "allowed no conclusion",
    NOT_COMPARABLE: "could not be compared",
    NO_DATA: "had no data",
}


def count(comparisons: Sequence[Comparison]) -> dict[str, int]:
    """How many comparisons have each verdict, without the controls."""
    counts = Counter(item.verdict for item in comparisons if not item.control)
    return {word: counts[word] for word in VERDICTS}


def overall(comparisons: Sequence[Comparison]) -> str:
    """REGRESSED if anything is; then the first of UNDECIDED that stands; then IMPROVED if anything is, or UNCHANGED.

    Controls never count. NO DATA without any comparison.
    """
    counts = count(comparisons)
    for word in (REGRESSED, *UNDECIDED, IMPROVED, UNCHANGED):
        if counts[word]:
            return word
    return NO_DATA


def overall_of_experiment(experiment: Mapping[str, Any], comparisons: Sequence[Comparison]) -> str:
    """IMPROVED where a level won; else UNCHANGED where all were decided, because the state found stays.

    Otherwise the first of UNDECIDED that stands, INCONCLUSIVE before the last step.
    """
    if experiment["winner"] is not None:
        return IMPROVED
    if not experiment["progress"]["complete"]:
        return INCONCLUSIVE if comparisons else NO_DATA
    counts = count(comparisons)
    return next((word for word in UNDECIDED if counts[word]), UNCHANGED)


def headline(verdict: str, comparisons: Sequence[Comparison], not_measured: int) -> str:
    """One sentence: the verdict, in how many comparisons, by how much."""
    counts, total = count(comparisons), sum(count(comparisons).values())
    if not total:
        return "No measurement of this change was found."
    subject = "The comparison" if total == 1 else f"{counts[verdict]} of {total} comparisons"
    sentence = f"{subject} {FACT[verdict]}"
    ratios = [
        item.estimate.ratio
        for item in comparisons
        if not item.control and item.verdict == verdict and item.estimate is not None
    ]
    if verdict in (IMPROVED, REGRESSED) and ratios:
        sentence += f", by {100.0 * abs(median(ratios) - 1.0):.1f} %{' in the median' if len(ratios) > 1 else ''}"
    warned = sum(bool(item.entry["warnings"]) for item in comparisons)
    others = [f"{number} {word}" for word, number in counts.items() if number and word != verdict]
    if warned:
        others.append(f"{warned} with warnings")
    if not_measured:
        others.append("1 host not measured" if not_measured == 1 else f"{not_measured} hosts not measured")
    return f"{sentence}; {', '.join(others)}." if others else f"{sentence}."


def evidence(comparisons: Sequence[Comparison]) -> tuple[str, str]:
    """(design, sentence) as the start times show it, whatever the protocol was called."""
    known = {item.alternates for item in comparisons if not item.control}
    if not known:
        return "unknown", "there is nothing to judge"
    if known == {True}:
        return "alternate", "the rounds of both states alternate, so that a drift falls on both alike"
    if known == {False}:
        return "blocks", "weaker evidence: the states were measured in blocks, and a drift would look like an effect"
    return "mixed", "weaker evidence: not every comparison has rounds of both states that alternate"


def method(limits: Limits) -> list[str]:
    """How the figures came about and what they cannot say."""
    return [
        "A round is several runs after a warm-up run that is thrown away; the median of its runs is one sample.",
        "The estimate is the Hodges-Lehmann ratio of the round medians, turned so that above 1 is better;"
        f" the interval ({limits.confidence_pct:.3g} %) is the Mann-Whitney test inverted, exact, ties by midranks.",
        f"Improved and regressed need an interval that leaves out 1 and an estimate beyond material"
        f" ({limits.material_pct:g} %, or one step of the clock where that is more);"
        " unchanged needs the whole interval within material.",
        f"Fewer than {limits.min_rounds} rounds a state, more than {limits.max_failed_pct:g} % failed runs or a control"
        " workload that moved by more than material leave the result inconclusive.",
        "One primary metric a workload decides; CPU costs are tested beside it with Holm's correction and only flag.",
        "CPU time per unit of work is a ratio of sums, less what the idle machine uses; ITR needs 5 % utilization.",
        "The tools send one message at a time: averages mean something, percentiles do not and are not shown.",
        "Failed runs stay failed; a missing value is never taken for 0.",
    ]
