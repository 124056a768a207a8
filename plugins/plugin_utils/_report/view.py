# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of the report in reading order: sorted, grouped, counted. Pure functions, no markup."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from . import pooled
from .text import DASH, VERDICT_STYLES, Item, PairKey, Report, Runs, natural, plural, verdict_of, verdict_word, warned

METRICS = {
    "av2_us": "average round trip (av2)",
    "avg_us": "average round trip (avg)",
    "max_us": "longest round trip",
    "min_us": "shortest round trip",
    "tr2_kib_per_s": "throughput (tr2)",
    "elapsed_s": "elapsed time",
    "cpu_us_per_unit_client": "CPU time per unit, client",
    "cpu_us_per_unit_server": "CPU time per unit, server",
    "cpu_us_per_unit": "CPU time per unit",
}


@dataclass
class Group:
    """Equal items of several hosts, shown once."""

    item: Item
    members: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class WorkloadRow:
    """The results of a fleet under one workload."""

    name: str
    control: bool
    counts: dict[str, int]
    total: int
    median_ratio: float | None
    comparisons: list[Item]


def key_of(item: Item) -> PairKey:
    """The key that links runs to their comparison: host, peer, workload."""
    return str(item.get("host")), str(item.get("peer")), str(item.get("workload"))


def metric_words(name: object) -> str:
    """A metric in words; an unknown metric keeps its name."""
    return METRICS.get(str(name), str(name))


def pair_name(item: Item) -> str:
    """``app1 -> app2`` with a real arrow."""
    return f"{item.get('host')} \u2192 {item.get('peer')}"


def pair_title(item: Item) -> str:
    """The pair, and in an experiment the level that is compared with the baseline."""
    contrast = item.get("contrast")
    return f"{pair_name(item)}, {contrast}" if contrast else pair_name(item)


def common_extent(items: Iterable[Item]) -> str:
    """``6 rounds, 30 runs per state`` if all states of these comparisons have that many, and none has a failed run."""
    states = [item.get(side) or {} for item in items for side in ("before", "after")]
    known = {(side.get("rounds"), side.get("runs")) for side in states}
    if len(known) != 1 or any(side.get("failed_runs") for side in states):
        return ""
    rounds, runs = known.pop()
    return f"{plural(rounds, 'round')}, {plural(runs, 'run')} per state" if rounds and runs else ""


def common_domain(items: Iterable[Item]) -> str:
    """``.example.com`` if all hosts with a domain share it: a drawing has no room to repeat it in every row.

    Empty if the names without it would be addresses or not unique.
    """
    names = {str(item.get(end)) for item in items for end in ("host", "peer")}
    domains = {domain for _name, dot, domain in (name.partition(".") for name in names) if dot}
    domain = f".{domains.pop()}" if len(domains) == 1 else ""
    bare = {name.removesuffix(domain) for name in names}
    return "" if len(bare) < len(names) or domain.rpartition(".")[2].isdigit() else domain


def workload_name(item: Item) -> str:
    """The workload, and in an experiment the level that is compared with the baseline."""
    contrast = item.get("contrast")
    return f"{item.get('workload')}, {contrast}" if contrast else str(item.get("workload"))


def states_of(report: Report, item: Item) -> dict[str, str]:
    """The phases of the records that are the two states of a comparison."""
    experiment, contrast = report.get("experiment"), item.get("contrast")
    if experiment and contrast:
        return {str(experiment.get("baseline")): "before", str(contrast): "after"}
    return {"before": "before", "after": "after"}


DECISIONS = {
    "IMPROVED": "Keep the change.",
    "REGRESSED": "Do not keep the change as it is.",
    "UNCHANGED": "The change makes no material difference here.",
    "INCONCLUSIVE": "Do not decide yet: these data allow no conclusion.",
    "NOT COMPARABLE": "Do not decide yet: the two states cannot be compared.",
    "NO DATA": "Do not decide yet: there are no data.",
}
UNDECIDED = {
    "rounds": "Do not decide yet: there are too few rounds.",
    "noise": "Do not decide yet: the noise is too large for a conclusion from these rounds.",
    "control": "Do not decide yet: something else changed as well, because the control workload moved.",
    "failed": "Do not decide yet: too many runs failed.",
    "starts": "Do not decide yet: each state needs more starts of the machine.",
    "coarse": "Do not decide yet: the figures are too coarse.",
    "lost": "Do not decide yet: too many hosts or comparisons have no result.",
}
"""The same for INCONCLUSIVE, by its cause."""


