# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of a batch: the report on its own measurement before and after the change, with the limits of the rollout.

There is one judge. A batch stops for what the deciding row of that report says, in its words: REGRESSED, or a guard
(a host or a workload that got worse, failed runs, TCP retransmits, long round trips, stalls, CPU cost). What the report
calls chance is noted, and so is INCONCLUSIVE, unless too many runs failed only after the change.

A batch also stops if its measurement proves nothing: no state can be compared, a state has no usable run, or there are
fewer rounds after the change than before.

The states are measured in blocks, so a drift looks like an effect. Where the rounds of a state resemble the ones before
them, times that got worse are noted and stop nothing; the plan says so before the start.

Recorded tunings are not looked at: whether the values are in force is the question of another gate, and a host where
nothing had to be changed is measured like the others.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from .._compare.comparing import Options, compare_change
from .._compare.shapes import Comparison, Row
from .._compare.summary import subject
from .._pages.text import listed, one_line, plural, shorten
from .._records.grouping import grouped
from .._records.record_files import Loaded, file_slug, load_change
from .._records.round import SIDES, Round
from .._statistics.looks import LOOKS, PHASES
from .._statistics.ranks import short
from .._statistics.verdict import INCONCLUSIVE, NO_DATA, NOT_COMPARABLE, REGRESSED
from . import checking

LONGEST_NAME = 80
LONGEST = 500
MOST_PROBLEMS = 5
MOST_NAMED = 3
SLOWER = ("worse", "groups")
"""The kinds of guards about times."""
DRIFT = "not counted, because the rounds of each state drift, and in blocks a drift looks like an effect"
RESEMBLING, FAR = 1.6, 3.0
"""Where a drift may explain what looks like an effect, on the mean of the comparisons: von Neumann's ratio, which is 2
for independent rounds, is below this one, and the change is not as many times larger as what a state's rounds cover.
Twice as many times on a single comparison prove harm, too.

Simulated for this collection (400 batches a cell, 1 host): waves of 10 % over 24 or 48 rounds stop 0 to 4 % instead of
19 to 43 %, AR(1) 0.9 with 5 % 4 % instead of 8 to 33 %. Of 4 workloads one that gets 10 % slower is found in 9 of 10
batches, of one workload 10 % in 3 of 4 and 20 % in 5 of 6; without this rule in all.
"""


def judge(results: Path | str, change: str, hosts: Sequence[str], limits: checking.PlannedGuard) -> checking.GuardState:
    """What the guard says of a batch with these hosts, whose change this is; it is good if there are no ``sentences``.

    ``limits``: of the plan. ValueError for a change that is not a slug.
    """
    given: dict[str, Any] = {name: value for name, value in limits.items() if name != "workloads"}
    options = Options(max_runs=0, **given)
    report = str(Path(results) / change / "report.html")
    try:
        loaded = load_change(results, change)
    except OSError as error:
        sentence = f"The records of {change} below {results} cannot be read: {one_line(error.strerror or error)}."
        return {"change": change, "report": report, "sentences": [sentence], "notes": [], "comparisons": []}
    return {**judge_records(loaded, hosts, options), "report": report}


def judge_records(loaded: Loaded, hosts: Sequence[str], options: Options) -> checking.GuardState:
    """As :func:`judge`, for records that are loaded already."""
    wanted = set(hosts)
    records = [item for item in loaded.records if item.host in wanted]
    report = compare_change(replace(loaded, records=records, tunings=[]), options=options)
    rounds = Counter(map(_state, records))
    resent = {_state(item) for item in records if item.retransmits is not None}
    rows, comparisons = report["pooled"], report["comparisons"]
    notes = [(subject(row), f"INCONCLUSIVE: {row['reason']}") for row in rows if row["verdict"] == INCONCLUSIVE]
    slower, sentences = _reasons(rows, comparisons, options)
    if _drifts([entry for entry in comparisons if not entry["control"]]):
        notes += [(text.rstrip("."), DRIFT) for text in slower]
    else:
        sentences = [*slower, *sentences]
    for entry in comparisons:
        states = [(entry["host"], entry["peer"], entry["workload"], phase) for phase in PHASES]
        sentences += [f"{_where(entry)}: {text}" for text in _proves_nothing(entry, *map(rounds.__getitem__, states))]
        notes += [(_where(entry), text) for text in _unknown(entry, resent.issuperset(states))]
    sentences += _not_measured(loaded, hosts, comparisons, notes)
    others = sorted({item.host for item in loaded.records} - wanted)
    if others:
        notes.append((listed(others, MOST_NAMED), "not of this batch; these records were ignored."))
    notes += [(subject(row), text) for row in rows[:1] for text in row["flags"]]
    more = len(loaded.problems) - MOST_PROBLEMS
    told = grouped(((_text(where), text) for where, text in notes), _text)
    return {
        "change": loaded.change,
        "report": "",
        "sentences": [*map(_text, sentences)],
        "notes": [
            *(_text(f"{listed(dict.fromkeys(group.members), MOST_NAMED)}: {group.item}") for group in told),
            *map(one_line, loaded.problems[:MOST_PROBLEMS]),
            *([f"And {plural(more, 'more problem')} in the report."] if more > 0 else []),
        ],
        "comparisons": [_item(entry) for entry in comparisons if not entry["control"]],
    }


def _state(item: Round) -> tuple[str, str, str, str]:
    return item.host, item.peer, item.workload.name, item.phase


