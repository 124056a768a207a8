# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scaling over connections, jobs or guests in each of its formats."""

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

from .._pages import text, to_json
from .._pages.cells import cells
from .._pages.html import page
from .._pages.markdown import ROWS, bullets, escape, section, table
from .._pages.writing import Formats
from .._records.grouping import by_key
from .._series.scaling import Curve, Scaling
from . import pooled, view
from .curves import LINES, scaling_chart
from .view import pair_name

DRAWN = 40  # charts; all curves stand in the other files
SECTIONS = (("curves", "Curves"), ("problems", "Problems with the data"), ("method", "How to read it"))
PAIR_KEYS = ("host", "peer", "workload")
POINT_KEYS = ("speedup", "low", "high", "efficiency_pct")
COLUMNS = ("x", "Metric", "Of the first", "Work done", "Interval", "Efficiency", "Rounds")


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


def html(report: Scaling) -> Iterator[str]:
    """The page: the phases of a workload share a chart."""
    groups = by_key((itemgetter(*PAIR_KEYS, "metric")(item), item) for item in report["curves"])
    x = report["x"]
    shown = [
        {"item": items[0], "curves": [_told(item, x) for item in items], "svg": scaling_chart(f"scaling-{n}", x, items)}
        for n, items in enumerate(list(groups.values())[:DRAWN])
    ]
    values = {"report": report, "shown": shown, "left_out": len(groups) - len(shown), "method": method(report)}
    columns = dict.fromkeys((name_of(x), *COLUMNS[1:]), "num")
    values |= {"sections": SECTIONS, "columns": columns, "most_lines": LINES, "name": name_of(x)}
    yield from page(Path(__file__).parent, "scaling.html.j2", values, pooled, view)


def name_of(x: str) -> str:
    """``guests`` of ``context.guests``."""
    return x.rpartition(".")[2]


def _told(item: Curve, x: str) -> dict[str, object]:
    phases = item["phases"]
    named = ", ".join(phases) if len(phases) <= 2 else f"{len(phases)} phases: {phases[0]} to {phases[-1]}"
    return {"phases": named, "rows": point_rows(item), "knee": knee_words(item, x)}


def markdown(report: Scaling) -> Iterator[str]:
    yield f"# Scaling over {escape(report['x'])}: change {escape(report['change'])}\n\n{escape(report['headline'])}\n"
    for item in report["curves"][:ROWS]:
        title = f"{item['workload']}, {pair_name(item)}, {', '.join(item['phases'])}"
        yield from section(
            escape(title), [*table(COLUMNS, point_rows(item)), f"\n{escape(knee_words(item, report['x']))}\n"]
        )
    yield from section("Problems with the data", bullets(report["problems"]))
    yield from section("How to read it", bullets(method(report)))


def point_rows(item: Curve) -> list[list[str]]:
    """The cells of a curve's table."""
    rows = []
    for point in item["points"]:
        ends = [point["low"], point["high"]]
        known = ends != [None, None] and point is not item["points"][0]
        interval = " to ".join(map(text.number, ends)) if known else text.DASH
        metric = [text.measured(point["value"], item["unit"]), text.percent(point["pct"])]
        work = [text.number(float(point["speedup"])), interval, text.percent(point["efficiency_pct"])]
        rows.append([f"{point['x']:g}", *metric, *work, str(point["rounds"])])
    return rows


def knee_words(item: Curve, x: str) -> str:
    """``The knee is at connections 50, ...`` or why there is none."""
    bend = item["knee"]
    if bend is None:
        return "No proven knee: the curve is nearly straight, bends upwards, or has fewer than three points or rounds."
    return f"The knee is at {bend['x']:g} {name_of(x)}, {bend['above_pct']:.0f} % of the rise above the straight line."


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
    "html": html,
    "md": markdown,
    "csv": csv,
}
