# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two runs, or two hosts of a run; documented in plugins/modules/evidence_diff_info.py."""

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..modules.evidence_diff_info import DOCUMENTATION
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._evidence import differences
from ..plugin_utils._evidence.choosing import LATEST, PREVIOUS, Found, Runs
from ..plugin_utils._pages.text import one_line
from ..plugin_utils._records.checks import show


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)
    VARIABLES = {option: f"zpower_{option}" for option in ARGUMENTS}

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        difference, runs = compared(options)
        lines = list(differences.lines(difference))
        for line in lines:
            self._display.display(line)
        return {
            "changed": False,
            "msg": lines[-1],
            "lines": lines,
            "differs": any(difference[key] for key in ("hosts", "only_before", "only_after")),
            "runs": [told(run) for run in runs],
            **{key: difference[key] for key in ("hosts", "same", "unknown", "only_before", "only_after", "notes")},
        }


def compared(options: Mapping[str, Any]) -> tuple[differences.Difference, list[Found]]:
    """The differences that the options ask for, and the runs they come from. OSError, ValueError as from the files."""
    host, other = options["host"], options["other_host"]
    found = Runs(Path(options["results"]), options["kind"], datetime.now(timezone.utc).date())
    if not other:
        first, second = found.pair(options["from"] or PREVIOUS, options["to"] or LATEST)
        difference = differences.of_runs(first.document, second.document, host or None)
        difference["notes"] += dict.fromkeys([*first.notes, *second.notes])
        return difference, [first, second]
    if not host:
        raise ValueError("host is empty; with a second host, give the first of two hosts of one run")
    if options["from"]:
        raise ValueError(f"from is {show(options['from'])}; two hosts are compared in one run, so leave it out")
    run = found.find("to", options["to"] or LATEST)
    difference = differences.of_hosts(run.document, host, other)
    difference["notes"] += run.notes
    return difference, [run]


def told(run: Found) -> dict[str, str]:
    """A run in the result of the task."""
    return {"path": str(run.path), **{key: one_line(run.document["run"][key]) for key in ("kind", "begun")}}
