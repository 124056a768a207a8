# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of an experiment: its progress, each level compared with the baseline, and the winner. Pure functions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from .._records.round import Round
from .._statistics.looks import LOOKS, next_look
from .._statistics.verdict import IMPROVED, INCONCLUSIVE, NO_DATA, REGRESSED
from .plans import Cell, Plan, end_of, finished, hosts_of, steps

Part = dict[str, Any]
Item = Mapping[str, Any]
"""A row, a comparison or another part of a report."""
AnyItem = TypeVar("AnyItem", bound=Mapping[str, object])


def contrasts(experiment: Plan) -> list[tuple[str, str, str]]:
    """(label, phase before, phase after) of each cell against the baseline, in the order of the plan."""
    base = experiment["baseline"]
    return [(cell["name"], base, cell["name"]) for cell in experiment["cells"] if cell["name"] != base]


def rounds_for(experiment: Plan) -> int:
    """Rounds per level of the first look at which a level can win: complete separation has to be rare enough.

    The level of a look is divided by the number of levels that are compared with the baseline.
    """
    return (next_look(0, len(contrasts(experiment))) or LOOKS[-1]).rounds


def decided(experiment: Plan, pooled: Iterable[Item]) -> bool:
    """Whether the verdict of every level is known, so that more rounds would change nothing."""
    words = {level: row["verdict"] for level, row in first_rows(pooled).items()}
    return all(words.get(level, NO_DATA) != INCONCLUSIVE for level, _before, _after in contrasts(experiment))


def outcome(
    experiment: Plan,
    pooled: Sequence[Item],
    entries: Sequence[Item],
    records: Sequence[Round],
    tunings: Sequence[Item],
    undecided: str = "",
) -> Part:
    """The report's section ``experiment``: every level compared with the baseline, the progress, and the winner.

    ``pooled`` and ``entries`` are the report's pooled rows and comparisons, each with the ``contrast`` that it belongs
    to; ``records`` and ``tunings`` those of the change; ``undecided`` why a level is INCONCLUSIVE, empty if none is.
    """
    progress = _progress(experiment, records, tunings)
    deciding = first_rows(pooled)
    levels = [_level(experiment, cell, deciding.get(cell["name"]), pooled, entries) for cell in experiment["cells"]]
    winner, reason = _winner(experiment, levels, deciding, progress, undecided)
    confidences = [row["confidence_pct"] for row in deciding.values() if row["confidence_pct"] is not None]
    end, blocks, rounds = end_of(experiment), [], 0
    for block in experiment["order"]:
        if rounds < end:
            blocks.append(block)
        rounds += len(block) // len(experiment["cells"])
    return {
        "factors": [
            {"name": factor["name"], "levels": [level["name"] for level in factor["levels"]]}
            for factor in experiment["factors"]
        ],
        "baseline": experiment["baseline"],
        "rounds": end,
        "seed": experiment["seed"],
        "order": blocks,
        "confidence_pct": max(confidences, default=None),
        "rounds_for_a_winner": rounds_for(experiment),
        "levels": levels,
        "progress": progress,
        "winner": winner,
        "reason": reason,
    }


def first_rows(pooled: Iterable[AnyItem]) -> dict[str, AnyItem]:
    """The first row of each contrast, which is the verdict on it."""
    found: dict[str, AnyItem] = {}
    for row in pooled:
        found.setdefault(str(row["contrast"]), row)
    return found


def _progress(experiment: Plan, records: Sequence[Round], tunings: Sequence[Item]) -> Part:
    measured = {item.host for item in records}
    names = sorted({*hosts_of(experiment), *measured, *(file["host"] for file in tunings)})
    total = len(steps(experiment))
    hosts: list[Part] = [
        {"host": host, "done": len(ready), "steps": total, "measures": host in measured}
        for host, ready in finished(experiment, records, tunings, names).items()
    ]
    return {
        "steps": total,
        "done": min((host["done"] for host in hosts), default=0),
        "complete": bool(measured) and all(host["done"] == total for host in hosts),
        "hosts": hosts,
        "sessions": experiment["sessions"],
    }


def _level(
    experiment: Plan,
    cell: Cell,
    deciding: Item | None,
    pooled: Sequence[Item],
    entries: Sequence[Item],
) -> Part:
    """One row, with the verdict and the figures of the pooled row that decides on the level.

    ``candidate``: better on the whole, worse on no host, and no guard warns.
    """
    rows = [row for row in pooled if row["contrast"] == cell["name"]]
    ours = [item for item in entries if item["contrast"] == cell["name"] and not item["control"]]
    words = [item["verdict"] for item in ours]
    guards = list(dict.fromkeys(sentence for item in (*rows, *ours) for sentence in item["guards"]))
    row = deciding or dict.fromkeys(("verdict", "ratio", "low", "high"))
    baseline = cell["name"] == experiment["baseline"]
    return {
        "name": cell["name"],
        "levels": cell["levels"],
        "vars": cell["vars"],
        "found": not cell["set"],
        "baseline": baseline,
        "comparisons": len(ours),
        "verdicts": {word: words.count(word) for word in sorted(set(words))},
        "verdict": row["verdict"] or (None if baseline else NO_DATA),
        **{name: row[name] for name in ("ratio", "low", "high")},
        "guards": guards,
        "candidate": row["verdict"] == IMPROVED
        and not guards
        and not any(item["verdict"] == REGRESSED for item in rows),
    }


def _winner(
    experiment: Plan,
    levels: Sequence[Item],
    deciding: Mapping[str, Item],
    progress: Item,
    undecided: str,
) -> tuple[str | None, str]:
    """The name of the candidate with the largest ratio, and the reason in one sentence."""
    base, total = experiment["baseline"], progress["steps"]
    if not progress["complete"]:
        behind = [f"{host['host']} {host['done']}" for host in progress["hosts"] if host["done"] < total]
        came = f" ({', '.join(behind[:5])})" if behind else ""
        most = "at most " if experiment["stopped"] is None else ""
        return None, (
            f"The experiment is not complete{came}: the same command resumes it; {most}{total} steps are planned."
        )
    candidates = [level for level in levels if level["candidate"]]
    if not candidates:
        last = (progress["sessions"] or [{}])[-1]
        left = " Nothing was changed." if last.get("ended") and not last.get("failures") else ""
        return None, f"{undecided or f'No level is surely better than {base} without a guard that warns'}.{left}"
    best = max(candidates, key=lambda level: level["ratio"])
    # their intervals meet
    alike = [
        level["name"]
        for level in candidates
        if level is not best
        and all((a["low"] or 0.0) <= (b["high"] or math.inf) for a, b in ((best, level), (level, best)))
    ]
    text = f"{best['name']} is better than {base}: {deciding[best['name']]['reason'].rstrip('.')}, and no guard warns"
    return best["name"], f"{text}; these data do not distinguish it from {', '.join(alike)}." if alike else f"{text}."
