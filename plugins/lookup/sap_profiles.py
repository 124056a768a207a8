# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host changes an SAP profile that several hosts share, and which hosts wait for it."""

DOCUMENTATION = r"""
---
name: sap_profiles
short_description: Which host changes an SAP profile that several hosts share
version_added: 0.9.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - For the roles of this collection only; it may change in any version.
    Use the roles C(sap_profile) and C(tune).
  - Several hosts of a play that ask for the same profile on a shared file system must not change it at the same time,
    so the first of them does.
options:
  _terms:
    description:
      - V(asks) returns what the host asks for. The role C(sap_profile) keeps it as the fact C(__sap_profile_asks). A
        host with a mistake in its variables asks for nothing.
      - V(order) returns which host changes each shared profile, and which hosts come second, from these facts of all
        hosts of the play. The roles keep it as the fact C(__sap_profile_order).
      - V(order) with the name of the variable that holds the tunings of a host, and of one with variables that win over
        all others, needs no facts. It reads the variables of all hosts, which costs less than a task for each. A
        variable that the play or the role sets, and not the inventory, is taken from the own host for all hosts.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Tell which profiles this host asks for
  ansible.builtin.set_fact:
    __sap_profile_asks: "{{ lookup('zpower.sap_tuning.sap_profiles', 'asks') }}"

- name: The first host that asks for a profile changes it
  ansible.builtin.set_fact:
    __sap_profile_order: "{{ lookup('zpower.sap_tuning.sap_profiles', 'order') }}"
  run_once: true
"""

RETURN = r"""
_list:
  description: One dictionary.
  type: list
  elements: dict
"""

from collections.abc import Mapping
from typing import Any

from ansible.plugins.lookup import LookupBase

from ..plugin_utils._actions import shared_profiles
from ..plugin_utils._actions.role_options import scope
from ..plugin_utils._actions.variables import role_values
from ..plugin_utils._answers import facts


class LookupModule(LookupBase):
    def run(self, terms: list[str], variables: Any = None, **kwargs: Any) -> list[dict[str, Any]]:
        if terms[0] == "asks":
            return [self._asks({**role_values("sap_profile"), **variables})]
        hosts, of_host = variables["ansible_play_hosts"], variables["hostvars"].raw_get
        if len(terms) == 1:
            return [shared_profiles.order({host: of_host(host).get("__sap_profile_asks", {}) for host in hosts})]
        defaults = {**role_values("tune"), **role_values("verify"), **role_values("sap_profile")}
        common = shared_profiles.common(variables, of_host(variables["inventory_hostname"]), defaults)
        asked = {host: self._asks({**defaults, **of_host(host), **common}, *terms[1:]) for host in hosts}
        return [shared_profiles.order(asked)]

    def _asks(self, variables: Mapping[str, object], chosen: str | None = None, winning: str = "") -> dict[str, object]:
        if facts.deciding(variables):  # its call will fail with this error
            return {}
        with scope(self._templar, variables) as value_of:
            given = value_of(winning) or {}
        with scope(self._templar, {**variables, **given}) as value_of:
            return shared_profiles.asks(value_of, chosen)
