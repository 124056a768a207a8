# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One comparison: a host, its peer and a workload in both states."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .._records.kpi import idle_pct
from .._records.round import SIDES, Round
from .._statistics.gates import Control
from .._statistics.ranks import mann_whitney, median, short, trend, two_clusters, variation_pct
from .._statistics.verdict import (
    IMPROVED,
    INCONCLUSIVE,
    NO_DATA,
    NOT_COMPARABLE,
    Better,
    Cause,
    Limits,
    Verdict,
    resolution,
)
from . import pooled
from .comparability import Difference, differences, unequal_work, ways
from .cpu_cost import Costs, States, cpu_cost, idle_windows
from .pooled import Line
from .shapes import Comparison as Entry
from .shapes import State
from .wording import figures, on_control, some, verdict_on

MOST_VARIATION_PCT = 10.0
MOST_BACKGROUND_PCT = 20.0
SLOW_FIRST_RUN = 1.10
TREND_P = 0.01
TREND_ROUNDS = 8
CLUSTER_RUNS = 10
OTHER_WORK = "busy with other work"
CLOCK_STEP_S = 0.1
"""NTP slews a clock by at most 500 ppm: less than this in a round of three minutes."""

WEAKER = "weaker evidence: the rounds of the two states did not alternate{}; a drift would look like an effect."
UNKNOWN_ORDER = "weaker evidence: the order of the rounds is unknown, because start times are missing."


