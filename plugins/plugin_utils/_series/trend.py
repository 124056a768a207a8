# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many changes in their order: the effect of each on one metric, the gaps between them, and the overall result.

A pure function of the changes' comparisons. Each step keeps the ratio and the verdict of its own change, whose states
were measured together. From the end of one change to the begin of the next nothing was measured together: that is the
``gap``, shown and credited to nobody. The whole is the first state against the last one, which were measured at
different times; the headline calls only the sum of the changes' own effects better or worse.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean
from typing import TypedDict, cast

from .._compare.shapes import Comparison, Figures, Judged, PairName, State
from .._compare.wording import gain as said
from .._compare.wording import signed, some
from .._statistics.planning import student
from .._statistics.ranks import Ratios, closed_end, short
from .._statistics.verdict import IMPROVED, NO_DATA, REGRESSED, Better, estimate

SCHEMA = "zpower.sap_tuning/trend/1"
SUM_LEVEL = 0.97
"""Level of each change's interval in the sum.

Simulated for this collection (4,000 series a cell, 2 to 10 changes of 8 rounds, level of a session to 5 %): a sum of
flat changes is called better or worse in 0.8 to 2.1 %; the first state against the last one was in 5 to 77 %.
"""
FEWEST_GAPS = 3
"""Fewer gaps between changes do not show how much sessions differ."""

Key = tuple[str, str, str, str, str, Better]
"""Host, peer, workload, metric, unit and direction: seconds and milliseconds of one metric are two series."""

NOTHING: State = {"rounds": 0, "runs": 0, "failed_runs": 0, "median": None, "round_medians": [], "spread_pct": None}
MISSING = cast(
    "Comparison",
    {
        **{"before": NOTHING, "after": NOTHING, "ratio": None, "low": None, "high": None, "verdict": NO_DATA},
        **{"warnings": False, "reason": "The change has no record of this pair and workload."},
    },
)


class Side(TypedDict):
    """A state of one change, with its lowest and highest round."""

    median: float
    least: float
    most: float
    rounds: int


class Stage(Judged):
    """One change in a series; ``gap``: from the state before, ``cumulative``: since the first, both as ratios."""

    change: str
    label: str
    before: Side | None
    after: Side | None
    change_pct: float | None
    gap: float | None
    cumulative: float | None


class Whole(Figures):
    """All changes; ``steps_ratio``: the product of what each of them did."""

    before: float | None
    after: float | None
    change_pct: float | None
    steps_ratio: float | None


class TrendSeries(PairName):
    """One metric of one workload between two hosts."""

    workload: str
    metric: str
    unit: str
    better: Better
    steps: list[Stage]
    whole: Whole


class Trend(TypedDict):
    """The document, schema zpower.sap_tuning/trend/1."""

    schema: str
    name: str
    headline: str
    changes: list[dict[str, str]]
    series: list[TrendSeries]
    problems: list[str]


@dataclass(frozen=True)
class TrendStep:
    """One change: its name, its label in the trend, its comparisons from the report, the problems of its records.

    ``unsure``: the comparisons whose figures prove nothing, such as those with a control that moved.
    """

    change: str
    label: str
    comparisons: Sequence[Comparison]
    problems: Sequence[str] = ()
    unsure: Sequence[Comparison] = ()


def trend(name: str, steps: Sequence[TrendStep], workload: str = "*", metric: str = "*") -> Trend:
    """The trend (schema ``zpower.sap_tuning/trend/1``) of changes in the given order: the same for the same records.

    ``workload`` and ``metric`` are patterns as for file names. Controls are in no trend.
    """
    found: list[dict[Key, Comparison]] = [
        {
            (item["host"], item["peer"], item["workload"], item["metric"], item["unit"], item["better"]): item
            for item in step.comparisons
            if not item["control"] and fnmatchcase(item["workload"], workload) and fnmatchcase(item["metric"], metric)
        }
        for step in steps
    ]
    rows = {key: [entries.get(key, MISSING) for entries in found] for key in sorted(set().union(*found))}
    series = [_series(key, steps, entries) for key, entries in rows.items()]
    empty = [step.change for step, entries in zip(steps, found, strict=True) if not entries]
    unsure = [entry for step in steps for entry in step.unsure]
    return {
        "schema": SCHEMA,
        "name": name,
        "headline": _headline(
            series, list(rows.values()), unsure, f"over {len(steps)} change{'s' * (len(steps) != 1)}"
        ),
        "changes": [{"change": step.change, "label": step.label} for step in steps],
        "series": series,
        "problems": [
            *(f"The change {change} has no matching comparison." for change in empty),
            *(f"{step.change}: {problem}" for step in steps for problem in step.problems),
        ],
    }


def _series(key: Key, steps: Sequence[TrendStep], entries: Sequence[Comparison]) -> TrendSeries:
    host, peer, workload, metric, unit, better = key
    first = next((at for at, entry in enumerate(entries) if entry["before"]["median"] is not None), len(entries))
    begin = entries[first]["before"] if first < len(entries) else NOTHING
    # a state that was measured before the first one is not the end of anything
    later = reversed(entries[first:])
    end = next((entry["after"] for entry in later if entry["after"]["median"] is not None), NOTHING)
    stages: list[Stage] = []
    last: float | None = None
    for place, (step, entry) in enumerate(zip(steps, entries, strict=True)):
        old, new = entry["before"]["median"], entry["after"]["median"]
        stages.append(
            {
                "change": step.change,
                "label": step.label,
                "before": _side(entry["before"]),
                "after": _side(entry["after"]),
                "change_pct": _change_pct(old, new),
                "ratio": entry["ratio"],
                "low": entry["low"],
                "high": entry["high"],
                "gap": short(gain(last, old, better)),
                "cumulative": short(gain(begin["median"] if place >= first else None, new, better)),
                "verdict": entry["verdict"],
                "warnings": entry["warnings"],
                "reason": entry["reason"],
            }
        )
        last = last if new is None else new
    return {
        "host": host,
        "peer": peer,
        "workload": workload,
        "metric": metric,
        "unit": unit,
        "better": better,
        "steps": stages,
        "whole": _whole(begin, end, stages, better),
    }


