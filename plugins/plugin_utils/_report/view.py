# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of the report in reading order: sorted, grouped, counted. Pure functions, no markup."""

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from .._compare.shapes import Comparison, PairName, Part, Report
from .._pages import blocks as ui
from .._pages.text import (
    DASH,
    Item,
    PairKey,
    Runs,
    natural,
    plural,
    verdict_of,
    verdict_word,
    warned,
)
from .._records.grouping import Group, by_key, grouped
from . import pooled

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


@dataclass(frozen=True)
class WorkloadRow:
    """The results of a fleet under one workload."""

    name: str
    control: bool
    counts: Counter[str]
    total: int
    median_ratio: float | None
    comparisons: list[Comparison]


def key_of(item: Comparison) -> PairKey:
    """The key that links runs to their comparison: host, peer, workload."""
    return str(item["host"]), str(item["peer"]), str(item["workload"])


def metric_words(name: object) -> str:
    """A metric in words; an unknown metric keeps its name."""
    return METRICS.get(str(name), str(name))


def metric_of(item: Item) -> str:
    """A metric in words, and its better direction."""
    return f"{metric_words(item['metric'])}, {item['better']} is better"


def closing(problems: Sequence[str], method: Sequence[str]) -> list[ui.Section]:
    """The last sections of the pages of series and calibrations."""
    told = ui.Items(problems) if problems else ui.Paragraph("No problems were found.")
    return [
        ui.Section("Problems with the data", [told], "problems"),
        ui.Section("How to read it", [ui.Items(method)], "method"),
    ]


def pair_name(item: PairName) -> str:
    """``app1 -> app2`` with a real arrow."""
    return f"{item['host']} \u2192 {item['peer']}"


def pair_title(item: Comparison) -> str:
    """The pair, and in an experiment the level that is compared with the baseline."""
    contrast = item["contrast"]
    return f"{pair_name(item)}, {contrast}" if contrast else pair_name(item)


def common_extent(items: Iterable[Comparison]) -> str:
    """``6 rounds, 30 runs per state`` if all states of these comparisons have that many, and none has a failed run."""
    states = [side for item in items for side in (item["before"], item["after"])]
    known = {(side["rounds"], side["runs"]) for side in states}
    if len(known) != 1 or any(side["failed_runs"] for side in states):
        return ""
    rounds, runs = known.pop()
    return f"{plural(rounds, 'round')}, {plural(runs, 'run')} per state" if rounds and runs else ""


def workload_name(item: Comparison) -> str:
    """The workload, and in an experiment the level that is compared with the baseline."""
    contrast = item["contrast"]
    return f"{item['workload']}, {contrast}" if contrast else str(item["workload"])


def states_of(report: Report, item: Comparison) -> dict[str, str]:
    """The phases of the records that are the two states of a comparison."""
    experiment, contrast = report["experiment"], item["contrast"]
    if experiment and contrast:
        return {str(experiment.get("baseline")): "before", str(contrast): "after"}
    return {"before": "before", "after": "after"}


DECISIONS = {
    "IMPROVED": "Keep the change.",
    "REGRESSED": "Do not keep the change as it is.",
    "UNCHANGED": "The change makes no material difference here.",
    "INCONCLUSIVE": "Do not decide yet: do the next step first.",
    "NOT COMPARABLE": "Do not decide yet: the two states cannot be compared.",
    "NO DATA": "Do not decide yet: there are no data.",
}


def decision(report: Report) -> str:
    """Whether to keep the change, in one sentence; empty for an experiment, which decides by itself."""
    if report["experiment"]:
        return ""
    row = next(iter(report["pooled"]), None)
    word, lost = verdict_of(report).word, pooled.lost(report)
    if lost and word in ("IMPROVED", "UNCHANGED"):
        return f"Do not decide yet: {lost}."
    if word == "IMPROVED" and (row is None or verdict_of(row).word != word):
        word = "INCONCLUSIVE"
    if word == "UNCHANGED" and row is not None and any(guard.kind == "worse" for guard in row["guards"]):
        return "No material difference on the whole, but a part got worse: check the guards before you keep the change."
    if word == "IMPROVED" and warned(report):
        return "Better, but with side effects: check the guards before you keep the change."
    if word == "IMPROVED" and report["protocol"].get("design") != "alternate":
        return (
            "Keep the change if nothing else changed meanwhile: the start times do not show that the states alternated."
        )
    return DECISIONS[word]


def levels_of(report: Report) -> list[Part]:
    """The levels of an experiment, each with the pooled row that decides about it."""
    rows: dict[str, Part] = {row["contrast"]: {**row} for row in pooled.deciding(report)}
    told = ("verdict", "warnings", "ratio", "low", "high", "confidence_pct", "reason")
    found = []
    for level in report["experiment"]["levels"] if report["experiment"] else ():
        row = rows.get(level["name"], {})
        guards = [*row.get("guards", ()), *level.get("guards", ())]
        found.append({**level, **{key: row.get(key) for key in told}, "guards": list(dict.fromkeys(guards))})
    return found


