# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU seconds of a window from a file of nmon or sysstat; documented in plugins/modules/cpu_import.py."""

from ..modules.cpu_import import DOCUMENTATION
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._imports import cpu_files
from ..plugin_utils._imports.cpu_window import CpuFileError, CpuWindow, WindowOptions
from ..plugin_utils._imports.fields import Values
from ..plugin_utils._records import record_files
from ..plugin_utils._records.checks import plain_json


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)
    RULES = {"required_by": {"host": ["change"], "utc_offset": ["change"]}}

    def act(self, options: Values, variables: Values) -> Values:
        options = plain_json(options)
        if options["cpus"] is not None and options["cpus"] <= 0:
            raise ValueError(f"cpus is {options['cpus']:g}; it must be above 0")
        src = options["src"]
        try:
            limits = WindowOptions(**{name: options[name] for name in WindowOptions._fields})
            window = cpu_files.window_of(src, options["format"], limits)
            figures = window.result()
            result = {"changed": False, "cpu": figures}
            if options["change"]:
                host = options["host"] or str(variables["inventory_hostname"])
                result.update(self._store(window, host, options))
        except CpuFileError as error:
            raise ValueError(f"{src}: {error}") from None
        if figures["remarks"]:
            result["warnings"] = [f"{src}: {remark}" for remark in figures["remarks"]]
        return result

    def _store(self, window: CpuWindow, host: str, options: Values) -> Values:
        """Store the window's intervals beside the records of a host; nothing in check mode."""
        if not window.about.utc and options["utc_offset"] is None:
            raise CpuFileError("its times are local: give utc_offset, their offset from UTC, such as +01:00")
        offset = cpu_files.utc_offset("Z" if window.about.utc else options["utc_offset"])
        entry = cpu_files.entry_of(window, options["src"], offset, options["replace"])
        head = {"change": options["change"], "host": host, "end": options["side"]}
        before = record_files.read_annex(options["results"], head)
        annex = cpu_files.add_file(before, entry, head)
        path = record_files.record_path(options["results"], annex)
        if annex != before and not self._task.check_mode:
            path = record_files.store(options["results"], annex, replace_old=True)
        return {"changed": annex != before, "path": str(path), "intervals": len(entry["intervals"])}
