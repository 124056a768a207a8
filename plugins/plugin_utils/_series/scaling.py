# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One metric over 1 ... n connections, jobs or guests: normalized to the smallest x, with efficiency and the knee.

For each x, the ``speedup`` is the amount of work done in a time, relative to the first x. If the metric is a rate
of the whole system (higher is better), it is the metric itself. If it is a time, its meaning depends on the work:
``each`` of the x does the same as the one before did alone (connections that each wait for their own answer), or the
``whole`` is divided among them (jobs of one batch).

The **efficiency** is the speedup relative to x itself: 100 % where twice the connections do twice the work. The
**knee** is the point that lies farthest above the straight line from the first point to the last one, if it surely does
so by more than a tenth of the curve's own rise.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from statistics import fmean, variance
from typing import Any, Literal, TypedDict

from .._compare.shapes import PairName
from .._records.checks import show
from .._records.grouping import by_key
from .._records.round import Round
from .._statistics.planning import student
from .._statistics.ranks import closed_end, median, short
from .._statistics.verdict import Better, estimate

SCHEMA = "zpower.sap_tuning/scaling/1"
KNEE_SHARE = 0.10
"""A knee stands out by more than this share of what the curve rises."""
KNEE_P = 0.02
FEWEST_ROUNDS = 3
"""A spread within a point needs as many rounds."""
FEWEST_POINTS = 3
"""Two points make a line, and a line has no knee."""

Work = Literal["each", "whole"]
Key = tuple[Any, ...]
Values = Mapping[float, Sequence[float]]
"""The medians of the rounds at each x: at least one each, all above 0."""
Members = Sequence[tuple[float, Round]]
"""Rounds with their x."""


class Point(TypedDict):
    """One x of a curve. ``pct``: the metric in percent of the first x; ``low``, ``high``: interval of the speedup."""

    x: float
    rounds: int
    value: float
    pct: float
    speedup: float
    low: float | None
    high: float | None
    efficiency_pct: float


class Knee(TypedDict):
    """Where the curve bends. ``above_pct``: how far above the straight line, in percent of its rise."""

    x: float
    above_pct: float


class Curve(PairName):
    """The points of one workload between two hosts, of one phase or of several."""

    workload: str
    phases: list[str]
    metric: str
    unit: str
    better: Better
    points: list[Point]
    knee: Knee | None


class Scaling(TypedDict):
    """The document, schema zpower.sap_tuning/scaling/1."""

    schema: str
    change: str
    x: str
    work: Work
    headline: str
    curves: list[Curve]
    knee_share_pct: float
    problems: list[str]


def curve(values: Values, better: Better, work: Work = "each") -> list[Point]:
    """The points of a curve in the order of x."""
    start = min(values)
    first = values[start]
    points = []
    for x, rounds in sorted(values.items()):
        value, base, share = median(rounds), median(first), x / start
        # What a ratio of the metric is in work done: a time that each of them needs goes with their number.
        factor = share if better == "lower" and work == "each" else 1.0
        speedup = factor * (value / base if better == "higher" else base / value)
        _ratio, *ends, _p = estimate(first, rounds, better) if x != start else (1.0, 1.0, 1.0, 1.0)
        low, high = (closed_end(factor * end) for end in ends)
        points.append(
            Point(
                x=x,
                rounds=len(rounds),
                value=short(value),
                pct=short(100.0 * value / base),
                speedup=short(speedup),
                low=low,
                high=high,
                efficiency_pct=short(100.0 * speedup / share),
            )
        )
    return points


