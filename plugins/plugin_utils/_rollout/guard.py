# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of a batch: its own measurement before and after the change, and the reasons to stop that lie in it.

All verdicts, estimates and levels are those of the report; nothing is calculated in another way here. A batch stops if

- a pooled row (the batch, or a host) is REGRESSED;
- a single comparison is REGRESSED, beyond chance among all of the batch (Benjamini and Hochberg, 5 %);
- a unit of work costs more CPU time on an end: the estimate is beyond the bound, p < 0.05 after Holm's correction,
  and beyond chance among all of the batch;
- more runs failed after the change than before;
- TCP retransmits of a comparison rose (errors and drops of interfaces are not part of a record);
- the states cannot be compared (another kernel, another peer), or a state has no usable run;
- there are fewer rounds after the change than before: a measurement that did not come to an end proves nothing.

INCONCLUSIVE stops nothing and is noted. So is what chance explains. With 6 rounds per state, a single comparison stops
a batch of up to 23 comparisons, and all CPU costs of one host stop one of up to 11 hosts.

The deviations of the report are not used: they take out a slope, which in blocks (all before, then all after) makes
them name one of 4 workloads of a host in 16 % of the cases by chance (2 % noise, 400 tries).

With nothing changed, 6 rounds in blocks and 2 to 5 % noise, the guard stops 0 to 3 % of the batches of 4, 20 or 70
comparisons, and 1, 8 and 14 % of them if a round resembles the one before it (AR(1) 0.8); 100 tries each. It cannot
tell a drift from an effect. docs/verdicts.md has the table.

Recorded tunings are not looked at: whether the values are in force is the question of another gate, and a host where
nothing had to be changed is measured like the others.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from .._compare.comparing import Options, compare_change
from .._compare.cpu_cost import SECONDARY_P
from .._compare.flags import RETRANSMITS_MORE, RETRANSMITS_TIMES, States, retransmits, retransmitted
from .._compare.shapes import Comparison, Finding, Part, Row
from .._compare.summary import subject
from .._compare.wording import certainty, gain, signed
from .._pages.text import listed, one_line, plural, shorten
from .._records.grouping import grouped
from .._records.record_files import Loaded, file_slug, load_change
from .._records.round import SIDES, Round
from .._statistics.looks import PHASES
from .._statistics.ranks import short
from .._statistics.verdict import INCONCLUSIVE, NO_DATA, NOT_COMPARABLE, REGRESSED, beyond
from . import checking

FALSE_NAMES = 0.05
LONGEST_NAME = 80
LONGEST_ERROR = 160
MOST_PROBLEMS = 5
MOST_NAMED = 3


class _Tested(NamedTuple):
    """One test of a comparison; ``worse``: the sentence if it found something that stops the batch, else empty."""

    where: str
    p: float
    worse: str


def judge(
    results: Path | str,
    change: str,
    hosts: Sequence[str],
    cpu_pct: float,
    material_pct: float = 5.0,
    expected_change: Sequence[str] = (),
) -> checking.GuardState:
    """What the guard says of a batch with these hosts, whose change this is; it is good if there are no ``sentences``.

    ``cpu_pct``: by how much a unit of work may cost more CPU time; the others as for the report. ValueError for a
    change that is no slug.
    """
    options = Options(material_pct=material_pct, expected_change=expected_change, max_runs=0)
    report = str(Path(results) / change / "report.html")
    try:
        loaded = load_change(results, change)
    except OSError as error:
        sentence = f"The records of {change} below {results} cannot be read: {one_line(error.strerror or error)}."
        return {"change": change, "report": report, "sentences": [sentence], "notes": [], "comparisons": []}
    return {**judge_records(loaded, hosts, cpu_pct, options), "report": report}


