# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pooled rows of a report: one verdict for the site, or for its only host, and one per host.

The first row decides. A comparison that cannot be used (no data, states that differ, a tuning that was not in force,
too many failed runs) is excluded, and so is a host whose control changed. If half of them are excluded, the rest
decides nothing.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from .._records.grouping import by_key
from .._statistics import gates
from .._statistics.gates import FEWEST_HOSTS, Control, Deviation, Tail
from .._statistics.looks import LOOKS
from .._statistics.ranks import closed_end, median, short
from .._statistics.series import Effect
from .._statistics.verdict import (
    IMPROVED,
    INCONCLUSIVE,
    NO_DATA,
    NOT_COMPARABLE,
    REGRESSED,
    UNCHANGED,
    Cause,
    Limits,
    Verdict,
    beyond,
)
from . import pooled, side_effects, tails
from .pair import Comparison, Contrast, order_flags
from .pooled import Line, Pooled
from .shapes import Guard, Part, Row
from .wording import SEVERAL, figures, gain, more_rounds, on_control, some, verdict_on

TURNED_AWAY: Collection[Cause] = ("data", "fingerprint", "sessions", "tuning", "failed")
FEWEST_TO_NAME = 3
"""With two hosts nobody can say which of them differs."""
MOST_NAMED = 0.25
"""If more of the hosts differ from the site, or got better and worse, the site is two groups."""
CONTROLS_MOVED = Verdict(INCONCLUSIVE, "the control changed on every host that has comparable data", "control")


class Host(NamedTuple):
    """One host in one contrast: its comparisons without controls, and what its usable ones say together."""

    name: str
    comparisons: Sequence[Comparison]
    usable: Sequence[Comparison]
    line: Line
    step: float
    control: Control | None
    tail: Mapping[str, Tail]

    @property
    def blocked(self) -> bool:
        """Whether its control moved, so that nothing may be concluded."""
        return self.control is not None and self.control.moved

    @property
    def few(self) -> bool:
        """Whether it has fewer rounds than any verdict needs."""
        return self.line.starts is None and pooled.fewest(self.line) < LOOKS[0].rounds

    @property
    def lost(self) -> int:
        """How many of its comparisons are excluded."""
        return len(self.comparisons) if self.blocked else len(self.comparisons) - len(self.usable)


Harm = tuple[Collection[str], Sequence[Guard]]
"""The hosts that got worse by themselves, and the guards on them."""


def rows(contrast: Contrast, limits: Limits, comparisons: Sequence[Comparison], absent: int = 0) -> list[Row]:
    """The rows of one contrast, the deciding one first; empty without comparisons.

    ``absent``: hosts that were to be measured and have no comparison.
    """
    hosts = _hosts([item for item in comparisons if item.entry["contrast"] == contrast.label])
    if not hosts:
        return []
    of_hosts = [_row(contrast, limits, [host], None, ((), ())) for host in hosts] if len(hosts) > 1 else []
    return [_row(contrast, limits, hosts, absent, _harm(contrast, limits, of_hosts)), *of_hosts]


def _harm(contrast: Contrast, limits: Limits, of_hosts: Sequence[Row]) -> Harm:
    ratios = {str(row["host"]): row["ratio"] for row in of_hosts if row["ratio"] is not None}
    better, worse = ([str(row["host"]) for row in of_hosts if row["verdict"] == word] for word in (IMPROVED, REGRESSED))
    if min(len(better), len(worse)) > max(MOST_NAMED * len(of_hosts), FEWEST_TO_NAME - 1):
        told = f"The hosts are two groups: {_group(better)} got better, and {_group(worse)} got worse."
        return (), [Guard.of("groups", told)]
    names = gates.harmed(ratios, worse, limits.material, contrast.shared_by)
    middle = gain(median([*ratios.values()])) if names else ""
    but = f", while the median of the hosts is {middle}"
    return names, [_got_worse(name, ratios[name], but) for name in names]


def _got_worse(name: str, ratio: float, more: str = "") -> Guard:
    return Guard.of("worse", f"{name} got worse: {gain(ratio)}{more}.", name)


def _group(names: Sequence[str]) -> str:
    return f"{len(names)} of them ({some(names)})"


def _hosts(comparisons: Sequence[Comparison]) -> list[Host]:
    by_host = by_key((str(item.entry["host"]), item) for item in comparisons if not item.entry["control"])
    found = []
    for name, ours in sorted(by_host.items()):
        usable = [item for item in ours if item.cause not in TURNED_AWAY]
        rounds = [item for comparison in usable for item in comparison.rounds]
        line = usable[0].line if len(usable) == 1 else pooled.line(name, rounds)
        step = mean([item.step for item in usable or ours])
        found.append(Host(name, ours, usable, line, step, ours[0].judged, tails.of_host(line, usable)))
    return found


