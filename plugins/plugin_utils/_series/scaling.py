# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One metric over 1 ... n connections, jobs or guests: normalized to the smallest x, with efficiency and the knee.

For each x, the ``speedup`` is the amount of work done in a time, relative to the first x. If the metric is a rate
of the whole system (higher is better), it is the metric itself. If it is a time, its meaning depends on the work:
``each`` of the x does the same as the one before did alone (connections that each wait for their own answer), or the
``whole`` is divided among them (jobs of one batch).

The **efficiency** is the speedup relative to x itself: 100 % where twice the connections do twice the work. The
**knee** is the point that lies farthest above the straight line from the first point to the last one. A curve that
nowhere lies above that line by more than a tenth of its own rise is nearly straight, and has none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

from .._records.round import Round
from .._statistics.ranks import median, short
from .._statistics.verdict import Better, Estimate, estimate

SCHEMA = "zpower.sap_tuning/scaling/1"
KNEE_SHARE = 0.10
"""A knee stands out by more than this share of what the curve rises."""
FEWEST_POINTS = 3
"""Two points make a line, and a line has no knee."""

Work = Literal["each", "whole"]
Key = tuple[Any, ...]


class Measured(NamedTuple):
    """All that is known at one x: the medians of its rounds."""

    x: float
    values: list[float]


class Point(NamedTuple):
    """One x of a curve. ``pct``: the metric in percent of the first x; ``low``, ``high``: interval of the speedup."""

    x: float
    rounds: int
    value: float
    pct: float
    speedup: float
    low: float | None
    high: float | None
    efficiency_pct: float


class Knee(NamedTuple):
    """Where the curve bends. ``above_pct``: how far above the straight line, in percent of its rise."""

    x: float
    above_pct: float


def curve(measured: Sequence[Measured], better: Better, work: Work = "each") -> list[Point]:
    """The points of a curve in the order of x; every x has at least one value above zero."""
    ordered = sorted(measured)
    first = ordered[0]
    points = []
    for item in ordered:
        value, base = median(item.values), median(first.values)
        share = item.x / first.x
        # What a ratio of the metric is in work done: a time that each of them needs goes with their number.
        factor = share if better == "lower" and work == "each" else 1.0
        ratio = value / base if better == "higher" else base / value
        found = estimate(first.values, item.values, better) if item is not first else Estimate(1.0, 1.0, 1.0, 1.0)
        points.append(
            Point(
                item.x,
                len(item.values),
                short(value),
                short(100.0 * value / base),
                short(factor * ratio),
                *found.ends(factor),
                short(100.0 * factor * ratio / share),
            )
        )
    return points


def knee(points: Sequence[Point]) -> Knee | None:
    """Where the curve bends; None for a curve that is nearly straight, that bends upwards, or has too few points."""
    if len(points) < FEWEST_POINTS:
        return None
    first, last = points[0], points[-1]
    speeds = [point.speedup for point in points]
    rise = max(speeds) - min(speeds)
    if rise <= 0:
        return None
    slope = (last.speedup - first.speedup) / (last.x - first.x)
    above = [(point.speedup - first.speedup - slope * (point.x - first.x)) / rise for point in points]
    highest = max(above)
    if highest <= KNEE_SHARE:
        return None
    return Knee(points[above.index(highest)].x, short(100.0 * highest))


def scaling(change: str, rounds: Iterable[Round], x: str, work: Work = "each", workload: str = "*") -> dict[str, Any]:
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
    curves = []
    for key in sorted(groups, key=repr):
        for members in by_name(groups[key]):
            curves += [_curve(state, x, work, problems) for state in by_state(members)]
    known = [item for item in curves if item is not None]
    known.sort(key=lambda item: (item["host"], item["peer"], item["workload"], [*map(_in_order, item["phases"])]))
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
    raise ValueError(f"x is {x!r}; it has to be connections, params.<name> or context.<name>")


