# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by the actions that run only on the controller: their options and attributes."""

from __future__ import annotations

from typing import Any

import yaml
from ansible.plugins.action import ActionBase

RESULTS = {"type": "path", "default": "results"}
"""The option that all these modules have from the documentation fragment ``controller``."""


def argument_spec(documentation: str) -> dict[str, dict[str, Any]]:
    """The argument spec of a module with the documentation fragment ``controller``."""
    return {"results": RESULTS, **documented(documentation)}


def documented(documentation: str) -> dict[str, dict[str, Any]]:
    """The argument spec from the documentation of a module; suboptions are left to checks with better sentences."""
    options = yaml.load(documentation, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["options"]
    parts = ("type", "elements", "choices", "default", "required")
    return {name: {part: option[part] for part in parts if part in option} for name, option in options.items()}


class ControllerAction(ActionBase):
    """An action that checks its options, then acts; a subclass has the argument spec, further rules, and ``act``."""

    TRANSFERS_FILES = False
    ARGUMENTS: dict[str, dict[str, Any]] = {}
    RULES: dict[str, Any] = {}
    _supports_check_mode = True
    _requires_connection = False

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """The result for checked options and the variables of the task."""
        raise NotImplementedError

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _result, options = self.validate_argument_spec(argument_spec=self.ARGUMENTS, **self.RULES)
        return {**result, **self.act(options, task_vars or {})}
