# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU seconds of a window from a file of nmon or sysstat; documented in plugins/modules/cpu_import.py."""

from __future__ import annotations

import json
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils._imports import cpu_files
from ..plugin_utils._records import cpu_annex, cpu_schema, record_files
from ..plugin_utils._records.cpu_window import CpuFileError, Wanted, Window

ARGUMENTS: dict[str, Any] = {
    "src": {"type": "path", "required": True},
    "format": {"type": "str", "choices": ["auto", *cpu_files.FORMATS], "default": "auto"},
    "begin": {"type": "str"},
    "end": {"type": "str"},
    "date": {"type": "str"},
    "cpus": {"type": "float"},
    "smc_r": {"type": "bool"},
    "change": {"type": "str"},
    "results": {"type": "path", "default": "results"},
    "host": {"type": "str"},
    "side": {"type": "str", "choices": list(cpu_schema.ENDS), "default": "client"},
    "utc_offset": {"type": "str"},
    "replace": {"type": "bool", "default": False},
}


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _result, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        # ansible-core 2.19 and later hand over subclasses of str and float
        options = json.loads(json.dumps(options))
        if options["cpus"] is not None and options["cpus"] <= 0:
            raise AnsibleActionFail(f"cpus is {options['cpus']:g}; it has to be above 0")
        src = options["src"]
        try:
            wanted = Wanted(options["begin"], options["end"], options["cpus"], options["smc_r"])
            window = cpu_files.window_of(src, options["format"], wanted, options["date"])
        except OSError as error:
            raise AnsibleActionFail(f"{src} on the controller cannot be read: {error.strerror or error}") from None
        except CpuFileError as error:
            raise AnsibleActionFail(f"{src}: {error}") from None
        figures = window.result()
        result.update(changed=False, cpu=figures)
        if options["change"]:
            try:
                host = options["host"] or str((task_vars or {})["inventory_hostname"])
                result.update(self._store(window, host, options))
            except (OSError, ValueError) as error:
                raise AnsibleActionFail(f"the CPU time of {src} could not be kept: {error}") from None
        if figures["remarks"]:
            result["warnings"] = [f"{src}: {remark}" for remark in figures["remarks"]]
        return result

    def _store(self, window: Window, host: str, options: dict[str, Any]) -> dict[str, Any]:
        """Keep the window's intervals beside the records of a host; nothing in check mode."""
        if not window.about.utc and options["utc_offset"] is None:
            raise ValueError("its times are local ones: give utc_offset, what they are ahead of UTC, such as +01:00")
        offset = cpu_annex.utc_offset("Z" if window.about.utc else options["utc_offset"])
        entry = cpu_annex.entry_of(window, options["src"], offset, options["replace"])
        head = {"change": options["change"], "host": host, "end": options["side"]}
        before = record_files.read_annex(options["results"], head)
        annex = cpu_annex.merged(before, entry, head)
        path = record_files.annex_path(options["results"], annex)
        if annex != before and not self._task.check_mode:
            path = record_files.store(options["results"], annex, replace_old=True)
        return {"changed": annex != before, "path": str(path), "intervals": len(entry["intervals"])}
