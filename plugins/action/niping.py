# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module niping and keep its records on the controller; documented in plugins/modules/niping.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..module_utils._measure.net import engines, niping_request
from ..plugin_utils._actions.measuring import MeasuringAction, whole

workload_name: Callable[[str, int, int], str] = engines.workload_name


def expected_names(arguments: Mapping[str, Any]) -> list[str]:
    """The workloads that a call with these arguments measures; ValueError where they are no numbers."""
    session = arguments.get("session")
    tool = str(session.get("tool")) if isinstance(session, Mapping) else ""
    sizes = arguments.get("bytes") or niping_request.DEFAULT_BYTES
    connections = whole("connections", arguments.get("connections") or 1)
    sizes = sizes.split(",") if isinstance(sizes, str) else sizes if isinstance(sizes, Iterable) else [sizes]
    return [workload_name(tool, whole("bytes", size), connections) for size in sizes]


class ActionModule(MeasuringAction):
    MODULE = "zpower.sap_tuning.niping"

    def names(self, arguments: Mapping[str, Any]) -> list[str]:
        return expected_names(arguments)
