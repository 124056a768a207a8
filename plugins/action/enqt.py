# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module enqt and keep its records on the controller; documented in plugins/modules/enqt.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..module_utils._measure.locks import enqueue
from ..plugin_utils._actions.measuring import MeasuringAction, whole

workload_name: Callable[[str, str, int], str] = enqueue.workload_name


class ActionModule(MeasuringAction):
    MODULE = "zpower.sap_tuning.enqt"

    def names(self, arguments: Mapping[str, Any]) -> list[str]:
        session = arguments.get("session")
        tool = str(session.get("tool")) if isinstance(session, Mapping) else ""
        load = str(arguments.get("load") or enqueue.LOADS[0])
        processes = whole("processes", arguments.get("processes") or 1)
        return [workload_name(tool, load, processes)]
