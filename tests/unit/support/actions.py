# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plugins, called as by a task of a play, with stand-ins for the task, its connection and the play."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import trusted


def run_action(
    module: ModuleType,
    arguments: dict[str, Any],
    check: bool = False,
    variables: dict[str, Any] | None = None,
    templar: Any = None,
    tags: Iterable[str] = (),
    role: str | None = None,
) -> dict[str, Any]:
    """Return the result of the action plugin in ``module`` as a task of a role; it must not use the connection."""
    name = module.__name__.rpartition(".")[2]
    task = SimpleNamespace(
        args=arguments,
        check_mode=check,
        async_val=0,
        action=f"zpower.sap_tuning.{name}",
        diff=False,
        environment=[],
        tags=list(tags),
        register="result",
        _role=role and f"zpower.sap_tuning.{role}",
    )
    plugin = module.ActionModule(
        task=task,
        connection=MagicMock(spec_set=["_shell", "become", "_load_name", "ansible_name", "has_pipelining"]),
        play_context=MagicMock(),
        loader=MagicMock(),
        templar=templar or MagicMock(),
        shared_loader_obj=MagicMock(),
    )
    plugin._load_name = name  # a play's plugin loader sets it
    result: dict[str, Any] = plugin.run(task_vars={"inventory_hostname": "app1", **(variables or {})})
    return result


def trusting() -> bool:
    """Return whether this ansible-core marks the templates that it trusts; it then has no omit placeholder."""
    return {type(trusted("text"))} != {str}