def number(value: object) -> float | None:
    """A number above 0, also if stored as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if 0 < found < math.inf else None


def by_name(members: Sequence[tuple[float, Round]]) -> list[list[tuple[float, Round]]]:
    """One list per kind of workload, if only the names differ: names that are equal except for x form a kind."""
    names: dict[float, set[str]] = {}
    for x, item in members:
        names.setdefault(x, set()).add(item.workload.name)
    if all(len(found) == 1 for found in names.values()):
        return [list(members)]
    kinds: dict[str, list[tuple[float, Round]]] = {}
    for x, item in members:
        kinds.setdefault(_without(item.workload.name, x), []).append((x, item))
    return [kinds[name] for name in sorted(kinds)]


def _without(name: str, x: float) -> str:
    """``pingpong-onlTrans-x10`` without the part that says 10."""
    said = re.compile(rf"[A-Za-z]*0*{re.escape(_plain(x))}")
    return "-".join(part for part in name.split("-") if not said.fullmatch(part))


def by_state(members: Sequence[tuple[float, Round]]) -> list[list[tuple[float, Round]]]:
    """One list per curve. Phases with one x each, all different, are the points of a single curve, for example if each
    number of guests was measured in its own phase; otherwise each phase has its own curve."""
    places: dict[str, set[float]] = {}
    for x, item in members:
        places.setdefault(item.phase, set()).add(x)
    single = [next(iter(found)) for found in places.values() if len(found) == 1]
    if len(single) == len(places) == len(set(single)):
        return [list(members)]
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


def _other_settings(groups: Mapping[Key, Sequence[tuple[float, Round]]]) -> Iterator[str]:
    """A sentence for curves that differ only in settings of the application, because no name shows that."""
    alike: dict[Key, list[Key]] = {}
    for key in groups:
        alike.setdefault(key[:-1], []).append(key)
    for keys in alike.values():
        settings = [set(key[-1]) for key in keys]
        names = sorted({name for name, _value in set.union(*settings) - set.intersection(*settings)})
        if names:
            first = min(_name(item) for key in keys for _x, item in groups[key])
            yield f"{first}: context.{', context.'.join(names)} differs, so these runs are not points of one curve."


def _curve(members: Sequence[tuple[float, Round]], x: str, work: Work, problems: list[str]) -> dict[str, Any] | None:
    first = members[0][1]
    values: dict[float, list[float]] = {}
    for place, item in members:
        values.setdefault(place, [])
        if item.median is not None:
            values[place].append(item.median)
    for place in sorted(values):
        if not values[place]:
            problems.append(f"{_name(first)}: no run succeeded at {x} {_plain(place)}.")
    measured = [Measured(place, found) for place, found in values.items() if found]
    if not measured:
        return None
    points = curve(measured, first.workload.better, work)
    bend = knee(points)
    return {
        "host": first.host,
        "peer": first.peer,
        "workload": _common([item.workload.name for _x, item in members]),
        "phases": sorted({item.phase for _x, item in members}),
        "metric": first.workload.metric,
        "unit": first.workload.metric_unit,
        "better": first.workload.better,
        "points": [point._asdict() for point in points],
        "knee": bend and bend._asdict(),
    }


def _in_order(phase: str) -> tuple[bool, str]:
    """``before`` stands before ``after``, and first of all."""
    return phase != "before", phase


def _common(names: Sequence[str]) -> str:
    """The common parts of the names of a curve's workloads."""
    parts = [name.split("-") for name in sorted(set(names))]
    return "-".join(here[0] for here in zip(*parts, strict=False) if len(set(here)) == 1) or names[0]


def _name(item: Round) -> str:
    return f"{item.workload.name} from {item.host} to {item.peer}"


def _headline(curves: Sequence[Mapping[str, Any]], x: str) -> str:
    if not curves:
        return f"There is no result over {x}: no run of this change matches."
    name = x.rpartition(".")[2]
    first = min(item["points"][0]["x"] for item in curves)
    # Each curve is relative to its own first point.
    lasts = [item["points"][-1] for item in curves if item["points"][0]["x"] == first]
    far = max(point["x"] for point in lasts)
    if far == first:
        return f"The only value of {x} is {_plain(first)}: a scaling needs at least two."
    speeds = sorted(point["speedup"] for point in lasts if point["x"] == far)
    work = f"{speeds[0]:.3g}" + (f" to {speeds[-1]:.3g}" if speeds[0] != speeds[-1] else "")
    return f"At {_plain(far)} {name}, {work} times the work of {_plain(first)}; {_knees(curves)}."


def _knees(curves: Sequence[Mapping[str, Any]]) -> str:
    bends = [item["knee"]["x"] for item in curves if item["knee"]]
    if not bends:
        return "no curve has a knee"
    places = ", ".join(_plain(bend) for bend in sorted(set(bends)))
    if len(bends) < len(curves):
        return f"{len(bends)} of {len(curves)} curves bend{'s' if len(bends) == 1 else ''}, at {places}"
    return f"the curve{'s bend' if len(curves) > 1 else ' bends'} at {places}"


def _plain(x: float) -> str:
    """A million as 1000000, as in names of workloads."""
    return f"{x:.12g}"
