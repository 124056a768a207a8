# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One comparison: a host, its peer and a workload in both states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._records.round import Round
from .._statistics.ranks import median, short, variation_pct
from .._statistics.verdict import (
    IMPROVED,
    INCONCLUSIVE,
    NO_DATA,
    NOT_COMPARABLE,
    Estimate,
    Limits,
    Verdict,
    decide,
    estimate,
    moved,
    resolution,
)
from .comparability import Difference, differences, unequal_work, ways
from .cpu_cost import CpuCost, cpu_cost
from .flags import States, alternates, flags, guards


@dataclass(frozen=True, slots=True)
class Comparison:
    """The report's entry, and what the sections around it need."""

    entry: dict[str, Any]
    verdict: str
    cause: str
    control: bool
    moved: bool
    """The estimate lies beyond material; asked of controls."""
    alternates: bool | None
    differences: list[Difference]
    estimate: Estimate | None

    @property
    def order(self) -> tuple[Any, ...]:
        """Position in the report."""
        entry = self.entry
        return entry["contrast"], entry["host"], entry["peer"], self.control, entry["bytes"], entry["workload"]

    def rounds(self, phase: str) -> int:
        """Rounds with data."""
        count: int = self.entry[phase]["rounds"]
        return count


def compare_pair(
    states: States,
    blocked: str | None,
    controls: Sequence[Comparison],
    limits: Limits,
    expected: Sequence[str] = (),
    contrast: str = "",
) -> Comparison:
    """Compare the rounds of one host, peer and workload.

    ``blocked``: why the tuning does not count as in force; ``controls``: the host's control comparisons;
    ``expected``: items that may differ, as in :func:`_comparability.differences`; ``contrast``: the label of the two
    states where a change has more than two.
    """
    everything = [item for rounds in states.values() for item in rounds]
    workload = everything[0].workload
    metric, unit, better = workload.metric, workload.metric_unit, workload.better
    sides = {phase: _side(rounds) for phase, rounds in states.items()}
    useful = {phase: [item for item in rounds if item.median is not None] for phase, rounds in states.items()}
    different: list[Difference] = []
    if all(useful.values()):
        different = differences(useful["before"], useful["after"], expected)
        different += unequal_work(useful["before"], useful["after"], limits.material(metric), expected)
    material = _material(useful, metric, limits)
    found = None
    verdict = _unusable(states, useful, different, blocked)
    cost = cpu_cost(useful, limits, comparable=verdict is None)
    if verdict is None:
        samples = [[item.median for item in useful[phase] if item.median is not None] for phase in ("before", "after")]
        found = estimate(samples[0], samples[1], better, limits.confidence_pct)
        fewest = min(len(sample) for sample in samples)
        verdict = _doubts(sides, controls, limits, decide(found, fewest, material, limits, metric, better))
    turns = alternates(everything)
    entry = {
        "contrast": contrast,
        "host": everything[0].host,
        "peer": everything[0].peer,
        "workload": workload.name,
        "tool": workload.tool,
        "bytes": workload.bytes,
        "connections": workload.connections,
        "loops": workload.loops,
        "set": workload.family,
        "params": dict(workload.params),
        "unit_of_work": workload.unit,
        "control": workload.control,
        "metric": metric,
        "unit": unit,
        "better": better,
        **sides,
        **_numbers(found),
        "material_pct": short(100.0 * material),
        "verdict": verdict.word,
        "reason": f"{verdict.reason}.",
        "flags": [
            *_evidence_flags(turns, everything, controls, workload.control),
            *_fallbacks(useful),
            *flags(useful, better),
            *cost.flags,
        ],
        "detectable_pct": short(verdict.detectable_pct),
        "rounds_needed": verdict.rounds_needed,
        "throughput": _throughput(useful),
        "transport": {phase: ways(rounds) for phase, rounds in useful.items()},
        **_beside(states, sides, verdict, cost),
    }
    return Comparison(
        entry,
        verdict.word,
        verdict.cause,
        workload.control,
        found is not None and moved(found, material),
        turns,
        different,
        found,
    )


def _beside(states: States, sides: Mapping[str, Mapping[str, Any]], verdict: Verdict, cost: CpuCost) -> dict[str, Any]:
    """CPU figures and guards: what cannot make a verdict better."""
    failed = {phase: side["failed_runs"] for phase, side in sides.items()}
    sentences = [*guards(states, cost.kpis, failed), *cost.guards]
    return {
        "guards": sentences,
        "warnings": verdict.word == IMPROVED and bool(sentences),
        "secondary": cost.secondary,
        "kpi": cost.entry(),
    }