def decision(report: Report) -> str:
    """Whether to keep the change, in one sentence; empty for an experiment, which decides by itself."""
    if report.get("experiment"):
        return ""
    row: Item = next(iter(report.get("pooled") or ()), {})
    word, lost = verdict_of(report).word, pooled.lost(report)
    if lost and word in ("IMPROVED", "UNCHANGED", "INCONCLUSIVE"):
        return f"Do not decide yet: {lost}."
    if word == "IMPROVED" and verdict_of(row).word != word:
        word = "INCONCLUSIVE"
    if word == "INCONCLUSIVE":
        return UNDECIDED.get(str(row.get("cause")), DECISIONS[word])
    if word == "IMPROVED" and warned(report):
        return "Better, but with side effects: check the guards before you keep the change."
    if word == "IMPROVED" and report["protocol"].get("design") != "alternate":
        return (
            "Keep the change if nothing else changed meanwhile: the start times do not show that the states alternated."
        )
    return DECISIONS[word]


def context_rows(report: Report) -> list[dict[str, Any]]:
    """Settings stored with the records: one value if all states share it, otherwise the values by state."""
    found = []
    for item in report.get("context") or ():
        values = {state: ", ".join(map(str, known)) for state, known in item["values"].items()}
        several = any(len(known) > 1 for known in item["values"].values())
        alone = next(iter(values)) if len(values) == 1 else ""
        same = not several and not alone and len(set(values.values())) == 1
        reading = "the same" if same else f"known only for {alone}" if alone else "differs"
        states = sorted(values, key=lambda state: (state != "before", natural(state)))
        lines = [next(iter(values.values()))] if same else [f"{state}: {values[state]}" for state in states]
        found.append({"name": item["name"], "kind": item["kind"], "lines": lines, "same": same, "reading": reading})
    return found


def levels_of(report: Report) -> list[dict[str, Any]]:
    """The levels of an experiment, each with the pooled row that decides about it."""
    rows = {row.get("contrast"): row for row in pooled.deciding(report)}
    told = ("verdict", "warnings", "ratio", "low", "high", "confidence_pct", "reason")
    found = []
    for level in (report.get("experiment") or {}).get("levels") or ():
        row = rows.get(level.get("name"), {})
        guards = [*(row.get("guards") or ()), *(level.get("guards") or ())]
        found.append({**level, **{key: row.get(key) for key in told}, "guards": list(dict.fromkeys(guards))})
    return found


def ways(item: Item) -> str:
    """The transports before and after, ``tcp \u2192 smc: SMCR``; empty if only TCP was used."""
    known = item.get("transport") or {}
    sides = [", ".join(map(str, known.get(side) or ())) for side in ("before", "after")]
    if set(sides) <= {"", "tcp"}:
        return ""
    return sides[0] if sides[0] == sides[1] else f"{sides[0] or DASH} \u2192 {sides[1] or DASH}"


def ordered(comparisons: Iterable[Item]) -> list[Item]:
    """By host, peer, then the workload's size: ``1000B`` stands before ``10000B``, controls come last."""

    def key(item: Item) -> tuple[Any, ...]:
        return (
            natural(item.get("host")),
            bool(item.get("control")),
            natural(item.get("peer")),
            natural(item.get("contrast") or ""),
            item.get("bytes") or 0,
            item.get("connections") or 0,
            natural(item.get("workload")),
        )

    return sorted(comparisons, key=key)


