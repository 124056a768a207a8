# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module of a tuning with the variables of its role; documented in plugins/modules/tuning.py."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..lookup.tunings import known_tunings, role_specs
from ..plugin_utils._actions.role_options import module_options, templated


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        spec = {"name": {"type": "str", "required": True, "choices": known_tunings()}}
        _result, arguments = self.validate_argument_spec(argument_spec=spec)
        variables, name = task_vars or {}, arguments["name"]
        try:
            options = module_options(name, role_specs(name), templated(self._templar, variables))
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        module = f"zpower.sap_tuning.{name}"
        return {**result, **self._execute_module(module_name=module, module_args=options, task_vars=variables)}
