# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drawings of a trend (a metric over many changes) and of a scaling (work done over connections, jobs, guests)."""

from collections.abc import Callable, Sequence

from markupsafe import Markup

from .._pages.svg import WIDTH, Axis, circle, diamond, drawing, el, horizontal_grid
from .._pages.text import gain, measured, number, one_line, plural, shorten, verdict_of
from .._series.scaling import Curve, plain
from .._series.trend import TrendSeries

LOGARITHMIC_FROM = 20.0  # times the smallest x; below, a linear axis shows more
LINES = 4  # phases in one chart of scaling; more cannot be told apart
CHARACTER = 6.6  # units of one character of a label
LINE = 13.0  # units from one line of text to the next


def trend_chart(ident: str, series: TrendSeries) -> Markup:
    """One metric over the changes: solid within a change (measured together), dashed between changes."""
    return _TrendChart(series).draw(ident)


class _TrendChart:
    left, right, top, bottom = 78.0, float(WIDTH - 12), 20.0, 250.0

    def __init__(self, series: TrendSeries) -> None:
        self.series = series
        self.steps = series["steps"]
        self.band = (self.right - self.left) / max(len(self.steps), 1)
        sides = [side for step in self.steps for side in (step["before"], step["after"]) if side]
        values = [value for side in sides for value in (side["least"], side["most"])]
        self.axis = Axis(values, self.bottom, self.top)
        self.paths: dict[str, list[str]] = {name: [] for name in ("gap", "change", "spread", "before", "after")}

    def draw(self, ident: str) -> Markup:
        body = horizontal_grid(self.axis.labels(), self.left, self.right, 8)
        if self.axis.low > 0:
            body.append(el("text", "the axis does not begin at 0", x=self.left, y=self.top - 8, cls="tick"))
        body += self._bands()
        body += [el("path", d="".join(path), cls=f"run {name}") for name, path in self.paths.items() if path]
        overall = self.series["whole"]
        title = f"{one_line(self.series['workload'])} over {plural(len(self.steps), 'change')}"
        gains = "; ".join(f"{one_line(step['label'])}: {gain(step['ratio'])}" for step in self.steps[:20])
        description = (
            f"{self.series['metric']}, {self.series['better']} is better, from"
            f" {measured(overall['before'], self.series['unit'])} to {measured(overall['after'], self.series['unit'])}."
            f" Gain of each change: {gains}. The table below holds the same figures."
        )
        return drawing(ident, title, description, size=(WIDTH, self.bottom + 62), body=body, cls="lines")

    def _bands(self) -> list[Markup]:
        parts = []
        last: tuple[float, float] | None = None
        room = max(3, int(self.band / CHARACTER) - 1)
        if room < 6:
            words = "changes are numbered in the order of the table"
            parts.append(el("text", words, x=self.right, y=self.top - 8, cls="tick end"))
        for index, step in enumerate(self.steps):
            x = self.left + index * self.band
            if index % 2:
                height = self.bottom - self.top
                parts.append(el("rect", x=x, y=self.top, width=self.band, height=height, cls="tint"))
            name = one_line(step["label"])
            middle = x + self.band / 2
            label = shorten(name, room) if room >= 6 else str(index + 1)
            parts.append(el("text", el("title", name), label, x=middle, y=self.bottom + 20, cls="tick middle"))
            verdict = verdict_of(step)
            words = f"{verdict.symbol} {gain(step['ratio'])}" if room >= 8 else verdict.symbol
            parts.append(el("text", words, x=middle, y=self.bottom + 40, cls=f"word middle {verdict.css}"))
            points = []
            for state, side, share in (("before", step["before"], 0.3), ("after", step["after"], 0.7)):
                if side is None:
                    continue
                at = (x + share * self.band, self.axis.at(side["median"]))
                points.append(at)
                self.paths[state].append((circle if state == "before" else diamond)(*at))
                if side["most"] > side["least"]:
                    high, low = self.axis.at(side["most"]), self.axis.at(side["least"])
                    self.paths["spread"].append(f"M{at[0]:.1f} {high:.1f}V{low:.1f}")
            if last is not None and points:
                self.paths["gap"].append(_line(last, points[0]))
            if len(points) == 2:
                self.paths["change"].append(_line(*points))
            last = points[-1] if points else last
        return parts


