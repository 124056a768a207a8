# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single round trips of a comparison, in words and as a chart: which share of them took at most so long."""

from collections.abc import Callable, Sequence

from markupsafe import Markup

from .._compare.shapes import Comparison, Part, Report
from .._pages.svg import Axis, circle, diamond, drawing, el, horizontal_grid
from .._pages.text import ARROW, measured, number, one_line
from . import view

DRAWN = ("p50", "p90", "p99")
PERCENTILES = (*DRAWN, "p99.9")
WIDTH, HEIGHT = 460, 190
LEFT, RIGHT, TOP, BOTTOM = 52.0, 444.0, 12.0, 142.0
LOGARITHMIC_FROM = 5.0  # times the smallest value
GRID = (0.0, 0.5, 0.9, 1.0)


def told(report: Report) -> list[Comparison]:
    """The comparisons that have a distribution, in reading order."""
    return [item for item in view.ordered(report["comparisons"]) if item["distribution"]]


def note(items: Sequence[Comparison]) -> str:
    """What the percentiles describe, and what not; empty without any."""
    return str((items[0]["distribution"] or {}).get("note", "")) if items else ""


def sentences(items: Sequence[Comparison]) -> list[str]:
    """One line for each comparison: ``app1 -> app2, pingpong-1000B: p50 51.2 -> 48.0 µs, ...``."""
    return [
        f"{view.pair_name(item)}, {view.workload_name(item)}: {_changes(item['distribution'] or {})}." for item in items
    ]


def _changes(known: Part) -> str:
    sides = known["before"], known["after"]
    words = [
        f"{name} {number(sides[0][name])} {ARROW} {measured(sides[1][name], known['unit'])}"
        for name in PERCENTILES
        if any(side[name] is not None for side in sides)
    ]
    counts = " and ".join(number(side["count"]) for side in sides)
    return f"{', '.join(words)} ({counts} round trips)"


def ecdf_chart(ident: str, item: Comparison) -> Markup:
    """Both states of a comparison that has a distribution: before dashed with circles, after solid with diamonds."""
    known = item["distribution"] or {}
    values = [value for state in ("before", "after") for value, _share in known[state]["points"]]
    across = Axis(values, LEFT, RIGHT, log=max(values) > LOGARITHMIC_FROM * min(values), zero=False)
    grid = [(_y(share), f"{100 * share:.0f} %") for share in GRID]
    body = [*horizontal_grid(grid, LEFT, RIGHT, 6), *_ticks(across, known["unit"])]
    for state, line, shape in (("before", "gap", circle), ("after", "change", diamond)):
        body += _curve(known[state], across, (state, line), shape)
    title = f"Round trips of {one_line(view.workload_name(item))}, {one_line(view.pair_name(item))}"
    description = f"The share of the round trips that took at most so long. {sentences([item])[0]}"
    return drawing(ident, title, description, size=(WIDTH, HEIGHT), body=body, cls="runs")


def _y(share: float) -> float:
    return BOTTOM - share * (BOTTOM - TOP)


def _ticks(across: Axis, unit: str) -> list[Markup]:
    parts = []
    for x, label in across.spaced(across.ticks(6), 40):
        parts.append(el("path", d=f"M{x:.1f} {BOTTOM}v4", cls="grid"))
        parts.append(el("text", label, x=x, y=BOTTOM + 18, cls="tick middle"))
    words = f"{unit}{', logarithmic' if across.log else ''}"
    parts.append(el("text", words, x=(LEFT + RIGHT) / 2, y=BOTTOM + 38, cls="tick middle"))
    return parts


def _curve(
    side: Part, across: Axis, classes: tuple[str, str], shape: Callable[[float, float], str]
) -> Sequence[Markup]:
    """The line of one state, and the marks of its percentiles."""
    points = [(across.at(value), _y(share)) for value, share in side["points"]]
    marks = [shape(across.at(side[name]), _y(int(name[1:]) / 100)) for name in DRAWN if side[name] is not None]
    state, line = classes
    return [
        el("path", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points), cls=f"run {line}"),
        el("path", d="".join(marks), cls=f"run {state}"),
    ]
