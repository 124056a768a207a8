# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the actions that write reports: reading changes, failures in one sentence, and the result of a task."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .._pages.text import one_line
from .._pages.writing import Formats, write_formats
from .._records import record_files
from .._records.checks import check_change_name
from .._statistics.looks import PHASES

PROBLEMS_SHOWN = 5


@contextlib.contextmanager
def reading(results: str, change: str) -> Iterator[None]:
    """A block that reads the records of a change: ValueError in one sentence if it cannot."""
    if not change:
        raise ValueError("change is empty: name the change, for example with -e zpower_change=rps-2026-11")
    check_change_name("change", change)
    try:
        yield
    except (OSError, ValueError) as error:
        raise ValueError(f"the records of change {change!r} below {results} cannot be read: {error}") from None


def lines(headline: str, paths: Mapping[str, str]) -> list[str]:
    """What a terminal shows of a report: the headline, and the page or else the first file."""
    return [headline, paths.get("html") or next(iter(paths.values()))] if paths else []


def load(results: str, change: str) -> record_files.Loaded:
    """The records of a change; ValueError if there are none."""
    loaded = read(results, change)
    if not loaded.records:
        why = f": {one_line(loaded.problems[0])}" if loaded.problems else ""
        raise ValueError(f"there is no measurement record of change {change} below {results}{why}")
    return loaded


def read(results: str, change: str) -> record_files.Loaded:
    """The records of a change, which may be none."""
    with reading(results, change):
        return record_files.load_change(results, change)


def measured(results: str) -> Iterator[tuple[int, record_files.Loaded]]:
    """Each change below ``results`` with records of both phases, and the time of its first record; sorted by name."""
    names = sorted(entry.name for entry in Path(results).iterdir() if entry.is_dir() and not entry.is_symlink())
    for name in names:
        try:
            check_change_name("change", name)
        except ValueError:
            continue
        loaded = read(results, name)
        starts = [item.started for item in loaded.records if item.started is not None]
        if starts and set(PHASES) <= {item.phase for item in loaded.records}:
            yield min(starts), loaded


def write(
    document: tuple[Any, ...], formats: Formats, place: tuple[Path, str], chosen: Sequence[str], check: bool
) -> dict[str, Any]:
    """Write the chosen formats of a document, its report first, as ``<stem>.<format>``; the result of the task.

    ``place``: folder and stem. ValueError in one sentence if it cannot be written. Control characters are removed from
    the result, because its texts go to a terminal.
    """
    report, (folder, stem) = document[0], place
    what = "the report" if stem == "report" else stem
    try:
        written = write_formats(formats, document, place, chosen, check)
    except OSError as error:
        raise ValueError(
            f"{what} cannot be written into {folder}: {error.strerror or error}; "
            "the user who runs ansible-playbook must be able to write there"
        ) from None
    except ValueError as error:
        raise ValueError(f"{what} cannot be written: {error}") from None
    problems = [one_line(problem) for problem in report["problems"]]
    shown = problems[:PROBLEMS_SHOWN]
    if len(problems) > PROBLEMS_SHOWN:
        shown.append(f"{len(problems) - PROBLEMS_SHOWN} more problems are in the files")
    headline = one_line(report["headline"])
    result = {"changed": written.changed, "msg": headline, "headline": headline, "paths": written.paths}
    if shown:
        result["warnings"] = shown
    return result
