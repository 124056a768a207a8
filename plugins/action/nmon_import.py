# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU seconds of a window from a file of nmon; documented in plugins/modules/nmon_import.py."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._nmon import NmonError, Reader
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._nmon_window import Wanted, window_of

ARGUMENTS: dict[str, Any] = {
    "src": {"type": "path", "required": True},
    "begin": {"type": "str"},
    "end": {"type": "str"},
    "cpus": {"type": "float"},
    "smc_r": {"type": "bool"},
}
LONGEST_LINE = 1_000_000
"""Characters; what has no end of line by then is no line of nmon's, and is not read to its end."""


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _result, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        src = options.pop("src")
        if options["cpus"] is not None and options["cpus"] <= 0:
            raise AnsibleActionFail(f"cpus is {options['cpus']:g}; it has to be above 0")
        try:
            window = window_of(Reader(lines_of(src)), Wanted(**options))
        except OSError as error:
            raise AnsibleActionFail(f"{src} on the controller cannot be read: {error.strerror or error}") from error
        except NmonError as error:
            raise AnsibleActionFail(f"{src}: {error}") from error
        result.update(changed=False, nmon=window)
        if window["remarks"]:
            result["warnings"] = [f"{src}: {remark}" for remark in window["remarks"]]
        return result


def lines_of(path: str) -> Iterator[str]:
    """The lines of a file with their ends. OSError, NmonError for what is no regular file and may never end."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise NmonError("this is no regular file")
    with open(path, encoding="utf-8", errors="replace") as stream:
        yield from iter(lambda: stream.readline(LONGEST_LINE), "")
