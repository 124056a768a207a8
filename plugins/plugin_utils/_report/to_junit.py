# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts as JUnit XML for pipelines: a test suite a workload, a test case a host pair.

REGRESSED is a failure; INCONCLUSIVE, NOT COMPARABLE and NO DATA are skipped with their reason, because nothing was
proven; IMPROVED and UNCHANGED pass. A level of an experiment that is worse passes as well: it was tried and not kept,
which is what an experiment is for. A control workload never fails: it is skipped where it moved. Hosts that were not
measured are skipped test cases of the suite ``not measured``. There are no times: a test case took none.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from .text import Item, Report, Runs, gain_words, one_line, verdict_of, verdict_word
from .view import by_workload, pair_name

PASSED = ("IMPROVED", "UNCHANGED")


def lines(report: Report, _runs: Runs | None = None) -> Iterator[str]:
    """The whole document, an XML declaration first."""
    root = ET.Element("testsuites", name=_text(f"{report.get('change')}: {verdict_word(report)}"))
    for row in by_workload(report.get("comparisons") or ()):
        suite = ET.SubElement(root, "testsuite", name=_text(row.name))
        for item in row.comparisons:
            _case(suite, item, tried=bool(report.get("experiment")))
    missing = report.get("not_measured") or ()
    if missing:
        suite = ET.SubElement(root, "testsuite", name="not measured")
        for entry in missing:
            case = ET.SubElement(suite, "testcase", classname="not measured", name=_text(entry.get("host")))
            ET.SubElement(case, "skipped", message=_text(entry.get("reason")))
    for element in [*root.findall("testsuite"), root]:
        element.set("tests", str(sum(1 for _case in element.iter("testcase"))))
        element.set("failures", str(sum(1 for _failure in element.iter("failure"))))
        element.set("skipped", str(sum(1 for _skipped in element.iter("skipped"))))
        element.set("errors", "0")
    ET.indent(root, " ")
    yield '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(suite: ET.Element, item: Item, tried: bool) -> None:
    case = ET.SubElement(suite, "testcase", classname=_text(item.get("workload")), name=_text(_name(item)))
    verdict = verdict_of(item).word
    message = f"{verdict_word(item)}: {item.get('reason') or gain_words(item.get('ratio'))}"
    details = [message, *(item.get("guards") or ()), *(item.get("flags") or ())]
    if item.get("control"):
        if verdict != "UNCHANGED":
            ET.SubElement(case, "skipped", message=_text(f"control workload, {message}"))
            return
    elif verdict == "REGRESSED" and not tried:
        ET.SubElement(case, "failure", type=verdict, message=_text(message)).text = "\n".join(map(_text, details))
        return
    elif verdict not in PASSED and verdict != "REGRESSED":
        ET.SubElement(case, "skipped", message=_text(message))
        return
    ET.SubElement(case, "system-out").text = "\n".join(map(_text, details))


def _name(item: Item) -> str:
    contrast = item.get("contrast")
    return f"{pair_name(item)}, {contrast}" if contrast else pair_name(item)


def _text(value: object) -> str:
    return one_line(value)
