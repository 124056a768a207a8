# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module niping and keep its records on the controller; documented in plugins/modules/niping.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..module_utils._measure.net import engines
from ..modules.niping import ARGUMENTS
from ..plugin_utils._actions.measuring import MeasuringAction

workload_name: Callable[[str, int, int], str] = engines.workload_name


class ActionModule(MeasuringAction):
    MODULE = "zpower.sap_tuning.niping"
    OPTIONS = ARGUMENTS

    def names(self, options: Mapping[str, Any]) -> list[str]:
        tool = (options["session"] or {}).get("tool", "")
        return [workload_name(tool, size, options["connections"]) for size in options["bytes"]]
