# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the actions that write reports: failures in one sentence, and the result of a task."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from .._pages.text import one_line
from .._pages.writing import Written
from .._records.checks import check_slug

PROBLEMS_SHOWN = 5


@contextlib.contextmanager
def reading(results: str, change: str) -> Iterator[None]:
    """A block that reads the records of a change: AnsibleActionFail in one sentence if it cannot."""
    if not change:
        raise AnsibleActionFail("change is empty: name the change, for example with -e zpower_change=rps-2026-11")
    check_slug("change", change)
    try:
        yield
    except (OSError, ValueError) as error:
        raise AnsibleActionFail(f"the records of change {change!r} below {results} cannot be read: {error}") from None


@contextlib.contextmanager
def writing(what: str, folder: Path) -> Iterator[None]:
    """A block that writes ``what`` into a folder: AnsibleActionFail in one sentence if it cannot."""
    try:
        yield
    except OSError as error:
        raise AnsibleActionFail(
            f"{what} cannot be written into {folder}: {error.strerror or error}; "
            "the user who runs ansible-playbook must be able to write there"
        ) from None
    except ValueError as error:
        raise AnsibleActionFail(f"{what} cannot be written: {error}") from None


def report_result(report: Mapping[str, Any], written: Written) -> dict[str, Any]:
    """The result of the task; control characters are removed, because its texts go to a terminal."""
    problems = [one_line(problem) for problem in report["problems"]]
    shown = problems[:PROBLEMS_SHOWN]
    if len(problems) > PROBLEMS_SHOWN:
        shown.append(f"{len(problems) - PROBLEMS_SHOWN} more problems are in the files")
    headline = one_line(report["headline"])
    result = {"changed": written.changed, "msg": headline, "headline": headline, "paths": written.paths}
    return {**result, **({"warnings": shown} if shown else {})}
