# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the tuning records of a host beside its measurements; documented in plugins/modules/record_tunings.py."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils._records import record_files

ARGUMENTS: dict[str, Any] = {
    "change": {"type": "str", "required": True},
    "phase": {"type": "str", "required": True},
    "round": {"type": "int", "default": 1},
    "results": {"type": "path", "default": "results"},
    "tunings": {"type": "list", "elements": "dict", "required": True},
    "found": {"type": "list", "elements": "dict", "default": []},
}


def as_found(record: dict[str, Any]) -> dict[str, Any]:
    """A record of check mode as one of the state that it found, which nobody was to change."""
    kept = {"after": record.get("before"), "wanted": {"state": "as found"}, "reason": "left as it was found"}
    return {**record, **kept, "verdict": "compliant"}


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _result, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        record = {
            "schema": record_files.TUNINGS,
            "change": options["change"],
            "phase": options["phase"],
            "round": options["round"],
            "host": (task_vars or {})["inventory_hostname"],
            "at": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "check_mode": self._task.check_mode,
            "tunings": options["tunings"] + [as_found(item) for item in options["found"]],
        }
        # ansible-core 2.19 and later hand over subclasses of str and int
        record = json.loads(json.dumps(record))
        if self._task.check_mode:
            return {**result, "changed": True, "msg": "check mode: the tuning records are not kept"}
        try:
            path = record_files.store(options["results"], record)
        except (OSError, ValueError) as error:
            raise AnsibleActionFail(f"the tuning records of {record['host']} could not be kept: {error}") from None
        return {**result, "changed": True, "path": str(path)}
