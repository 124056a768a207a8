# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One metric over 1 ... n connections, jobs or guests; documented in plugins/modules/measurement_scaling.py."""

from typing import Any

from ..modules.measurement_scaling import DOCUMENTATION
from ..plugin_utils._actions import reporting
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._records import record_files
from ..plugin_utils._report.of_scaling import FORMATS
from ..plugin_utils._series.scaling import reader, scaling


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)
    VARIABLES = {option: f"scaling_{option}" for option in ARGUMENTS}

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        x, change, phases = options["x"], options["change"], options["phases"]
        reader(x)
        loaded = reporting.load(options["results"], change)
        missing = sorted(set(phases) - {item.phase for item in loaded.records})
        if missing:
            there = ", ".join(sorted({item.phase for item in loaded.records}))
            raise ValueError(f"change {change} has no phase {', '.join(missing)}; it has {there}")
        rounds = [item for item in loaded.records if not phases or item.phase in phases]
        report = scaling(change, rounds, x, options["work"], options["workload"])
        report["problems"] = [*report["problems"], *loaded.problems]
        folder = record_files.change_folder(options["results"], change)
        stem = f"scaling-{record_files.file_slug(x)}"
        result = reporting.write((report,), FORMATS, (folder, stem), options["formats"], self._task.check_mode)
        self.say(reporting.lines(result["headline"], result["paths"]))
        return {**result, "curves": len(report["curves"])}
