# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every run as a row of CSV (RFC 4180 with line feeds, UTF-8), safe to open in a spreadsheet."""

import functools
import itertools
from collections.abc import Iterator

from .._compare.shapes import Report
from .._pages.cells import cells
from .._pages.text import PairKey, Runs
from .view import key_of

HEADER = (
    "change",
    "host",
    "peer",
    "workload",
    "phase",
    "round",
    "run",
    "warmup",  # yes or no; warm-up runs count for nothing
    "ok",  # yes or no; a failed run has an error and no value
    "started",  # UTC, ISO 8601
    "metric",  # the primary metric of the workload
    "value",
    "unit",
    "error",
)
ROWS_A_PIECE = 5000


def lines(report: Report, runs: Runs) -> Iterator[str]:
    """Header and rows, some thousand rows per piece."""
    yield cells(HEADER)
    rows = _rows(report, runs)
    while piece := "".join(itertools.islice(rows, ROWS_A_PIECE)):
        yield piece


def _rows(report: Report, runs: Runs) -> Iterator[str]:
    """One row per run. What the runs of a round have in common is written once: a fleet has half a million runs."""
    metrics: dict[PairKey, tuple[str, str]] = {
        key_of(item): (str(item["metric"]), str(item["unit"])) for item in report["comparisons"]
    }
    change = report["change"]
    last: tuple[object, ...] = ()
    head = metric = unit = ""
    for run in runs(None):
        place = run["host"], run["peer"], run["workload"], run["phase"], run["round"]
        if place != last:
            last = place
            head = ",".join([*map(_cell, (change, *place[:4])), str(place[4])])
            metric, unit = map(_cell, metrics.get(place[:3], ("", "")))
        value, error = run["value"], run["error"]
        kind = f"{'yes' if run['warmup'] else 'no'},{'yes' if run['ok'] else 'no'},{run['started'] or ''}"
        figure = f"{metric},{'' if value is None else value},{unit}"
        yield f"{head},{run['run']},{kind},{figure},{_cell(error) if error else ''}\n"


@functools.lru_cache(maxsize=4096)
def _cell(value: object) -> str:
    """One cell as it stands between two commas."""
    return cells([value, None])[:-2]
