# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Structure of an annex with CPU time, checked without a library; the full description is docs/schemas."""

# pylint: disable=unidiomatic-typecheck  # JSON's true is no number, though bool is an int

from __future__ import annotations

from .round import microseconds
from .validate import LARGEST, LONGEST_NAME, check_slug

CPU = "zpower.sap_tuning/cpu/1"
ENDS = ("client", "server")
FORMATS = {"nmon": "nmon", "sadf": "sar", "mpstat": "mpstat"}
"""Formats of files, and what a record calls their CPU time (cpu_source)."""

MOST_FILES = 200
MOST_INTERVALS = 20_000
"""Of all files together: five hours of one second each, or two days of ten. As JSON they stay under LARGEST_FILE."""

_FIGURES = ("elapsed_s", "user_s", "system_s", "softirq_s", "steal_s", "ncpu")
_NEEDED = ("elapsed_s", "user_s", "system_s", "ncpu")


def validate_cpu(record: object) -> str | None:
    """What is wrong with an annex, in one sentence; None if it is sound."""
    try:
        _check(record)
    except ValueError as error:
        return str(error)
    return None


def _check(record: object) -> None:
    if not isinstance(record, dict) or record.get("schema") != CPU:
        raise ValueError(f"this version reads an object with schema {CPU}")
    check_slug("change", record.get("change"))
    host = record.get("host")
    if not isinstance(host, str) or not 0 < len(host) <= LONGEST_NAME:
        raise ValueError(f"host has to be a name of 1 to {LONGEST_NAME} characters")
    if record.get("end") not in ENDS:
        raise ValueError(f"end has to be one of {', '.join(ENDS)}")
    files = record.get("files")
    if not isinstance(files, list) or not 0 < len(files) <= MOST_FILES:
        raise ValueError(f"files has to be a list of 1 to {MOST_FILES} files")
    for number, entry in enumerate(files):
        _check_file(entry, f"files[{number}]")


def _check_file(entry: object, where: str) -> None:
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str) or entry.get("format") not in FORMATS:
        raise ValueError(f"{where} has to name its file and one of the formats {', '.join(sorted(FORMATS))}")
    if type(entry.get("replace")) is not bool:
        raise ValueError(f"{where}.replace has to be true or false")
    intervals = entry.get("intervals")
    if not isinstance(intervals, list) or not 0 < len(intervals) <= MOST_INTERVALS:
        raise ValueError(f"{where}.intervals has to be a list of 1 to {MOST_INTERVALS} intervals")
    last = None
    for number, interval in enumerate(intervals):
        begin = microseconds(interval.get("begin")) if isinstance(interval, dict) else None
        if begin is None:
            raise ValueError(f"{where}.intervals[{number}].begin has to be a time such as 2026-11-20T10:00:00.000000Z")
        for name in _FIGURES:
            _check_figure(interval.get(name), f"{where}.intervals[{number}].{name}", name in _NEEDED)
        if last is not None and begin < last - 1000:
            raise ValueError(f"{where}.intervals[{number}] begins before the one before it ends")
        last = begin + round(interval["elapsed_s"] * 1e6)


def _check_figure(value: object, where: str, needed: bool) -> None:
    if value is None and not needed:
        return
    if type(value) not in (int, float) or not 0 <= value < LARGEST:  # type: ignore[operator]
        raise ValueError(f"{where} has to be a number from 0{'' if needed else ', or null'}")
    if value == 0 and where.endswith((".elapsed_s", ".ncpu")):
        raise ValueError(f"{where} has to be above 0")
