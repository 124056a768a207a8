# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The chart of every run of a comparison in time order."""

import itertools
import statistics
from collections.abc import Sequence

from markupsafe import Markup

from .._compare.shapes import Comparison, Part
from .._pages.svg import circle, diamond, drawing, el, horizontal_grid
from .._pages.text import number, one_line, plural, shorten
from .view import pair_name, workload_name

RUNS_DRAWN = 2000


def run_chart(ident: str, item: Comparison, runs: Sequence[Part]) -> Markup:
    """Every run in time order, grouped into rounds; before and after differ by shape, tint and letter."""
    return _RunChart(item, runs[:RUNS_DRAWN]).draw(ident)


class _RunChart:
    """One small chart: x is the order in time, y the metric from a robust low to a robust high."""

    width, height, left, right, top, bottom = 460, 178, 52.0, 452.0, 26.0, 150.0

    def __init__(self, item: Comparison, runs: Sequence[Part]) -> None:
        self.item = item
        found = itertools.groupby(runs, key=lambda run: (str(run["phase"]), run["round"]))
        self.rounds = [(*place, list(mine)) for place, mine in found]
        counted = [r for r in runs if r["ok"] and not r["warmup"] and r["value"] is not None]
        self.values = sorted(run["value"] for run in counted)
        self.low, self.high = self._range(counted)
        names = ("before", "after", "warmup", "failed", "beyond", "median")
        self.paths: dict[str, list[str]] = {name: [] for name in names}

    def _range(self, counted: Sequence[Part]) -> tuple[float, float]:
        """From the quartiles of each phase, so that one spike does not flatten all other runs."""
        if not counted:
            return 0.0, 1.0
        low, high = self.values[0], self.values[-1]
        if len(counted) >= 8:
            ends = []
            for phase in {run["phase"] for run in counted}:
                values = [run["value"] for run in counted if run["phase"] == phase]
                first, _middle, third = statistics.quantiles(values * 2, n=4)
                reach = 2 * max(third - first, third * 0.01)
                ends += [first - reach, third + reach]
            low, high = max(low, min(ends)), min(high, max(ends))
        room = max((high - low) * 0.08, high * 0.005)
        return max(0.0, low - room), high + room

    def y(self, value: float) -> float:
        """The place of a value; a value beyond the axis is drawn at its edge."""
        share = (value - self.low) / (self.high - self.low)
        return self.bottom - min(max(share, 0.0), 1.0) * (self.bottom - self.top)

    def draw(self, ident: str) -> Markup:
        ends = [self.low + share * (self.high - self.low) for share in (0.0, 0.5, 1.0)]
        labels = [(self.y(value), number(value) if self.values else "") for value in ends]
        body = horizontal_grid(labels, self.left, self.right, 6)
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
        title = f"Runs of {one_line(workload_name(self.item))}, {one_line(pair_name(self.item))}"
        return drawing(ident, title, self._description(count), size=(self.width, self.height), body=body, cls="runs")

    def _round(self, phase: str, number_: object, runs: list[Part], place: tuple[float, float, float]) -> list[Markup]:
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
            if run["ok"] and not run["warmup"] and run["value"] is not None:
                good.append(run["value"])
            at += step
        if good:
            y = self.y(statistics.median(good))
            self.paths["median"].append(f"M{x + step * 0.3:.1f} {y:.1f}H{x + wide - step * 0.3:.1f}")
        return parts

    def _point(self, run: Part, phase: str, x: float) -> None:
        value = run["value"]
        if not run["ok"] or value is None:
            self.paths["failed"].append(f"M{x - 3:.1f} {self.bottom - 7:.1f}l6 6m0-6l-6 6")
            return
        y = self.y(value)
        if run["warmup"]:
            self.paths["warmup"].append(f"M{x - 3:.1f} {y:.1f}h6m-3-3v6")
        elif value > self.high:
            self.paths["beyond"].append(f"M{x:.1f} {self.top + 1:.1f}l4 7h-8z")
        elif value < self.low:
            self.paths["beyond"].append(f"M{x:.1f} {self.bottom - 1:.1f}l4-7h-8z")
        elif phase == "before":
            self.paths["before"].append(circle(x, y))
        else:
            self.paths["after"].append(diamond(x, y))

    def _description(self, count: int) -> str:
        parts = [f"{plural(count, 'run')} in {plural(len(self.rounds), 'round')} in time order"]
        if self.values:
            parts.append(f"values from {number(self.values[0])} to {number(self.values[-1])} {self.item['unit'] or ''}")
        for side, found in (
            ("above", [value for value in self.values if value > self.high]),
            ("below", [value for value in self.values if value < self.low]),
        ):
            if found:
                parts.append(f"{plural(len(found), 'run')} {side} the axis")
        return ", ".join(parts) + "."