def _change_pct(old: float | None, new: float | None) -> float | None:
    return None if old is None or new is None else short(100.0 * (new / old - 1.0))


def _side(side: State) -> Side | None:
    values = side["round_medians"]
    if side["median"] is None or not values:
        return None
    return {"median": side["median"], "least": min(values), "most": max(values), "rounds": side["rounds"]}


def _whole(begin: State, end: State, steps: Sequence[Stage], better: Better) -> Whole:
    """The first state that has data against the last one, and the product of what the changes themselves did."""
    if begin is NOTHING or end is NOTHING:
        begin = end = NOTHING
    ratios = [step["ratio"] for step in steps if step["ratio"] is not None]
    low, high = _ends(begin, end, [step["gap"] for step in steps[1:]], better)
    return {
        "before": begin["median"],
        "after": end["median"],
        "change_pct": _change_pct(begin["median"], end["median"]),
        "ratio": short(gain(begin["median"], end["median"], better)),
        "low": low,
        "high": high,
        "steps_ratio": short(math.prod(ratios)) if len(ratios) == len(steps) else None,
    }


def _ends(begin: State, end: State, gaps: Sequence[float | None], better: Better) -> tuple[float | None, float | None]:
    """Interval of the whole: of several changes, the gaps show how much sessions differ."""
    ratio = gain(begin["median"], end["median"], better)
    if ratio is None:
        return None, None
    if not gaps:
        _ratio, low, high, _p = estimate(begin["round_medians"], end["round_medians"], better)
        return closed_end(low), closed_end(high)
    known = [math.log(gap) for gap in gaps if gap is not None]
    if len(known) < max(FEWEST_GAPS, len(gaps)):
        return None, None
    width = student((1.0 + SUM_LEVEL) / 2.0, len(known)) * math.sqrt(fmean(log**2 for log in known))
    return short(ratio * math.exp(-width)), short(ratio * math.exp(width))


def together(entries: Sequence[Comparison], better: Better) -> tuple[float, float, float] | None:
    """The product of the changes' own ratios and its interval; None if a change or its interval is missing."""
    total = below = above = 0.0
    for entry in entries:
        if entry["ratio"] is None:
            return None
        sides = [entry["before"]["round_medians"], entry["after"]["round_medians"]]
        ratios = Ratios(*(sides[::-1] if better == "lower" else sides))
        low, high = ratios.interval(SUM_LEVEL)
        if low <= 0.0 or high == math.inf:
            return None
        total += math.log(entry["ratio"])
        below, above = below + math.log(ratios.middle() / low) ** 2, above + math.log(high / ratios.middle()) ** 2
    return math.exp(total), math.exp(total - math.sqrt(below)), math.exp(total + math.sqrt(above))


def gain(old: float | None, new: float | None, better: Better) -> float | None:
    """How many times better ``new`` is than ``old``; None if one of them is unknown."""
    if old is None or new is None:
        return None
    return old / new if better == "lower" else new / old


def _headline(
    series: Sequence[TrendSeries], rows: Sequence[Sequence[Comparison]], unsure: Sequence[Comparison], over: str
) -> str:
    known = [(item, row) for item, row in zip(series, rows, strict=True) if item["whole"]["ratio"] is not None]
    if not known:
        return f"There is no result {over}: no comparison has data."
    decided = _decided([item for item, _row in known])
    if len(known) > 1:
        gains = sorted(item["whole"]["ratio"] or 1.0 for item, _row in known)
        return (
            f"{len(known)} series changed by {signed(gains[0])} to {signed(gains[-1])} from the first state to the last"
            f" one {over}; above 0 is better.{decided}"
        )
    ((one, row),) = known
    whole, unit = one["whole"], one["unit"]
    pct = whole["change_pct"] or 0.0
    apart = ", measured at different times" if len(row) > 1 else ""
    reading = "The effect of the changes alone is unknown: a change or its interval is missing."
    if doubtful := [step["change"] for step, entry in zip(one["steps"], row, strict=True) if entry in unsure]:
        reading = f"The effect of the changes alone is unknown: the verdict on {some(doubtful)} says why."
    elif summed := together(row, one["better"]):
        effect, low, high = summed
        word = said(effect) if low > 1.0 or high < 1.0 else "no certain change"
        reading = f"The changes alone: {word} ({signed(low)} to {signed(high)})."
    return (
        f"{one['metric']} went from {whole['before']:,.6g} {unit} to {whole['after']:,.6g} {unit} {over}:"
        f" {abs(pct):.1f} % {'less' if pct < 0 else 'more'}{apart}. {reading}{decided}"
    )


def _decided(series: Sequence[TrendSeries]) -> str:
    """The changes that their own reports call better or worse; in a sum, one drowns in the noise of all."""
    found: dict[str, list[float]] = {}
    for item in series:
        for step in item["steps"] if len(item["steps"]) > 1 else ():
            if step["verdict"] in (IMPROVED, REGRESSED):
                found.setdefault(step["change"], []).append(step["ratio"] or 1.0)
    one = len(series) == 1
    told = [f"{name} {said(ratios[0]) if one else f'in {len(ratios)} series'}" for name, ratios in found.items()]
    return f" Certain by {'its own report' if len(told) == 1 else 'their own reports'}: {some(told)}." if told else ""
