# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trend over many changes in each of its formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import text, to_json
from .curves import trend_chart
from .html import page
from .text import Item, Report
from .to_csv import cells
from .to_markdown import ROWS, bullets, escape, section, table
from .view import pair_name

DRAWN = 40  # series with a chart and a table of their own; all stand in the other files
SECTIONS = (("series", "Change by change"), ("problems", "Problems with the data"), ("method", "How to read it"))
METHOD = (
    "Each change keeps the gain, the interval and the verdict of its own report: both of its states were measured"
    " together.",
    "Between changes nothing was measured together. A difference there is shown as a gap before the change and is"
    " credited"
    " to no change.",
    "The overall result compares the first state with the last one. Its interval comes from the rounds of these two"
    " states"
    " alone, which lie far apart in time: weaker evidence than that of a single change.",
    "The product of all gains is the effect of the changes alone; if it differs from the overall result, the gaps"
    " between"
    " the changes explain the rest.",
    "Above 0 % is better, whatever the direction of the metric.",
)
COLUMNS = (
    "Change",
    "Before",
    "After",
    "Change of the metric",
    "Gain",
    "95 % interval",
    "Gap before it",
    "Gain since the first",
    "Verdict",
)
SERIES_KEYS = ("host", "peer", "workload", "metric", "unit")
STEP_KEYS = ("change_pct", "ratio", "low", "high", "gap", "cumulative", "verdict")


def html(report: Report) -> Iterator[str]:
    """The page."""
    series = list(report["series"])
    shown = [{"item": item, "svg": trend_chart(f"trend-{n}", item)} for n, item in enumerate(series[:DRAWN])]
    values = {"report": report, "shown": shown, "left_out": len(series) - len(shown), "method": METHOD}
    yield from page("trend.html.j2", {**values, "sections": SECTIONS, "columns": COLUMNS})


def markdown(report: Report) -> Iterator[str]:
    """The text for a ticket."""
    yield f"# Trend {escape(report['name'])}\n\n{escape(report['headline'])}\n"
    for item in report["series"][:ROWS]:
        rows = [*(_row(item, step) for step in item["steps"]), _whole_row(item)]
        title = f"{item['workload']}, {pair_name(item)}: {item['metric']} ({item['better']} is better)"
        yield from section(escape(title), table(COLUMNS, rows))
    yield from section("Problems with the data", bullets(report["problems"]))
    yield from section("How to read it", bullets(METHOD))


def _row(item: Item, step: Item) -> list[object]:
    sides = [text.measured((step[state] or {}).get("median"), item["unit"]) for state in ("before", "after")]
    verdict = f"{text.verdict_of(step).symbol} {text.verdict_word(step)}"
    cumulative = text.gain(step["cumulative"])
    return [
        step["label"],
        *sides,
        text.signed(step["change_pct"]),
        text.gain(step["ratio"]),
        text.interval(step),
        text.gain(step["gap"]),
        cumulative,
        verdict,
    ]


def _whole_row(item: Item) -> list[object]:
    whole = item["whole"]
    sides = [text.measured(whole[state], item["unit"]) for state in ("before", "after")]
    gain = text.gain(whole["ratio"])
    multiplied = f"product of all changes: {text.gain(whole['steps_ratio'])}"
    return ["Overall", *sides, text.signed(whole["change_pct"]), gain, text.interval(whole), "", gain, multiplied]


def csv(report: Report) -> Iterator[str]:
    """A row for each change of each series."""
    names = (f"{key}_ratio" if key in ("gap", "cumulative") else key for key in STEP_KEYS)
    yield cells(["name", "change", "label", *SERIES_KEYS, "before", "after", *names])
    for item in report["series"]:
        for step in item["steps"]:
            yield cells(
                [
                    report["name"],
                    step["change"],
                    step["label"],
                    *(item[key] for key in SERIES_KEYS),
                    *((step[state] or {}).get("median") for state in ("before", "after")),
                    *(step[key] for key in STEP_KEYS),
                ]
            )


FORMATS: dict[str, Callable[[Report], Iterator[str]]] = {
    "json": to_json.lines,
    "html": html,
    "md": markdown,
    "csv": csv,
}
