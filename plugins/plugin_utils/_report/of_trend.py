# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trend over many changes in each of its formats."""

from collections.abc import Iterable, Iterator
from operator import itemgetter

from .._pages import blocks as ui
from .._pages import text, to_json
from .._pages.cells import cells
from .._pages.pages import page_formats
from .._pages.svg import AFTER, BEFORE
from .._pages.text import plural
from .._pages.writing import Formats
from .._series.trend import Stage, Trend, TrendSeries, Whole
from .curves import trend_chart
from .view import closing, metric_of, metric_words, pair_name

DRAWN = 50  # series with a chart and a table of their own; all stand in the other files
METHOD = (
    "Each change keeps the gain, the interval and the verdict of its own report: both of its states were measured"
    " together.",
    "Between changes nothing was measured together. A difference there is shown as a gap before the change and is"
    " credited to no change.",
    "The overall result compares the first state with the last one, which were measured at different times. From four"
    " changes on it has an interval: the gaps show how much sessions differ. The headline calls only the product of"
    " the changes' own effects better or worse.",
    "The product of all gains is the effect of the changes alone; if it differs from the overall result, the gaps"
    " between the changes explain the rest.",
    "Above 0 % is better, whatever the direction of the metric.",
)
COLUMNS = (
    "Change",
    *((name, "num") for name in ("Before", "After", "Change of the metric", "Gain", "Interval")),
    *((name, "num") for name in ("Gap before it", "Gain since the first")),
    "Verdict",
)
KEY = ui.Key(
    [
        ({"before": BEFORE}, "before the change"),
        ({"after": AFTER}, "after it"),
        ({"change": "M2 10L20 4"}, "measured together"),
        ({"gap": "M2 10L20 4"}, "not measured together"),
        ({"spread": "M11 1v12"}, "lowest to highest round"),
    ]
)
SERIES_KEYS = ("host", "peer", "workload", "metric", "unit")
STEP_KEYS = ("change_pct", "ratio", "low", "high", "gap", "cumulative", "verdict")


def make_page(report: Trend) -> ui.Page:
    """The page of a trend: a chart and a table for each series."""
    series, changes = report["series"], plural(len(report["changes"]), "change")
    shown: list[ui.Block] = [
        ui.Group(lambda: [KEY] if series else []),
        *map(_section, range(len(series[:DRAWN])), series),
    ]
    left = len(series) - DRAWN
    if not series or left > 0:
        more = f"{plural(left, 'more series', 'more series')} in the JSON and the CSV file."
        shown.append(ui.Paragraph(more if series else "No comparison of these changes matches."))
    return ui.Page(
        ["Trend ", ui.Code(report["name"]), f" over {changes}"],
        report["headline"],
        [ui.Section("Change by change", shown, "series"), *closing(report["problems"], METHOD)],
        f"Written by zpower.sap_tuning from the records of {changes}. The same records give the same bytes.",
        facts=[
            ("Changes in their order", text.listed([change["label"] for change in report["changes"]], 12)),
            ("Series", f"{len(series):,}, one per host pair and workload"),
        ],
    )


def _section(place: int, item: TrendSeries) -> ui.Group:
    name, metric = f"{item['workload']}, {pair_name(item)}", metric_words(item["metric"])

    def chart() -> list[ui.Chart]:
        unit = f" in {item['unit']}" if item["unit"] else ""
        caption = f"{metric}{unit}, {item['better']} is better."
        return [ui.Chart(trend_chart(f"trend-{place}", item), caption, f"Chart of {name}")]

    table = ui.Table(f"{name}: {metric}", COLUMNS, _rows(item), metric_of(item), "wide")
    return ui.Group([ui.Group(chart), table], title=name)


def _rows(item: TrendSeries) -> list[ui.Row]:
    """A row for each change, and one for all changes together."""
    rows = []
    for step in item["steps"]:
        name = step["label"], step["change"] if step["change"] != step["label"] else ""
        shifts = [text.gain(step["gap"]), text.gain(step["cumulative"])]
        figures = _figures(step, _sides(step), item["unit"])
        rows.append(ui.Row([name, *figures, *shifts, (text.verdict_style(step), step["reason"])]))
    whole = item["whole"]
    multiplied = f"product of all changes: {text.gain(whole['steps_ratio'])}"
    figures = _figures(whole, [whole["before"], whole["after"]], item["unit"])
    return [*rows, ui.Row(["Overall", *figures, "", text.gain(whole["ratio"]), ("", multiplied)], css="total")]


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
    **page_formats(make_page),
    "csv": csv,
}
