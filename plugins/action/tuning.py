# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module of a tuning with the variables of its role; documented in plugins/modules/tuning.py."""

from ..plugin_utils._actions.controller import HonestAction
from ..plugin_utils._actions.role_options import module_options, templated
from ..plugin_utils._actions.variables import in_variables, known_tunings, option_names, role_specs
from ..plugin_utils._answers.answers import OF_TUNING, Answer


class ActionModule(HonestAction):
    def perform(self, given: dict[str, object]) -> Answer:
        spec = {"name": {"type": "str", "required": True, "choices": known_tunings()}}
        _result, arguments = self.validate_argument_spec(argument_spec=spec)
        name, value_of = arguments["name"], templated(self._templar, given)
        self.check_common(value_of)
        options = module_options(name, role_specs(name), value_of)
        answer = self.ask(f"zpower.sap_tuning.{name}", options, given, OF_TUNING, self.limit(given, {name: options}))
        if answer.get("failed"):
            answer["msg"] = in_variables(option_names(name), answer.get("msg", ""))
        return answer
