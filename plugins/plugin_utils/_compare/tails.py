# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A guard of the pooled rows: whether the long round trips of single hosts got longer, which an average hides.

A tool that reports each round trip has three series: the 99th and the 99.9th percentile of each round, and the share of
its round trips over twice the latter of all round trips before. Other tools report only the longest round trip of a
run.

Simulated for this collection (600 to 1,500 experiments a cell, 6 and 16 rounds of 10,000 round trips, three kinds of
tails): without a change the share is told in 0 to 0.8 %, at p <= .01 and 1.5 times as many in up to 1.3 %.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, takewhile
from statistics import fmean

from ...module_utils._measure.net import histogram
from .._records.round import Round
from .._statistics import gates
from .._statistics.gates import Tail
from .._statistics.looks import AFTER, BEFORE, PHASES
from .._statistics.ranks import median
from . import pooled
from .pair import Comparison
from .pooled import Line, Slot
from .shapes import Guard
from .wording import some

ROUND_TRIP = "round trip"
BEYOND = 10
"""A percentile needs as many round trips beyond it: 1,000 in all for the 99th."""
SLOW, SLOWEST = 0.99, 0.999
FEWEST_OVER = 5
OVER_TIMES, OVER_P = 2.0, 0.005
"""Few round trips are over, so their number varies more than a percentile does."""

PERCENTILES = {
    "1 of 100 round trips takes {:.1f} times as long": SLOW,
    "1 of 1,000 round trips takes {:.1f} times as long": SLOWEST,
}
OVER = "{:.2g} of 1,000 round trips take over twice as long as 999 of 1,000 took before"
LONGEST = "the longest round trip of a run takes {:.1f} times as long"
KINDS = (*PERCENTILES, OVER, LONGEST)
"""What is said of each series, the most telling first; a host is named once."""

Counts = dict[int, int]
"""Round trips by bin, in the order of the bins."""
Told = Mapping[tuple[str, str], Mapping[Slot, Counts]]
"""The round trips of each peer and workload, by state and round."""

bins: Callable[[list[str]], Counts] = histogram.bins


def of_host(line: Line, usable: Sequence[Comparison]) -> dict[str, Tail]:
    """The series of a host by kind, from its usable comparisons; ``line``: their pooled rounds."""
    rounds = [item for comparison in usable for item in comparison.rounds]
    told: dict[tuple[str, str], dict[Slot, Counts]] = {}
    for item in rounds:
        if item.histogram:
            told.setdefault(_workload(item), {})[item.slot] = bins([item.histogram])

    def at(share: float) -> Callable[[Round], float | None]:
        return lambda item: _percentile(told.get(_workload(item), {}).get(item.slot, {}), share)

    series = {kind: at(share) for kind, share in PERCENTILES.items() if told}
    series[LONGEST] = lambda item: None if _workload(item) in told else item.longest
    found = {}
    for kind, value in series.items():
        before, after = pooled.sides(pooled.line(line.host, rounds, value))
        if before and after:
            found[kind] = gates.longer(before, after)
    return {**found, **_over(line, told)}


def unseen(usable: Sequence[Comparison]) -> list[str]:
    """A flag if records of round trips have no single ones: then long ones do not show."""
    timed = [item for item in usable if any(one.workload.unit == ROUND_TRIP for one in item.rounds)]
    names = {item.entry["workload"]: None for item in timed if not all(one.histogram for one in item.rounds)}
    where = f" of {some([*names])}" if len(names) < len({item.entry["workload"] for item in timed}) else ""
    return [f"the tool does not tell single round trips{where}: if some got longer, it does not show."] if names else []


def guards(hosts: Mapping[str, Mapping[str, Tail]]) -> list[Guard]:
    """One per kind that rose on some of these hosts; of many hosts, a few reach any level by chance."""
    found: list[Guard] = []
    named: set[str] = set()
    for kind in KINDS:
        known = {name: tails[kind] for name, tails in hosts.items() if kind in tails}
        sure = gates.sure({name: tail.p for name, tail in known.items()}, gates.FALSE_HARM)
        names = [name for name in sure if known[name].sure and name not in named]
        if names:
            where = f" on {len(names)} of {len(hosts)} hosts ({some(names)})" if len(hosts) > 1 else ""
            told = kind.format(median([known[name].figure for name in names]))
            found.append(Guard.of("tail", f"{told}{where}."))
        named.update(names)
    return found


def _workload(item: Round) -> tuple[str, str]:
    return item.peer, item.workload.name


def _percentile(counts: Counts, share: float) -> float | None:
    """None for too few round trips. Within a bin, which is 1 % wide, they count as evenly spread."""
    numbers, upto = list(counts), [*accumulate(counts.values())]
    if not upto or upto[-1] * (1.0 - share) < BEYOND - 1e-6:
        return None
    wanted = share * upto[-1]
    place = bisect_left(upto, wanted)
    above = (upto[place] - wanted) / counts[numbers[place]]
    return float(histogram.WIDTH ** (numbers[place] + 1.0 - above))


def _over(line: Line, told: Told) -> dict[str, Tail]:
    """The share of the round trips over the limit of their workload, in the rounds that tell those of all workloads."""
    over: dict[Slot, list[tuple[int, int]]] = {}
    for series in told.values():
        before: Counter[int] = Counter()
        for (state, _number), counts in series.items():
            if state == BEFORE:
                before.update(counts)
        usual = _percentile(dict(sorted(before.items())), SLOWEST)
        if usual is not None:
            limit = math.log(OVER_TIMES * usual, histogram.WIDTH)
            for slot, counts in series.items():
                places = takewhile(limit.__le__, reversed(counts))
                over.setdefault(slot, []).append((sum(counts[place] for place in places), sum(counts.values())))
    workloads = max(map(len, over.values()), default=0)
    shares: dict[str, list[float]] = {state: [] for state in PHASES}
    after = 0
    for slot in line.slots:
        found = over.get(slot, [])
        trips = sum(count for _above, count in found)
        if trips and len(found) == workloads:
            above = sum(count for count, _trips in found)
            shares[slot[0]].append(above / trips)
            after += above if slot[0] == AFTER else 0
    if after < FEWEST_OVER or not all(shares.values()):
        return {}
    old, new = (fmean(shares[state]) for state in PHASES)
    p = gates.p_of_more(shares[BEFORE], shares[AFTER])
    return {OVER: Tail(1000.0 * new, p, p <= OVER_P and new >= OVER_TIMES * old)}
