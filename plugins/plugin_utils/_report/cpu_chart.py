# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chart of CPU time per unit of work and of ITR, before and after."""

from collections.abc import Sequence

from markupsafe import Markup

from .._compare.shapes import Part
from .._pages.svg import NARROW, WIDTH, Axis, circle, diamond, drawing, el, first_of
from .._pages.text import ARROW, gain, number, one_line, shorten
from .view import common_domain, pair_name, workload_name

LOGARITHMIC_FROM = 30.0  # times the smallest cost; below, a linear axis from 0 is the honest one
LEFT, RIGHT = 330.0, 640.0


def cpu_chart(ident: str, rows: Sequence[Part], layout: str = "wide") -> Markup:
    """Each end of a comparison with its CPU time before and after on one axis, and its ITR in figures.

    ``rows`` come from :func:`view.cpu_rows`; rows that lack a figure are left out. Empty without any row.
    """
    drawn = [row for row in rows if _cost(row, "before") and _cost(row, "after")]
    if not drawn:
        return Markup("")
    costs = [_cost(row, state) for row in drawn for state in ("before", "after")]
    domain = common_domain(row["item"] for row in drawn)
    narrow = layout == "narrow"
    width, height, left, right = (NARROW, 48.0, 12.0, NARROW - 12.0) if narrow else (WIDTH, 26.0, LEFT, RIGHT)
    axis = Axis(costs, left, right, log=max(costs) / min(costs) > LOGARITHMIC_FROM)
    if not axis.log:
        axis.low = 0.0
    top = 34.0
    bottom = top + height * len(drawn) + 6
    body = _grid(axis, top, bottom)
    if not narrow:
        body.append(el("text", "gain", x=RIGHT + 88, y=top - 14, cls="tick end"))
        body.append(el("text", "ITR per hour", x=float(WIDTH), y=top - 14, cls="tick end"))
    paths: dict[str, list[str]] = {"change": [], "before": [], "after": []}
    for index, row in enumerate(drawn):
        y = top + height * (index + 1) - 9
        ends = [axis.at(_cost(row, state)) for state in ("before", "after")]
        paths["change"].append(f"M{ends[0]:.1f} {y:.1f}H{ends[1]:.1f}")
        paths["before"].append(circle(ends[0], y))
        paths["after"].append(diamond(ends[1], y))
        body += _words(row, y, narrow, domain)
    body += [el("path", d="".join(path), cls=f"run {name}") for name, path in paths.items()]
    summary = first_of(
        [f"{_name(row)}: {number(_cost(row, 'before'))} to {number(_cost(row, 'after'))} \u00b5s" for row in drawn]
    )
    description = f"CPU microseconds per unit of work, before and after; less is better. {summary}."
    title = "CPU time per unit of work, and ITR"
    cls = f"plot for-{'narrow' if narrow else 'wide'}"
    return drawing(ident, title, description, size=(width, bottom + 4), body=body, cls=cls)


def _cost(row: Part, state: str) -> float:
    value = row.get(state)
    return float(value) if isinstance(value, (int, float)) and value > 0 else 0.0


def _name(row: Part) -> str:
    return one_line(f"{pair_name(row['item'])}  {workload_name(row['item'])}, {row['what']}")


def _grid(axis: Axis, top: float, bottom: float) -> list[Markup]:
    words = f"\u00b5s per unit of work, less is better{', logarithmic' if axis.log else ''}"
    parts = [el("text", words, x=axis.start, y=top - 24, cls="tick")]
    for x, label in axis.spaced(axis.ticks(6), 40):
        parts.append(el("path", d=f"M{x:.1f} {top:.1f}V{bottom:.1f}", cls="grid"))
        parts.append(el("text", label, x=x, y=top - 6, cls="tick middle"))
    return parts


def _words(row: Part, y: float, narrow: bool, domain: str) -> list[Markup]:
    name = _name(row)
    short = name.replace(domain, "")
    change = gain(row["ratio"])
    itrs = [number((row[state] or {}).get("itr_per_h")) for state in ("kpi_before", "kpi_after")]
    if narrow:
        return [
            el("text", el("title", name), shorten(short, 40), x=0, y=y - 12, cls="label"),
            el("text", change, x=float(NARROW), y=y - 12, cls="value end"),
        ]
    return [
        el("text", el("title", name), shorten(short, 46), x=4, y=y + 4, cls="label"),
        el("text", change, x=RIGHT + 88, y=y + 4, cls="value end"),
        el("text", f" {ARROW} ".join(itrs), x=float(WIDTH), y=y + 4, cls="value end"),
    ]