def knee(values: Values, better: Better, work: Work = "each") -> Knee | None:
    """Where the curve bends for sure; None for a curve that is nearly straight, bends upwards, or has too few values.

    Two one-sided t tests on the logarithms of the rounds at a common spread: the curve is not level, and its bend lies
    above the line by more than KNEE_SHARE of the rise. Simulated for this collection (3,000 curves a cell, 5 and 8
    points of 3 to 8 rounds, noise of 1 to 10 %): flat and straight curves have a knee in 0 to 0.8 %; the bend of the
    estimates alone had one in 30 to 85 %.
    """
    places = sorted(values)
    rounds = min(map(len, values.values()))
    if len(places) < FEWEST_POINTS or rounds < FEWEST_ROUNDS:
        return None
    sign, each = (1.0, 0.0) if better == "higher" else (-1.0, float(work == "each"))
    lines = [[sign * math.log(value) + each * math.log(x) for value in values[x]] for x in places]
    logs = [fmean(line) - fmean(lines[0]) for line in lines]
    free = sum(len(line) - 1 for line in lines)
    error = math.sqrt(math.fsum((len(line) - 1) * variance(line) for line in lines) / free / rounds)
    count = len(places)
    if max(logs) - min(logs) <= student(1.0 - KNEE_P / (count * (count - 1)), free) * math.sqrt(2.0) * error:
        return None
    speeds = [math.exp(log) for log in logs]
    rise = max(speeds) - min(speeds)
    shares = [(x - places[0]) / (places[-1] - places[0]) for x in places]
    ends = [((1.0 - share) * speeds[0], share * speeds[-1]) for share in shares]
    above = [speed - sum(both) for speed, both in zip(speeds, ends, strict=True)]
    place = above.index(max(above))
    sure = student(1.0 - KNEE_P / (count - 2), free) * error * math.hypot(speeds[place], *ends[place])
    if rise <= 0.0 or above[place] - sure <= KNEE_SHARE * rise:
        return None
    return {"x": places[place], "above_pct": short(100.0 * above[place] / rise)}


def mixed(members: Members) -> bool:
    """Whether the points of a curve were measured in turns: in blocks, what a time is worth looks like a bend."""
    timed = [(item.started, x) for x, item in members if item.median is not None]
    if any(started is None for started, _x in timed):
        return False
    places = [x for _started, x in sorted(timed, key=lambda item: item[0] or 0)]
    return 2 * sum(earlier != later for earlier, later in pairwise(places)) > len(places)


def scaling(change: str, rounds: Iterable[Round], x: str, work: Work = "each", workload: str = "*") -> Scaling:
    """The scaling (schema ``zpower.sap_tuning/scaling/1``) of a change's rounds over ``x``; controls stay out.

    ``x``: ``connections``, ``params.<name>`` or ``context.<name>``; ValueError for anything else. ``workload``: a
    pattern as of file names.
    """
    read = reader(x)
    problems: list[str] = []
    groups: dict[Key, list[tuple[float, Round]]] = {}
    for item in rounds:
        if item.workload.control or not fnmatchcase(item.workload.name, workload):
            continue
        place = number(read(item))
        if place is None:
            problems.append(f"{_name(item)}: {x} is {read(item)!r}, which is not a number above 0.")
        else:
            groups.setdefault(_key(item, x), []).append((place, item))
    problems += _other_settings(groups)
    states = (state for key in sorted(groups, key=repr) for kind in by_name(groups[key]) for state in by_state(kind))
    curves = (_curve(state, x, work, problems) for state in states)
    known = [item for item in curves if item is not None]
    known.sort(
        key=lambda item: (
            item["host"],
            item["peer"],
            item["workload"],
            [(phase != "before", phase) for phase in item["phases"]],
        )
    )
    return {
        "schema": SCHEMA,
        "change": change,
        "x": x,
        "work": work,
        "headline": _headline(known, x),
        "curves": known,
        "knee_share_pct": 100.0 * KNEE_SHARE,
        "problems": sorted(set(problems)),
    }


def reader(x: str) -> Callable[[Round], object]:
    """A function that reads x from a round; ValueError for an invalid name."""
    where, _point, name = x.partition(".")
    if x == "connections":
        return lambda item: item.workload.connections
    if where == "params" and name:
        return lambda item: dict(item.workload.params).get(name)
    if where == "context" and name:
        return lambda item: dict(item.context).get(name)
    raise ValueError(f"x is {show(x)}; it must be connections, params.<name> or context.<name>")


