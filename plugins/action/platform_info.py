# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module of the task on the host and parse its answer. Modules that need nothing else share this action."""

from ..plugin_utils._actions.controller import HonestAction
from ..plugin_utils._actions.variables import known_tunings
from ..plugin_utils._answers.answers import OF_HOST, OF_TUNING, RENAMED, Answer


class ActionModule(HonestAction):
    def perform(self, given: dict[str, object]) -> Answer:
        name = self._task.action.rpartition(".")[2]
        name = RENAMED.get(name, name)
        module, fields = f"zpower.sap_tuning.{name}", OF_HOST.get(name, OF_TUNING)
        # a task that calls the module of a tuning itself, and may restart instances, has no limit
        limit = 0 if name in known_tunings() else self.limit(given)
        return self.ask(module, self._task.args, given, fields, limit)
