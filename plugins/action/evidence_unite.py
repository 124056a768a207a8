# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the evidence of a run from its slices; documented in plugins/modules/evidence_unite.py."""

from pathlib import Path
from typing import Any

from ..modules.evidence_unite import DOCUMENTATION
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._evidence import slices


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)
    VARIABLES = {option: f"zpower_{option}" for option in ARGUMENTS}

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        kind, results = options["kind"], Path(options["results"])
        name = slices.run_name(options["run"])
        if not name:
            raise ValueError("run is empty; the name of a run with slices belongs there")
        folder = slices.folder_of(results, kind, name)
        document, written = slices.unite(folder, kind, by_hand=True, check=self._task.check_mode)
        return {
            "changed": written.changed,
            "msg": document["headline"],
            "result": document["result"],
            "problems": document["problems"],
            "paths": written.paths,
        }
