# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results in the report: at a glance with their intervals, then in figures."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .._compare import shapes
from .._compare.shapes import Comparison, Report
from .._pages import blocks as ui
from .._pages import text
from .._pages.text import ARROW, DASH, VERDICT_STYLES, Style, gain, measured, moment, number, percent, plural
from . import pooled, view
from .charts import RatioAxis
from .view import WorkloadRow

FLEET_FROM = 60  # comparisons, controls not counted
WORST = 50  # comparisons drawn and shown in full in a fleet
DENSE_ROWS = 8000  # one-line rows of a fleet, about 350 bytes each
DRAWN = ("Ratio", "drawn ratio")
GLANCE = ("Result", DRAWN, ("Gain", "num"), "Verdict")
FIGURES = (
    *(("Before", "num w-state"), ("After", "num w-state"), ("Gain", "num w-gain"), ("Interval", "num w-interval")),
    *(("p", "num w-p"), ("Verdict", "w-verdict")),
)
POOLED = ("Pooled", ("Gain", "num w-gain"), ("Interval", "num w-interval"), ("Verdict", "w-verdict"))
DENSE = ("Host pair", *((name, "num") for name in ("Before", "After", "Gain", "Interval")), "Verdict")
PUBLISHED = ("Tuning", "Published figure", "What was measured", "Source")
MEANING = (
    "The gain says how much better the state after is, whatever the direction of the metric: a round trip of 50 \u00b5s"
    " that falls to 45 \u00b5s is 1.11 times as fast, a gain of 11 %. It is the median over all pairs of rounds, one of"
    " each state, so it can differ from the ratio of the two medians beside it."
)


class Shown(NamedTuple):
    """What a report shows: in a ``fleet`` only the ``items`` to look at first in full; ``judged``: all but controls."""

    report: Report
    judged: list[Comparison]
    items: list[Comparison]
    together: list[shapes.Row]
    fleet: bool
    axis: RatioAxis


def choose(report: Report) -> Shown:
    """The comparisons that have room in a page, and the axis of their ratios."""
    judged = [item for item in report["comparisons"] if not item["control"]]
    fleet = len(judged) > FLEET_FROM
    items = view.worst_first(judged)[:WORST] if fleet else view.ordered(report["comparisons"])
    together = pooled.shown(report)
    values = [item[key] for item in [*together, *items] for key in ("ratio", "low", "high")]
    axis = RatioAxis([*values, *(item["ratio"] for item in judged)], float(report["thresholds"]["material_pct"]))
    return Shown(report, judged, items, together, fleet, axis)


def make_overview(shown: Shown) -> ui.Section:
    """The results at a glance: what decides, the intervals, and what was measured."""
    title = "The fleet at a glance" if shown.fleet else "Result at a glance"
    blocks: list[ui.Block] = [*_deciding(shown.report), ui.Group(lambda: [*_plots(shown)])]
    if shown.fleet:
        blocks.append(_by_workload(shown))
    return ui.Section(title, [*blocks, ui.Facts(_facts(shown.report))], "overview")


def _deciding(report: Report) -> Iterator[ui.Paragraph]:
    for row in pooled.deciding(report):
        differs = pooled.deviations(row)
        said = [ui.Bold(f"{pooled.title(row)}:"), f" {row['reason']} "] if report["experiment"] or row["cause"] else []
        if said or differs:
            yield ui.Paragraph([*said, differs], "whole")


def _facts(report: Report) -> list[tuple[str, ui.Text]]:
    hosts, period, protocol = report["hosts"], report["period"], report["protocol"]
    missing = hosts["not_measured"]
    missed = ui.Link(f"{missing:,} not measured", "#not-measured") if missing else "none missing"
    names, runs = ", ".join(protocol.get("names") or ()) or DASH, protocol.get("runs_per_round")
    rounds = f"{number(protocol.get('rounds_before'))} + {number(protocol.get('rounds_after'))} rounds"
    return [
        ("Hosts", [f"{hosts['measured']:,} measured, ", missed]),
        ("Period", " to ".join(moment(period[end]) for end in ("first", "last") if period[end] or end == "first")),
        ("Measured with", ", ".join(report["tools"]) or DASH),
        ("Protocol", f"{names}: {rounds} of {plural(runs, 'run')}" if runs else DASH),
        ("Evidence", protocol.get("evidence") or DASH),
        ("Material limit", percent(report["thresholds"]["material_pct"])),
    ]


