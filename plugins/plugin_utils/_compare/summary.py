# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of all comparisons: overall verdict, headline, evidence and method."""

from collections import Counter
from collections.abc import Collection, Sequence

from .._experiment.outcomes import first_rows
from .._statistics.looks import LOOKS
from .._statistics.verdict import IMPROVED, INCONCLUSIVE, NO_DATA, NOT_COMPARABLE, UNCHANGED, VERDICTS, Limits
from .pair import OTHER_WORK, Comparison
from .shapes import Part, Row
from .wording import SEVERAL, gain

MOST = 3
"""More names than this make a headline unreadable."""

UNDECIDED = (INCONCLUSIVE, NOT_COMPARABLE, NO_DATA)
"""If several of these occur, the first one is the overall verdict."""

WHY = {
    "busy": "these hosts were too busy to tell",
    "rounds": "there are too few rounds to tell",
    "noise": "the rounds differ too much to tell",
    "control": "something else changed as well, because the control workload moved",
    "failed": "too many runs failed",
    "starts": "each state needs more starts of the machine",
    "coarse": "the figures are too coarse to tell",
    "stalls": "single rounds took far longer after the change",
    "lost": "too many hosts or comparisons have no result",
}
"""Why a result is INCONCLUSIVE, by its cause; ``busy`` is noise on hosts that had other work."""


def count(comparisons: Sequence[Comparison]) -> dict[str, int]:
    """How many comparisons have each verdict, without the controls."""
    counts = Counter(item.entry["verdict"] for item in comparisons if not item.entry["control"])
    return {word: counts[word] for word in VERDICTS}


