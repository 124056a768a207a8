# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trend over many changes in each of its formats."""

from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path

from .._pages import text, to_json
from .._pages.cells import cells
from .._pages.html import page
from .._pages.markdown import ROWS, bullets, escape, section, table
from .._pages.writing import Formats
from .._series.trend import Stage, Trend, TrendSeries, Whole
from . import pooled, view
from .curves import trend_chart
from .view import pair_name

HERE = Path(__file__).parent
DRAWN = 40  # series with a chart and a table of their own; all stand in the other files
SECTIONS = (("series", "Change by change"), ("problems", "Problems with the data"), ("method", "How to read it"))
METHOD = (
    "Each change keeps the gain, the interval and the verdict of its own report: both of its states were measured"
    " together.",
    "Between changes nothing was measured together. A difference there is shown as a gap before the change and is"
    " credited to no change.",
    "The overall result compares the first state with the last one, which were measured at different times. From four"
    " changes on it has an interval: what the gaps show that a session is worth. The headline calls only the product of"
    " the changes' own effects better or worse.",
    "The product of all gains is the effect of the changes alone; if it differs from the overall result, the gaps"
    " between the changes explain the rest.",
    "Above 0 % is better, whatever the direction of the metric.",
)
COLUMNS = (
    *("Change", "Before", "After", "Change of the metric", "Gain", "95 % interval"),
    *("Gap before it", "Gain since the first", "Verdict"),
)
SERIES_KEYS = ("host", "peer", "workload", "metric", "unit")
STEP_KEYS = ("change_pct", "ratio", "low", "high", "gap", "cumulative", "verdict")


def html(report: Trend) -> Iterator[str]:
    series = list(report["series"])
    shown = [
        {"item": item, "rows": _rows(item), "svg": trend_chart(f"trend-{n}", item)}
        for n, item in enumerate(series[:DRAWN])
    ]
    values = {"report": report, "shown": shown, "left_out": len(series) - len(shown), "method": METHOD}
    columns = {name: "" if name in ("Change", "Verdict") else "num" for name in COLUMNS}
    yield from page(HERE, "trend.html.j2", {**values, "sections": SECTIONS, "columns": columns}, pooled, view)


def markdown(report: Trend) -> Iterator[str]:
    yield f"# Trend {escape(report['name'])}\n\n{escape(report['headline'])}\n"
    for item in report["series"][:ROWS]:
        title = f"{item['workload']}, {pair_name(item)}: {item['metric']} ({item['better']} is better)"
        yield from section(escape(title), table(COLUMNS, _rows(item)))
    yield from section("Problems with the data", bullets(report["problems"]))
    yield from section("How to read it", bullets(METHOD))


def _rows(item: TrendSeries) -> list[list[object]]:
    """The cells of each change, and those of all changes together."""
    rows: list[list[object]] = []
    for step in item["steps"]:
        verdict = f"{text.verdict_of(step).symbol} {text.verdict_word(step)}"
        shifts = [text.gain(step["gap"]), text.gain(step["cumulative"])]
        rows.append([step["label"], *_figures(step, _sides(step), item["unit"]), *shifts, verdict])
    whole = item["whole"]
    multiplied = f"product of all changes: {text.gain(whole['steps_ratio'])}"
    figures = _figures(whole, [whole["before"], whole["after"]], item["unit"])
    return [*rows, ["Overall", *figures, "", text.gain(whole["ratio"]), multiplied]]


def _sides(step: Stage) -> list[float | None]:
    return [side["median"] if side else None for side in (step["before"], step["after"])]


def _figures(found: Stage | Whole, sides: Iterable[object], unit: object) -> list[str]:
    medians = [text.measured(side, unit) for side in sides]
    return [*medians, text.signed(found["change_pct"]), text.gain(found["ratio"]), text.interval(found)]


def csv(report: Trend) -> Iterator[str]:
    """A row for each change of each series."""
    names = (f"{key}_ratio" if key in ("gap", "cumulative") else key for key in STEP_KEYS)
    yield cells(["name", "change", "label", *SERIES_KEYS, "before", "after", *names])
    for item in report["series"]:
        for step in item["steps"]:
            head = [report["name"], step["change"], step["label"], *itemgetter(*SERIES_KEYS)(item)]
            yield cells([*head, *_sides(step), *itemgetter(*STEP_KEYS)(step)])


FORMATS: Formats = {
    "json": to_json.lines,
    "html": html,
    "md": markdown,
    "csv": csv,
}
