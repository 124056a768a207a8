# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drawings of the report as inline SVG: no script, no inline style, colours from the page's style sheet by class.

Every drawing has a title and a description; every shape that carries a meaning differs by form, not by colour alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report.text import (
    VERDICTS,
    Item,
    clean,
    gain,
    number,
    one_line,
    plural,
    shorten,
    verdict_of,
    verdict_word,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report.view import by_pair, pair_name
from markupsafe import Markup, escape

TICKS = (0.25, 0.33, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 1.75, 2.0, 3.0, 4.0)
FARTHEST = 4.0  # a ratio beyond 4 or below 1/4 is drawn at the edge, with an arrow
WIDTH = 960
NARROW = 380
LEFT, RIGHT = 250, 640  # where the ratio axis of the wide drawings lies
RUNS_DRAWN = 2000


def el(name: str, *children: object, **attributes: object) -> Markup:
    """One SVG element; text and attribute values are cleaned and escaped, ``cls`` becomes ``class``."""
    parts = []
    for key, value in attributes.items():
        shown = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
        attribute = "class" if key == "cls" else key.replace("_", "-")
        parts.append(f' {attribute}="{escape(clean(shown))}"')
    inner = "".join(child if isinstance(child, Markup) else escape(clean(child)) for child in children)
    return Markup(f"<{name}{''.join(parts)}>{inner}</{name}>" if inner else f"<{name}{''.join(parts)}/>")


def drawing(
    ident: str, title: str, description: str, *, size: tuple[int, float], body: Iterable[Markup], cls: str
) -> Markup:
    """An SVG image with its name and description for those who do not see it."""
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


def mark(word: str, x: float, y: float) -> Markup:
    """The sign of a verdict, each with a shape of its own."""
    shapes = {
        "IMPROVED": f"M{x:.1f} {y - 6:.1f}l6 11h-12z",
        "REGRESSED": f"M{x:.1f} {y + 6:.1f}l6-11h-12z",
        "UNCHANGED": f"M{x - 4.5:.1f} {y - 4.5:.1f}h9v9h-9z",
        "INCONCLUSIVE": f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6-6z",
        "NOT COMPARABLE": f"M{x - 5:.1f} {y - 5:.1f}l10 10m0-10l-10 10",
    }
    verdict = VERDICTS[word]
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
        """Where a ratio lies, held within the axis."""
        share = (math.log(ratio) - self.low) / (self.high - self.low) if ratio > 0 else 0.0
        return self.left + min(max(share, 0.0), 1.0) * (self.right - self.left)

    def beyond(self, ratio: float) -> bool:
        """Is the ratio outside what is drawn?"""
        return ratio <= 0 or not self.low <= math.log(ratio) <= self.high

    def ticks(self) -> list[float]:
        """Round ratios at least 44 units apart; 1 is always among them."""
        chosen = [1.0]
        for tick in sorted(TICKS, key=lambda t: abs(math.log(t))):
            if not self.beyond(tick) and all(abs(self.x(tick) - self.x(other)) >= 44 for other in chosen):
                chosen.append(tick)
        return sorted(chosen)

    def draw(self, top: float, bottom: float) -> list[Markup]:
        """Band of what is not material, grid, the line of 1 and the labels above."""
        left, right = self.x(self.band[0]), self.x(self.band[1])
        parts = [el("rect", x=left, y=top, width=right - left, height=bottom - top, cls="band")]
        for tick in self.ticks():
            x = self.x(tick)
            parts.append(el("path", d=f"M{x:.1f} {top:.1f}V{bottom:.1f}", cls="one" if tick == 1 else "grid"))
            label = f"{tick:.2f}" if tick != 1 else "1.00"
            parts.append(el("text", label, x=x, y=top - 8, cls="tick middle"))
        parts.append(el("text", "\u2190 worse", x=self.left, y=top - 28, cls="tick"))
        parts.append(el("text", "better \u2192", x=self.right, y=top - 28, cls="tick end"))
        return parts


def interval_plot(ident: str, comparisons: Sequence[Item], material_pct: float, layout: str = "wide") -> Markup:
    """Each comparison as a point with its interval on one ratio axis.

    ``wide`` stands below the names of the pairs; ``flat`` keeps the order given and names the pair in each row;
    ``narrow`` is for a small screen: the words stand above the interval instead of beside it.
    """
    values = [item.get(key) or 0 for item in comparisons for key in ("ratio", "low", "high")]
    narrow = layout == "narrow"
    width, row, draw_row = (NARROW, 50, _narrow_row) if narrow else (WIDTH, 28, _wide_row)
    axis = RatioAxis(values, material_pct, 12, NARROW - 12) if narrow else RatioAxis(values, material_pct)
    pairs = [("", list(comparisons))] if layout == "flat" else by_pair(comparisons)
    top = 48.0
    height = top + sum(34 * bool(pair) + row * len(items) for pair, items in pairs) + 10
    body = axis.draw(top, height - 6)
    y = top
    for pair, items in pairs:
        if pair:
            y += 34
            name = one_line(pair)
            body.append(el("text", el("title", name), shorten(name, 32), x=0, y=y - 8, cls="pair"))
            body.append(el("path", d=f"M0 {y:.1f}H{width}", cls="rule"))
        for item in items:
            y += row
            name = one_line(item.get("workload")) if pair else one_line(f"{pair_name(item)}  {item.get('workload')}")
            body.extend(draw_row(item, name, axis, y - 12))
    told = "; ".join(
        f"{one_line(pair_name(i))} {one_line(i.get('workload'))}: {_row_words(i)}" for i in comparisons[:12]
    )
    more = f"; {len(comparisons) - 12} more" if len(comparisons) > 12 else ""
    description = f"Ratios above 1 are better. {told}{more}. The table below holds the same figures."
    cls = f"plot for-{'narrow' if narrow else 'wide'}"
    return drawing(ident, "Interval plot of all comparisons", description, size=(width, height), body=body, cls=cls)


def _row_words(item: Item) -> str:
    return f"{verdict_word(item)} {gain(item.get('ratio'))}"


def _wide_row(item: Item, name: str, axis: RatioAxis, y: float) -> list[Markup]:
    verdict = verdict_of(item)
    return [
        el("text", el("title", name), shorten(name, 34), x=4, y=y + 4, cls="label"),
        *_interval(item, axis, y),
        el("text", gain(item.get("ratio")), x=RIGHT + 82, y=y + 4, cls="value end"),
        el("text", f"{verdict.symbol} {verdict_word(item)}", x=RIGHT + 98, y=y + 4, cls=f"word {verdict.css}"),
    ]


def _narrow_row(item: Item, name: str, axis: RatioAxis, y: float) -> list[Markup]:
    verdict = verdict_of(item)
    words = f"{verdict.symbol} {gain(item.get('ratio'))} {verdict_word(item)}"
    return [
        el("text", el("title", name), shorten(name, 26), x=0, y=y - 14, cls="label"),
        *_interval(item, axis, y + 2),
        el("text", words, x=NARROW, y=y - 14, cls=f"word end {verdict.css}"),
    ]


def _interval(item: Item, axis: RatioAxis, y: float) -> list[Markup]:
    verdict = verdict_of(item)
    ratio, low, high = item.get("ratio"), item.get("low"), item.get("high")
    parts = []
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
    if ratio:
        parts.append(mark(verdict.word, axis.x(ratio), y))
    return parts


def distribution_plot(ident: str, comparisons: Sequence[Item], material_pct: float) -> Markup:
    """How a fleet's ratios spread: one histogram a verdict on the common ratio axis."""
    rows: dict[str, list[float]] = {word: [] for word in VERDICTS}
    for item in comparisons:
        if item.get("ratio"):
            rows[verdict_of(item).word].append(item["ratio"])
    axis = RatioAxis((ratio for ratios in rows.values() for ratio in ratios), material_pct, LEFT, WIDTH - 40)
    shown = {word: ratios for word, ratios in rows.items() if ratios}
    bins, top, row_height = 84, 48.0, 66.0
    width = (axis.right - axis.left) / bins
    tallest = 1
    counted: dict[str, dict[int, int]] = {}
    for word, ratios in shown.items():
        counts = counted.setdefault(word, {})
        for ratio in ratios:
            slot = min(int((axis.x(ratio) - axis.left) / width), bins - 1)
            counts[slot] = counts.get(slot, 0) + 1
        tallest = max(tallest, *counts.values())
    height = top + row_height * len(shown) + 8
    body = axis.draw(top, height - 4)
    for index, (word, ratios) in enumerate(shown.items()):
        base = top + row_height * (index + 1)
        verdict = VERDICTS[word]
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


def run_chart(ident: str, item: Item, runs: Sequence[Item]) -> Markup:
    """Every run in time order, grouped into rounds; before and after differ by shape, tint and letter."""
    return _RunChart(item, runs[:RUNS_DRAWN]).draw(ident)


class _RunChart:
    """One small chart: x is the order in time, y the metric from a robust low to a robust high."""

    width, height, left, right, top, bottom = 460, 178, 52.0, 452.0, 26.0, 150.0

    def __init__(self, item: Item, runs: Sequence[Item]) -> None:
        self.item = item
        self.rounds: list[tuple[str, object, list[Item]]] = []
        for run in runs:
            phase, number_ = str(run.get("phase")), run.get("round")
            if not self.rounds or self.rounds[-1][:2] != (phase, number_):
                self.rounds.append((phase, number_, []))
            self.rounds[-1][2].append(run)
        counted = [r for r in runs if r.get("ok") and not r.get("warmup") and r.get("value") is not None]
        self.values = sorted(run["value"] for run in counted)
        self.low, self.high = self._range(counted)
        names = ("before", "after", "warmup", "failed", "beyond", "median")
        self.paths: dict[str, list[str]] = {name: [] for name in names}

    def _range(self, counted: Sequence[Item]) -> tuple[float, float]:
        """From the quartiles of each phase, so that one spike does not flatten all other runs."""
        if not counted:
            return 0.0, 1.0
        low, high = self.values[0], self.values[-1]
        if len(counted) >= 8:
            ends = []
            for phase in {run.get("phase") for run in counted}:
                values = [run["value"] for run in counted if run.get("phase") == phase]
                first, _middle, third = statistics.quantiles(values * 2, n=4)
                reach = 2 * max(third - first, third * 0.01)
                ends += [first - reach, third + reach]
            low, high = max(low, min(ends)), min(high, max(ends))
        room = max((high - low) * 0.08, high * 0.005)
        return max(0.0, low - room), high + room

    def y(self, value: float) -> float:
        """Where a value lies; what is beyond the axis is held at its edge."""
        share = (value - self.low) / (self.high - self.low)
        return self.bottom - min(max(share, 0.0), 1.0) * (self.bottom - self.top)

    def draw(self, ident: str) -> Markup:
        """The whole chart."""
        body = []
        for share in (0.0, 0.5, 1.0):
            value = self.low + share * (self.high - self.low)
            y = self.y(value)
            body.append(el("path", d=f"M{self.left} {y:.1f}H{self.right}", cls="grid"))
            if self.values:
                body.append(el("text", number(value), x=self.left - 6, y=y + 4, cls="tick end"))
        count = sum(len(runs) for _phase, _round, runs in self.rounds)
        gap = 0.8
        step = (self.right - self.left) / max(count + gap * len(self.rounds), 1)
        x = self.left
        for phase, number_, runs in self.rounds:
            wide = step * (len(runs) + gap)
            body.extend(self._round(phase, number_, runs, (x, wide, step)))
            x += wide
        body.extend(
            el("path", d="".join(self.paths[name]), cls=f"run {name}")
            for name in ("median", "before", "after", "warmup", "failed", "beyond")
            if self.paths[name]
        )
        title = f"Runs of {one_line(self.item.get('workload'))}, {one_line(pair_name(self.item))}"
        return drawing(ident, title, self._description(count), size=(self.width, self.height), body=body, cls="runs")

    def _round(self, phase: str, number_: object, runs: list[Item], place: tuple[float, float, float]) -> list[Markup]:
        x, wide, step = place
        parts = []
        if phase == "after":
            parts.append(el("rect", x=x, y=self.top, width=wide, height=self.bottom - self.top, cls="tint"))
        if wide >= 18:
            label = f"{'B' if phase == 'before' else 'A'}{number_}"
            parts.append(el("text", shorten(label, 4), x=x + wide / 2, y=self.bottom + 18, cls="tick middle"))
        good = []
        at = x + step * 0.9
        for run in runs:
            self._point(run, phase, at)
            if run.get("ok") and not run.get("warmup") and run.get("value") is not None:
                good.append(run["value"])
            at += step
        if good:
            y = self.y(statistics.median(good))
            self.paths["median"].append(f"M{x + step * 0.3:.1f} {y:.1f}H{x + wide - step * 0.3:.1f}")
        return parts

    def _point(self, run: Item, phase: str, x: float) -> None:
        value = run.get("value")
        if not run.get("ok") or value is None:
            self.paths["failed"].append(f"M{x - 3:.1f} {self.bottom - 7:.1f}l6 6m0-6l-6 6")
            return
        y = self.y(value)
        if run.get("warmup"):
            self.paths["warmup"].append(f"M{x - 3:.1f} {y:.1f}h6m-3-3v6")
        elif value > self.high:
            self.paths["beyond"].append(f"M{x:.1f} {self.top + 1:.1f}l4 7h-8z")
        elif phase == "before":
            self.paths["before"].append(f"M{x - 2.6:.1f} {y:.1f}a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0z")
        else:
            self.paths["after"].append(f"M{x:.1f} {y - 3.4:.1f}l3.4 3.4l-3.4 3.4l-3.4-3.4z")

    def _description(self, count: int) -> str:
        high = [value for value in self.values if value > self.high]
        parts = [f"{plural(count, 'run')} in {plural(len(self.rounds), 'round')} in time order"]
        if self.values:
            parts.append(
                f"values from {number(self.values[0])} to {number(self.values[-1])} {self.item.get('unit') or ''}"
            )
        if high:
            parts.append(f"{plural(len(high), 'run')} above the axis")
        return ", ".join(parts) + "."