def measured(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons with runs of both states, without the controls."""
    return [item for item in comparisons if not item.entry["control"] and item.entry["verdict"] != NO_DATA]


def overall_of_experiment(experiment: Part, rows: Sequence[Row]) -> str:
    """IMPROVED if a level won; otherwise UNCHANGED if all were decided, because the state found stays.

    Otherwise the first of UNDECIDED that the deciding rows have; INCONCLUSIVE before the last step.
    """
    if experiment["winner"] is not None:
        return IMPROVED
    words = {row["verdict"] for row in first_rows(rows).values()}
    if not experiment["progress"]["complete"]:
        return INCONCLUSIVE if words else NO_DATA
    return next((word for word in UNDECIDED if word in words), UNCHANGED)


def undecided(row: Row, comparisons: Sequence[Comparison]) -> str:
    """``Undecided: these hosts were too busy to tell``: the words of an INCONCLUSIVE row."""
    flags = [flag for item in comparisons for flag in item.entry["flags"]]
    cause = "busy" if row["cause"] == "noise" and any(OTHER_WORK in flag for flag in flags) else row["cause"]
    return f"Undecided: {WHY.get(cause, 'these data allow no conclusion')}"


def headline(
    rows: Sequence[Row], comparisons: Sequence[Comparison], not_measured: int, phases: Collection[str] = ()
) -> str:
    """What got worse, what was measured, the pooled result, and what does not fit; ``phases``: of all records."""
    if not rows:
        states = f"the two states was found, only of {', '.join(sorted(phases))}" if phases else "this change was found"
        return f"No measurement of {states}."
    first, counts = rows[0], count(comparisons)
    harm = [guard for guard in first["guards"] if guard.kind in ("worse", "groups", "lost", "fading")]
    kinds = {guard.kind for guard in harm}
    more = [f"{len(harm) - MOST} more got worse"] if len(harm) > MOST else []
    others = []
    if first["verdict"] in (IMPROVED, UNCHANGED):
        others = [f"but {guard.rstrip('.')}" for guard in first["guards"] if guard.kind == "tail"]
    told = {guard.name for guard in harm[:MOST]}
    apart = [item for item in first["deviations"] if item["name"] not in told]
    others += [f"{item['name']} differs: {gain(item['ratio'])} than the others" for item in apart[:MOST]]
    if len(apart) > MOST:
        others.append(f"{len(apart) - MOST} more differ")
    if SEVERAL in first["flags"] and "groups" not in kinds:
        others.append(SEVERAL.rstrip("."))
    turned = sum(counts[word] for word in (NOT_COMPARABLE, NO_DATA))
    if turned:
        others.append(f"{turned} of {sum(counts.values())} comparisons have no usable data")
    if first["warnings"]:
        others.append("with warnings")
    if not_measured:
        others.append("1 host not measured" if not_measured == 1 else f"{not_measured} hosts not measured")
    result = f"{subject(first)}: {first['reason'].rstrip('.')}"
    if first["verdict"] == INCONCLUSIVE:
        differ = first["cause"] == "noise" and kinds & {"worse", "groups"}
        result = (
            "Undecided on the whole, because the effect differs between hosts"
            if differ
            else undecided(first, comparisons)
        )
    urgent = [*(guard.rstrip(".") for guard in harm[:MOST]), *more]
    return "".join(f"{'; '.join(parts)}. " for parts in (urgent, [result, *others]) if parts).rstrip()


def subject(row: Row) -> str:
    """``All 7 workloads of app1``."""
    what = "The workload" if row["workloads"] == 1 else f"All {row['workloads']} workloads"
    if row["host"] is None:
        return f"{what if row['workloads'] == 1 else 'All workloads'} of {row['hosts']} hosts"
    return f"{what} of {row['host']}"


def evidence(comparisons: Sequence[Comparison]) -> tuple[str, str]:
    """(design, sentence) as the start times show it, whatever the name of the protocol."""
    known = {item.line.alternates for item in measured(comparisons)}
    if not known:
        return "unknown", "there are no comparisons of two states"
    if known == {None}:
        return "unknown", "weaker evidence: the order of the rounds is unknown: a drift would look like an effect"
    if known == {True}:
        return "alternate", "the rounds of both states alternate, so a drift is taken out"
    if known == {False}:
        return (
            "blocks",
            "weaker evidence: measured in blocks, or not in the drawn order: a drift would look like an effect",
        )
    return "mixed", "weaker evidence: the rounds of both states alternate only in some comparisons"


def method(limits: Limits) -> list[str]:
    """How the figures are calculated, and their limits."""
    return [
        "A round has several runs after a warm-up run that is not counted; the median of its runs is one sample.",
        "The value of a round is the geometric mean over its workloads; one pooled row per host, and one for all hosts,"
        " decides. Every figure is a gain: above 0 is better.",
        "A slow drift is taken out: the median of the slopes between rounds of the same state (Theil and Sen).",
        "The estimate is the Hodges-Lehmann ratio of the states.",
        "The interval inverts the exact Mann-Whitney test, with midranks for ties. Its level depends on the number of"
        " rounds, so that verdicts stay right although the measurement may stop after 6, 8, 10, 12, 16,"
        " 24 or 32 rounds per state.",
        "Six or more hosts with their own orders are judged by their estimates (t for 6 to 9, signed ranks for more),"
        " fewer by their rounds. A state that was reached by a restart counts its restarts.",
        "If nothing changed, at most 3 of 100 measurements of up to 16 rounds per state say improved or regressed, and"
        " about 3.5 of 100 of up to 32. Both need an interval that"
        f" excludes 0 and an estimate beyond the material limit ({limits.material_pct:g} %) and one step of the"
        " figures; unchanged needs the whole interval, widened by one step, within that limit.",
        f"A result is inconclusive with fewer than {LOOKS[0].rounds} rounds per state, if the 99 % interval of the"
        " control excludes 0 and it changed by more than the material limit, and if half of the comparisons are turned"
        f" away: no data, states that differ, a tuning that was not in force, more than"
        f" {limits.max_failed_pct:g} % failed runs.",
        "A workload or a host is named if it differs from the others by more than the material limit (after Holm's"
        " correction). One primary metric per workload decides; CPU costs are tested separately and decide nothing.",
        "CPU time per unit of work is a ratio of sums, minus the CPU time of the idle machine. Utilization is that of"
        " all CPUs; of a shared AIX partition, that of its virtual processors, not of its entitlement. ITR needs 5 %"
        " utilization.",
        "Without a rate, the tools send one message at a time: long round trips are those of this loop, not response"
        " times under a given load. If they surely got longer, that is a guard.",
        "Failed runs count as failed; a missing value never counts as 0.",
    ]