def ways(item: Comparison) -> str:
    """The transports before and after, ``tcp \u2192 smc: SMCR``; empty if only TCP was used."""
    known = item["transport"]
    sides = [", ".join(map(str, known.get(side) or ())) for side in ("before", "after")]
    if set(sides) <= {"", "tcp"}:
        return ""
    return sides[0] if sides[0] == sides[1] else f"{sides[0] or DASH} \u2192 {sides[1] or DASH}"


def ordered(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """By host, peer, then the workload's size: ``1000B`` stands before ``10000B``, controls come last."""

    def key(item: Comparison) -> tuple[Any, ...]:
        return (
            natural(item["host"]),
            bool(item["control"]),
            natural(item["peer"]),
            natural(item["contrast"] or ""),
            item["bytes"] or 0,
            item["connections"] or 0,
            natural(item["workload"]),
        )

    return sorted(comparisons, key=key)


def worst_first(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """By verdict, the most urgent first, then by ratio; without controls."""

    def key(item: Comparison) -> tuple[Any, ...]:
        ratio = item["ratio"]
        guarded = verdict_word(item) != verdict_of(item).word
        return verdict_of(item).rank - 1.5 * guarded, ratio if ratio is not None else 1.0

    return sorted((item for item in ordered(comparisons) if not item["control"]), key=key)


def by_pair(comparisons: Iterable[Comparison]) -> list[tuple[str, list[Comparison]]]:
    """Comparisons in reading order below the name of their pair; a host's controls stand below its last pair."""
    pairs: dict[str, list[Comparison]] = {}
    last: dict[tuple[str, str], str] = {}
    for item in ordered(comparisons):
        contrast = str(item["contrast"] or "")
        name = pair_title(item)
        if item["control"]:
            name = last.get((str(item["host"]), contrast), name)
        else:
            last[str(item["host"]), contrast] = name
        pairs.setdefault(name, []).append(item)
    return list(pairs.items())


def by_workload(comparisons: Iterable[Comparison]) -> list[WorkloadRow]:
    """Counts of verdicts and the median ratio of each workload; controls last."""
    found = by_key((str(item["workload"]), item) for item in ordered(comparisons))
    rows = []
    for name, items in found.items():
        counts = Counter(verdict_of(item).word for item in items)
        ratios = [item["ratio"] for item in items if item["ratio"] is not None]
        median = statistics.median(ratios) if ratios else None
        rows.append(WorkloadRow(name, bool(items[0].get("control")), counts, len(items), median, items))
    return sorted(rows, key=lambda row: (row.control, row.comparisons[0].get("bytes") or 0, natural(row.name)))


def _grouped(items: Iterable[Part], same: Sequence[str], member: Callable[[Part], str]) -> list[Group[Part]]:
    """The items that are the same in these fields."""
    named = ((member(item), item) for item in items)
    groups = grouped(named, lambda item: json.dumps([item.get(key) for key in same], sort_keys=True, default=str))
    return [Group(group.item, sorted(set(group.members), key=natural)) for group in groups]


def change_groups(report: Report) -> list[Group[Part]]:
    """Tunings with the same outcome on several hosts as one entry; those without effect first."""
    same = ("contrast", "name", "subject", "wanted", "before", "after", "verdict", "took_effect", "reason", "conflicts")
    groups = _grouped(report["changes"], (*same, "remarks", "undo"), lambda item: str(item["host"]))
    return sorted(groups, key=lambda g: (g.item["took_effect"] is not False, natural(g.item["name"])))


def comparability_groups(report: Report) -> list[Group[Part]]:
    """Fingerprint items with their pairs: violations first, items that are only shown last."""
    same = ("item", "before", "after", "must_match", "declared")
    groups = _grouped(report["comparability"], same, lambda item: pair_name(cast(PairName, item)))

    def key(group: Group[Part]) -> tuple[Any, ...]:
        differs = group.item["before"] != group.item["after"]
        must = bool(group.item["must_match"])
        return not (differs and must), not differs, not must, natural(group.item["item"])

    return sorted(groups, key=key)


def not_measured_groups(report: Report) -> list[Group[Part]]:
    """The hosts without a measurement, grouped by reason."""
    return _grouped(report["not_measured"], ("reason",), lambda item: str(item["host"]))


def runs_of(runs: Runs, keys: Iterable[PairKey]) -> dict[PairKey, list[Part]]:
    """The runs of the named comparisons, in time order."""
    found: dict[PairKey, list[Part]] = {key: [] for key in keys}
    for run in runs(found.keys()):
        found[run["host"], run["peer"], run["workload"]].append(run)
    for mine in found.values():
        mine.sort(key=lambda r: (str(r["started"] or ""), str(r["phase"]), r["round"] or 0, r["run"] or 0))
    return found