def _plots(shown: Shown) -> Iterator[ui.Block]:
    """The intervals on one axis."""
    report = shown.report
    if not report["comparisons"]:
        yield ui.Paragraph("There is no comparison to draw: no record of this change could be read.")
    elif not any(item["ratio"] for item in [*shown.together, *shown.items]):
        none = "none of the comparisons to look at first" if shown.fleet else "no comparison"
        yield ui.Paragraph(f"There is no ratio to draw: {none} has one. The reasons are listed below.")
    else:
        rows = [ui.Row(["Ratio of after and before", shown.axis.labels(), "", ""], css="axis")]
        rows += [_glance(pooled.label(row), row, shown.axis) for row in shown.together]
        rows += [_glance((item["workload"], view.pair_title(item)), item, shown.axis) for item in shown.items]
        first = f" These are the {len(shown.items)} comparisons to look at first, of {len(shown.judged):,}."
        told = (
            f"A diamond is all workloads together; the bold rows decide.{first if shown.fleet else ''} Each mark is the"
            " ratio of after and before with its interval, on a logarithmic axis; right is better. The shaded band of"
            f" {percent(report['thresholds']['material_pct'])} to each side is not material."
        )
        yield ui.Table("Intervals of the pooled results and of all comparisons", GLANCE, rows, css="glance")
        yield ui.Paragraph(told, "muted")


def _glance(name: ui.Text, item: text.Item, axis: RatioAxis) -> ui.Row:
    cells = [name, axis.show(item), gain(item["ratio"]), text.verdict_style(item)]
    return ui.Row(cells, css="" if item.get("scope") == "site" else "one")


def _by_workload(shown: Shown) -> ui.Table:
    styles = VERDICT_STYLES.values()
    heads = [f"{style.symbol} {style.word.capitalize()}" for style in styles]
    rows = []
    for place, row in enumerate(view.by_workload(shown.report["comparisons"]), 1):
        name = ui.Link(row.name, f"#cap-all-{place}"), "control, not part of the verdict" if row.control else ""
        counts = [row.counts[style.word] or DASH for style in styles]
        spread = shown.axis.spread(row.comparisons)
        rows.append(ui.Row([name, row.total, spread, gain(row.median_ratio), *counts]))
    columns = ["Workload", ("Pairs", "num"), DRAWN, *((name, "num") for name in ("Median gain", *heads))]
    told = "A drawing shows how often each ratio occurs; its heights grow with the square root of the count"
    return ui.Table("Verdicts by workload", columns, rows, told, "wide", "cap-workloads")


def make_figures(shown: Shown) -> ui.Section:
    """The pooled rows, then each comparison with its medians, interval and reasons."""
    report = shown.report
    deciding = {id(row) for row in pooled.deciding(report)}
    rows = [_pooled_row(row, id(row) in deciding) for row in shown.together]
    left_out = pooled.host_counts(pooled.of_hosts(report))
    if shown.fleet:
        title = f"The {len(shown.items)} comparisons to look at first"
        tables: list[ui.Block] = [_comparisons(title, shown.items, True), ui.Group(lambda: _every_pair(report))]
    else:
        tables = [_comparisons(pair, items) for pair, items in view.by_pair(report["comparisons"])]
    published = [ui.Row([item[key] for key in ("tuning", "figures", "text", "source")]) for item in report["published"]]
    context = "From other machines and other loads, as context and not as a target."
    return ui.Section(
        "Results in figures",
        [
            ui.Table("All workloads together", POOLED, rows, css="results pooled-rows"),
            *([ui.Paragraph(left_out)] if left_out else []),
            ui.Paragraph(MEANING if report["comparisons"] else "No pair of hosts has been compared."),
            *tables,
            ui.Table("Published results", PUBLISHED, published, context),
        ],
        "pairs",
    )


def show_interval(item: text.Item) -> ui.Text:
    """The interval with its level below."""
    return text.interval(item), pooled.level(item) if item["low"] or item["high"] else ""


def _pooled_row(row: shapes.Row, decides: bool) -> ui.Row:
    name = pooled.title(row), pooled.extent(row)
    said = " ".join(filter(None, (row["reason"], pooled.deviations(row), pooled.control(row))))
    cells = [name, gain(row["ratio"]), show_interval(row), text.verdict_style(row)]
    return ui.Row(cells, [said, *_flags(row)], "deciding" if decides else "")


