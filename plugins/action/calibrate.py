# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan a calibration, and write what its rounds say; documented in plugins/modules/calibrate.py."""

from typing import Any

from ..modules.calibrate import DOCUMENTATION
from ..plugin_utils._actions import reporting
from ..plugin_utils._actions.controller import ControllerAction, argument_spec, check_tags, of_role
from ..plugin_utils._records import record_files
from ..plugin_utils._report.of_calibration import FORMATS, terminal
from ..plugin_utils._series.calibrating import Planned, calibrate
from ..plugin_utils._statistics.planning import FEWEST_ROUNDS

PHASE = "calibration"
OF_ROLE = {name: of_role("calibrate")[name] for name in ("change", "material_pct")}


class ActionModule(ControllerAction):
    ARGUMENTS = {**OF_ROLE, **argument_spec(DOCUMENTATION)}
    VARIABLES = {name: f"calibrate_{name}" for name in ("results", *OF_ROLE)}

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        results, change, rounds = options["results"], options["change"], options["rounds"]
        loaded = reporting.read(results, change)
        records = [item for item in loaded.records if item.phase == PHASE]
        if len(records) < len(loaded.records):
            raise ValueError(
                f"change {change} holds records of other phases than {PHASE}: calibrate under another name"
                " (calibrate_change)"
            )
        if options["event"] == "planned":
            check_tags(variables.get("ansible_run_tags") or ["all"])
            if rounds < FEWEST_ROUNDS:
                raise ValueError(
                    f"calibrate_rounds is {rounds}; fewer than {FEWEST_ROUNDS} rounds say too little about noise"
                )
            first = max((item.number for item in records), default=0) + 1
            session = max((item.protocol.session for item in records), default=0) + 1
            return {"changed": False, "first_round": first, "session": session}
        if not records:
            msg = f"there is no record of the calibration {change} below {results}"
            if self._task.check_mode:
                self.say([msg])
                return {"changed": False, "msg": msg, "lines": [msg], "paths": {}}
            raise ValueError(msg)
        planned = Planned(rounds, options["material_pct"])
        if planned.rounds < 1 or not 0.0 < planned.material_pct <= 100.0:
            raise ValueError(
                f"rounds is {planned.rounds} and material_pct {planned.material_pct:g}; rounds have to be at least 1,"
                " and material_pct above 0 and at most 100"
            )
        report = calibrate(change, records, planned, loaded.problems)
        folder = record_files.change_folder(results, change)
        result = reporting.write((report,), FORMATS, (folder, "calibration"), list(FORMATS), self._task.check_mode)
        self.say([*terminal(report), *result["paths"].values()])
        return {**result, "lines": terminal(report)}