def _unusable(states: States, useful: States, different: Sequence[Difference], blocked: str | None) -> Verdict | None:
    """NO DATA or NOT COMPARABLE; None if there is something to compare."""
    for phase in ("before", "after"):
        if not states[phase]:
            return Verdict(NO_DATA, f"there is no record of the state {phase}", "data")
        if not useful[phase]:
            errors = [run.error for item in states[phase] for run in item.runs if run.error]
            first = f"; the first error: {errors[0].rstrip('.')}" if errors else ""
            return Verdict(NO_DATA, f"no run {phase} the change succeeded{first}", "data")
    must = [item for item in different if item.must_match]
    if must:
        named = ", ".join(f"{item.item} ({item.before} before, {item.after} after)" for item in must[:3])
        more = f" and {len(must) - 3} more" if len(must) > 3 else ""
        return Verdict(NOT_COMPARABLE, f"the states differ in {named}{more}", "fingerprint")
    return Verdict(NOT_COMPARABLE, blocked, "tuning") if blocked else None


def _doubts(
    sides: Mapping[str, Mapping[str, Any]], controls: Sequence[Comparison], limits: Limits, verdict: Verdict
) -> Verdict:
    """The same verdict, or INCONCLUSIVE where failed runs or the control leave nothing to conclude from."""
    if verdict.cause == "rounds":
        return verdict
    for phase, side in sides.items():
        share = 100.0 * side["failed_runs"] / side["runs"]
        if share > limits.max_failed_pct:
            reason = f"{share:.0f} % of the runs {phase} the change failed, more than {limits.max_failed_pct:g} %"
            return verdict._replace(word=INCONCLUSIVE, reason=reason, cause="failed", rounds_needed=None)
    for control in controls:
        if control.moved and control.estimate is not None:
            percent = 100.0 * (control.estimate.ratio - 1.0)
            reason = f"the control workload moved by {percent:+.1f} % (above 0 is better), more than material"
            return verdict._replace(word=INCONCLUSIVE, reason=reason, cause="control", rounds_needed=None)
    return verdict


def _side(rounds: Sequence[Round]) -> dict[str, Any]:
    medians = [item.median for item in rounds if item.median is not None]
    failed = sum(item.failed for item in rounds)
    return {
        "rounds": len(medians),
        "runs": failed + sum(len(item.good) for item in rounds),
        "failed_runs": failed,
        "median": short(median(medians)) if medians else None,
        "round_medians": [short(value) for value in medians],
        "spread_pct": short(variation_pct(medians)),
    }


def _material(useful: States, metric: str, limits: Limits) -> float:
    """Smallest change that counts, as a fraction: the limit, or one step of the clock where that is more.

    The step is taken against the smaller of the two states' medians: one step up from there must not be a finding.
    """
    states = [[value for item in rounds for value in item.good] for rounds in useful.values()]
    step = resolution([value for values in states for value in values])
    smallest = min((median(values) for values in states if values), default=0.0)
    return max(limits.material(metric), step / smallest) if step else limits.material(metric)


def _numbers(found: Estimate | None) -> dict[str, float | None]:
    if found is None:
        return {"ratio": None, "low": None, "high": None, "p": None}
    return {
        "ratio": short(found.ratio),
        "low": short(found.low) if found.low > 0 else None,
        "high": short(found.high) if found.high < math.inf else None,
        "p": short(found.p),
    }


def _evidence_flags(
    taking_turns: bool | None, rounds: Sequence[Round], controls: Sequence[Comparison], control: bool
) -> list[str]:
    found = []
    if taking_turns is None and all(item.started is not None for item in rounds):
        taking_turns = True  # Only one state is there: NO DATA says so, and no order could.
    if taking_turns is None:
        found.append("weaker evidence: the order of the rounds is unknown, because start times are missing.")
    elif not taking_turns:
        believed = any(item.protocol.design == "alternate" for item in rounds)
        but = ", although the protocol says that they did" if believed else ""
        found.append(f"weaker evidence: the states did not take turns in time{but}; a drift would look like an effect.")
    if not control and all(item.estimate is None for item in controls):
        what = "the control workload could not be compared" if controls else "no control workload was measured"
        found.append(f"{what} on this host: what moved by itself is unknown.")
    return found


def _fallbacks(useful: States) -> list[str]:
    """States that were to go over SMC and did not, or not with every connection."""
    found = []
    for phase, rounds in useful.items():
        if any(item.workload.transport == "smc" for item in rounds):
            others = [way for way in ways(rounds) if not way.startswith(("smc: SMCR", "smc: SMCD"))]
            found += [f"the state {phase} was to use SMC, and connections of it did not ({way})." for way in others]
    return found


def _throughput(useful: States) -> dict[str, Any]:
    """tr2 follows from av2 (2 x bytes / av2), so it is shown and not tested."""
    sides = {
        phase: [item.throughput for item in rounds if item.throughput is not None] for phase, rounds in useful.items()
    }
    return {
        "metric": "tr2_kib_per_s",
        **{phase: short(median(values)) if values else None for phase, values in sides.items()},
    }
