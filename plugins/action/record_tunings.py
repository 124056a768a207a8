# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Store the tuning records of a host beside its measurements; documented in plugins/modules/record_tunings.py."""

from typing import Any

from ..modules.record_tunings import DOCUMENTATION
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._sessions import states


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, object]:
        if self._task.check_mode:
            return {"changed": True, "msg": "check mode: the tuning records are not stored"}
        host = str(variables["inventory_hostname"])
        ids = {"change": options["change"], "phase": options["phase"], "round": options["round"], "host": host}
        path = states.keep(options["results"], ids, options["tunings"] + [*map(states.as_found, options["found"])])
        return {"changed": True, "path": path}