def number(value: object) -> float | None:
    """A number above 0, also if stored as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if 0 < found < math.inf else None


def by_name(members: Members) -> list[Members]:
    """One list per kind of workload, if only the names differ: names that are equal except for x form a kind."""
    names = by_key((x, item.workload.name) for x, item in members)
    if all(len(set(found)) == 1 for found in names.values()):
        return [members]
    kinds = by_key((_without(item.workload.name, x), (x, item)) for x, item in members)
    return [kinds[name] for name in sorted(kinds)]


def _without(name: str, x: float) -> str:
    """``pingpong-onlTrans-x10`` without the part that says 10."""
    said = re.compile(rf"[A-Za-z]*0*{re.escape(plain(x))}")
    return "-".join(part for part in name.split("-") if not said.fullmatch(part))


def by_state(members: Members) -> list[Members]:
    """One list per curve. Phases with one x each, all different, are the points of a single curve, for example if each
    number of guests was measured in its own phase; otherwise each phase has its own curve."""
    places = by_key((item.phase, x) for x, item in members)
    single = [found[0] for found in places.values() if len(set(found)) == 1]
    if len(single) == len(places) == len(set(single)):
        return [members]
    return [[member for member in members if member[1].phase == phase] for phase in sorted(places)]


def _key(item: Round, x: str) -> Key:
    """The settings that must be equal on a curve: those of the workload and its application, except x."""
    workload = item.workload
    params = tuple((name, str(value)) for name, value in sorted(dict(workload.params).items()) if f"params.{name}" != x)
    connections = None if x == "connections" else workload.connections
    metric = workload.metric, workload.metric_unit, workload.better
    same = (workload.tool, workload.version, workload.bytes, connections, workload.transport, *metric)
    context = tuple((name, value) for name, value in item.context if f"context.{name}" != x)
    return item.host, item.peer, same, params, context


def _other_settings(groups: Mapping[Key, Members]) -> Iterator[str]:
    """A sentence for curves that differ only in settings of the application, because no name shows that."""
    alike = by_key((key[:-1], key) for key in groups)
    for keys in alike.values():
        settings = [set(key[-1]) for key in keys]
        names = sorted({name for name, _value in set.union(*settings) - set.intersection(*settings)})
        if names:
            first = min(_name(item) for key in keys for _x, item in groups[key])
            yield f"{first}: context.{', context.'.join(names)} differs, so these runs are not points of one curve."


def _curve(members: Members, x: str, work: Work, problems: list[str]) -> Curve | None:
    first = members[0][1]
    values = by_key((place, item.median) for place, item in members if item.median is not None)
    for place in sorted({place for place, _item in members} - values.keys()):
        problems.append(f"{_name(first)}: no run succeeded at {x} {plain(place)}.")
    if not values:
        return None
    turns = mixed(members)
    if not turns and min(map(len, values.values())) >= FEWEST_ROUNDS:
        problems.append(f"{_name(first)}: each point was measured at its own time, so no knee is proven.")
    return {
        "host": first.host,
        "peer": first.peer,
        "workload": _common([item.workload.name for _x, item in members]),
        "phases": sorted({item.phase for _x, item in members}),
        "metric": first.workload.metric,
        "unit": first.workload.metric_unit,
        "better": first.workload.better,
        "points": curve(values, first.workload.better, work),
        "knee": knee(values, first.workload.better, work) if turns else None,
    }


def _common(names: Sequence[str]) -> str:
    """The common parts of the names of a curve's workloads."""
    parts = [name.split("-") for name in sorted(set(names))]
    return "-".join(here[0] for here in zip(*parts, strict=False) if len(set(here)) == 1) or names[0]


def _name(item: Round) -> str:
    return f"{item.workload.name} from {item.host} to {item.peer}"


def _headline(curves: Sequence[Curve], x: str) -> str:
    if not curves:
        return f"There is no result over {x}: no run of this change matches."
    name = x.rpartition(".")[2]
    first = min(item["points"][0]["x"] for item in curves)
    # Each curve is relative to its own first point.
    lasts = [item["points"][-1] for item in curves if item["points"][0]["x"] == first]
    far = max(point["x"] for point in lasts)
    if far == first:
        return f"The only value of {x} is {plain(first)}: a scaling needs at least two."
    speeds = sorted(point["speedup"] for point in lasts if point["x"] == far)
    work = f"{speeds[0]:.3g}" + (f" to {speeds[-1]:.3g}" if speeds[0] != speeds[-1] else "")
    return f"At {plain(far)} {name}, {work} times the work of {plain(first)}; {_knees(curves)}."


def _knees(curves: Sequence[Curve]) -> str:
    bends = [item["knee"]["x"] for item in curves if item["knee"]]
    if not bends:
        return "no curve has a proven knee"
    places = ", ".join(plain(bend) for bend in sorted(set(bends)))
    if len(bends) < len(curves):
        return f"{len(bends)} of {len(curves)} curves bend{'s' if len(bends) == 1 else ''}, at {places}"
    return f"the curve{'s bend' if len(curves) > 1 else ' bends'} at {places}"


def plain(x: float) -> str:
    """A million as 1000000, as in names of workloads."""
    return f"{x:.12g}"
