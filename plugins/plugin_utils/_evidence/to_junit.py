# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence as JUnit XML for pipelines: one test suite per host, one test case per row.

A row that is not as requested is a failure. What could not be checked is an error: a value that could not be read or
set, a host that was lost, a run without an end. Rows that are only observed, waived, not applicable, not supported or
unknown are skipped.
"""

from collections.abc import Iterator

from .._pages import junit
from .._pages.junit import Case
from .._pages.text import one_line
from . import waiving
from .document import failing
from .shapes import Document, Host
from .table import row_notes, word

SKIPPED = ("observed", "waived", "not_applicable", "unsupported", "unknown")


def lines(document: Document) -> Iterator[str]:
    """The declaration, then one suite per piece."""
    run = document["run"]
    bad = failing(run["kind"], run["check"])
    suites = [*((host["host"], _of_host(host, bad)) for host in document["hosts"]), ("run", _of_run(document))]
    stamp = one_line(run["begun"])
    yield from junit.document(f"{run['kind']} {run['begun']}", suites, timestamp=stamp.removesuffix("Z"))


def _of_host(host: Host, bad: tuple[str, ...]) -> Iterator[Case]:
    if host["outcome"] != "ok":
        kind = "skipped" if host["outcome"] == "skipped" else "error"
        message = f"{word(host['outcome'])}{': ' if host['message'] else ''}{host['message']}"
        yield Case(host["host"], "host", kind, message, host["outcome"])
    for row in host["rows"]:
        name, verdict = f"{row['name']}: {row['subject']}", row["verdict"]
        said = "\n".join(row_notes(row)) or one_line(row["reason"])
        if verdict in bad:
            kind = "error" if verdict == "failed" else "failure"
            yield Case(host["host"], name, kind, row["reason"], verdict, said)
        elif verdict in SKIPPED:
            reason = waiving.words(row) or f"{word(verdict)}: {row['reason']}"
            yield Case(host["host"], name, "skipped", reason)
        else:
            yield Case(host["host"], name, text=said)


def _of_run(document: Document) -> Iterator[Case]:
    """A suite about the run itself: whether it ended, and its waivers that are expired or unused."""
    result = document["result"]
    unfinished = result in ("unfinished", "nothing")
    yield Case("run", "the run ended", *(("error", document["headline"], result) if unfinished else ()))
    if stopped := document["run"].get("stopped"):
        yield Case("run", "the rollout was completed", "error", stopped, "stopped")
    yield from (Case("run", sentence, "failure", sentence, "problem") for sentence in document["problems"])
    said = filter(None, map(waiving.sentence, document["waivers"]))
    yield from (Case("run", sentence, text=one_line(sentence)) for sentence in said)
