# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawings of the comparisons: their intervals in the cells of a table, and the distribution of a fleet's ratios."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from .._compare.shapes import Comparison
from .._pages.svg import STRIP, WIDTH, drawing, el, strip
from .._pages.text import VERDICT_STYLES, Item, plural, verdict_of
from .._records.grouping import by_key

TICKS = (0.25, 0.33, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2.0, 3.0, 4.0)
FARTHEST = 4.0  # a ratio beyond 4 or below 1/4 is drawn at the edge, with an arrow


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

    def __init__(
        self, values: Iterable[float], material_pct: float, left: float = 12, right: float = STRIP - 12
    ) -> None:
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

    def css(self, name: str) -> str:
        """The rule that draws the band and the line of 1 behind all cells of a column."""
        low, one, high = (100 * self.x(ratio) / STRIP for ratio in (self.band[0], 1.0, self.band[1]))
        line = "linear-gradient(var(--muted), var(--muted))"
        steps = f"transparent {low:.2f}%, var(--band) {low:.2f}% {high:.2f}%, transparent {high:.2f}%"
        place = (
            f"background-position: {one:.2f}% 0, 0 0; background-size: 1.4px 100%, auto; background-repeat: no-repeat"
        )
        return f"tbody .{name} {{ background-image: {line}, linear-gradient(to right, {steps}); {place}; }}\n"

    def labels(self) -> Markup:
        """The labels of the axis, for a cell above the intervals."""
        return strip(*self.draw(38, 38), height=42)

    def show(self, item: Item) -> Markup:
        """The interval of an item with the sign of its verdict, for a cell; the sign of a pooled row is a diamond."""
        css, ratio, low, high, y = verdict_of(item).css, item["ratio"], item["low"], item["high"], 12.0
        is_pooled, parts = "scope" in item, []
        if ratio and low and high and is_pooled and not (self.beyond(low) or self.beyond(high)):
            return strip(_diamond(self.x(low), self.x(ratio), self.x(high), y, css))
        if ratio and (low or high):
            low, high = low or 0.0, high or math.inf
            path = f"M{self.x(low):.1f} {y:.1f}H{self.x(high):.1f}"
            for end, step in ((low, 6), (high, -6)):
                x, arrow = self.x(end), self.beyond(end)
                path += f"M{x + step:.1f} {y - 5:.1f}L{x:.1f} {y:.1f}l{step} 5" if arrow else f"M{x:.1f} {y - 4:.1f}v8"
            parts.append(el("path", d=path, cls=f"interval {css}"))
        if ratio:
            x = self.x(ratio)
            parts.append(_diamond(x - 7, x, x + 7, y, css) if is_pooled else mark(verdict_of(item).word, x, y))
        return strip(*parts)


def _diamond(low: float, ratio: float, high: float, y: float, css: str) -> Markup:
    """The sign of a pooled row, as wide as its interval; its own shape, because no single comparison has it."""
    low, high = min(low, ratio - 3), max(high, ratio + 3)
    path = f"M{low:.1f} {y:.1f}L{ratio:.1f} {y - 8:.1f}L{high:.1f} {y:.1f}L{ratio:.1f} {y + 8:.1f}z"
    return el("path", d=path, cls=f"pooled {css}")


def distribution_plot(ident: str, comparisons: Sequence[Comparison], material_pct: float) -> Markup:
    """The distribution of a fleet's ratios: one histogram per verdict on a common ratio axis."""
    rows = by_key((verdict_of(item).word, item["ratio"]) for item in comparisons if item["ratio"])
    shown = {word: rows[word] for word in VERDICT_STYLES if word in rows}
    axis = RatioAxis((ratio for ratios in shown.values() for ratio in ratios), material_pct, 250, WIDTH - 40)
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
