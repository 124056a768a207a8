# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What came of an experiment: each level against the baseline, how far it came, and which level won. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._records.round import Round
from .._statistics.ranks import median
from .._statistics.verdict import FEWEST_ROUNDS, IMPROVED, UNCHANGED
from .plans import Plan, Step, done, steps


def contrasts(experiment: Plan) -> list[tuple[str, str, str]]:
    """(label, phase before, phase after) of each cell against the baseline, in the order of the plan."""
    base = experiment["baseline"]
    return [(cell["name"], base, cell["name"]) for cell in experiment["cells"] if cell["name"] != base]


def confidence_pct(experiment: Plan, asked_pct: float) -> float:
    """The confidence of one contrast with which all of them together keep the one asked for (Bonferroni)."""
    return 100.0 - (100.0 - asked_pct) / len(contrasts(experiment))


def rounds_for(experiment: Plan, asked_pct: float) -> int:
    """The fewest rounds with which a level can be told from the baseline at all: with fewer no split is rare enough."""
    share = 1.0 - confidence_pct(experiment, asked_pct) / 100.0
    rounds = FEWEST_ROUNDS
    while 2.0 / math.comb(2 * rounds, rounds) > share:
        rounds += 1
    return rounds


def outcome(
    experiment: Plan,
    entries: Sequence[Mapping[str, Any]],
    records: Iterable[Round],
    tunings: Iterable[Mapping[str, Any]],
    asked_pct: float = 95.0,
) -> dict[str, Any]:
    """The report's section ``experiment``: every level against the baseline, how far it came, and the winner.

    ``entries`` are the report's comparisons, each with the ``contrast`` that it belongs to; ``records`` and ``tunings``
    those of the change.
    """
    progress = _progress(experiment, records, tunings)
    levels = [_level(experiment, cell, entries) for cell in experiment["cells"]]
    winner, reason = _winner(experiment, levels, entries, progress)
    return {
        "factors": [
            {"name": factor["name"], "levels": [level["name"] for level in factor["levels"]]}
            for factor in experiment["factors"]
        ],
        "baseline": experiment["baseline"],
        "rounds": experiment["rounds"],
        "seed": experiment["seed"],
        "order": experiment["order"],
        "confidence_pct": float(f"{confidence_pct(experiment, asked_pct):.6g}"),
        "rounds_for_a_winner": rounds_for(experiment, asked_pct),
        "levels": levels,
        "progress": progress,
        "winner": winner,
        "reason": reason,
    }


def _progress(experiment: Plan, records: Iterable[Round], tunings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    measured: dict[str, set[Step]] = {}
    tuned: dict[str, set[Step]] = {}
    for item in records:
        measured.setdefault(item.host, set()).add((item.phase, item.number))
    for file in tunings:
        tuned.setdefault(file["host"], set()).add((file["phase"], file["round"]))
    planned = {host for session in experiment["sessions"] for host in session["hosts"]}
    total = len(steps(experiment))
    hosts = [
        {
            "host": host,
            "done": len(done(experiment, tuned.get(host, ()), measured.get(host, ()))),
            "steps": total,
            "measures": host in measured,
        }
        for host in sorted({*planned, *measured, *tuned})
    ]
    return {
        "steps": total,
        "done": min((int(host["done"]) for host in hosts), default=0),
        "complete": bool(measured) and all(host["done"] == total for host in hosts),
        "hosts": hosts,
        "sessions": experiment["sessions"],
    }


def _level(experiment: Plan, cell: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row: the median ratio over the comparisons with the baseline, and from where to where their intervals reach.

    ``candidate``: better somewhere, worse or undecided nowhere, and no guard complains.
    """
    ours = _of(cell["name"], entries)
    ratios = [item["ratio"] for item in ours if item["ratio"] is not None]
    words = {item["verdict"] for item in ours}
    guards = [sentence for item in ours for sentence in item["guards"]]
    return {
        "name": cell["name"],
        "levels": cell["levels"],
        "vars": cell["vars"],
        "found": not cell["set"],
        "baseline": cell["name"] == experiment["baseline"],
        "comparisons": len(ours),
        "verdicts": {word: sum(item["verdict"] == word for item in ours) for word in sorted(words)},
        "ratio": float(f"{median(ratios):.6g}") if ratios else None,
        "low": _end(ours, "low", min),
        "high": _end(ours, "high", max),
        "guards": guards,
        "candidate": IMPROVED in words and words <= {IMPROVED, UNCHANGED} and not guards,
    }


def _of(label: str, entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [item for item in entries if item["contrast"] == label and not item["control"]]


def _end(entries: Sequence[Mapping[str, Any]], name: str, outermost: Any) -> float | None:
    """The outermost end of the intervals; None if one of them has no end."""
    ends = [item[name] for item in entries]
    return outermost(ends) if ends and None not in ends else None


def _winner(
    experiment: Plan,
    levels: Sequence[Mapping[str, Any]],
    entries: Sequence[Mapping[str, Any]],
    progress: Mapping[str, Any],
) -> tuple[str | None, str]:
    """The name of the candidate with the largest ratio, and the reason in one sentence."""
    base, total = experiment["baseline"], progress["steps"]
    if not progress["complete"]:
        behind = [f"{host['host']} {host['done']}" for host in progress["hosts"] if host["done"] < total]
        came = f" ({', '.join(behind[:5])})" if behind else ""
        return None, f"The experiment is not complete{came}: the same command goes on where it ended, of {total} steps."
    candidates = [level for level in levels if level["candidate"]]
    if not candidates:
        return (
            None,
            f"No level is better than {base} beyond doubt and without a guard: everything is left as it was found.",
        )
    best = max(candidates, key=lambda level: level["ratio"])
    alike = [level["name"] for level in candidates if level is not best and _overlap(best, level, entries)]
    text = f"{best['name']} is better than {base}, by {100.0 * (best['ratio'] - 1.0):.1f} % in the median"
    text += f" of {best['comparisons']} comparisons, and no guard complains"
    return best["name"], f"{text}; these data do not tell it from {', '.join(alike)}." if alike else f"{text}."


def _overlap(one: Mapping[str, Any], other: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the intervals of two levels meet in every comparison."""
    pairs = zip(_of(one["name"], entries), _of(other["name"], entries), strict=False)
    return all(
        (first["low"] or 0.0) <= (second["high"] or math.inf) and (second["low"] or 0.0) <= (first["high"] or math.inf)
        for first, second in pairs
    )
