# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of the report: functions from the report dict to pieces of text.

The runs come beside the report, because the report of a large fleet holds none: they are asked once for each format
that needs them.
"""

from collections.abc import Iterator
from operator import itemgetter

from .._compare.shapes import Report
from .._pages import to_json
from .._pages.cells import cells
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


def csv_lines(report: Report, runs: Runs) -> Iterator[str]:
    """The header, then a row for each run."""
    yield cells(HEADER)
    metrics = {key_of(item): (item["metric"], item["unit"]) for item in report["comparisons"]}
    change, place = report["change"], itemgetter(*HEADER[1:7])
    for run in runs(None):
        metric, unit = metrics.get((run["host"], run["peer"], run["workload"]), ("", ""))
        said = "yes" if run["warmup"] else "no", "yes" if run["ok"] else "no", run["started"]
        yield cells([change, *place(run), *said, metric, run["value"], unit, run["error"]])


RENDERERS: Formats = {
    "json": to_json.lines,
    **page_formats(make_page),
    "csv": csv_lines,
}
