# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module workload and keep its records on the controller; documented in plugins/modules/workload.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..module_utils._measure.net import request
from ..module_utils._measure.round import tools
from ..modules.workload import ARGUMENTS
from ..plugin_utils._actions.commands import encoded
from ..plugin_utils._actions.measuring import MeasuringAction

network_names: Callable[..., list[str]] = request.network_names


class ActionModule(MeasuringAction):
    MODULE = "zpower.sap_tuning.workload"
    OPTIONS = ARGUMENTS

    def names(self, options: Mapping[str, Any]) -> list[str]:
        chosen = options["workload"]
        given = options[chosen] or {}
        if chosen in tools.LOCAL:
            return [str(name) for name in tools.LOCAL[chosen].names(given)]
        return network_names(given, (options["session"] or {}).get("tool", ""))

    def _module(self, arguments: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        given = arguments.get("command")
        if isinstance(given, list):
            arguments = {**arguments, "command": [encoded(command) for command in given]}
        return super()._module(arguments, variables)
