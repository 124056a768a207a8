# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module workload and keep its records on the controller; documented in plugins/modules/workload.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..module_utils._measure.net import network_options
from ..module_utils._measure.round import tools
from ..plugin_utils._actions.measuring import MeasuringAction

network_names: Callable[..., list[str]] = network_options.names


def expected_names(arguments: Mapping[str, Any]) -> list[str]:
    """The workloads that a call with these arguments measures; TypeError or ValueError where one cannot be read."""
    chosen = str(arguments.get("workload"))
    given = arguments.get(chosen) or {}
    if not isinstance(given, Mapping):
        raise TypeError(f"{chosen} has to be a dictionary of options")
    if chosen in tools.LOCAL:
        return [str(name) for name in tools.LOCAL[chosen].names(given)]
    session = arguments.get("session")
    tool = str(session.get("tool")) if isinstance(session, Mapping) else ""
    return network_names(given, tool, tools.NETWORK)


class ActionModule(MeasuringAction):
    MODULE = "zpower.sap_tuning.workload"

    def names(self, arguments: Mapping[str, Any]) -> list[str]:
        return expected_names(arguments)
