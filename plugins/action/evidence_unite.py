# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the evidence of a run from its slices; documented in plugins/modules/evidence_unite.py."""

from pathlib import Path
from typing import Any

from ..modules.evidence_unite import DOCUMENTATION
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._evidence import slices
from ..plugin_utils._pages.text import one_line


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)
    VARIABLES = {option: f"zpower_{option}" for option in ARGUMENTS}

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        kind, results = options["kind"], Path(options["results"])
        name = slices.run_name(options["run"])
        if not name:
            raise ValueError("run is empty; give the name of a run with slices")
        folder = slices.folder_of(results, kind, name)
        document, written, left_out, late = slices.unite(folder, kind, check=self._task.check_mode)
        for line in (*map(slices.called, document["slices"]), *document["problems"]):
            self._display.display(one_line(line))
        return {
            "changed": written.changed,
            "failed": bool(left_out or late),
            "msg": "; ".join(map(one_line, [*left_out, *late])) or document["headline"],
            "result": document["result"],
            "problems": document["problems"],
            "slices": document["slices"],
            "paths": written.paths,
        }
