# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JUnit XML for pipelines. There are no times: a test case took none."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .text import one_line

COUNTED = (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


@dataclass(frozen=True)
class Case:
    """A test case of a group. ``outcome``: failure, error or skipped with its type and message; empty if it passed."""

    group: object
    name: object
    outcome: str = ""
    message: object = ""
    type: str = ""
    text: str = ""


def document(name: str, suites: Iterable[tuple[object, Iterable[Case]]], **attributes: str) -> Iterator[str]:
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
