# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One comparison: a host, its peer and a workload in both states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils import _kpi
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._comparability import Difference, differences, ways
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._flags import SIDES, States, alternates, flags, guards
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._round import Round, primary_metric
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import holm, median, variation_pct
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._verdict import (
    IMPROVED,
    INCONCLUSIVE,
    NO_DATA,
    NOT_COMPARABLE,
    Better,
    Estimate,
    Limits,
    Verdict,
    decide,
    estimate,
    moved,
    resolution,
)

METRICS: dict[str, tuple[str, Better]] = {"av2_us": ("µs", "lower")}
"""Unit and direction of every primary metric."""

SIGNIFICANT = 6
SECONDARY_P = 0.05
Kpis = dict[str, dict[str, _kpi.Kpi | None]]


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
        return entry["host"], entry["peer"], self.control, entry["bytes"], entry["workload"]

    def rounds(self, phase: str) -> int:
        """Rounds with data."""
        count: int = self.entry[phase]["rounds"]
        return count


def compare_pair(states: States, blocked: str | None, controls: Sequence[Comparison], limits: Limits) -> Comparison:
    """Compare the rounds of one host, peer and workload.

    ``blocked``: why the tuning does not count as in force; ``controls``: the host's control comparisons.
    """
    everything = [item for rounds in states.values() for item in rounds]
    workload, metric = everything[0].workload, primary_metric(everything[0].workload.tool)
    unit, better = METRICS[metric]
    sides = {phase: _side(rounds) for phase, rounds in states.items()}
    useful = {phase: [item for item in rounds if item.median is not None] for phase, rounds in states.items()}
    different = differences(useful["before"], useful["after"]) if all(useful.values()) else []
    material = _material(useful, metric, limits)
    found = None
    verdict = _unusable(states, useful, different, blocked)
    if verdict is None:
        samples = [[item.median for item in useful[phase] if item.median is not None] for phase in ("before", "after")]
        found = estimate(samples[0], samples[1], better, limits.confidence_pct)
        fewest = min(len(sample) for sample in samples)
        verdict = _doubts(sides, controls, limits, decide(found, fewest, material, limits, metric, better))
    turns = alternates(everything)
    entry = {
        "host": everything[0].host,
        "peer": everything[0].peer,
        "workload": workload.name,
        "tool": workload.tool,
        "bytes": workload.bytes,
        "connections": workload.connections,
        "loops": workload.loops,
        "control": workload.control,
        "metric": metric,
        "unit": unit,
        "better": better,
        **sides,
        **_numbers(found),
        "material_pct": _short(100.0 * material),
        "verdict": verdict.word,
        "reason": f"{verdict.reason}.",
        "flags": [
            *_evidence_flags(turns, everything, controls, workload.control),
            *_fallbacks(useful),
            *flags(useful, better),
        ],
        "detectable_pct": _short(verdict.detectable_pct),
        "rounds_needed": verdict.rounds_needed,
        "throughput": _throughput(useful),
        "transport": {phase: ways(rounds) for phase, rounds in useful.items()},
        **_beside(states, useful, sides, verdict, limits),
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


def _beside(
    states: States, useful: States, sides: Mapping[str, Mapping[str, Any]], verdict: Verdict, limits: Limits
) -> dict[str, Any]:
    """CPU figures and guards: what cannot make a verdict better."""
    kpis, shared = _kpis(useful)
    sentences = guards(states, kpis, {phase: side["failed_runs"] for phase, side in sides.items()})
    return {
        "guards": sentences,
        "warnings": verdict.word == IMPROVED and bool(sentences),
        "secondary": _secondary(useful, kpis, shared, limits),
        "kpi": _kpi_entry(kpis, shared),
    }


def _unusable(states: States, useful: States, different: Sequence[Difference], blocked: str | None) -> Verdict | None:
    """NO DATA or NOT COMPARABLE; None where there is something to compare."""
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
        "median": _short(median(medians)) if medians else None,
        "round_medians": [_short(value) for value in medians],
        "spread_pct": _short(variation_pct(medians)),
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
        "ratio": _short(found.ratio),
        "low": _short(found.low) if found.low > 0 else None,
        "high": _short(found.high) if found.high < math.inf else None,
        "p": _short(found.p),
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
        found.append("no control workload was measured on this host: what moved by itself is unknown.")
    return found


def _fallbacks(useful: States) -> list[str]:
    """States that were to go over SMC and did not, or not with every connection."""
    found = []
    for phase, rounds in useful.items():
        if any(item.workload.transport == "smc" for item in rounds):
            others = [way for way in ways(rounds) if not way.startswith(("smc: SMCR", "smc: SMCD"))]
            found += [f"the state {phase} was to use SMC, and connections of it did not ({way})." for way in others]
    return found


def _kpis(useful: States) -> tuple[Kpis, bool]:
    """KPIs by side and phase, and whether both ends share one kernel, where the figures are of the whole machine."""
    kpis: Kpis = {side: {"before": None, "after": None} for side in SIDES}
    for phase, rounds in useful.items():
        for index, side in enumerate(SIDES):
            sums = [item.cpu[index] for item in rounds]
            known = [item for item in sums if item is not None]
            if known:
                kpis[side][phase] = _kpi.kpi(_kpi.add(known), _idle(rounds, index))
    ends = {item.ends for rounds in useful.values() for item in rounds}
    shared = any(client and server and client.boot_id and client.boot_id == server.boot_id for client, server in ends)
    return kpis, shared


def _idle(rounds: Sequence[Round], index: int) -> float | None:
    return _kpi.idle_rate([window for window in (item.idle[index] for item in rounds) if window is not None])


def _kpi_entry(kpis: Kpis, shared: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"shared_kernel": shared}
    for side in SIDES:
        known = {phase: value and _kpi_numbers(value) for phase, value in kpis[side].items()}
        entry[side] = known if any(known.values()) and not (shared and side == "server") else None
    return entry


def _kpi_numbers(value: _kpi.Kpi) -> dict[str, Any]:
    return {name: item if name == "net" else _short(item) for name, item in value._asdict().items()}


def _secondary(useful: States, kpis: Kpis, shared: bool, limits: Limits) -> list[dict[str, Any]]:
    """CPU cost of both ends, tested as one family of this comparison; it flags and decides nothing."""
    entries: list[dict[str, Any]] = []
    tested: list[tuple[dict[str, Any], Estimate]] = []
    for index, side in enumerate(SIDES[:1] if shared else SIDES):
        old, new = kpis[side]["before"], kpis[side]["after"]
        if old is None or new is None or not all(useful.values()):
            continue
        metric = "cpu_us_per_round_trip" + ("" if shared else f"_{side}")
        entry = {
            "metric": metric,
            "unit": "µs",
            "before": _short(old.cpu_us_per_round_trip),
            "after": _short(new.cpu_us_per_round_trip),
            "ratio": None,
            "p_holm": None,
            "flag": None,
        }
        entries.append(entry)
        costs = {phase: _costs(rounds, index) for phase, rounds in useful.items()}
        if min(len(sample) for sample in costs.values()) >= limits.min_rounds:
            tested.append((entry, estimate(costs["before"], costs["after"], "lower", limits.confidence_pct)))
    for (entry, found), p in zip(tested, holm([found.p for _entry, found in tested]), strict=True):
        entry.update(ratio=_short(found.ratio), p_holm=_short(p))
        if p < SECONDARY_P and moved(found, limits.material(str(entry["metric"]))):
            change = 100.0 * (1.0 / found.ratio - 1.0)
            entry["flag"] = f"the CPU time of a round trip changed by {change:+.1f} % (p = {p:.2g} after Holm)."
    return entries


def _costs(rounds: Sequence[Round], index: int) -> list[float]:
    """Net CPU cost of each round that has one; the background is that of the whole state, single windows are short."""
    idle = _idle(rounds, index)
    sums = [item.cpu[index] for item in rounds]
    costs = [_kpi.kpi(total, idle).cpu_us_per_round_trip for total in sums if total is not None]
    return [cost for cost in costs if cost is not None]


def _throughput(useful: States) -> dict[str, Any]:
    """tr2 follows from av2 (2 x bytes / av2), so it is shown and not tested."""
    sides = {
        phase: [item.throughput for item in rounds if item.throughput is not None] for phase, rounds in useful.items()
    }
    return {
        "metric": "tr2_kib_per_s",
        **{phase: _short(median(values)) if values else None for phase, values in sides.items()},
    }


def _short(value: float | None) -> float | None:
    """SIGNIFICANT digits: more would be noise, and would differ between mathematical libraries."""
    return None if value is None else float(f"{value:.{SIGNIFICANT}g}")
