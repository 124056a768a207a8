# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the actions trend and scaling: reading changes from the results folder, writing files there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ansible.errors import AnsibleActionFail

from .._compare import comparing
from .._records import record_files
from .._report.files import Written, write_formats
from .._report.text import Report, one_line
from .reporting import reading, writing

PHASES = ("before", "after")


def load(results: str, change: str) -> record_files.Loaded:
    """The records of a change; AnsibleActionFail if there are none."""
    loaded = _read(results, change)
    if not loaded.records:
        why = f": {one_line(loaded.problems[0])}" if loaded.problems else ""
        raise AnsibleActionFail(f"there is no measurement record of change {change} below {results}{why}")
    return loaded


def _read(results: str, change: str) -> record_files.Loaded:
    with reading(results, change):
        return record_files.load_change(results, change)


def measured(results: str) -> Iterator[tuple[int, record_files.Loaded]]:
    """Each change below ``results`` with records of both phases, and the time of its first record; sorted by name."""
    try:
        names = sorted(entry.name for entry in Path(results).iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError as error:
        raise AnsibleActionFail(f"{results} on the controller cannot be read: {error.strerror or error}") from None
    for name in names:
        try:
            record_files.check_slug("change", name)
        except ValueError:
            continue
        loaded = _read(results, name)
        starts = [item.started for item in loaded.records if item.started is not None]
        if starts and set(PHASES) <= {item.phase for item in loaded.records}:
            yield min(starts), loaded


def compared(loaded: record_files.Loaded, before: str, after: str, options: comparing.Options) -> Report:
    """The report on two phases of a change; their names are free."""
    if (before, after) != PHASES:
        states = {before: "before", after: "after"}
        records = [replace(item, phase=states[item.phase]) for item in loaded.records if item.phase in states]
        tunings = [{**item, "phase": states[item["phase"]]} for item in loaded.tunings if item["phase"] in states]
        loaded = replace(loaded, records=records, tunings=tunings)
    return comparing.compare_change(loaded, options=options)


def write(
    report: Report,
    formats: Mapping[str, Callable[[Report], Iterator[str]]],
    place: tuple[Path, str],
    chosen: Sequence[str],
    check: bool,
) -> Written:
    """Write the chosen formats as ``<stem>.<format>``; ``place``: folder and stem."""
    folder, stem = place
    pieces = {form: partial(renderer, report) for form, renderer in formats.items()}
    with writing(stem, folder):
        return write_formats(pieces, folder, stem, chosen, check)
