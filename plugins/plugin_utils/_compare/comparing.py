# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a change, as a pure function of its records: the same records give the same bytes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .._experiment import outcomes
from .._records.grouping import by_key
from .._records.record_files import Loaded
from .._records.round import LOCAL_PEER, SIDES, Round, time_text
from .._statistics import gates
from .._statistics.gates import Control
from .._statistics.looks import LOOKS, PHASES
from .._statistics.verdict import INCONCLUSIVE, NO_DATA, Limits
from . import pooled, site
from .comparability import Difference, Tunings, check_expected
from .cpu_cost import OWN_SOURCES
from .next_steps import NO_RECORD, next_steps
from .pair import Comparison, Contrast, compare_pair
from .published import published_for
from .shapes import Part, Report, Row
from .summary import count, evidence, headline, measured, method, overall_of_experiment, undecided
from .wording import some

SCHEMA = "zpower.sap_tuning/report/1"
MOST_PROBLEMS = 200
NO_TIME = 2**63


Expected = tuple[Sequence[str], Mapping[str, str]]
"""The expected hosts, and why hosts have no records (unreachable, skipped, excluded by --limit)."""


@dataclass(frozen=True)
class Options(Limits):
    """Limits of the verdict and shape of the report."""

    max_runs: int | None = 20_000
    """With more runs than this, ``runs`` is empty; :func:`iter_runs` returns all of them. None: no limit."""
    repeat: str = "ansible-playbook zpower.sap_tuning.before_after"
    """The command that measures again."""
    expected_change: Sequence[str] = ()
    """Items that may differ between the states, as in :func:`comparability.check_expected`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_expected(self.expected_change)


def compare_change(
    loaded: Loaded, expected: Expected = ((), {}), options: Options | None = None, states: tuple[str, str] = PHASES
) -> Report:
    """The report (schema ``zpower.sap_tuning/report/1``) of a loaded change; independent of time and order of files.

    ``states``: the two phases to compare, unless the change is an experiment; their names are free.
    """
    options = options or Options()
    contrasts = _contrasts(loaded, states)
    phases = {name for contrast in contrasts for name in contrast.phases}
    rounds = [item for item in loaded.records if item.phase in phases]
    tunings = _tunings(loaded, contrasts)
    comparisons = _compare_contrasts(rounds, tunings, options)
    names = sorted({tuning.name for found in tunings.values() for tuning in found})
    missing = _not_measured(comparisons, expected)
    compared = {item.entry["host"] for item in comparisons}
    absent = len({item["host"] for item in missing}.intersection(expected[0]) - compared)
    rows = []
    for contrast in contrasts:
        rows += site.rows(contrast, options, comparisons, absent)
    total = sum(len(item.values) for item in rounds)
    keep_runs = options.max_runs is None or total <= options.max_runs
    _count_rounds(comparisons, rows)
    verdict = rows[0]["verdict"] if rows else NO_DATA
    design, words = evidence(comparisons)
    experiment = None
    if loaded.experiment:
        entries = [item.entry for item in comparisons]
        first = outcomes.first_rows(rows).values()
        why = next((undecided(row, comparisons) for row in first if row["verdict"] == INCONCLUSIVE), "")
        experiment = outcomes.outcome(loaded.experiment, rows, entries, rounds, loaded.tunings, why)
        verdict = overall_of_experiment(experiment, rows)
    told = headline(rows, comparisons, len(missing), {item.phase for item in loaded.records})
    report: Report = {
        "schema": SCHEMA,
        "change": loaded.change,
        "verdict": verdict,
        "headline": experiment["reason"] if experiment else told,
        "next_steps": [],
        "counts": count(comparisons),
        "hosts": {"measured": len(_measured(comparisons, "host")), "not_measured": len(missing)},
        "period": _period(rounds),
        "tools": sorted({f"{item.workload.tool} {item.workload.version or ''}".strip() for item in rounds}),
        "protocol": {
            "names": sorted({item.protocol.name for item in rounds} - {""}),
            "design": design,
            "evidence": words,
            "rounds_before": max((item.entry["before"]["rounds"] for item in comparisons), default=0),
            "rounds_after": max((item.entry["after"]["rounds"] for item in comparisons), default=0),
            "runs_per_round": max((item.protocol.runs for item in rounds), default=0),
        },
        "thresholds": {
            "material_pct": options.material_pct,
            "min_rounds": LOOKS[0].rounds,
            "max_failed_pct": options.max_failed_pct,
        },
        "pooled": rows,
        "comparisons": [item.entry for item in comparisons],
        "changes": [
            {"contrast": contrast.label, **tuning.entry()} for contrast in contrasts for tuning in tunings[contrast]
        ],
        "context": _context(rounds, contrasts[0]),
        "experiment": experiment,
        "comparability": _comparability(comparisons),
        "not_measured": missing,
        "warnings": _warnings(loaded, comparisons, tunings, total if not keep_runs else 0),
        "declared": list(options.expected_change),
        "problems": shorten_list(loaded.problems),
        "runs_total": total,
        "runs": list(iter_runs(loaded, states)) if keep_runs else [],
        "published": published_for(
            names,
            {item.workload.bytes for item in rounds if not item.workload.control},
            {item.workload.family for item in rounds} | {name for item in rounds for name, _value in item.context},
        ),
        "method": method(options),
        "repeat": options.repeat,
    }
    report["next_steps"] = next_steps(report, comparisons)
    return report


def compare_pairs(loaded: Loaded, options: Options, states: tuple[str, str]) -> list[Comparison]:
    """The comparisons of a loaded change, as :func:`compare_change` makes them."""
    return _compare_contrasts(loaded.records, _tunings(loaded, _contrasts(loaded, states)), options)


def _contrasts(loaded: Loaded, states: tuple[str, str]) -> list[Contrast]:
    known = outcomes.contrasts(loaded.experiment) if loaded.experiment else [("", *states)]
    return [Contrast(*item, len(known)) for item in known]


def _context(rounds: Sequence[Round], contrast: Contrast) -> list[Part]:
    """Settings of the application and sources of imported figures, one entry per setting."""
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for item in rounds:
        state = contrast.phases.get(item.phase, item.phase)
        named = [("context", name, value) for name, value in item.context]
        named += [("source", "figures", item.source)] if item.source else []
        sources = zip(SIDES, item.cpu_source, strict=True)
        named += [("source", f"CPU time of the {side}", text) for side, text in sources if text not in OWN_SOURCES]
        for kind, name, value in named:
            found.setdefault((kind, name), {}).setdefault(state, set()).add(value)
    return [
        {"kind": kind, "name": name, "values": {state: sorted(values) for state, values in sorted(states.items())}}
        for (kind, name), states in sorted(found.items())
    ]


def iter_runs(loaded: Loaded, states: tuple[str, str] = PHASES) -> Iterator[Part]:
    """Every run of the compared phases, in the order in which the rounds started; one dict at a time."""

    def key(item: Round) -> tuple[Any, ...]:
        started = NO_TIME if item.started is None else item.started
        return started, item.host, item.peer, item.workload.name, item.phase, item.number

    phases = {name for contrast in _contrasts(loaded, states) for name in contrast.phases}
    for item in sorted((item for item in loaded.records if item.phase in phases), key=key):
        for (number, warmup, ok, error), started, value in zip(item.layout.heads, item.times, item.values, strict=True):
            yield {
                "host": item.host,
                "peer": item.peer,
                "workload": item.workload.name,
                "phase": item.phase,
                "round": item.number,
                "run": number,
                "warmup": warmup,
                "ok": ok,
                "error": error,
                "started": time_text(started),
                "value": value,
            }


def _tunings(loaded: Loaded, contrasts: Sequence[Contrast]) -> dict[Contrast, Tunings]:
    return {contrast: Tunings(loaded.tunings, (contrast.before, contrast.after)) for contrast in contrasts}


def _compare_contrasts(
    rounds: Sequence[Round], tunings: Mapping[Contrast, Tunings], options: Options
) -> list[Comparison]:
    return [item for contrast, found in tunings.items() for item in _compare_all(rounds, contrast, found, options)]


def _compare_all(rounds: Sequence[Round], contrast: Contrast, tunings: Tunings, options: Options) -> list[Comparison]:
    """One comparison per host, peer and workload, sorted. Controls are compared first, because the others need them."""
    groups = by_key(
        ((item.host, item.peer, item.workload.name), item) for item in rounds if item.phase in contrast.phases
    )
    is_control = {key: any(item.workload.control for item in members) for key, members in groups.items()}

    def compared(key: tuple[str, str, str], control: Control | None = None, controlled: bool = True) -> Comparison:
        members = sorted(groups[key], key=lambda item: item.number)
        by_state = {
            state: [
                item if item.phase == state else replace(item, phase=state, protocol=pooled.of_levels(item.protocol))
                for item in members
                if item.phase == name
            ]
            for name, state in contrast.phases.items()
        }
        blocked = None if is_control[key] else tunings.blocks(sorted({*key[:2]})) or tunings.swapped(by_state)
        return compare_pair(
            contrast, by_state, blocked, control, options, controlled=controlled, expected=options.expected_change
        )

    controls = by_key((key[0], compared(key)) for key in sorted(groups) if is_control[key])
    judged = {host: _control(host, ours, options.material) for host, ours in controls.items()}
    found = [item for ours in controls.values() for item in ours]
    found += [compared(key, judged.get(key[0]), key[0] in controls) for key in groups if not is_control[key]]

    def position(item: Comparison) -> tuple[Any, ...]:
        entry = item.entry
        return entry["contrast"], entry["host"], entry["peer"], item.entry["control"], entry["bytes"], entry["workload"]

    return sorted(found, key=position)


def _control(host: str, comparisons: Sequence[Comparison], material: float) -> Control | None:
    """The control of a host, pooled as its workloads are; None if it cannot be compared."""
    usable = [item for item in comparisons if item.cause not in site.TURNED_AWAY]
    rounds = [item for found in usable for item in found.rounds]
    before, after = pooled.sides(usable[0].line if len(usable) == 1 else pooled.line(host, rounds))
    if not before or not after:
        return None
    limits = [material if math.isinf(item.step) else max(material, item.step) for item in usable]
    return gates.control(before, after, site.mean(limits))


def _count_rounds(comparisons: Sequence[Comparison], rows: Sequence[Row]) -> None:
    """One number of rounds for the whole report: the comparisons that lack rounds name that of the deciding row."""
    first = outcomes.first_rows(rows)
    for item in comparisons:
        row = first.get(item.entry["contrast"])
        if row is not None and row["more_rounds"] is not None and item.cause in ("rounds", "noise"):
            item.entry["rounds_needed"] = row["rounds"] + row["more_rounds"]


def _measured(comparisons: Sequence[Comparison], *ends: Literal["host", "peer"]) -> set[str]:
    """Hosts at these ends of a comparison that has runs of both states."""
    return {item.entry[end] for item in measured(comparisons) for end in ends} - {LOCAL_PEER}


def _not_measured(comparisons: Sequence[Comparison], expected: Expected) -> list[dict[str, str]]:
    failed = {item.entry["host"]: item.entry["reason"] for item in comparisons if not item.entry["control"]}
    hosts, reasons = expected
    # the peer of another host is measured, unless its own records are lost
    lost = failed.keys() - _measured(comparisons, "host")
    return [
        {"host": host, "reason": reasons.get(host) or failed.get(host) or NO_RECORD}
        for host in sorted(lost | ({*hosts, *reasons} - _measured(comparisons, "host", "peer")))
    ]


def _period(rounds: Sequence[Round]) -> dict[str, str | None]:
    starts = [item.started for item in rounds if item.started is not None]
    ends = [item.finished for item in rounds if item.finished is not None]
    return {
        "first": time_text(min(starts, default=None)),
        "last": time_text(max(starts + ends, default=None)),
    }


def _comparability(comparisons: Sequence[Comparison]) -> list[Part]:
    """The differences, once per pair: the items of the ends are the same for every workload."""
    found: dict[tuple[str, str, Difference], None] = {}
    for comparison in comparisons:
        for item in comparison.differences:
            named = item
            if item.item.startswith("workload."):
                named = item._replace(item=f"{comparison.entry['workload']}.{item.item.removeprefix('workload.')}")
            found[comparison.entry["host"], comparison.entry["peer"], named] = None
    return [{"host": host, "peer": peer, **item._asdict()} for host, peer, item in sorted(found)]


def _warnings(
    loaded: Loaded,
    comparisons: Sequence[Comparison],
    tunings: Mapping[Contrast, Tunings],
    runs_left_out: int,
) -> list[str]:
    found = sorted(
        {f"Left behind on {item.host}: {item.left_behind.rstrip('.')}." for item in loaded.records if item.left_behind}
    )
    orders = {False: "the rounds of the two states did not alternate", None: "the order of the rounds is unknown"}
    for order, what in orders.items():
        weak = sum(item.line.alternates is order for item in measured(comparisons))
        if weak:
            where = "1 comparison" if weak == 1 else f"{weak} comparisons"
            found.append(f"Weaker evidence: in {where} {what}.")
    moved = sorted({item.entry["host"] for item in comparisons if item.cause == "control"})
    if moved:
        found.append(f"The control workload changed by more than the material limit on {some(moved)}.")
    controls = [item for item in comparisons if item.entry["control"]]
    controlled = {item.entry["host"] for item in controls}
    without = {item.entry["host"] for item in comparisons} - controlled
    useless = controlled - {item.entry["host"] for item in controls if item.cause not in site.TURNED_AWAY}
    told = {"No control workload was measured": without, "The control workload cannot be compared": useless}
    found += [
        f"{what} on {some(sorted(hosts))}: changes from other causes cannot be excluded."
        for what, hosts in told.items()
        if hosts
    ]
    others = sorted({item.phase for item in loaded.records}.difference(*(contrast.phases for contrast in tunings)))
    if others:
        meant = "those of the experiment" if loaded.experiment else "before and after"
        found.append(f"Records of phases other than {meant} were ignored: {', '.join(others)}.")
    conflicts = {
        tuning.where for item in tunings.values() for tuning in item if tuning.last and tuning.last.get("conflicts")
    }
    found += [f"{where} has conflicts: see What changed." for where in sorted(conflicts)]
    if runs_left_out:
        found.append(f"This report leaves out the {runs_left_out} single runs; the CSV file has all of them.")
    return shorten_list(found)


def shorten_list(sentences: Sequence[str]) -> list[str]:
    if len(sentences) <= MOST_PROBLEMS:
        return list(sentences)
    return [*sentences[:MOST_PROBLEMS], f"And {len(sentences) - MOST_PROBLEMS} more of this kind."]
