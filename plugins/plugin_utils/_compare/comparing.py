# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the records of a change to the whole report: a pure function, so the same records give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from .._experiment import outcomes
from .._records.record_files import Loaded
from .._records.round import LOCAL_PEER, Round, time_text
from .._statistics.verdict import Limits
from .comparability import Difference, Tunings, check_expected
from .cpu_cost import OWN_SOURCES
from .flags import SIDES
from .next_steps import Whole, next_steps
from .pair import Comparison, compare_pair
from .published import published_for
from .summary import count, evidence, headline, method, overall, overall_of_experiment

SCHEMA = "zpower.sap_tuning/report/1"
PHASES = ("before", "after")
MOST_PROBLEMS = 200
NO_TIME = 2**63


@dataclass(frozen=True)
class Expected:
    """What should have been there. ``reasons``: why a host has no records (unreachable, skipped, limited out)."""

    hosts: Sequence[str] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Options(Limits):
    """Limits of the verdict and shape of the report."""

    max_runs: int | None = 20_000
    """A change with more runs than this has none in ``runs``; :func:`iter_runs` gives them all. None: no limit."""
    repeat: str = "ansible-playbook zpower.sap_tuning.before_after"
    """The command that measures again."""
    expected_change: Sequence[str] = ()
    """Items that may differ between the states, as in :func:`_comparability.check_expected`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_expected(self.expected_change)


class Contrast(NamedTuple):
    """Two states that are compared: the label of the pair, and the phases of their records."""

    label: str
    before: str
    after: str

    @property
    def phases(self) -> dict[str, str]:
        """Phase of the records: state of the comparison."""
        return {self.before: "before", self.after: "after"}


def compare_change(loaded: Loaded, expected: Expected | None = None, options: Options | None = None) -> dict[str, Any]:
    """The report (schema ``zpower.sap_tuning/report/1``) of a loaded change: no clock, no chance, no order of files."""
    expected, options = expected or Expected(), options or Options()
    contrasts = _contrasts(loaded)
    phases = {name for contrast in contrasts for name in contrast.phases}
    rounds = [item for item in loaded.records if item.phase in phases]
    limits = options
    if loaded.experiment:
        limits = replace(options, confidence_pct=outcomes.confidence_pct(loaded.experiment, options.confidence_pct))
    tunings = {contrast: Tunings(loaded.tunings, (contrast.before, contrast.after)) for contrast in contrasts}
    comparisons = [
        comparison for contrast in contrasts for comparison in _compare_all(rounds, contrast, tunings[contrast], limits)
    ]
    knobs = sorted({knob.name for item in tunings.values() for known in item.hosts.values() for knob in known.values()})
    missing = _not_measured(comparisons, expected)
    total = sum(len(item.runs) for item in rounds)
    keep_runs = options.max_runs is None or total <= options.max_runs
    verdict = overall(comparisons)
    design, words = evidence(comparisons)
    experiment = None
    if loaded.experiment:
        entries = [item.entry for item in comparisons]
        experiment = outcomes.outcome(loaded.experiment, entries, rounds, loaded.tunings, options.confidence_pct)
        verdict = overall_of_experiment(experiment, comparisons)
    return {
        "schema": SCHEMA,
        "change": loaded.change,
        "verdict": verdict,
        "headline": experiment["reason"] if experiment else headline(verdict, comparisons, len(missing)),
        "next_steps": next_steps(
            Whole(loaded.change, verdict, options.min_rounds, options.repeat, experiment, tunings=knobs),
            comparisons,
            missing,
        ),
        "counts": count(comparisons),
        "hosts": {"measured": len(_measured(comparisons)), "not_measured": len(missing)},
        "period": _period(rounds),
        "tools": sorted({f"{item.workload.tool} {item.workload.version or ''}".strip() for item in rounds}),
        "protocol": {
            "names": sorted({item.protocol.name for item in rounds} - {""}),
            "design": design,
            "evidence": words,
            "rounds_before": max((item.rounds("before") for item in comparisons), default=0),
            "rounds_after": max((item.rounds("after") for item in comparisons), default=0),
            "runs_per_round": max((item.protocol.runs for item in rounds), default=0),
        },
        "thresholds": {
            "material_pct": options.material_pct,
            "min_rounds": options.min_rounds,
            "max_failed_pct": options.max_failed_pct,
            "confidence_pct": limits.confidence_pct,
        },
        "comparisons": [item.entry for item in comparisons],
        "changes": [
            {"contrast": contrast.label, **entry} for contrast in contrasts for entry in tunings[contrast].changes()
        ],
        "context": _context(rounds, contrasts[0]),
        "experiment": experiment,
        "comparability": _comparability(comparisons),
        "not_measured": missing,
        "warnings": _warnings(loaded, comparisons, tunings, total if not keep_runs else 0),
        "declared": list(options.expected_change),
        "problems": _shortened(loaded.problems),
        "runs_total": total,
        "runs": list(iter_runs(loaded)) if keep_runs else [],
        "published": published_for(
            knobs,
            {item.workload.bytes for item in rounds if not item.workload.control},
            {item.workload.family for item in rounds} | {name for item in rounds for name, _value in item.context},
        ),
        "method": method(limits),
        "repeat": options.repeat,
    }


def _contrasts(loaded: Loaded) -> list[Contrast]:
    if loaded.experiment:
        return [Contrast(*item) for item in outcomes.contrasts(loaded.experiment)]
    return [Contrast("", *PHASES)]


def _phases(loaded: Loaded) -> set[str]:
    return {name for contrast in _contrasts(loaded) for name in contrast.phases}


def _context(rounds: Sequence[Round], contrast: Contrast) -> list[dict[str, Any]]:
    """What the records tell about the application and where imported figures come from, once a setting."""
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


def iter_runs(loaded: Loaded) -> Iterator[dict[str, Any]]:
    """Every run of the phases that are compared, in the order in which the rounds were started; one dict at a time."""

    def key(item: Round) -> tuple[Any, ...]:
        started = NO_TIME if item.started is None else item.started
        return started, item.host, item.peer, item.workload.name, item.phase, item.number

    phases = _phases(loaded)
    for item in sorted((item for item in loaded.records if item.phase in phases), key=key):
        for run in item.runs:
            yield {
                "host": item.host,
                "peer": item.peer,
                "workload": item.workload.name,
                "phase": item.phase,
                "round": item.number,
                "run": run.run,
                "warmup": run.warmup,
                "ok": run.ok,
                "error": run.error,
                "started": time_text(run.started),
                "value": run.value,
            }


def _compare_all(rounds: Sequence[Round], contrast: Contrast, tunings: Tunings, options: Options) -> list[Comparison]:
    """One comparison a host, peer and workload, sorted; controls first in time, because they judge the others."""
    groups: dict[tuple[str, str, str], list[Round]] = {}
    states = contrast.phases
    for item in rounds:
        if item.phase in states:
            groups.setdefault((item.host, item.peer, item.workload.name), []).append(item)
    keys = sorted(groups, key=lambda key: (not any(item.workload.control for item in groups[key]), key))
    controls: dict[str, list[Comparison]] = {}
    found = []
    for key in keys:
        members = sorted(groups[key], key=lambda item: item.number)
        control = any(item.workload.control for item in members)
        by_state = {
            state: [
                item if item.phase == state else replace(item, phase=state) for item in members if item.phase == name
            ]
            for name, state in states.items()
        }
        blocked = None if control else tunings.blocks(sorted({key[0], key[1]}))
        known = [] if control else controls.get(key[0], [])
        comparison = compare_pair(by_state, blocked, known, options, options.expected_change, contrast.label)
        if control:
            controls.setdefault(key[0], []).append(comparison)
        found.append(comparison)
    return sorted(found, key=lambda item: item.order)


def _measured(comparisons: Sequence[Comparison]) -> set[str]:
    """Hosts at either end of a comparison that has runs of both states."""
    usable = [item for item in comparisons if not item.control and item.verdict != "NO DATA"]
    return {name for item in usable for name in (item.entry["host"], item.entry["peer"])} - {LOCAL_PEER}


def _not_measured(comparisons: Sequence[Comparison], expected: Expected) -> list[dict[str, str]]:
    measured = _measured(comparisons)
    failed = {item.entry["host"]: item.entry["reason"] for item in comparisons if not item.control}
    hosts = {*expected.hosts, *expected.reasons, *failed} - measured
    return [
        {"host": host, "reason": expected.reasons.get(host) or failed.get(host) or "There is no record of this host."}
        for host in sorted(hosts)
    ]


def _period(rounds: Sequence[Round]) -> dict[str, str | None]:
    starts = [item.started for item in rounds if item.started is not None]
    ends = [item.finished for item in rounds if item.finished is not None]
    return {
        "first": time_text(min(starts, default=None)),
        "last": time_text(max(starts + ends, default=None)),
    }


def _comparability(comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    """What differs, once a pair: the items of the ends are the same for every workload."""
    found: dict[tuple[str, str, Difference], None] = {}
    for comparison in comparisons:
        for item in comparison.differences:
            named = item
            if item.item.startswith("workload."):
                named = item._replace(item=f"{comparison.entry['workload']}.{item.item.removeprefix('workload.')}")
            found[comparison.entry["host"], comparison.entry["peer"], named] = None
    return [{"host": host, "peer": peer, **item._asdict()} for host, peer, item in sorted(found)]


def _warnings(
    loaded: Loaded, comparisons: Sequence[Comparison], tunings: Mapping[Contrast, Tunings], runs_left_out: int
) -> list[str]:
    found = sorted(
        {f"Left behind on {item.host}: {item.left_behind.rstrip('.')}." for item in loaded.records if item.left_behind}
    )
    weak = sum(item.alternates is not True for item in comparisons if not item.control)
    if weak:
        where = "1 comparison" if weak == 1 else f"{weak} comparisons"
        found.append(f"Weaker evidence: in {where} the two states did not take turns in time.")
    moved = sorted({item.entry["host"] for item in comparisons if item.control and item.moved})
    if moved:
        found.append(f"The control workload moved by more than material on {_some(moved)}.")
    controlled = {item.entry["host"] for item in comparisons if item.control}
    without = {item.entry["host"] for item in comparisons} - controlled
    if without:
        found.append(f"No control workload was measured on {_some(sorted(without))}: what moved by itself is unknown.")
    useless = controlled - {item.entry["host"] for item in comparisons if item.control and item.estimate is not None}
    if useless:
        found.append(
            f"The control workload could not be compared on {_some(sorted(useless))}: what moved by itself is unknown."
        )
    others = sorted({item.phase for item in loaded.records} - _phases(loaded))
    if others:
        meant = "those of the experiment" if loaded.experiment else "before and after"
        found.append(f"Records of other phases than {meant} were left out: {', '.join(others)}.")
    conflicts = {
        f"{knob.name} {knob.subject} on {host} has conflicts: see what changed."
        for item in tunings.values()
        for host, knobs in item.hosts.items()
        for knob in knobs.values()
        if knob.last and knob.last.get("conflicts")
    }
    found += sorted(conflicts)
    if runs_left_out:
        found.append(f"The {runs_left_out} single runs are too many for this report; the CSV file has them all.")
    return _shortened(found)


def _some(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more hosts" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _shortened(sentences: Sequence[str]) -> list[str]:
    if len(sentences) <= MOST_PROBLEMS:
        return list(sentences)
    return [*sentences[:MOST_PROBLEMS], f"And {len(sentences) - MOST_PROBLEMS} more of this kind."]
