# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence as JUnit XML for pipelines: one test suite per host, one test case per row.

A row that is not as requested is a failure. What could not be checked is an error: a value that could not be read or
set, a host that was lost, a run without an end. Rows that are only observed, waived, not applicable, not supported or
unknown are skipped. There are no times: a test case took none.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .._pages.text import one_line
from . import waiving
from .document import failing
from .shapes import Document, Host
from .table import row_notes, word

COUNTED = (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
SKIPPED = ("observed", "waived", "not_applicable", "unsupported", "unknown")


@dataclass(frozen=True)
class Case:
    """A test case of a group. ``outcome``: failure, error or skipped with its type and message; empty if it passed."""

    group: object
    name: object
    outcome: str = ""
    message: object = ""
    type: str = ""
    text: str = ""


def lines(document: Document) -> Iterator[str]:
    """The declaration, then one suite per piece."""
    run = document["run"]
    bad = failing(run["kind"], run["check"])
    suites = [*((host["host"], _of_host(host, bad)) for host in document["hosts"]), ("run", _of_run(document))]
    stamp = one_line(run["begun"])
    yield from _xml(f"{run['kind']} {run['begun']}", suites, timestamp=stamp.removesuffix("Z"))


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


def _xml(name: str, suites: Iterable[tuple[object, Iterable[Case]]], **attributes: str) -> Iterator[str]:
    """The declaration, then one suite per piece; the attributes are those of every suite."""
    elements = [_suite(title, cases, attributes) for title, cases in suites]
    counts = {key: str(sum(int(suite.get(key, "0")) for suite in elements)) for key, _tag in COUNTED}
    head = ET.tostring(ET.Element("testsuites", {"name": one_line(name), **counts}), encoding="unicode")
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{head.removesuffix(" />")}>\n'
    for suite in elements:
        ET.indent(suite, " ", 1)
        yield f" {ET.tostring(suite, encoding='unicode')}\n"
    yield "</testsuites>\n"


def _suite(title: object, cases: Iterable[Case], attributes: dict[str, str]) -> ET.Element:
    suite = ET.Element("testsuite", {"name": one_line(title), **attributes})
    names: set[str] = set()
    for case in cases:
        # unique, because some readers keep only one case of each name
        name, number = one_line(case.name), 1
        while name in names:
            number += 1
            name = f"{one_line(case.name)} ({number})"
        names.add(name)
        element = ET.SubElement(suite, "testcase", classname=one_line(case.group), name=name)
        if case.outcome:
            more = {"type": case.type} if case.type else {}
            element = ET.SubElement(element, case.outcome, {**more, "message": one_line(case.message)})
        elif case.text:
            element = ET.SubElement(element, "system-out")
        element.text = case.text or None
    tags = [part.tag for part in suite.iter()]
    suite.attrib.update({key: str(tags.count(tag)) for key, tag in COUNTED})
    return suite
