# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elements of inline SVG: no script, no inline style, colours from the page's style sheet by class.

Every drawing has a title and a description. Shapes with a meaning differ in form, not only in colour.
"""

import math
from collections.abc import Iterable

from markupsafe import Markup, escape

from .text import clean, one_line

WIDTH = 960
STRIP = 400
"""The width of a drawing in a cell."""


def el(name: str, *children: object, **attributes: object) -> Markup:
    """One SVG element; text and attribute values are cleaned and escaped, ``cls`` becomes ``class``."""
    parts = []
    for key, value in attributes.items():
        shown = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
        attribute = "class" if key == "cls" else key.replace("_", "-")
        parts.append(f' {attribute}="{escape(clean(shown))}"')
    inner = "".join(child if isinstance(child, Markup) else escape(clean(child)) for child in children)
    return Markup(f"<{name}{''.join(parts)}>{inner}</{name}>" if inner else f"<{name}{''.join(parts)}/>")


def strip(*parts: Markup, width: int = STRIP, height: int = 24) -> Markup:
    """A drawing in the cell of a table, whose other cells say what it shows."""
    return el("svg", *parts, cls="cell", viewBox=f"0 0 {width} {height}", aria_hidden="true")


def drawing(
    ident: str, title: str, description: str, *, size: tuple[int, float], body: Iterable[Markup], cls: str
) -> Markup:
    """An SVG image with a title and a description for screen readers."""
    return el(
        "svg",
        el("title", one_line(title), id=f"{ident}-title"),
        el("desc", one_line(description), id=f"{ident}-desc"),
        *body,
        cls=cls,
        viewBox=f"0 0 {size[0]} {size[1]:.0f}",
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
    )


def circle(x: float, y: float, r: float = 2.6) -> str:
    """The path of the sign for before."""
    return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0-{2 * r} 0z"


def diamond(x: float, y: float, r: float = 3.4) -> str:
    """The path of the sign for after."""
    return f"M{x:.1f} {y - r:.1f}l{r} {r}l-{r} {r}l-{r}-{r}z"


BEFORE, AFTER = circle(11, 7, 4), diamond(11, 7, 5)
"""The signs of the two states in the key of a chart."""


class Axis:
    """Values on a linear or logarithmic line, with a limited number of round ticks."""

    def __init__(self, values: Iterable[float], start: float, end: float, *, log: bool = False, zero: bool = True):
        known = [value for value in values if math.isfinite(value)]
        low, high = min(known, default=0.0), max(known, default=1.0)
        self.log = log
        self.start, self.end = start, end
        if log:
            self.low, self.high = low, high * 1.05
            return
        if zero and low > 0.5 * high:
            room = max((high - low) * 0.15, high * 0.005)
            self.low, self.high = max(0.0, low - room), high + room
        else:
            self.low, self.high = (0.0 if zero else low), (high or 1.0) * (1.04 if zero else 1.0)

    def at(self, value: float) -> float:
        """The place of a value."""
        if self.log:
            share = math.log(max(value, self.low) / self.low) / (math.log(self.high / self.low) or 1.0)
        else:
            share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)

    def labels(self) -> list[tuple[float, str]]:
        """The ticks of a vertical axis as places and texts."""
        return [(self.at(tick), f"{tick:,.6g}") for tick in self.ticks(6)]

    def spaced(self, values: Iterable[float], gap: float) -> list[tuple[float, str]]:
        """The places and texts of values on a horizontal axis, without those closer than ``gap`` to the one before."""
        found: list[tuple[float, str]] = []
        for value in values:
            if not found or self.at(value) - found[-1][0] >= gap:
                found.append((self.at(value), f"{value:,.12g}"))
        return found

    def ticks(self, most: int) -> list[float]:
        """Round values within the axis."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            for steps in ((1, 2, 5), (1,)):
                found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
                found = [value for value in found if self.low * 0.999 <= value <= self.high]
                if len(found) <= most:
                    break
            return found
        size = 10.0 ** math.floor(math.log10((self.high - self.low) or 1.0))
        steps_of = (step * size * scale for scale in (0.1, 1.0) for step in (1, 2, 5))
        step = next((s for s in steps_of if (self.high - self.low) / s <= most), size * 10)
        begin = math.ceil(self.low / step - 1e-9)
        return [round(place * step, 12) for place in range(begin, math.floor(self.high / step + 1e-9) + 1)]


def horizontal_grid(labels: Iterable[tuple[float, str]], left: float, right: float, gap: float) -> list[Markup]:
    """A line across the drawing for each place on a vertical axis, with its label, if any, at the left."""
    parts = []
    for y, label in labels:
        parts.append(el("path", d=f"M{left} {y:.1f}H{right}", cls="grid"))
        parts += [el("text", label, x=left - gap, y=y + 4, cls="tick end")] if label else []
    return parts
