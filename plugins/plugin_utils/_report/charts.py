# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawings of the comparisons: their intervals, and the distribution of a fleet's ratios."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

from markupsafe import Markup, escape

from .._compare.shapes import Comparison, Judged, Part, Row
from .._pages.svg import NARROW, WIDTH, drawing, el, first_of
from .._pages.text import VERDICT_STYLES, gain, one_line, plural, shorten, verdict_of, verdict_word
from .._records.grouping import by_key
from .pooled import label
from .view import by_pair, common_domain, pair_name

TICKS = (0.25, 0.33, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2.0, 3.0, 4.0)
FARTHEST = 4.0  # a ratio beyond 4 or below 1/4 is drawn at the edge, with an arrow
LEFT, RIGHT = 250, 640  # the ends of the ratio axis in wide drawings
LEFT_OF_PAIRS = 340  # its left end if each row names the pair
CHARACTER = 7.3  # units of one character of a label
CHARACTER_OF_WORDS = 8.2  # the same of a verdict, which is bold

Rows = tuple[str, Sequence[tuple[str, Judged]]]  # a heading, and each row's name and item


def mark(word: str, x: float, y: float) -> Markup:
    """The sign of a verdict; each verdict has its own shape."""
    shapes = {
        "IMPROVED": f"M{x:.1f} {y - 6:.1f}l6 11h-12z",
        "REGRESSED": f"M{x:.1f} {y + 6:.1f}l6-11h-12z",
        "UNCHANGED": f"M{x - 4.5:.1f} {y - 4.5:.1f}h9v9h-9z",
        "INCONCLUSIVE": f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6-6z",
        "NOT COMPARABLE": f"M{x - 5:.1f} {y - 5:.1f}l10 10m0-10l-10 10",
    }
    verdict = VERDICT_STYLES[word]
    return el("path", d=shapes.get(word, f"M{x - 5:.1f} {y:.1f}h10"), cls=f"mark {verdict.css}")


class RatioAxis:
    """A logarithmic axis of ratios: 1 is "the same", right is better; a distance is the same percentage everywhere."""

    def __init__(self, values: Iterable[float], material_pct: float, left: float = LEFT, right: float = RIGHT) -> None:
        self.band = (1 / (1 + material_pct / 100), 1 + material_pct / 100)
        finite = [v for v in values if v and math.isfinite(v) and v > 0]
        low = min([*finite, self.band[0] ** 1.6])
        high = max([*finite, self.band[1] ** 1.6])
        self.low = max(math.log(low) - 0.015, -math.log(FARTHEST))
        self.high = min(math.log(high) + 0.015, math.log(FARTHEST))
        self.left, self.right = left, right

    def x(self, ratio: float) -> float:
        """The place of a ratio, limited to the axis."""
        share = (math.log(ratio) - self.low) / (self.high - self.low) if ratio > 0 else 0.0
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)

    def beyond(self, ratio: float) -> bool:
        """Whether the ratio lies outside the axis."""
        return ratio <= 0 or not self.low <= math.log(ratio) <= self.high

    def ticks(self) -> list[float]:
        """Round ratios at least 44 units apart; 1 is always among them."""
        chosen = [1.0]
        for tick in sorted(TICKS, key=lambda t: abs(math.log(t))):
            if not self.beyond(tick) and all(abs(self.x(tick) - self.x(other)) >= 44 for other in chosen):
                chosen.append(tick)
        return sorted(chosen)

    def draw(self, top: float, bottom: float) -> list[Markup]:
        """The band of immaterial ratios, the grid, the line of 1 and the labels above."""
        left, right = self.x(self.band[0]), self.x(self.band[1])
        parts = [el("rect", x=left, y=top, width=right - left, height=bottom - top, cls="band")]
        for tick in self.ticks():
            x = self.x(tick)
            parts.append(el("path", d=f"M{x:.1f} {top:.1f}V{bottom:.1f}", cls="one" if tick == 1 else "grid"))
            parts.append(el("text", f"{tick:.2f}", x=x, y=top - 8, cls="tick middle"))
        parts.append(el("text", "\u2190 worse", x=self.left, y=top - 28, cls="tick"))
        parts.append(el("text", "better \u2192", x=self.right, y=top - 28, cls="tick end"))
        return parts