def judge_records(loaded: Loaded, hosts: Sequence[str], cpu_pct: float, options: Options) -> checking.GuardState:
    """As :func:`judge`, for records that are loaded already."""
    wanted = set(hosts)
    records = [item for item in loaded.records if item.host in wanted]
    report = compare_change(replace(loaded, records=records, tunings=[]), options=options)
    notes: list[tuple[str, str]] = []
    sentences: list[str] = []
    comparisons: list[checking.Comparison] = []
    for row in report["pooled"]:
        if row["verdict"] == REGRESSED:
            limit = f"the material limit of {row['material_pct']:g} %"
            sentences.append(f"{_subject(row)}: {gain(row['ratio'] or 1.0)}{_interval(row)}, more than {limit}.")
        if row["verdict"] == INCONCLUSIVE:
            notes.append((_subject(row), f"INCONCLUSIVE: {row['reason']}"))
    states = _states(records)
    workloads = [entry for entry in report["comparisons"] if not entry["control"]]
    found = {_where(entry): list[str]() for entry in report["comparisons"]}
    regressions = [item for entry in workloads for item in _regression(entry)]
    costs = [item for entry in workloads for item in _costs(entry, cpu_pct / 100.0)]
    for item in _sure(regressions, "REGRESSED by itself, which may be chance in so many comparisons.", notes):
        found[item.where].append(item.worse)
    for item in _sure(costs, "a CPU cost is over the bound by itself, which may be chance in so many.", notes):
        found[item.where].append(item.worse)
    for entry in report["comparisons"]:
        rounds = states[entry["host"], entry["peer"], entry["workload"]]
        stops = found[_where(entry)]
        stops += _of_comparison(entry, rounds)
        sentences += stops
        if not entry["control"]:
            comparisons.append(_item(entry, rounds))
            for text in _unknown(entry, rounds) if entry["verdict"] != NO_DATA else ():
                notes.append((_where(entry), text))
        for text in entry["flags"] if stops else ():
            notes.append((_where(entry), text))
    sentences += _not_measured(loaded, hosts, report["comparisons"], notes)
    others = sorted({item.host for item in loaded.records} - wanted)
    if others:
        notes.append((_some(others), "not of this batch; these records were ignored."))
    told = [f"{_some(dict.fromkeys(group.members))}: {one_line(group.item)}" for group in grouped(notes, one_line)]
    return {
        "change": loaded.change,
        "report": "",
        "sentences": sentences,
        "notes": [*told, *_problems(loaded.problems)],
        "comparisons": comparisons,
    }


def _states(records: Sequence[Round]) -> dict[tuple[str, str, str], dict[str, list[Round]]]:
    """The rounds of each comparison per phase, in the order of their numbers."""
    found: dict[tuple[str, str, str], dict[str, list[Round]]] = {}
    for item in sorted(records, key=lambda item: item.number):
        if item.phase in PHASES:
            key = item.host, item.peer, item.workload.name
            found.setdefault(key, {phase: [] for phase in PHASES})[item.phase].append(item)
    return found


def _of_comparison(entry: Comparison, states: States) -> Iterator[str]:
    """Why a comparison stops the batch, beside its verdict and its CPU cost."""
    where = _where(entry)
    if not entry["control"]:
        if entry["verdict"] == NO_DATA:
            yield f"{where}: {one_line(entry['reason']).rstrip('.')}: without it the guard proves nothing."
            return
        if entry["verdict"] == NOT_COMPARABLE:
            yield f"{where}: the measurement after cannot be compared: {one_line(entry['reason'])}"
        for text in retransmits(states):
            yield (
                f"{where}: {text.rstrip('.')}; the bound is {RETRANSMITS_TIMES:g} times as many per run, "
                f"and {RETRANSMITS_MORE} more."
            )
    yield from _failed(where, entry, states)
    before, after = (len(states[phase]) for phase in PHASES)
    if after < before:
        yield (
            f"{where}: {plural(after, 'round')} after the change, {before} before: the measurement did not come to an"
            " end, so it proves nothing."
        )


def _sure(tested: Sequence[_Tested], chance: str, notes: list[tuple[str, str]]) -> Iterator[_Tested]:
    """What got worse beyond chance; of many comparisons, some reach any level by chance, and that is noted."""
    ordered = sorted(item.p for item in tested)
    limit = max((p for rank, p in enumerate(ordered, 1) if p <= FALSE_NAMES * rank / len(tested)), default=-1.0)
    sure = {place for place, item in enumerate(tested) if item.p <= limit}
    for place, item in enumerate(tested):
        if item.worse and place in sure:
            yield item
        elif item.worse:
            notes.append((item.where, chance))


def _regression(entry: Comparison) -> Iterator[_Tested]:
    if entry["p"] is not None:
        worse = (
            f"{_where(entry)}: {_name(entry['metric'])} {entry['before']['median']:g} {_name(entry['unit'])} before,"
            f" {entry['after']['median']:g} {_name(entry['unit'])} after: {gain(entry['ratio'] or 1.0)}"
            f"{_interval(entry)}, more than the material limit of {entry['material_pct']:g} %."
        )
        yield _Tested(_where(entry), entry["p"], worse if entry["verdict"] == REGRESSED else "")


