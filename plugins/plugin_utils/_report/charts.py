# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawings in the cells of tables: the intervals of comparisons, and how the ratios of a fleet are spread."""

import math
from collections import Counter
from collections.abc import Iterable

from markupsafe import Markup

from .._pages.svg import STRIP, el, strip
from .._pages.text import VERDICT_STYLES, Item, verdict_of

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

    left, right = 12.0, STRIP - 12.0

    def __init__(self, values: Iterable[float | None], material_pct: float) -> None:
        self.band = (1 / (1 + material_pct / 100), 1 + material_pct / 100)
        finite = [value for value in values if value and math.isfinite(value) and value > 0]
        self.low = max(math.log(min([*finite, self.band[0] ** 1.6])) - 0.015, -math.log(FARTHEST))
        self.high = min(math.log(max([*finite, self.band[1] ** 1.6])) + 0.015, math.log(FARTHEST))

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
        ticks = [el("text", f"{tick:.2f}", x=self.x(tick), y=30, cls="tick middle") for tick in self.ticks()]
        ends = (("\u2190 worse", self.left, ""), ("better \u2192", self.right, " end"))
        return strip(*ticks, *(el("text", word, x=x, y=10, cls=f"tick{css}") for word, x, css in ends), height=36)

    def spread(self, items: Iterable[Item]) -> Markup:
        """How often each ratio occurs, coloured by verdict, for a cell."""
        counts = Counter((int(self.x(item["ratio"]) / 4), verdict_of(item).css) for item in items if item["ratio"])
        bars = []
        for (slot, css), count in counts.most_common():
            # the root keeps a single bad pair visible beside a thousand good ones
            tall = max(2.0, math.sqrt(count / counts.most_common(1)[0][1]) * 22)
            bars.append(el("path", d=f"M{4 * slot} 24v-{tall:.1f}h3.4v{tall:.1f}z", cls=f"bars {css}"))
        return strip(*bars)

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
