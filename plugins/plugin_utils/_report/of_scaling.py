# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scaling over connections, jobs or guests in each of its formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import text, to_json
from .curves import LINES, scaling_chart
from .html import page
from .text import Item, Report
from .to_csv import cells
from .to_markdown import ROWS, bullets, escape, section, table
from .view import pair_name

DRAWN = 40  # charts; all curves stand in the other files
SECTIONS = (("curves", "Curves"), ("problems", "Problems with the data"), ("method", "How to read it"))
PAIR_KEYS = ("host", "peer", "workload")
POINT_KEYS = ("speedup", "low", "high", "efficiency_pct")
COLUMNS = ("x", "Metric", "Of the first", "Work done", "Interval", "Efficiency", "Rounds")


def method(report: Report) -> list[str]:
    """The explanations at the end of the page."""
    work = {
        "each": "Each of the x does as much as the first one alone: if the metric is a time, the work done is"
        " proportional"
        " to x and inversely proportional to the time.",
        "whole": "The work is divided among the x: if the metric is a time, the work done is inversely proportional"
        " to it.",
    }
    return [
        "Every figure is relative to the smallest x. Work done is the amount done in the same time: 2 is twice as much."
        " If the metric is a rate, it is that of the whole system.",
        work[report["work"]],
        "Efficiency is work done relative to x: 100 % if twice the x do twice the work (the dashed line).",
        "The knee is the point that lies farthest above the straight line from the first point to the last one. A"
        f" curve that never lies above it by more than {report['knee_share_pct']:g} % of its own rise is nearly"
        " straight and has no knee. The knee depends on the largest x: measure beyond the knee to see it.",
        "The interval (95 %) is that of the ratio to the first x; with few rounds it is unbounded.",
    ]


def html(report: Report) -> Iterator[str]:
    """The page: the phases of a workload share a chart."""
    groups: dict[tuple[str, ...], list[Item]] = {}
    for item in report["curves"]:
        groups.setdefault(tuple(item[key] for key in ("host", "peer", "workload", "metric")), []).append(item)
    x = report["x"]
    shown = [
        {"item": items[0], "curves": [_told(item, x) for item in items], "svg": scaling_chart(f"scaling-{n}", x, items)}
        for n, items in enumerate(list(groups.values())[:DRAWN])
    ]
    values = {"report": report, "shown": shown, "left_out": len(groups) - len(shown), "method": method(report)}
    yield from page(
        "scaling.html.j2", {**values, "sections": SECTIONS, "columns": COLUMNS, "most_lines": LINES, "name": name_of(x)}
    )


def name_of(x: str) -> str:
    """``guests`` of ``context.guests``."""
    return x.rpartition(".")[2]


def _told(item: Item, x: str) -> dict[str, object]:
    phases = item["phases"]
    named = ", ".join(phases) if len(phases) <= 2 else f"{len(phases)} phases: {phases[0]} to {phases[-1]}"
    return {"phases": named, "rows": point_rows(item), "knee": knee_words(item, x)}


def markdown(report: Report) -> Iterator[str]:
    """The text for a ticket."""
    yield f"# Scaling over {escape(report['x'])}: change {escape(report['change'])}\n\n{escape(report['headline'])}\n"
    for item in report["curves"][:ROWS]:
        title = f"{item['workload']}, {pair_name(item)}, {', '.join(item['phases'])}"
        yield from section(
            escape(title), [*table(COLUMNS, point_rows(item)), f"\n{escape(knee_words(item, report['x']))}\n"]
        )
    yield from section("Problems with the data", bullets(report["problems"]))
    yield from section("How to read it", bullets(method(report)))


def point_rows(item: Item) -> list[list[str]]:
    """The cells of a curve's table."""
    rows = []
    for point in item["points"]:
        ends = [point["low"], point["high"]]
        interval = (
            text.DASH if ends == [None, None] or point is item["points"][0] else " to ".join(map(text.number, ends))
        )
        rows.append(
            [
                f"{point['x']:g}",
                text.measured(point["value"], item["unit"]),
                text.percent(point["pct"]),
                text.number(float(point["speedup"])),
                interval,
                text.percent(point["efficiency_pct"]),
                str(point["rounds"]),
            ]
        )
    return rows


def knee_words(item: Item, x: str) -> str:
    """``The knee is at connections 50, ...`` or why there is none."""
    bend = item["knee"]
    if bend is None:
        return "No knee: the curve is nearly straight, bends upwards, or has fewer than three points."
    return f"The knee is at {bend['x']:g} {name_of(x)}, {bend['above_pct']:.0f} % of the rise above the straight line."


def csv(report: Report) -> Iterator[str]:
    """A row for each point of each curve."""
    named = ("phases", "metric", "unit", "x", "value", "rounds", "pct_of_first")
    yield cells(["change", *PAIR_KEYS, *named, *POINT_KEYS, "knee"])
    for item in report["curves"]:
        for point in item["points"]:
            yield cells(
                [
                    report["change"],
                    *(item[key] for key in PAIR_KEYS),
                    " ".join(item["phases"]),
                    item["metric"],
                    item["unit"],
                    point["x"],
                    point["value"],
                    point["rounds"],
                    point["pct"],
                    *(point[key] for key in POINT_KEYS),
                    (item["knee"] or {}).get("x"),
                ]
            )


FORMATS: dict[str, Callable[[Report], Iterator[str]]] = {
    "json": to_json.lines,
    "html": html,
    "md": markdown,
    "csv": csv,
}
