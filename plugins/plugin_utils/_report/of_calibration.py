# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A calibration in each of its formats, and as lines for a terminal."""

from collections.abc import Iterator

from .._compare.shapes import Part
from .._pages import blocks as ui
from .._pages import text, to_json
from .._pages.pages import page_formats
from .._pages.text import natural
from .._pages.writing import Formats
from .view import closing

COLUMNS = ("Host, workload", "Rounds", "Runs", "Between rounds", "Round medians", "At most", "Boots", "Can show")
SHOWN = 20
"""Lines of a table on a terminal; all hosts are in the files."""

METHOD = (
    "All figures are standard deviations over rounds in which nothing changed; a slow drift is taken out first.",
    "Runs: within a round. Between rounds: what the medians of rounds vary by beyond that. Round medians: both."
    " Boots: from one restart to the next, beyond that; known from three restarts on.",
    "At most: the true spread of round medians is larger in one calibration of five. All promises use this figure, and"
    " hold in 8 of 10 measurements. Can show: the smallest change that the planned rounds per state find.",
    "The simulation draws rounds in which nothing changes from those measured here, and judges them at each look.",
)


def rows(report: Part, workloads: bool) -> list[list[str]]:
    """The cells of the table; with ``workloads`` also those of each workload."""
    found = []
    if report.get("site"):
        found.append(_row("all hosts together", report["site"]["rounds"], report["site"]))
    for host in sorted(report["hosts"], key=natural):
        item = report["hosts"][host]
        found.append(_row(host, item["rounds"], item["pooled"]))
        if item["control"]:
            found.append(_row(f"{host}, control", None, item["control"]))
        if workloads:
            found += [_row(name, None, item["workloads"][name]) for name in sorted(item["workloads"], key=natural)]
    return found


def _row(name: str, rounds: int | None, spreads: Part) -> list[str]:
    figures = (
        spreads.get(key)
        for key in ("runs_pct", "rounds_pct", "medians_pct", "upper_pct", "boots_pct", "smallest_change_pct")
    )
    return [name, "" if rounds is None else str(rounds), *map(text.percent, figures)]


def terminal(report: Part) -> list[str]:
    """Headline, table and sentences, ready to be printed line by line."""
    cells = [list(COLUMNS), *rows(report, False)]
    left_out = len(cells) - 1 - SHOWN
    cells = [[text.one_line(cell) for cell in row] for row in cells[: SHOWN + 1]]
    lines = [text.one_line(report["headline"])]
    lines += text.in_columns(cells, str.rjust) if report["hosts"] else []
    lines += [f"and {text.plural(left_out, 'more line')} in calibration.md"] if left_out > 0 else []
    told = [*pointless(report), *report["sentences"][1:], *_of_hosts(report), *simulated(report)]
    return lines + [text.one_line(sentence) for sentence in told[: 2 * SHOWN]]


def _of_hosts(report: Part) -> Iterator[str]:
    """What each host alone can show, and the cheapest split of its time."""
    for host in sorted(report["hosts"], key=natural):
        item = report["hosts"][host]
        if len(report["hosts"]) > 1:
            yield f"{host} alone: {item['sentences'][0]}"
        split = item["split"]
        if split:
            yield (
                f"{host}: a change of {split['change_pct']:g} % is found in the least time with {split['runs']} runs"
                f" per round (measure_runs) and {split['rounds']} rounds per state."
            )


def pointless(report: Part) -> list[str]:
    """Why a measurement would be a waste of time, for each host."""
    return [
        f"{host}: {sentence}"
        for host in sorted(report["hosts"], key=natural)
        for sentence in report["hosts"][host]["pointless"]
    ]


def simulated(report: Part) -> Iterator[str]:
    """How often a verdict would be false."""
    site = [("all hosts together", report["site"])] if report.get("site") else []
    for name, item in [*site, *sorted(report["hosts"].items(), key=lambda found: natural(found[0]))]:
        found = item.get("simulation")
        if found:
            yield (
                f"{name}: of {found['experiments']} simulated measurements with this noise and no change,"
                f" {found['wrong']} ended in a false verdict, {found['unchanged']} in UNCHANGED, the others without"
                f" a decision after {report['planned']['most_rounds']} rounds per state."
            )


def make_page(report: Part) -> ui.Page:
    """The page of a calibration, for a ticket."""
    told = [*report["sentences"], *_of_hosts(report), *simulated(report)] if report["hosts"] else []
    noise = ui.Table("Standard deviations of rounds and runs", COLUMNS, [*map(ui.Row, rows(report, True))])
    return ui.Page(
        ["Calibration ", ui.Code(report["change"])],
        report["headline"],
        [
            ui.Section("Pointless now", [ui.Items(pointless(report))], "pointless"),
            ui.Section("What a measurement can show", [ui.Items(told)], "told"),
            ui.Section("Noise", [noise], "noise"),
            *closing(report["problems"], METHOD),
        ],
        "",
    )


FORMATS: Formats = {"json": to_json.lines, "md": page_formats(make_page)["md"]}