def _line(start: tuple[float, float], end: tuple[float, float]) -> str:
    return f"M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}"


SHAPES: tuple[tuple[str, Callable[[float, float], str]], ...] = (
    ("before", circle),
    ("after", diamond),
    ("third", lambda x, y: f"M{x - 3:.1f} {y - 3:.1f}h6v6h-6z"),
    ("fourth", lambda x, y: f"M{x:.1f} {y - 3.8:.1f}l3.6 6.4h-7.2z"),
)


def scaling_chart(ident: str, x: str, curves: Sequence[Curve]) -> Markup:
    """Work done relative to the first x, for the phases of one workload, beside the line of perfect scaling."""
    width, height, left, right, top, bottom = 460, 286, 46.0, 372.0, 16.0, 232.0
    points = [point for curve in curves for point in curve["points"]]
    places = [point["x"] for point in points]
    log = max(places) / min(places) > LOGARITHMIC_FROM
    speeds = [point["speedup"] for point in points]
    perfect = max(places) / min(places)
    across = Axis(places, left, right, log=log, zero=False)
    # The line of perfect scaling must not flatten the curves: it is cut where it leaves them far below.
    reach = min(perfect, max(speeds) * 1.6)
    up = Axis([*speeds, 1.0, reach], bottom, top, log=log)
    body = horizontal_grid(up.labels(), left, right, 6)
    for at, label in across.spaced(sorted(set(places)), 26):
        body.append(el("text", label, x=at, y=bottom + 18, cls="tick middle"))
    across_words = one_line(x.rpartition(".")[2]) + (", both axes logarithmic" if log else "")
    body.append(el("text", across_words, x=(left + right) / 2, y=bottom + 38, cls="tick middle"))
    first = min(places)
    ends = [(place, place / first) for place in (first, first * reach)]
    body.append(el("path", d=_line(*((across.at(p), up.at(s)) for p, s in ends)), cls="run gap"))
    for (css, shape), curve in zip(SHAPES, curves[:LINES], strict=False):
        body += _curve(curve, css, shape, (across, up))
    body += _names(curves[:LINES], (across, up))
    title = f"Work over {one_line(x)} of {one_line(curves[0]['workload'])}"
    summary = "; ".join(
        f"{', '.join(map(one_line, curve['phases']))}: {number(curve['points'][-1]['speedup'])} times at"
        f" {plain(curve['points'][-1]['x'])}"
        for curve in curves
    )
    description = f"Work done relative to the first point. {summary}. The table below holds the same figures."
    return drawing(ident, title, description, size=(width, height), body=body, cls="runs")


def _curve(curve: Curve, css: str, shape: Callable[[float, float], str], axes: tuple[Axis, Axis]) -> list[Markup]:
    places = [(axes[0].at(point["x"]), axes[1].at(point["speedup"])) for point in curve["points"]]
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    parts = [el("path", d=line, cls=f"run change {css}-line")]
    bend = curve["knee"]
    if bend:
        x, y = next(place for place, point in zip(places, curve["points"], strict=True) if point["x"] == bend["x"])
        parts.append(el("path", d=f"M{x - 7:.1f} {y:.1f}a7 7 0 1 0 14 0a7 7 0 1 0-14 0z", cls="run knee"))
    parts.append(el("path", d="".join(shape(*place) for place in places), cls=f"run {css}"))
    return parts


def _names(curves: Sequence[Curve], axes: tuple[Axis, Axis]) -> list[Markup]:
    """Each phase at the end of its line; names of lines that end close together stand one below the other."""
    ends = [
        (axes[1].at(curve["points"][-1]["speedup"]), axes[0].at(curve["points"][-1]["x"]), one_line(curve["phases"][0]))
        for curve in curves
        if len(curve["phases"]) == 1
    ]
    parts, lowest = [], 0.0
    for y, x, name in sorted(ends):
        lowest = max(y, lowest + LINE)
        parts.append(el("text", shorten(name, 12), x=x + 9, y=lowest + 4, cls="tick"))
    return parts
