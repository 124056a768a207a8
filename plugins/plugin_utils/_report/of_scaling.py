# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scaling over connections, jobs or guests in each of its formats."""

from collections.abc import Iterator, Sequence
from operator import itemgetter

from .._pages import blocks as ui
from .._pages import text, to_json
from .._pages.cells import cells
from .._pages.pages import page_formats
from .._pages.text import plural
from .._pages.writing import Formats
from .._records.grouping import by_key
from .._series.scaling import Curve, Scaling, plain
from .curves import LINES, scaling_chart
from .view import closing, metric_words, pair_name

DRAWN = 50  # charts; all curves stand in the other files
PAIR_KEYS = ("host", "peer", "workload")
POINT_KEYS = ("speedup", "low", "high", "efficiency_pct")
COLUMNS = ("Metric", "Of the first", "Work done", "Interval", "Efficiency", "Rounds")


def method(report: Scaling) -> list[str]:
    """The explanations at the end of the page."""
    work = {
        "each": "Each of the x does as much as the first one alone: if the metric is a time, the work done is"
        " proportional to x and inversely proportional to the time.",
        "whole": "The work is divided among the x: if the metric is a time, the work done is inversely proportional"
        " to it.",
    }
    return [
        "Every figure is relative to the smallest x. Work done is the amount done in the same time: 2 is twice as much."
        " If the metric is a rate, it is that of the whole system.",
        work[report["work"]],
        "Efficiency is work done relative to x: 100 % if twice the x do twice the work (the dashed line).",
        "The knee is the point that lies farthest above the straight line from the first point to the last one. A"
        f" curve that does not surely lie above it by more than {report['knee_share_pct']:g} % of its own rise has no"
        " proven knee. The knee depends on the largest x: measure beyond the knee to see it.",
        "The interval (95 %) is that of the ratio to the first x; with few rounds it is unbounded.",
    ]


def make_page(report: Scaling) -> ui.Page:
    """The page of a scaling: the phases of a workload share a chart."""
    groups = [*by_key((itemgetter(*PAIR_KEYS, "metric")(item), item) for item in report["curves"]).values()]
    x, left = report["x"], len(groups) - DRAWN
    perfect = f"perfect: twice the {name_of(x)}, twice the work"
    knee = "M5 7a6 6 0 1 0 12 0a6 6 0 1 0-12 0z"
    key = ui.Key([({"gap": "M2 12L20 2"}, perfect), ({"knee": knee}, "knee")])
    shown: list[ui.Block] = [ui.Group(lambda: [key] if groups else [])]
    shown += [_section(place, curves, x) for place, curves in enumerate(groups[:DRAWN])]
    if not groups or left > 0:
        more = f"{plural(left, 'more workload')} in the JSON and the CSV file."
        shown.append(ui.Paragraph(more if groups else "No run of this change matches."))
    return ui.Page(
        ["Scaling of change ", ui.Code(report["change"]), " over ", ui.Code(x)],
        report["headline"],
        [ui.Section("Curves", shown, "curves"), *closing(report["problems"], method(report))],
        f"Written by zpower.sap_tuning from the records of change {report['change']}."
        " The same records give the same bytes.",
    )


def _section(place: int, curves: Sequence[Curve], x: str) -> ui.Group:
    first = curves[0]
    series = f"{first['workload']}, {pair_name(first)}"

    def chart() -> list[ui.Chart]:
        unit = f" in {first['unit']}" if first["unit"] else ""
        told = f"Work done over {name_of(x)}, relative to the first point; from {metric_words(first['metric'])}{unit},"
        drawn = f" The first {LINES} phases are drawn." if len(curves) > LINES else ""
        return [ui.Chart(scaling_chart(f"scaling-{place}", x, curves), f"{told} {first['better']} is better.{drawn}")]

    columns = [(name, "num") for name in (name_of(x), *COLUMNS)]
    tables: list[ui.Block] = []
    for curve in curves:
        tables += [ui.Table(f"{series}: {_phases(curve)}", columns, point_rows(curve))]
        tables += [ui.Paragraph(knee_words(curve, x), "muted")]
    return ui.Group([ui.Group([ui.Group(chart), ui.Group(tables, "tables")], "beside")], title=series)


def name_of(x: str) -> str:
    """``guests`` of ``context.guests``."""
    return x.rpartition(".")[2]


def _phases(item: Curve) -> str:
    phases = item["phases"]
    return ", ".join(phases) if len(phases) <= 2 else f"{len(phases)} phases: {phases[0]} to {phases[-1]}"


def point_rows(item: Curve) -> list[ui.Row]:
    """The table of a curve."""
    rows = []
    for point in item["points"]:
        ends = [point["low"], point["high"]]
        known = ends != [None, None] and point is not item["points"][0]
        interval = " to ".join(map(text.number, ends)) if known else text.DASH
        metric = [text.measured(point["value"], item["unit"]), text.percent(point["pct"])]
        work = [text.number(float(point["speedup"])), interval, text.percent(point["efficiency_pct"])]
        rows.append(ui.Row([plain(point["x"]), *metric, *work, point["rounds"]]))
    return rows


def knee_words(item: Curve, x: str) -> str:
    """``The knee is at connections 50, ...`` or why there is none."""
    bend = item["knee"]
    if bend is None:
        return "No proven knee: the curve is nearly straight, bends upwards, or has fewer than three points or rounds."
    where = f"{plain(bend['x'])} {name_of(x)}"
    return f"The knee is at {where}, {bend['above_pct']:.0f} % of the rise above the straight line."


def csv(report: Scaling) -> Iterator[str]:
    """A row for each point of each curve."""
    named = ("phases", "metric", "unit", "x", "value", "rounds", "pct_of_first")
    yield cells(["change", *PAIR_KEYS, *named, *POINT_KEYS, "knee"])
    for item in report["curves"]:
        head = [report["change"], *itemgetter(*PAIR_KEYS)(item), " ".join(item["phases"])]
        head += [item["metric"], item["unit"]]
        for point in item["points"]:
            found = [point["x"], point["value"], point["rounds"], point["pct"], *itemgetter(*POINT_KEYS)(point)]
            yield cells([*head, *found, item["knee"]["x"] if item["knee"] else None])


FORMATS: Formats = {
    "json": to_json.lines,
    **page_formats(make_page),
    "csv": csv,
}
