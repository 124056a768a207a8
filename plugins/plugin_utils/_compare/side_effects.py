# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards of a pooled row over all rounds of its hosts: stalls, lost hosts, failed runs, retransmits and CPU cost.

There is one test for the row, so that many comparisons do not make a false warning more likely.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from .._records.grouping import by_key
from .._records.round import Round
from .._statistics import gates
from .._statistics.looks import AFTER, BEFORE, LOOKS, PHASES
from .._statistics.ranks import hodges_lehmann_ratio, mann_whitney, median
from .._statistics.verdict import IMPROVED, INCONCLUSIVE, UNCHANGED, Verdict, beyond
from . import pooled
from .pair import Comparison
from .pooled import Line, Slot
from .shapes import Guard
from .wording import gain, some

FEWEST_STALLS = 2
"""One stall is chance."""
RETRANSMITS_TIMES = 2.0
RETRANSMITS_MORE = 5
"""A few retransmits on a whole host are chance: the guard needs twice as many per run, and 5 more."""

Hosts = Mapping[str, Sequence[Comparison]]
"""The comparisons of each host, without controls."""


def with_stalls(
    verdict: Verdict, lines: Sequence[Line], contrasts: int, most: int = 0
) -> tuple[Verdict, list[Guard], list[str]]:
    """The verdict, guards and flags: whether single rounds after the change took far longer than all others.

    Of several hosts, the rounds that ran at the same time count once, because what they share stalls them together.
    ``most``: the declared rounds per state; before them, UNCHANGED with more stalls after the change is not decided.
    """
    moments: dict[int, list[tuple[str, bool]]] = {}
    for line in lines:
        readings = pooled.levelled(line)
        for place, slow in enumerate(gates.stalled([value for _state, value in readings]) if readings else ()):
            moments.setdefault(place, []).append((readings[place][0], slow))
    votes = [sum((state == AFTER) - (state == BEFORE) for state, slow in rounds if slow) for rounds in moments.values()]
    before, after = sum(vote < 0 for vote in votes), sum(vote > 0 for vote in votes)
    rounds = min((pooled.fewest(line) for line in lines), default=0)
    if not any(slow for found in moments.values() for _state, slow in found):
        most = 100.0 * (1.0 - 0.05 ** (1.0 / max(1, rounds)))
        text = f"no round stalled in {rounds} rounds per state: up to {most:.0f} % of the rounds could stall unseen."
        return verdict, [], [text] if verdict.word == UNCHANGED else []
    if after <= before:
        return verdict, [], []
    if len(lines) == 1:
        states = [state for state, _value in lines[0].readings]
        p = gates.more_after((before, after), (states.count(BEFORE), states.count(AFTER)))
    else:
        p = sum(math.comb(before + after, k) for k in range(after, before + after + 1)) / 2.0 ** (before + after)
    what = ("round" if len(lines) == 1 else "moment") + "s" * (after > 1)
    told = f"{after} {what} after the change took over twice as long as usual, and {before or 'none'} before"
    told += f" (by chance in {100.0 * p:.2g} of 100)"
    if verdict.word == UNCHANGED and rounds < most:
        told += f"; otherwise, after {rounds} of {most} rounds, {verdict.reason}"
        return Verdict(INCONCLUSIVE, told, "stalls"), [], []
    shared = len(lines) > 1 and p <= gates.HARM_P / contrasts
    if not shared and (after < FEWEST_STALLS or before):
        return verdict, [], [f"{told}."]
    if verdict.word == UNCHANGED:
        return Verdict(INCONCLUSIVE, f"{told}; otherwise {verdict.reason}", "stalls"), [], []
    return verdict, [Guard(f"{told}.")], []


def fading(word: str, lines: Sequence[Line], contrasts: int) -> list[Guard]:
    """A guard if less than half of the gain is left in the second half of the rounds."""
    known = [pooled.levelled(line) for line in pooled.merged(lines) if line.alternates and line.starts is None]
    if word != IMPROVED or not known:
        return []
    first, second, p = gates.fading(known)
    if p > gates.HARM_P / contrasts or math.log(second) > math.log(first) / 2.0:
        return []
    halves = f"{gain(first)} in the first half of the rounds, {gain(second)} in the second"
    return [Guard.of("fading", f"the gain does not last: {halves}.")]


def lost(hosts: Hosts) -> list[Guard]:
    """A guard that names the hosts that have rounds before the change and none after."""
    gone = [
        host
        for host, comparisons in hosts.items()
        if all(item.entry["before"]["rounds"] and not item.entry["after"]["rounds"] for item in comparisons)
    ]
    verb = "has" if len(gone) == 1 else "have"
    return [Guard.of("lost", f"{some(gone)} {verb} rounds before the change and none after.")] if gone else []


def failures(hosts: Hosts, contrasts: int) -> tuple[list[Guard], list[str]]:
    """(guards, flags): rounds in which a run failed, counted per host; the counts are told in any case.

    A round counts once, because its runs fail together.
    """
    counts = {host: _failed_rounds(comparisons) for host, comparisons in hosts.items()}
    failed, rounds = (
        (sum(count[which][0] for count in counts.values()), sum(count[which][1] for count in counts.values()))
        for which in (0, 1)
    )
    if not any(failed):
        return [], []
    told = (
        f"a run failed in {failed[1]} of {rounds[1]} rounds after the change and in {failed[0]} of {rounds[0]} before"
    )
    ps = {host: gates.more_after(*count) for host, count in counts.items()}
    named = gates.sure(ps, gates.FALSE_HARM)
    if gates.more_after(failed, rounds) <= gates.HARM_P / contrasts or (named and len(hosts) > 1):
        where = f", beyond chance on {some(named)}" if named and len(hosts) > 1 else ""
        return [Guard(f"errors: {told}{where}.")], []
    return [], [f"{told}; that may be chance."]


