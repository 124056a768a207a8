# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One metric over 1 ... n connections, jobs or guests; documented in plugins/modules/scaling.py."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils._actions import series
from ..plugin_utils._actions.reporting import told
from ..plugin_utils._records import record_files
from ..plugin_utils._report.of_scaling import FORMATS
from ..plugin_utils._series.scaling import reader, scaling

ARGUMENTS: dict[str, Any] = {
    "results": {"type": "path", "default": "results"},
    "change": {"type": "str", "required": True},
    "x": {"type": "str", "default": "connections"},
    "work": {"type": "str", "choices": ["each", "whole"], "default": "each"},
    "workload": {"type": "str", "default": "*"},
    "phases": {"type": "list", "elements": "str", "default": []},
    "formats": {"type": "list", "elements": "str", "choices": list(FORMATS), "default": list(FORMATS)},
}


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _result, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        x, change, phases = options["x"], options["change"], options["phases"]
        try:
            reader(x)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        loaded = series.load(options["results"], change)
        missing = sorted(set(phases) - {item.phase for item in loaded.records})
        if missing:
            there = ", ".join(sorted({item.phase for item in loaded.records}))
            raise AnsibleActionFail(f"change {change} has no phase {', '.join(missing)}; it has {there}")
        rounds = [item for item in loaded.records if not phases or item.phase in phases]
        report = scaling(change, rounds, x, options["work"], options["workload"])
        report["problems"] = [*report["problems"], *loaded.problems]
        folder = record_files.change_folder(options["results"], change)
        stem = f"scaling-{record_files.file_slug(x)}"
        written = series.write(report, FORMATS, (folder, stem), options["formats"], self._task.check_mode)
        result.update(told(report, written), curves=len(report["curves"]))
        return result