def _reasons(rows: Sequence[Row], comparisons: Sequence[Comparison], options: Options) -> tuple[list[str], list[str]]:
    """What the deciding row says of times that got worse (rows of hosts say where) and of other harm."""
    if not rows:
        return [], []
    first = rows[0]
    slower = [f"{subject(row)}: {row['reason']}" for row in rows if row["verdict"] == first["verdict"] == REGRESSED]
    slower += [text for text in first["guards"] if text.kind in SLOWER]
    other: list[str] = [text for text in first["guards"] if text.kind not in SLOWER]
    failed = [
        tuple(100 * state["failed_runs"] > options.max_failed_pct * state["runs"] for state in states)
        for states in ((entry["before"], entry["after"]) for entry in comparisons if entry["verdict"] == INCONCLUSIVE)
    ]
    if first["cause"] in ("failed", "lost") and (False, True) in failed:
        other.append(f"{subject(first)}: {first['reason']}")
    return slower, other


def _drifts(comparisons: Iterable[Comparison]) -> bool:
    """Whether the rounds of a state resemble the ones before them, and nothing got far worse than they explain."""
    ratios, worse, spans = [], [], []
    for entry in comparisons:
        states = entry["before"], entry["after"]
        series = [[math.log(value) for value in state["round_medians"] if value > 0.0] for state in states]
        if entry["ratio"] and all(series):
            worse.append(-math.log(entry["ratio"]))
            spans.append(max(max(logs) - min(logs) for logs in series))
        for logs in series:
            squares = math.fsum((log - fmean(logs)) ** 2 for log in logs)
            if squares:
                ratios.append(math.fsum((later - log) ** 2 for log, later in pairwise(logs)) / squares)
    if math.fsum(worse) > FAR * math.fsum(spans) or any(
        more > 2.0 * FAR * span for more, span in zip(worse, spans, strict=True)
    ):
        return False
    return bool(ratios) and fmean(ratios) < RESEMBLING


def _proves_nothing(entry: Comparison, before: int, after: int) -> Iterator[str]:
    """Why a comparison does not count; ``before``, ``after``: its rounds."""
    if not entry["control"] and entry["verdict"] == NO_DATA:
        yield f"{entry['reason'].rstrip('.')}: without it the guard proves nothing."
        return
    if not entry["control"] and entry["verdict"] == NOT_COMPARABLE:
        yield f"the measurement after cannot be compared: {entry['reason']}"
    if after < before:
        yield (
            f"{plural(after, 'round')} after the change, {before} before: the measurement did not come to an end, so it"
            " proves nothing."
        )


def _unknown(entry: Comparison, resent: bool) -> Iterator[str]:
    """What a comparison cannot say; ``resent``: both states know their retransmits."""
    if entry["control"] or entry["verdict"] == NO_DATA:
        return
    judged = {cost["metric"] for cost in entry["secondary"] if cost["ratio"] is not None}
    for end in [""] if entry["kpi"]["shared_kernel"] else [f"_{side}" for side in SIDES]:
        if f"cpu_us_per_unit{end}" not in judged:
            yield (
                f"the CPU cost of the {end[1:] or 'machine'} is not judged: both states need the CPU time of"
                f" {LOOKS[0].rounds} comparable rounds."
            )
    if not resent:
        yield "TCP retransmits are not judged, because a state does not know them."


def _not_measured(
    loaded: Loaded, hosts: Sequence[str], comparisons: Sequence[Comparison], notes: list[tuple[str, str]]
) -> Iterator[str]:
    """A batch or a host without any comparison; a host at the other end of one is measured, too."""
    ends = [(item["host"], item["peer"]) for item in comparisons if not item["control"]]
    if not ends:
        yield (
            f"No measurement of {loaded.change} can be used, so the guard has nothing to judge: set measure_peer of a"
            " host of this batch, or rollout_guard to false."
        )
    clients, servers = ({both[index] for both in ends} for index in range(2))
    for host in sorted(set(hosts) - clients):
        slug = file_slug(host)
        if any(problem.startswith((f"{slug}/", f"{slug}:")) for problem in loaded.problems):
            yield f"{_name(host)}: none of its records can be used: see the notes."
        elif host not in servers:
            notes.append(
                (_name(host), "no records, so the guard says nothing about it; with a measure_peer it is measured.")
            )


def _item(entry: Comparison) -> checking.Comparison:
    """A comparison for the state file; ``effect_pct`` as in the report: above 0 is better. Missing values are None."""
    return {
        "host": _name(entry["host"]),
        "peer": _name(entry["peer"]),
        "workload": _name(entry["workload"]),
        "metric": _name(entry["metric"]),
        "unit": _name(entry["unit"]),
        "verdict": entry["verdict"],
        "effect_pct": None if entry["ratio"] is None else short(100.0 * (entry["ratio"] - 1.0)),
        "before": entry["before"]["median"],
        "after": entry["after"]["median"],
    }


def _where(entry: Comparison) -> str:
    return f"{_name(entry['host'])} → {_name(entry['peer'])}, {_name(entry['workload'])}"


def _name(text: str) -> str:
    """A name out of a record: anybody may have written it."""
    return shorten(one_line(text), LONGEST_NAME)


def _text(text: str) -> str:
    """A sentence that may have names out of records."""
    return shorten(one_line(text), LONGEST)
