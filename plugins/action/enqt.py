# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module enqt and keep its records on the controller; documented in plugins/modules/enqt.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..module_utils._measure.workloads import workload
from ..modules.enqt import ARGUMENTS
from ..plugin_utils._actions.measuring import MeasuringAction

workload_name: Callable[[str, str, int], str] = workload.workload_name


class ActionModule(MeasuringAction):
    MODULE = "zpower.sap_tuning.enqt"
    OPTIONS = ARGUMENTS

    def names(self, options: Mapping[str, Any]) -> list[str]:
        tool = (options["session"] or {}).get("tool", "")
        return [workload_name(tool, options["load"], options["processes"])]
