# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts as JUnit XML for pipelines: the pooled rows first, then one test suite per workload.

The verdict of the change is the pooled row that decides, so only this row fails or skips: REGRESSED is a failure;
INCONCLUSIVE, NOT COMPARABLE and NO DATA are skipped with their reason, because nothing was proven. The rows of single
hosts and the single comparisons pass and carry their verdict as text: with many of them, some look worse by chance. A
level of an experiment that is worse passes as well: it was tried and not kept, which is what an experiment is for.
Hosts that were not measured are skipped test cases of the suite ``not measured``. There are no times: a test case took
none.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from . import pooled
from .text import Item, Report, Runs, one_line, verdict_of, verdict_word
from .view import by_workload, pair_title

PASSED = ("IMPROVED", "UNCHANGED")
POOLED = "all workloads together"


def lines(report: Report, _runs: Runs | None = None) -> Iterator[str]:
    """The whole document, an XML declaration first."""
    root = ET.Element("testsuites", name=one_line(f"{report.get('change')}: {verdict_word(report)}"))
    deciding = pooled.deciding(report)
    if deciding:
        suite = ET.SubElement(root, "testsuite", name=POOLED)
        for item in deciding:
            _deciding(_case(suite, POOLED, pooled.title(item)), item, tried=bool(report.get("experiment")))
        for item in pooled.of_hosts(report):
            _told(_case(suite, POOLED, pooled.title(item)), item)
    for row in by_workload(report.get("comparisons") or ()):
        suite = ET.SubElement(root, "testsuite", name=one_line(row.name))
        for item in row.comparisons:
            _told(_case(suite, item.get("workload"), pair_title(item)), item)
    missing = report.get("not_measured") or ()
    if missing:
        suite = ET.SubElement(root, "testsuite", name="not measured")
        for entry in missing:
            case = _case(suite, "not measured", entry.get("host"))
            ET.SubElement(case, "skipped", message=one_line(entry.get("reason")))
    for element in [*root.findall("testsuite"), root]:
        element.set("tests", str(sum(1 for _case in element.iter("testcase"))))
        element.set("failures", str(sum(1 for _failure in element.iter("failure"))))
        element.set("skipped", str(sum(1 for _skipped in element.iter("skipped"))))
        element.set("errors", "0")
    ET.indent(root, " ")
    yield '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(suite: ET.Element, group: object, name: object) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=one_line(group), name=one_line(name))


def _deciding(case: ET.Element, row: Item, tried: bool) -> None:
    verdict = verdict_of(row).word
    if verdict == "REGRESSED" and not tried:
        failure = ET.SubElement(case, "failure", type=verdict, message=one_line(_message(row)))
        failure.text = _details(row)
    elif verdict not in PASSED and verdict != "REGRESSED":
        ET.SubElement(case, "skipped", message=one_line(_message(row)))
    else:
        _told(case, row)


def _told(case: ET.Element, item: Item) -> None:
    ET.SubElement(case, "system-out").text = _details(item)


def _message(item: Item) -> str:
    return f"{'control workload, ' if item.get('control') else ''}{verdict_word(item)}: {item.get('reason')}"


def _details(item: Item) -> str:
    lines = [_message(item), pooled.deviations(item), *(item.get("guards") or ()), *(item.get("flags") or ())]
    return "\n".join(one_line(line) for line in lines if line)