def worst_first(comparisons: Iterable[Item]) -> list[Item]:
    """By verdict, the most urgent first, then by ratio; without controls."""

    def key(item: Item) -> tuple[Any, ...]:
        ratio = item.get("ratio")
        guarded = verdict_word(item) != verdict_of(item).word
        return verdict_of(item).rank - 1.5 * guarded, ratio if ratio is not None else 1.0

    return sorted((item for item in ordered(comparisons) if not item.get("control")), key=key)


def by_pair(comparisons: Iterable[Item]) -> list[tuple[str, list[Item]]]:
    """Comparisons in reading order below the name of their pair; a host's controls stand below its last pair."""
    pairs: dict[str, list[Item]] = {}
    last: dict[tuple[str, str], str] = {}
    for item in ordered(comparisons):
        contrast = str(item.get("contrast") or "")
        name = pair_title(item)
        if item.get("control"):
            name = last.get((str(item.get("host")), contrast), name)
        else:
            last[str(item.get("host")), contrast] = name
        pairs.setdefault(name, []).append(item)
    return list(pairs.items())


def by_workload(comparisons: Iterable[Item]) -> list[WorkloadRow]:
    """Counts of verdicts and the median ratio of each workload; controls last."""
    found: dict[str, list[Item]] = {}
    for item in ordered(comparisons):
        found.setdefault(str(item.get("workload")), []).append(item)
    rows = []
    for name, items in found.items():
        counts = dict.fromkeys(VERDICT_STYLES, 0)
        for item in items:
            counts[verdict_of(item).word] += 1
        ratios = [item["ratio"] for item in items if item.get("ratio") is not None]
        median = statistics.median(ratios) if ratios else None
        rows.append(WorkloadRow(name, bool(items[0].get("control")), counts, len(items), median, items))
    return sorted(rows, key=lambda row: (row.control, row.comparisons[0].get("bytes") or 0, natural(row.name)))


def _grouped(items: Iterable[Item], same: Iterable[str], member: Callable[[Item], str]) -> list[Group]:
    names = tuple(same)
    groups: dict[str, Group] = {}
    for item in items:
        key = json.dumps([item.get(name) for name in names], sort_keys=True, default=str)
        group = groups.setdefault(key, Group(item))
        if (name := member(item)) not in group.members:
            group.members.append(name)
    for group in groups.values():
        group.members.sort(key=natural)
    return list(groups.values())


def change_groups(report: Report) -> list[Group]:
    """Tunings with the same outcome on several hosts as one entry; those without effect first."""
    same = ("contrast", "name", "subject", "wanted", "before", "after", "verdict", "took_effect", "reason", "conflicts")
    groups = _grouped(report.get("changes") or (), (*same, "remarks", "undo"), lambda item: str(item.get("host")))
    return sorted(groups, key=lambda g: (g.item.get("took_effect") is not False, natural(g.item.get("name"))))


def comparability_groups(report: Report) -> list[Group]:
    """Fingerprint items with their pairs: violations first, items that are only shown last."""
    same = ("item", "before", "after", "must_match", "declared")
    groups = _grouped(report.get("comparability") or (), same, pair_name)

    def key(group: Group) -> tuple[Any, ...]:
        differs = group.item.get("before") != group.item.get("after")
        must = bool(group.item.get("must_match"))
        return not (differs and must), not differs, not must, natural(group.item.get("item"))

    return sorted(groups, key=key)


def not_measured_groups(report: Report) -> list[Group]:
    """The hosts without a measurement, grouped by reason."""
    return _grouped(report.get("not_measured") or (), ("reason",), lambda item: str(item.get("host")))


def runs_of(runs: Runs, keys: Iterable[PairKey]) -> dict[PairKey, list[Item]]:
    """The runs of the named comparisons, in time order."""
    found: dict[PairKey, list[Item]] = {key: [] for key in keys}
    for run in runs(found.keys()):
        found[key_of(run)].append(run)
    for mine in found.values():
        mine.sort(
            key=lambda r: (str(r.get("started") or ""), str(r.get("phase")), r.get("round") or 0, r.get("run") or 0)
        )
    return found
