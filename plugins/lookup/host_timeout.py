# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a task of the roles may wait for its host."""

DOCUMENTATION = r"""
---
name: host_timeout
short_description: How long a task may wait for its host
version_added: 1.0.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - For the keyword C(timeout) of the tasks that call a module of this collection.
  - Returns the seconds in the variable C(zpower_host_timeout), by default 300, and 0 for no limit. Unless the task runs
    in check mode, the time of the restarts that the tunings may make is added; stops and starts of each instance.
options:
  _terms:
    description: Names of the tunings that the task may change; V(all) means every tuning.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Look at the interfaces, for a minute at most
  zpower.sap_tuning.tuning:
    name: rps
  timeout: "{{ lookup('zpower.sap_tuning.host_timeout', 'rps') }}"
  become: true
  vars:
    zpower_host_timeout: 60
"""

RETURN = r"""
_list:
  description: One number of seconds.
  type: list
  elements: int
"""

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils._actions.role_options import host_timeout, scope
from ..plugin_utils._actions.variables import role_values


class LookupModule(LookupBase):
    def run(self, terms: Any, variables: dict[str, Any] | None = None, **kwargs: Any) -> list[int]:
        given = variables or {}
        names = [] if given.get("ansible_check_mode") else self._flatten(terms)
        try:
            with scope(self._templar, {**role_values("sap_profile"), **role_values("smc"), **given}) as value_of:
                return [host_timeout(names, value_of)]
        except ValueError as error:
            raise AnsibleError(str(error)) from error