def _row(contrast: Contrast, limits: Limits, hosts: Sequence[Host], absent: int | None, harm: Harm) -> Row:
    """The row of these hosts.

    ``absent``: None if the row does not decide: of many hosts, the gain of one fades by chance. The guards of ``harm``
    say nothing new if the whole site got worse. They do not hide what others say.
    """
    contrasts, material = contrast.shared_by, limits.material
    alone = hosts[0] if len(hosts) == 1 else None
    able = [host for host in hosts if alone or (host.usable and not host.blocked)]
    enough = [host for host in able if not host.few]
    # among hosts with enough rounds, a host with fewer has lost its records
    few = {host.name for host in able if host.few} if enough else set()
    able = enough or able
    lines = [host.line for host in able]
    step = mean([host.step for host in able or hosts])
    found, aside = _pooled(able, material, contrasts, step, harm[0])
    decided = _unless_lost(verdict_on(found, material, step), hosts, absent or 0, few)
    decided, stalls, flags = side_effects.with_stalls(decided, lines, contrasts, _declared(able))
    moved = on_control(alone.control) if alone else None if able else CONTROLS_MOVED
    verdict = _turned_away(hosts) or moved or decided
    comparisons = {host.name: host.comparisons for host in hosts}
    failed, resent = (count(comparisons, contrasts) for count in (side_effects.failures, side_effects.resent))
    guards = [
        *(harm[1] if verdict.word != REGRESSED else ()),
        *([] if alone else side_effects.lost(comparisons)),
        *stalls,
        *(side_effects.fading(decided.word, lines, contrasts) if absent is not None else ()),
        *failed[0],
        *resent[0],
        *side_effects.dearer({host.name: host.usable for host in able}, contrasts, limits.dearer),
        *tails.guards({host.name: host.tail for host in able}),
    ]
    named, last = _deviations(able, found.effect, material)
    effect = found.effect if verdict.cause not in TURNED_AWAY else None
    known = {guard.name for guard in guards}
    if effect:
        guards += _worse(effect.ratio, able, [item for item in named if item["name"] not in known], material)
    if not alone and found.effect and found.unit == "rounds" and len(able) < FEWEST_HOSTS and not verdict.cause:
        last.append(f"this is about these {len(able)} hosts; at least {FEWEST_HOSTS} would say something about others.")
    flags += [*failed[1], *resent[1], *_unseen(able, verdict.word), *_order_flags(able), *_control_flags(hosts)]
    every = [item.entry for ours in comparisons.values() for item in ours]
    control = alone.control if alone else None
    return {
        "contrast": contrast.label,
        "scope": "host" if alone else "site",
        "host": alone.name if alone else None,
        "hosts": len(hosts),
        "workloads": len(every) if alone else len({entry["workload"] for entry in every}),
        "unit": found.unit,
        "rounds": found.rounds,
        **figures(verdict, effect),
        "material_pct": short(100.0 * material),
        "verdict": verdict.word,
        "reason": f"{verdict.reason}.",
        "cause": verdict.cause,
        "guards": guards,
        "warnings": verdict.word == IMPROVED and bool(guards or any(entry["guards"] for entry in every)),
        "flags": [*flags, *aside, *last],
        "deviations": named,
        "control_ratio": short(control.ratio) if control else None,
        "control_low": closed_end(control.low) if control else None,
        "control_high": closed_end(control.high) if control else None,
        "more_rounds": more_rounds(found, verdict.cause, material, contrasts),
    }


def _pooled(
    able: Sequence[Host], material: float, contrasts: int, step: float, harmed: Collection[str]
) -> tuple[Pooled, list[str]]:
    """What the hosts say together, or without the few harmed ones if that decides, and a flag that says so."""
    found = pooled.of_site([host.line for host in able], material, contrasts, step)
    if found.word == INCONCLUSIVE and 0 < len(harmed) <= MOST_NAMED * len(able):
        others = [host.line for host in able if host.name not in harmed]
        without = pooled.of_site(others, material, contrasts, step)
        if without.word == IMPROVED:
            return without, [f"the figures of this row are those of the hosts without {some([*harmed])}."]
    return found, []


def _deviations(able: Sequence[Host], effect: Effect | None, material: float) -> tuple[list[Part], list[str]]:
    """The hosts and workloads that differ from the others, and a flag if too many hosts differ."""
    if effect is None:
        return [], []
    apart = _different_hosts(able, effect.ratio, material)
    groups = len(apart) > MOST_NAMED * len(able)
    named = [
        *(("host", item) for item in apart if not groups),
        *(("workload", item) for item in _workloads(able, material)),
    ]
    told = [{"kind": kind, "name": name, "ratio": short(ratio), "p": short(p)} for kind, (name, ratio, p) in named]
    return told, [SEVERAL] if groups else []


def _declared(hosts: Sequence[Host]) -> int:
    """The rounds per state that were planned before the first one."""
    return max((item.protocol.rounds for host in hosts for found in host.usable for item in found.rounds), default=0)


def mean(steps: Sequence[float]) -> float:
    """The geometric mean of steps, because values are pooled on logarithms; infinity if all are."""
    known = [math.log1p(step) for step in steps if step < math.inf]
    return math.expm1(math.fsum(known) / len(known)) if known else math.inf