def _failed_rounds(comparisons: Sequence[Comparison]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Rounds before and after in which a run failed, and all of them."""
    slots: dict[Slot, bool] = {}
    for item in comparisons:
        for one in item.everything:
            slots[one.slot] = slots.get(one.slot, False) or bool(one.failed)
    states = [[failed for (state, _number), failed in slots.items() if state == wanted] for wanted in PHASES]
    return (sum(states[0]), sum(states[1])), (len(states[0]), len(states[1]))


def resent(hosts: Hosts, contrasts: int) -> tuple[list[Guard], list[str]]:
    """(guards, flags): TCP retransmits that rose, by a rank test over the rounds of all workloads together.

    Simulated for this collection (120 to 1,000 experiments a cell, 1 to 70 comparisons, also in bursts): 0.02 to 1
    retransmits per run in both states warn in 0 to 1.7 %. The totals of each comparison alone warned in up to 100 %.
    """
    rounds = {host: [item for found in comparisons for item in found.rounds] for host, comparisons in hosts.items()}
    told, p = _resent([item for found in rounds.values() for item in found])
    sure = gates.sure({host: _resent(found)[1] for host, found in rounds.items()}, gates.FALSE_HARM)
    named = sure if len(hosts) > 1 else []
    if told and p <= gates.HARM_P / contrasts:
        return [Guard(f"{told}{f', beyond chance on {some(named)}' if named else ''}.")], []
    if named:
        return [Guard(f"TCP retransmits rose on {some(named)}.")], []
    return [], [f"{told}; that may be chance."] if told else []


def _resent(rounds: Sequence[Round]) -> tuple[str, float]:
    """What to say if there are twice as many TCP retransmits per run after the change, and some more; one-sided p."""
    slots = by_key((item.slot, item) for item in rounds if item.retransmits is not None)
    sums: dict[str, list[tuple[float, int]]] = {state: [] for state in PHASES}
    for (state, _number), found in slots.items():
        count = sum(item.retransmits or 0.0 for item in found)
        sums[state].append((count, sum(item.retransmit_runs for item in found)))
    before, after = (sum(count for count, _runs in known) for known in sums.values())
    runs_before, runs_after = (sum(runs for _count, runs in known) for known in sums.values())
    expected = before * runs_after / max(1, runs_before)
    if not runs_before or after <= RETRANSMITS_TIMES * expected or after < expected + RETRANSMITS_MORE:
        return "", 1.0
    told = f"TCP retransmits rose from {before:.0f} in {runs_before} runs to {after:.0f} in {runs_after}"
    return told, gates.p_of_more(*([count / runs for count, runs in known] for known in sums.values()))


def dearer(hosts: Hosts, contrasts: int, material: float) -> list[Guard]:
    """A guard for each end on which a unit of work costs more CPU time, on the mean of the hosts or on some of them."""
    work = {item.entry["unit_of_work"] for comparisons in hosts.values() for item in comparisons}
    unit = work.pop() if len(work) == 1 else "unit of work"
    logs: dict[str, dict[str, dict[Slot, float]]] = {}
    for host, comparisons in hosts.items():
        for end in dict.fromkeys(end for item in comparisons for end in item.costs):
            known = [item.costs[end] for item in comparisons if end in item.costs]
            means = _means({slot: math.log(cost) for slot, cost in costs.items()} for costs in known)
            logs.setdefault(end, {})[host] = means
    tests = {(end, host): _tested(means) for end, found in logs.items() for host, means in found.items()}
    tested = {key: both for key, both in tests.items() if both}
    sure = gates.sure({key: p for key, (_ratio, p) in tested.items()}, gates.FALSE_HARM)
    sentences = []
    for end, found in logs.items():
        middles = {host: median([*logs.values()]) if logs else 0.0 for host, logs in found.items()}
        around_zero = [{slot: log - middles[host] for slot, log in logs.items()} for host, logs in found.items()]
        ratio, p = _tested(_means(around_zero)) or (1.0, 1.0)
        where = [host for its, host in sure if its == end and beyond(tested[end, host][0], material)]
        text = f"one {unit} costs more CPU time on the {end}"
        if p <= gates.HARM_P / contrasts and beyond(ratio, material):
            sentences.append(f"{text}{' of all hosts together' if len(hosts) > 1 else ''}: {gain(ratio)}.")
        elif where and len(hosts) > 1:
            sentences.append(f"{text} of {some(where)}.")
    return [*map(Guard, sentences)]


def _tested(logs: Mapping[Slot, float]) -> tuple[float, float] | None:
    """The ratio of the costs (above 1 is better), and the one-sided p of a higher cost; None for too few rounds."""
    found, tuned = ([math.exp(log) for (state, _number), log in logs.items() if state == wanted] for wanted in PHASES)
    if min(len(found), len(tuned)) < LOOKS[0].rounds:
        return None
    ratio = hodges_lehmann_ratio(tuned, found)
    return ratio, mann_whitney(found, tuned)[1] / 2.0 if ratio < 1.0 else 1.0


def _means(series: Iterable[Mapping[Slot, float]]) -> dict[Slot, float]:
    """The mean of each round that all series have."""
    known = list(series)
    return {slot: fmean([logs[slot] for logs in known]) for slot in known[0] if all(slot in logs for logs in known)}