def _flags(item: shapes.Finding) -> list[ui.Text]:
    return [*([ui.Bold("Guard:"), f" {guard}"] for guard in item["guards"]), *item["flags"]]


def _comparisons(caption: str, items: Sequence[Comparison], with_pair: bool = False) -> ui.Table:
    """The comparisons of a pair, or of several with the pair in each row. What all have in common stands above."""
    metrics = {view.metric_of(item) for item in items}
    extent = view.common_extent(items)
    rows = []
    for item in items:
        control = f"control over {item['peer']}, not part of the verdict" if item["control"] else ""
        workload = view.workload_name(item) if with_pair else item["workload"]
        name = workload, view.metric_of(item) if len(metrics) > 1 else "", control
        sides = [_state(item, item[side], extent) for side in ("before", "after")]
        cells = [name, *sides, gain(item["ratio"]), show_interval(item), text.probability(item["p"])]
        pair = [view.pair_name(item)] if with_pair else []
        rows.append(ui.Row([*pair, *cells, text.verdict_style(item)], [_said(item), *_flags(item)]))
    columns = [*([("Host pair", "w-pair")] if with_pair else []), "Workload", *FIGURES]
    same = "; ".join(filter(None, [*(metrics if len(metrics) == 1 else ()), extent]))
    return ui.Table(caption, columns, rows, same, "results")


def _state(item: Comparison, side: shapes.State, extent: str) -> ui.Text:
    failed = f", {side['failed_runs']} failed" if side["failed_runs"] else ""
    counted = "" if extent else f"{plural(side['rounds'], 'round')}, {plural(side['runs'], 'run')}{failed}"
    spread = side["spread_pct"]
    return measured(side["median"], item["unit"]), counted, "" if spread is None else f"variation {percent(spread)}"


def _said(item: Comparison) -> str:
    rates, way = item["throughput"], view.ways(item)
    through = f"{number(rates.get('before'))} {ARROW} {number(rates.get('after'))} KiB/s"
    throughput = f" Throughput: {through}." if rates.get("before") is not None else ""
    return f"{item['reason']}{throughput}{f' Transport: {way}.' if way else ''}"


def _every_pair(report: Report) -> list[ui.Block]:
    """One line for each comparison of a fleet, folded by workload, with filters that need no script."""
    workloads, counts = view.by_workload(report["comparisons"]), report["counts"]
    only, links = [], []
    for style in (style for style in VERDICT_STYLES.values() if counts.get(style.word)):
        word, ident = Style(style.word.lower(), style.symbol, style.css), f"only-{style.css}"
        said = ["Only ", word, " is listed below. ", ui.Link("List all", "#all-pairs")]
        only.append(ui.Paragraph(said, "filter", ident))
        links.append(ui.Link(f"{word.symbol} {word} ({counts[style.word]:,})", f"#{ident}"))
    choices = ui.Paragraph(["List only: ", *links, ui.Link("all", "#all-pairs")], "choices")
    share = max(1, DENSE_ROWS // len(workloads))
    folds = ui.Group([_fold(place, row, share) for place, row in enumerate(workloads, 1)], "pool")
    return [ui.Group([ui.Group([*only, choices, folds], "filtered")], title="Every host pair", ident="all-pairs")]


def _fold(place: int, row: WorkloadRow, share: int) -> ui.Group:
    rows = []
    for item in (row.comparisons if row.control else view.worst_first(row.comparisons))[:share]:
        medians = [number(item[side]["median"]) for side in ("before", "after")]
        figures = [*medians, gain(item["ratio"]), text.interval(item), text.verdict_style(item)]
        rows.append(ui.Row([view.pair_title(item), *figures], css=f"v-{text.verdict_of(item).css}"))
    left = f"The first {len(rows):,} of {row.total:,} pairs; the others are in report.json and report.csv."
    title = f"{row.name}, every host pair"
    table = ui.Table(title, DENSE, rows, css="dense", ident=f"cap-all-{place}", most=share)
    blocks = [*([ui.Paragraph(left)] if len(rows) < row.total else []), table]
    return ui.Group(blocks, title=f"{row.name}: all {plural(row.total, 'host pair')}", folded=True)
