# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions that write reports have in common: failures in words, and what a task returns."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from .._report.files import Written
from .._report.text import Report, one_line

PROBLEMS_SHOWN = 5


@contextlib.contextmanager
def writing(what: str, folder: Path) -> Iterator[None]:
    """A block that writes ``what`` into a folder: AnsibleActionFail in one sentence where it cannot."""
    try:
        yield
    except OSError as error:
        raise AnsibleActionFail(
            f"{what} cannot be written into {folder}: {error.strerror or error}; "
            "the user who runs ansible-playbook must be able to write there"
        ) from None
    except ValueError as error:
        raise AnsibleActionFail(f"{what} cannot be written: {error}") from None


def told(report: Report, written: Written) -> dict[str, Any]:
    """What every such task returns; texts go to a terminal, so control characters are taken out of them."""
    problems = [one_line(problem) for problem in report["problems"]]
    shown = problems[:PROBLEMS_SHOWN]
    if len(problems) > PROBLEMS_SHOWN:
        shown.append(f"{len(problems) - PROBLEMS_SHOWN} more problems stand in the files")
    headline = one_line(report["headline"])
    result = {"changed": written.changed, "msg": headline, "headline": headline, "paths": written.paths}
    return {**result, **({"warnings": shown} if shown else {})}