def _turned_away(hosts: Sequence[Host]) -> Verdict | None:
    """The verdict if no comparison can be used: that of the comparisons, the most telling first."""
    if any(host.usable for host in hosts):
        return None
    known = [item for host in hosts for item in host.comparisons]
    for word in (INCONCLUSIVE, NOT_COMPARABLE, NO_DATA):
        same = [item for item in known if item.entry["verdict"] == word]
        if same:
            number = "" if len(same) == 1 else f" ({len(same)} of {len(known)} comparisons; this is the first reason)"
            return Verdict(word, same[0].entry["reason"].rstrip(".") + number, same[0].cause)
    raise AssertionError("a comparison that was excluded has one of these verdicts")


def _unless_lost(verdict: Verdict, hosts: Sequence[Host], absent: int, few: Collection[str] = ()) -> Verdict:
    """INCONCLUSIVE if half of the comparisons, or of the hosts, say nothing."""
    if verdict.cause:
        return verdict
    total = sum(len(host.comparisons) for host in hosts)
    lost = sum(len(host.comparisons) if host.name in few else host.lost for host in hosts)
    silent = sum(host.name in few or host.lost == len(host.comparisons) for host in hosts) + absent
    if 2 * lost >= total > 0 and lost:
        what = f"{lost} of {total} comparisons were excluded"
    elif 2 * silent >= len(hosts) + absent and silent:
        what = f"{silent} of {len(hosts) + absent} hosts have no usable measurement"
    else:
        return verdict
    return Verdict(INCONCLUSIVE, f"{what}, so the rest decides nothing ({verdict.reason})", "lost")


def _workloads(hosts: Sequence[Host], material: float) -> list[Deviation]:
    """The workloads that differ from the others; on several hosts a workload is named by itself.

    The first comparison finds them, the second one has them against those that do not differ: of three workloads, one
    that moves pulls the median of each round to one of the others.
    """
    found = _against(hosts, material)
    names = {name for name, _ratio, _p in found}
    return [item for item in _against(hosts, material, names) if item[0] in names] if found else []


def _against(hosts: Sequence[Host], material: float, apart: Collection[str] = ()) -> list[Deviation]:
    """The workloads that differ from the others of their rounds without those ``apart``."""
    found: dict[str, list[tuple[list[float], list[float]]]] = {}
    limits: dict[str, float] = {}
    for host in hosts:
        if host.line.starts is not None:
            continue
        series = {}
        for item in host.usable:
            name = _workload_name(hosts, item)
            by_slot = dict(zip(item.line.slots, item.line.readings, strict=True))
            # every workload has these slots, unless it was left without one of the states in a session
            if by_slot.keys() >= set(host.line.slots):
                series[name, item.entry["peer"]] = [by_slot[slot] for slot in host.line.slots]
                limits[name] = max(material, item.step, limits.get(name, 0.0))
        others = [key for key in series if key[0] not in apart]
        for (name, _peer), readings in gates.from_the_others(series, others).items():
            line = host.line._replace(readings=tuple(readings))
            found.setdefault(name, []).append(pooled.sides(line))
    return gates.deviations(found, limits)


def _workload_name(hosts: Sequence[Host], item: Comparison) -> str:
    name = item.entry["workload"]
    return name if len(hosts) > 1 else f"{item.entry['host']} \u2192 {item.entry['peer']}, {name}"


def _different_hosts(hosts: Sequence[Host], ratio: float, material: float) -> list[Deviation]:
    if len(hosts) < FEWEST_TO_NAME:
        return []
    known = ((host.name, *pooled.sides(host.line)) for host in hosts if host.line.starts is None)
    values = {name: [(before, [value / ratio for value in after])] for name, before, after in known}
    return gates.deviations(values, {host.name: max(material, host.step) for host in hosts})


def _worse(ratio: float, hosts: Sequence[Host], named: Sequence[Part], material: float) -> list[Guard]:
    """What got worse by more than material, while the rest did not: a workload by its own ratio, a host by its part."""
    known = by_key((_workload_name(hosts, item), item.entry["ratio"]) for host in hosts for item in host.usable)
    alone = {name: median([found for found in ratios if found]) for name, ratios in known.items() if any(ratios)}
    worse = [(item["name"], alone.get(item["name"], ratio * item["ratio"])) for item in named]
    return [_got_worse(name, own) for name, own in worse if own < 1.0 and beyond(own, material)]


def _order_flags(hosts: Sequence[Host]) -> list[str]:
    """Each remark on the order of the rounds once; where starts are compared, the order says nothing."""
    known = {
        flag: None
        for host in hosts
        if host.line.starts is None
        for flag in order_flags(host.line.alternates, [item for found in host.usable for item in found.rounds])
    }
    return list(known)


def _unseen(hosts: Sequence[Host], word: str) -> list[str]:
    judged = [item for host in hosts for item in host.usable] if word in (IMPROVED, UNCHANGED) else []
    return tails.unseen(judged)


def _control_flags(hosts: Sequence[Host]) -> list[str]:
    blocked = [host.name for host in hosts if host.blocked]
    if not blocked or len(hosts) == 1:
        return []
    return [f"left out, because the control changed there: {some(blocked)}."]