def interval_plot(
    ident: str, comparisons: Sequence[Comparison], material_pct: float, layout: str = "wide", pooled: Sequence[Row] = ()
) -> Markup:
    """The pooled rows as diamonds, then each comparison as a point with its interval, on one ratio axis.

    ``wide`` stands below the names of the pairs; ``flat`` keeps the order given and names the pair in each row;
    ``narrow`` is for a small screen: the words stand above the interval instead of beside it.
    """
    groups: list[Rows] = [(pair, [(str(i["workload"]), i) for i in items]) for pair, items in by_pair(comparisons)]
    if layout == "flat":
        groups = [("", [(f"{pair_name(item)}  {item['workload']}", item) for item in comparisons])]
    rows: list[tuple[str, Judged]] = [(f"{pair_name(item)} {item['workload']}", item) for item in comparisons]
    if pooled:
        together = [(label(row), row) for row in pooled]
        groups = [("All workloads together", together), *groups]
        if layout == "flat":
            groups[1] = ("Single workloads", groups[1][1])
        rows = [*together, *rows]
    form = _Form(material_pct, layout, common_domain(comparisons))
    return _plot(ident, "Interval plot of the pooled results and of all comparisons", groups, rows, form)


def level_plot(ident: str, levels: Sequence[Part], material_pct: float, layout: str = "wide") -> Markup:
    """The levels of an experiment on one ratio axis; the baseline itself is the line of 1."""
    rows = [(str(level["name"]), cast(Judged, level)) for level in levels]
    title = "Interval plot of the levels against the baseline"
    return _plot(ident, title, [("", rows)], rows, _Form(material_pct, layout))


class _Form(NamedTuple):
    material_pct: float
    layout: str
    domain: str = ""
    stacked: bool = False
    """The name of a row stands above its words, because one line has no room for both."""

    def label(self, name: str, room: float) -> Markup:
        """A name without the domain that all share, cut to the room; the tooltip has the full name."""
        return Markup("").join(
            [el("title", name), escape(shorten(name.replace(self.domain, ""), int(room / CHARACTER)))]
        )


def _plot(ident: str, title: str, groups: Sequence[Rows], rows: Sequence[tuple[str, Judged]], form: _Form) -> Markup:
    narrow = form.layout == "narrow"
    left = LEFT_OF_PAIRS if form.layout == "flat" else LEFT
    values = [value or 0.0 for _name, item in rows for value in (item["ratio"], item["low"], item["high"])]
    width, row, draw_row = (NARROW, 50, _narrow_row) if narrow else (WIDTH, 28, _wide_row)
    axis = RatioAxis(values, form.material_pct, *((12, NARROW - 12) if narrow else (left, RIGHT)))
    if narrow and any(_crowded(item, one_line(name)) for _heading, items in groups for name, item in items):
        row, form = row + 16, form._replace(stacked=True)
    top = 48.0
    height = top + sum(34 * bool(heading) + row * len(items) for heading, items in groups) + 10
    body = axis.draw(top, height - 6)
    y = top
    for heading, items in groups:
        if heading:
            y += 34
            name = one_line(heading)
            body.append(el("text", form.label(name, width * 0.9), x=0, y=y - 8, cls="pair"))
            body.append(el("path", d=f"M0 {y:.1f}H{width}", cls="rule"))
        for name, item in items:
            y += row
            body.extend(draw_row(item, one_line(name), axis, y - 12, form))
    summary = first_of([f"{one_line(name)}: {verdict_word(item)} {gain(item['ratio'])}" for name, item in rows])
    description = f"Ratios above 1 are better. {summary}. The table below holds the same figures."
    return drawing(
        ident, title, description, size=(width, height), body=body, cls=f"plot for-{'narrow' if narrow else 'wide'}"
    )


def _wide_row(item: Judged, name: str, axis: RatioAxis, y: float, form: _Form) -> list[Markup]:
    verdict = verdict_of(item)
    return [
        el("text", form.label(name, axis.left), x=4, y=y + 4, cls=_name_css(item)),
        *_interval(item, axis, y),
        el("text", gain(item["ratio"]), x=RIGHT + 82, y=y + 4, cls="value end"),
        el("text", f"{verdict.symbol} {verdict_word(item)}", x=RIGHT + 98, y=y + 4, cls=f"word {verdict.css}"),
    ]


def _narrow_row(item: Judged, name: str, axis: RatioAxis, y: float, form: _Form) -> list[Markup]:
    return [
        el("text", form.label(name, NARROW * 0.9), x=0, y=y - (30 if form.stacked else 14), cls=_name_css(item)),
        *_interval(item, axis, y + 2),
        el("text", _narrow_words(item), x=NARROW, y=y - 14, cls=f"word end {verdict_of(item).css}"),
    ]


