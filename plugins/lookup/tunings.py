# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunings of this collection by name."""

DOCUMENTATION = r"""
---
name: tunings
short_description: Names of the tunings of zpower.sap_tuning
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Checks the names of tunings that an inventory chose and returns each name once, in the given order.
  - Each file in the collection's C(plugins/module_utils/_tunings) is a tuning.
options:
  _terms:
    description:
      - One list of names, or a text with commas between them. V(all) among them stands for every tuning.
      - An empty list gives an empty list. Null and an empty text, as an empty field of a survey of AWX arrives, mean
        C(zpower_tunings) of the host. If that has neither names nor an empty list, the error names the available
        tunings.
    type: list
    elements: raw
    required: true
"""

EXAMPLES = r"""
- name: The tunings of this host
  ansible.builtin.debug:
    msg: "{{ query('zpower.sap_tuning.tunings', zpower_tunings) }}"
"""

RETURN = r"""
_list:
  description: The names.
  type: list
  elements: str
"""

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase

from ..plugin_utils._actions.role_options import templated
from ..plugin_utils._actions.variables import asked_for, choose, known_tunings


class LookupModule(LookupBase):
    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[str]:
        # a query() with an empty list may arrive as no term at all
        asked = terms[0] if terms else []
        try:
            return choose(asked_for(asked, templated(self._templar, variables or {})), known_tunings())
        except ValueError as error:
            raise AnsibleError(str(error)) from error
