# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of the report: functions from the report dict to pieces of text.

The runs come beside the report, because the report of a large fleet holds none: they are asked once for each format
that needs them.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from .._compare.shapes import Report
from .._pages import to_json
from .._pages.cells import cell, cells
from .._pages.pages import page_formats
from .._pages.text import Runs
from .._pages.writing import Formats
from .page import make_page
from .view import key_of

HEADER = (
    *("change", "host", "peer", "workload", "phase", "round", "run"),
    *("warmup", "ok"),  # yes or no; warm-up runs count for nothing, a failed run has an error and no value
    "started",  # UTC, ISO 8601
    *("metric", "value", "unit", "error"),  # the primary metric of the workload
)
SAID = {True: "yes", False: "no"}


def csv_lines(report: Report, runs: Runs) -> Iterator[str]:
    """The header, then the rows of each round, one for each run."""
    yield cells(HEADER)
    metrics = {key_of(item): (item["metric"], item["unit"]) for item in report["comparisons"]}
    for place, group in groupby(runs(None), itemgetter(*HEADER[1:6])):
        head = cells([report["change"], *place])[:-1]
        metric, unit = map(cell, metrics.get(place[:3], ("", "")))
        yield "".join(
            f"{head},{run['run']},{SAID[run['warmup']]},{SAID[run['ok']]},{run['started'] or ''},"
            f"{metric},{cell(run['value'])},{unit},{cell(run['error'])}\n"
            for run in group
        )


RENDERERS: Formats = {
    "json": to_json.lines,
    **page_formats(make_page),
    "csv": csv_lines,
}