def _name_css(item: Judged) -> str:
    """The row that decides is bold."""
    return "pair" if item.get("scope") == "site" else "label"


def _narrow_words(item: Judged) -> str:
    return f"{verdict_of(item).symbol} {gain(item['ratio'])} {verdict_word(item)}"


def _crowded(item: Judged, name: str) -> bool:
    return len(name) * CHARACTER + len(_narrow_words(item)) * CHARACTER_OF_WORDS > NARROW - 8


def _interval(item: Judged, axis: RatioAxis, y: float) -> list[Markup]:
    verdict = verdict_of(item)
    ratio, low, high = item["ratio"], item["low"], item["high"]
    parts = []
    if ratio and low and high and "scope" in item and not (axis.beyond(low) or axis.beyond(high)):
        return [_wide_diamond(axis.x(low), axis.x(ratio), axis.x(high), y, verdict.css)]
    if ratio and (low or high):
        low, high = low or 0.0, high or math.inf
        path = f"M{axis.x(low):.1f} {y:.1f}H{axis.x(high):.1f}"
        for end, step in ((low, 6), (high, -6)):
            x = axis.x(end)
            path += (
                f"M{x + step:.1f} {y - 5:.1f}L{x:.1f} {y:.1f}l{step} 5"
                if axis.beyond(end)
                else f"M{x:.1f} {y - 4:.1f}v8"
            )
        parts.append(el("path", d=path, cls=f"interval {verdict.css}"))
    if ratio and "scope" in item:
        parts.append(_wide_diamond(axis.x(ratio) - 7, axis.x(ratio), axis.x(ratio) + 7, y, verdict.css))
    elif ratio:
        parts.append(mark(verdict.word, axis.x(ratio), y))
    return parts


def _wide_diamond(low: float, ratio: float, high: float, y: float, css: str) -> Markup:
    """The sign of a pooled row, as wide as its interval; its own shape, because no single comparison has it."""
    low, high = min(low, ratio - 3), max(high, ratio + 3)
    return el(
        "path",
        d=f"M{low:.1f} {y:.1f}L{ratio:.1f} {y - 8:.1f}L{high:.1f} {y:.1f}L{ratio:.1f} {y + 8:.1f}z",
        cls=f"pooled {css}",
    )


def distribution_plot(ident: str, comparisons: Sequence[Comparison], material_pct: float) -> Markup:
    """The distribution of a fleet's ratios: one histogram per verdict on a common ratio axis."""
    rows = by_key((verdict_of(item).word, item["ratio"]) for item in comparisons if item["ratio"])
    shown = {word: rows[word] for word in VERDICT_STYLES if word in rows}
    axis = RatioAxis((ratio for ratios in shown.values() for ratio in ratios), material_pct, LEFT, WIDTH - 40)
    bins, top, row_height = 84, 48.0, 66.0
    width = (axis.right - axis.left) / bins
    counted = {
        word: Counter(min(int((axis.x(ratio) - axis.left) / width), bins - 1) for ratio in ratios)
        for word, ratios in shown.items()
    }
    tallest = max((count for counts in counted.values() for count in counts.values()), default=1)
    height = top + row_height * len(shown) + 8
    body = axis.draw(top, height - 4)
    for index, (word, ratios) in enumerate(shown.items()):
        base = top + row_height * (index + 1)
        verdict = VERDICT_STYLES[word]
        body.append(el("path", d=f"M0 {base:.1f}H{WIDTH}", cls="rule"))
        body.append(el("text", f"{verdict.symbol} {word}", x=0, y=base - 30, cls=f"word {verdict.css}"))
        body.append(el("text", plural(len(ratios), "comparison"), x=0, y=base - 12, cls="tick"))
        bars = []
        for slot, count in sorted(counted[word].items()):
            # the root keeps a single bad pair visible beside a thousand good ones
            tall = max(2.0, math.sqrt(count / tallest) * (row_height - 14))
            bars.append(f"M{axis.left + slot * width + 0.5:.1f} {base:.1f}v-{tall:.1f}h{width - 1:.1f}v{tall:.1f}z")
        body.append(el("path", d="".join(bars), cls=f"bars {verdict.css}"))
    words = ", ".join(f"{len(ratios)} {word}" for word, ratios in shown.items()) or "no comparison has a ratio"
    description = f"Ratios above 1 are better. {words}. Bar heights grow with the square root of the count."
    return drawing(
        ident, "How the ratios of all comparisons are spread", description, size=(WIDTH, height), body=body, cls="plot"
    )
