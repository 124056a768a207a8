# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts as JUnit XML for pipelines: the pooled rows first, then one test suite per workload.

The verdict of the change is the pooled row that decides, so only this row fails or skips: REGRESSED is a failure;
INCONCLUSIVE, NOT COMPARABLE and NO DATA are skipped with their reason, because nothing was proven. The rows of single
hosts and the single comparisons pass and carry their verdict as text: with many of them, some look worse by chance. A
level of an experiment that is worse passes as well: it was tried and not kept, which is what an experiment is for.
Hosts that were not measured are skipped test cases of the suite ``not measured``.
"""

from collections.abc import Iterator

from .._compare.shapes import Finding, Report, Row
from .._pages import junit
from .._pages.junit import Case
from .._pages.text import Runs, one_line, verdict_of, verdict_word
from . import pooled
from .view import by_workload, pair_title

PASSED = ("IMPROVED", "UNCHANGED")
POOLED = "all workloads together"
MISSING = "not measured"


def lines(report: Report, _runs: Runs | None = None) -> Iterator[str]:
    """The declaration, then one suite per piece."""
    suites: list[tuple[object, list[Case]]] = []
    if deciding := pooled.deciding(report):
        rows = [_deciding(item, tried=bool(report["experiment"])) for item in deciding]
        told = [
            Case(POOLED, pooled.title(item), text=_details(item, pooled.deviations(item)))
            for item in pooled.of_hosts(report)
        ]
        suites.append((POOLED, rows + told))
    for row in by_workload(report["comparisons"]):
        cases = [Case(item["workload"], pair_title(item), text=_details(item)) for item in row.comparisons]
        suites.append((row.name, cases))
    if missing := report["not_measured"]:
        skipped = [Case(MISSING, entry["host"], "skipped", entry["reason"]) for entry in missing]
        suites.append((MISSING, skipped))
    yield from junit.document(f"{report['change']}: {verdict_word(report)}", suites)


def _deciding(row: Row, tried: bool) -> Case:
    verdict, name = verdict_of(row).word, pooled.title(row)
    details = _details(row, pooled.deviations(row))
    if verdict == "REGRESSED" and not tried:
        return Case(POOLED, name, "failure", _message(row), verdict, details)
    if verdict not in PASSED and verdict != "REGRESSED":
        return Case(POOLED, name, "skipped", _message(row))
    return Case(POOLED, name, text=details)


def _message(item: Finding) -> str:
    return f"{'control workload, ' if item.get('control') else ''}{verdict_word(item)}: {item['reason']}"


def _details(item: Finding, *more: str) -> str:
    lines = [_message(item), *more, *item["guards"], *item["flags"]]
    return "\n".join(one_line(line) for line in lines if line)
