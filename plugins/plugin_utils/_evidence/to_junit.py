# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence as JUnit XML for pipelines: one test suite per host, one test case per row.

A row that is not as requested is a failure. What could not be checked is an error: a value that could not be read or
set, a host that was lost, a run without an end. Rows that are waived, not applicable, not supported or unknown are
skipped.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import Any

from .._report.text import one_line
from . import waiving
from .document import failing
from .table import row_notes, word

SKIPPED = ("waived", "not_applicable", "unsupported", "unknown")
COUNTED = (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The declaration, then one suite per piece."""
    run = document["run"]
    suites = [_suite(host, run) for host in document["hosts"]]
    suites.append(_of_run(document))
    counts = {key: sum(int(suite.get(key, "0")) for suite in suites) for key, _tag in COUNTED}
    root = ET.Element("testsuites", {"name": one_line(f"{run['kind']} {run['begun']}"), **_texts(counts)})
    head = ET.tostring(root, encoding="unicode").removesuffix(" />")
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{head}>\n'
    for suite in suites:
        ET.indent(suite, " ", 1)
        yield f" {ET.tostring(suite, encoding='unicode')}\n"
    yield "</testsuites>\n"


def _suite(host: Mapping[str, Any], run: Mapping[str, Any]) -> ET.Element:
    suite = ET.Element("testsuite", name=one_line(host["host"]), timestamp=one_line(run["begun"]).removesuffix("Z"))
    bad = failing(run["kind"], run["check"])
    names: set[str] = set()
    if host["outcome"] != "ok":
        case = _case(suite, host["host"], "host", names)
        kind = "skipped" if host["outcome"] == "skipped" else "error"
        message = f"{word(host['outcome'])}{': ' if host['message'] else ''}{host['message']}"
        ET.SubElement(case, kind, type=host["outcome"], message=one_line(message))
    for row in host["rows"]:
        case = _case(suite, host["host"], f"{row['name']}: {row['subject']}", names)
        verdict = row["verdict"]
        said = "\n".join(row_notes(row)) or one_line(row["reason"])
        if verdict == "failed":
            ET.SubElement(case, "error", type=verdict, message=one_line(row["reason"])).text = said
        elif verdict in bad:
            ET.SubElement(case, "failure", type=verdict, message=one_line(row["reason"])).text = said
        elif verdict in SKIPPED:
            reason = waiving.words(row) or f"{word(verdict)}: {row['reason']}"
            ET.SubElement(case, "skipped", message=one_line(reason))
        elif said:
            ET.SubElement(case, "system-out").text = said
    return _counted(suite)


def _of_run(document: Mapping[str, Any]) -> ET.Element:
    """A suite about the run itself: whether it ended, and its waivers that are expired or unused."""
    suite = ET.Element("testsuite", name="run", timestamp=one_line(document["run"]["begun"]).removesuffix("Z"))
    names: set[str] = set()
    case = _case(suite, "run", "the run ended", names)
    if document["result"] in ("unfinished", "nothing"):
        ET.SubElement(case, "error", type=document["result"], message=one_line(document["headline"]))
    if stopped := document["run"].get("stopped"):
        case = _case(suite, "run", "the rollout was completed", names)
        ET.SubElement(case, "error", type="stopped", message=one_line(stopped))
    for sentence in document["problems"]:
        ET.SubElement(_case(suite, "run", sentence, names), "failure", type="problem", message=one_line(sentence))
    for waiver in document["waivers"]:
        sentence = waiving.sentence(waiver)
        if sentence:
            ET.SubElement(_case(suite, "run", sentence, names), "system-out").text = one_line(sentence)
    return _counted(suite)


def _case(suite: ET.Element, group: object, name: object, names: set[str]) -> ET.Element:
    """A test case whose name is unique in its suite, because some readers keep only one of each name."""
    title = unique = one_line(name)
    number = 1
    while unique in names:
        number += 1
        unique = f"{title} ({number})"
    names.add(unique)
    return ET.SubElement(suite, "testcase", classname=one_line(group), name=unique)


def _counted(suite: ET.Element) -> ET.Element:
    parts = [part.tag for part in suite.iter()]
    suite.attrib.update(_texts({key: parts.count(tag) for key, tag in COUNTED}))
    return suite


def _texts(counts: Mapping[str, int]) -> dict[str, str]:
    return {key: str(count) for key, count in counts.items()}