class Contrast(NamedTuple):
    """Two compared states: the label of the pair, and the phases of their records."""

    label: str
    """Empty unless the change is an experiment."""
    before: str
    after: str
    shared_by: int
    """How many contrasts share the error rate."""

    @property
    def phases(self) -> dict[str, str]:
        """Phase of the records: state of the comparison."""
        return {self.before: "before", self.after: "after"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The report's entry, and the facts that other sections need."""

    entry: Entry
    cause: Cause
    differences: list[Difference]
    rounds: list[Round]
    """The rounds that have data."""
    line: Line
    """The same rounds in the order of time."""
    step: float
    """One step of the figures, as a fraction; infinity: unknown."""
    judged: Control | None
    """The control of its host."""
    everything: list[Round]
    """Also the rounds without data."""
    costs: Costs


def compare_pair(
    contrast: Contrast,
    states: States,
    blocked: str | None,
    control: Control | None,
    limits: Limits,
    *,
    controlled: bool = True,
    expected: Sequence[str] = (),
) -> Comparison:
    """Compare the rounds of one host, peer and workload.

    ``blocked``: why the tuning does not count as in force; ``control``: the control of the host, None without one that
    can be compared; ``controlled``: it measured one; ``expected``: items that may differ, as in
    :func:`comparability.differences`.
    """
    everything = [item for rounds in states.values() for item in rounds]
    workload = everything[0].workload
    sides = {phase: _side(rounds) for phase, rounds in states.items()}
    useful = {phase: [item for item in rounds if item.median is not None] for phase, rounds in states.items()}
    different: list[Difference] = []
    if all(useful.values()):
        different = differences(useful["before"], useful["after"], expected)
        different += unequal_work(useful["before"], useful["after"], limits.material, expected)
    material, step = limits.material, step_of(useful)
    rounds = [item for phase in ("before", "after") for item in useful[phase]]
    line = pooled.line(everything[0].host, rounds)
    effect = None
    verdict = _unusable(states, useful, different, blocked)
    kpi, secondary, cost_flags, guards, costs = cpu_cost(useful, limits, comparable=verdict is None)
    if verdict is None:
        found = pooled.of_site([line], material, contrast.shared_by, step)
        effect = found.effect
        verdict = _doubts(sides, control, limits, verdict_on(found, material, step))
    closed = effect and effect.low > 0.0 and not math.isinf(effect.high)
    throughput = {
        phase: [item.throughput for item in rounds if item.throughput is not None] for phase, rounds in useful.items()
    }
    what = "the control workload cannot be compared" if controlled else "no control workload was measured"
    uncontrolled = f"{what} on this host: changes from other causes cannot be excluded."
    entry: Entry = {
        "contrast": contrast.label,
        "host": everything[0].host,
        "peer": everything[0].peer,
        "workload": workload.name,
        "tool": workload.tool,
        "bytes": workload.bytes,
        "connections": workload.connections,
        "loops": workload.loops,
        "control": workload.control,
        "metric": workload.metric,
        "better": workload.better,
        "set": workload.family,
        "params": dict(workload.params),
        "unit_of_work": workload.unit,
        "unit": workload.metric_unit,
        "before": sides["before"],
        "after": sides["after"],
        **figures(verdict, effect),
        "p": None if effect is None else short(mann_whitney(*pooled.sides(line))[1]),
        "material_pct": short(100.0 * material),
        "verdict": verdict.word,
        "reason": f"{verdict.reason}.",
        "flags": [
            *order_flags(line.alternates, everything),
            *([] if workload.control or control is not None else [uncontrolled]),
            *_fallbacks(useful),
            *_flags(useful, workload.better),
            *cost_flags,
        ],
        # an interval around a nearer estimate would have 0
        "detectable_pct": short(100.0 * (math.sqrt(effect.high / effect.low) - 1.0)) if effect and closed else None,
        "rounds_needed": None,
        # tr2 follows from av2 (2 x bytes / av2), so it is shown and not tested
        "throughput": {
            "metric": "tr2_kib_per_s",
            **{phase: short(median(known)) if known else None for phase, known in throughput.items()},
        },
        "transport": {phase: ways(rounds) for phase, rounds in useful.items()},
        "guards": guards,
        "warnings": verdict.word == IMPROVED and bool(guards),
        "secondary": secondary,
        "kpi": kpi,
    }
    return Comparison(
        entry,
        verdict.cause,
        different,
        rounds,
        line,
        step,
        control,
        everything,
        costs,
    )


def _unusable(states: States, useful: States, different: Sequence[Difference], blocked: str | None) -> Verdict | None:
    """NO DATA or NOT COMPARABLE; None if there is something to compare."""
    for phase in ("before", "after"):
        if not states[phase]:
            return Verdict(NO_DATA, f"there is no record of the state {phase}", "data")
        if not useful[phase]:
            errors = [error for item in states[phase] for *_head, error in item.layout.heads if error]
            first = f"; the first error: {errors[0].rstrip('.')}" if errors else ""
            return Verdict(NO_DATA, f"no run {phase} the change succeeded{first}", "data")
    must = [item for item in different if item.must_match]
    if must:
        named = some([f"{item.item} ({item.before} before, {item.after} after)" for item in must], 3)
        return Verdict(NOT_COMPARABLE, f"the states differ in {named}", "fingerprint")
    before, after = ({item.protocol.session for item in useful[phase]} for phase in ("before", "after"))
    if not before & after:
        # each session has a level of its own, so nothing would be left of the change
        return Verdict(
            NOT_COMPARABLE, "no session measured both states, and sessions differ from each other", "sessions"
        )
    return Verdict(NOT_COMPARABLE, blocked, "tuning") if blocked else None


def _doubts(sides: Mapping[str, State], control: Control | None, limits: Limits, verdict: Verdict) -> Verdict:
    """The same verdict, or INCONCLUSIVE because of failed runs or the control."""
    for phase, side in sides.items():
        share = 100.0 * side["failed_runs"] / side["runs"]
        if share > limits.max_failed_pct:
            reason = f"{share:.0f} % of the runs {phase} the change failed, more than {limits.max_failed_pct:g} %"
            return Verdict(INCONCLUSIVE, reason, "failed")
    if verdict.cause == "rounds":
        return verdict
    return on_control(control) or verdict


def _side(rounds: Sequence[Round]) -> State:
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


def step_of(useful: States) -> float:
    """One step of the figures relative to the smaller median of the two states; infinity: all are equal."""
    return resolution([[value for item in rounds for value in item.good] for rounds in useful.values()])


def order_flags(alternating: bool | None, rounds: Sequence[Round]) -> list[str]:
    """Whether the order of the rounds lets a drift look like an effect."""
    if alternating is None:
        return [UNKNOWN_ORDER] if any(item.started is None for item in rounds) else []
    if alternating:
        return []
    believed = any(item.protocol.design == "alternate" for item in rounds)
    return [WEAKER.format(" in a drawn order, although the protocol says that they did" if believed else "")]


def _fallbacks(useful: States) -> list[str]:
    """Flags for states that should use SMC, but in which some connections did not."""
    found = []
    for phase, rounds in useful.items():
        if any(item.workload.transport == "smc" for item in rounds):
            others = [way for way in ways(rounds) if not way.startswith(("smc: SMCR", "smc: SMCD"))]
            found += [
                f"the state {phase} should use SMC, but some of its connections did not ({way})." for way in others
            ]
    return found


def _flags(states: States, better: Better) -> Iterator[str]:
    """Sentences on the quality of one comparison's data; a flag never changes a verdict."""
    for phase, rounds in states.items():
        known = [value for value in (variation_pct(item.good) for item in rounds) if value is not None]
        if known and median(known) > MOST_VARIATION_PCT:
            yield f"the runs of a round vary by {median(known):.1f} % {phase} the change (median of the rounds)."
    timed = []
    for rounds in states.values():
        moments = [(one.started, one.median) for one in rounds if one.started is not None and one.median]
        centre = math.log(median([value for _started, value in moments])) if moments else 0.0
        timed += [(started, round(math.log(value) - centre, 12)) for started, value in moments]
    p = trend([rest for _started, rest in sorted(timed)]) if len(timed) >= TREND_ROUNDS else 1.0
    if p < TREND_P:
        yield f"the rounds of both states drift in one direction over time (p = {p:.2g})."
    for phase, rounds in states.items():
        several = [item.good for item in rounds if len(item.good) > 2]
        ratios = [first / median(rest) if better == "lower" else median(rest) / first for first, *rest in several]
        if ratios and median(ratios) > SLOW_FIRST_RUN:
            slower = f"{100.0 * (median(ratios) - 1.0):.0f} % worse than the others {phase} the change"
            yield f"the first counted run is {slower}: the warm-up is too short."
    yield from _other_work(states)


def _other_work(states: States) -> Iterator[str]:
    """What the machines did besides."""
    for phase, rounds in states.items():
        values = [value for item in rounds for value in item.good]
        found = two_clusters(values) if len(values) >= CLUSTER_RUNS else None
        if found and found[1] > 1.05 * found[0]:
            yield f"the runs {phase} the change fall into two clusters, around {found[0]:.4g} and {found[1]:.4g}."
    for phase, rounds in states.items():
        for index, side in enumerate(SIDES):
            share = idle_pct(idle_windows(rounds, index))
            if share is not None and share > MOST_BACKGROUND_PCT:
                yield f"the {side} was {share:.0f} % {OTHER_WORK} {phase} the change."
    step = max((item.clock_step_s for rounds in states.values() for item in rounds), default=0.0)
    if step > CLOCK_STEP_S:
        yield f"a clock stepped by {step:.3g} s during the measurement."