def _costs(entry: Comparison, bound: float) -> Iterator[_Tested]:
    """The CPU costs of both ends; ``bound`` as a fraction."""
    for cost in entry["secondary"]:
        if cost["ratio"] is not None:
            worse = (
                f"{_where(entry)}: one {_name(entry['unit_of_work'])} costs more CPU time on the {_side(cost)}:"
                f" {cost['metric']} {cost['before']:g} {cost['unit']} before, {cost['after']:g} {cost['unit']} after,"
                f" {_more_pct(cost['ratio']):.1f} % more (p = {cost['p_holm']:.2g} after Holm's correction); the bound"
                f" is {100.0 * bound:g} %."
            )
            over = cost["ratio"] < 1.0 and beyond(cost["ratio"], bound) and cost["p_holm"] < SECONDARY_P
            yield _Tested(_where(entry), cost["p_holm"], worse if over else "")


def _failed(where: str, entry: Comparison, states: States) -> Iterator[str]:
    before, after = entry["before"], entry["after"]
    if after["failed_runs"] > before["failed_runs"]:
        errors = [
            error for item in states["after"] for _run, warmup, _ok, error in item.layout.heads if error and not warmup
        ]
        first = f"; the first error: {shorten(one_line(errors[0]).rstrip('.'), LONGEST_ERROR)}" if errors else ""
        yield (
            f"{where}: {after['failed_runs']} of {plural(after['runs'], 'run')} failed after the change,"
            f" {before['failed_runs']} of {before['runs']} before; the bound is the number before{first}."
        )


def _unknown(entry: Comparison, states: States) -> Iterator[str]:
    """What a comparison cannot say."""
    if entry["verdict"] == INCONCLUSIVE:
        yield "INCONCLUSIVE by itself; the report says why."
    costs = {_side(cost): cost for cost in entry["secondary"]}
    for side in ("machine",) if entry["kpi"]["shared_kernel"] else SIDES:
        if side not in costs:
            yield f"the CPU cost of the {side} is not judged, because its CPU time is missing."
        elif costs[side]["ratio"] is None:
            yield f"the CPU cost of the {side} is not judged, because both states need 6 comparable rounds of it."
    if not all(retransmitted(rounds)[1] for rounds in states.values()):
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


def _problems(problems: Sequence[str]) -> list[str]:
    more = len(problems) - MOST_PROBLEMS
    shown = [one_line(problem) for problem in problems[:MOST_PROBLEMS]]
    return [*shown, *([f"And {plural(more, 'more problem')} in the report."] if more > 0 else [])]


def _item(entry: Comparison, states: States) -> checking.Comparison:
    """A comparison for the state file.

    ``effect_pct`` as in the report: above 0 is better; ``cpu_client_pct`` and ``cpu_server_pct``: above 0 costs more,
    of a machine that is both ends under ``cpu_client_pct``. Missing values are None.
    """
    costs: dict[str, float | None] = {"client": None, "server": None}
    for cost in entry["secondary"]:
        if cost["ratio"] is not None:
            costs["server" if _side(cost) == "server" else "client"] = short(_more_pct(cost["ratio"]))
    figures: dict[str, object] = {}
    for phase, state in zip(PHASES, (entry["before"], entry["after"]), strict=True):
        total, runs = retransmitted(states[phase])
        figures |= {phase: state["median"], f"failed_{phase}": state["failed_runs"]}
        figures[f"retransmits_{phase}"] = total if runs else None
    made = {
        "host": _name(entry["host"]),
        "peer": _name(entry["peer"]),
        "workload": _name(entry["workload"]),
        "metric": _name(entry["metric"]),
        "unit": _name(entry["unit"]),
        "verdict": entry["verdict"],
        "effect_pct": None if entry["ratio"] is None else short(100.0 * (entry["ratio"] - 1.0)),
        **figures,
        **{f"cpu_{side}_pct": value for side, value in costs.items()},
    }
    return cast(checking.Comparison, made)


def _side(cost: Part) -> str:
    return next((side for side in SIDES if cost["metric"].endswith(f"_{side}")), "machine")


def _more_pct(ratio: float) -> float:
    """Percent that ``after`` costs more; a ratio of the report is above 1 if it costs less."""
    return 100.0 * (1.0 / ratio - 1.0)


def _interval(item: Finding) -> str:
    if item["low"] is None or item["high"] is None or item["confidence_pct"] is None:
        return ""
    return f" ({certainty(item['confidence_pct'])} % interval {signed(item['low'])} to {signed(item['high'])})"


def _where(entry: Comparison) -> str:
    return f"{_name(entry['host'])} → {_name(entry['peer'])}, {_name(entry['workload'])}"


def _subject(row: Row) -> str:
    return shorten(one_line(subject(row)), 2 * LONGEST_NAME)


def _name(text: str) -> str:
    """A name out of a record: anybody may have written it."""
    return shorten(one_line(text), LONGEST_NAME)


def _some(names: Collection[str]) -> str:
    return listed([shorten(one_line(name), 3 * LONGEST_NAME + 10) for name in names], MOST_NAMED)
