# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions called as a task of a play would call them, with stand-ins for the task, its connection and the play."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock


def run_action(
    module: ModuleType, arguments: dict[str, Any], check: bool = False, variables: dict[str, Any] | None = None
) -> dict[str, Any]:
    """What the action plugin in ``module`` returns; the connection may be touched by nobody."""
    name = module.__name__.rpartition(".")[2]
    task = SimpleNamespace(
        args=arguments, check_mode=check, async_val=0, action=f"zpower.sap_tuning.{name}", diff=False, environment=[]
    )
    plugin = module.ActionModule(
        task=task,
        connection=MagicMock(spec_set=["_shell", "become", "_load_name", "ansible_name", "has_pipelining"]),
        play_context=MagicMock(),
        loader=MagicMock(),
        templar=MagicMock(),
        shared_loader_obj=MagicMock(),
    )
    plugin._load_name = name  # the plugin loader of a play sets it
    result: dict[str, Any] = plugin.run(task_vars={"inventory_hostname": "app1", **(variables or {})})
    return result
