# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every run as a row of CSV (RFC 4180 with line feeds, UTF-8), safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import functools
import io
import itertools
from collections.abc import Iterable, Iterator

from .text import PairKey, Report, Runs, one_line
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
FORMULA = "=+-@\uff1d\uff0b\uff0d\uff20"
ROWS_A_PIECE = 5000


def lines(report: Report, runs: Runs) -> Iterator[str]:
    """Header and rows, some thousand a piece."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(HEADER)
    rows = _rows(report, runs)
    while piece := list(itertools.islice(rows, ROWS_A_PIECE)):
        writer.writerows(piece)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()  # the header, where there is no run


def _rows(report: Report, runs: Runs) -> Iterator[tuple[object, ...]]:
    metrics: dict[PairKey, tuple[str, str]] = {
        key_of(item): (text_cell(item["metric"]), text_cell(item["unit"])) for item in report["comparisons"]
    }
    change = text_cell(report["change"])
    for run in runs(None):
        host, peer, workload = run["host"], run["peer"], run["workload"]
        metric, unit = metrics.get((host, peer, workload), ("", ""))
        yield (
            change,
            text_cell(host),
            text_cell(peer),
            text_cell(workload),
            text_cell(run["phase"]),
            run["round"],
            run["run"],
            "yes" if run["warmup"] else "no",
            "yes" if run["ok"] else "no",
            run["started"],
            metric,
            run["value"],
            unit,
            text_cell(run["error"]),
        )


def cells(values: Iterable[object]) -> str:
    """One row; numbers stay as they are, and what is not known is empty."""
    buffer = io.StringIO()
    row = [value if isinstance(value, (int, float)) else text_cell(value) for value in values]
    csv.writer(buffer, lineterminator="\n").writerow(row)
    return buffer.getvalue()


@functools.lru_cache(maxsize=4096)
def text_cell(value: object) -> str:
    """A text on one line; one that a spreadsheet would take for a formula gets an apostrophe in front."""
    if value is None:
        return ""
    text = one_line(value)
    return f"'{text}" if text.lstrip()[:1] and text.lstrip()[0] in FORMULA else text
