# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""List captures; the playbook captures adds each as a host."""

DOCUMENTATION = r"""
---
name: captures
short_description: Captures of machines, each with its host
version_added: 0.9.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Finds captures by the names of files. A capture is an archive of C(dbginfo.sh), C(sos) or C(supportconfig), or a
    folder or archive with the folders C(proc) and C(sys) of a machine.
  - Fails if the group C(zpower_captures) has a host that is not one of them.
  - The host is the one in the name of the capture. If the inventory has a host of that name, with or without a domain,
    it is that host, so that its variables apply. A capture without such a name is called like its file. Any other
    name must have at most 64 letters, digits, points, underscores and hyphens, and must not be that of a group.
  - What is not a capture is returned too, so that its host fails instead of being missing; checksums beside captures,
    and hidden files, are left out.
  - Of several captures of a host, the newest by the time in its name is returned, and a warning names the others.
options:
  _terms:
    description: Folders with captures, or captures. A text with commas between them is possible too.
    type: list
    elements: str
    required: true
  hosts:
    description:
      - Hosts that must have a capture if a folder of captures is named. One that has none is returned with a path that
        does not exist. Hosts of the group C(zpower_captures) and C(localhost) need none.
    type: list
    elements: str
    version_added: 1.0.0
    default: []
"""

EXAMPLES = r"""
- name: Which hosts these captures are of
  ansible.builtin.debug:
    msg: "{{ query('zpower.sap_tuning.captures', '/srv/captures') | map(attribute='host') }}"
"""

RETURN = r"""
_list:
  description: One dictionary per host, with C(host) and C(root), the path of its capture.
  type: list
  elements: dict
"""

from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.lookup import LookupBase
from ansible.utils.display import Display

from ..plugin_utils._actions.capture_files import chosen
from ..plugin_utils._answers.text import one_line


class LookupModule(LookupBase):
    def run(self, terms: Any, variables: dict[str, Any] | None = None, **kwargs: Any) -> list[dict[str, str]]:
        self.set_options(var_options=variables, direct=kwargs)
        places = [place.strip() for term in self._flatten(terms) for place in str(term).split(",") if place.strip()]
        groups = (variables or {}).get("groups") or {}
        without = {"localhost", *groups.get("zpower_captures", ())}
        expected = [host for host in self.get_option("hosts") if host not in without]
        try:
            found, left_out = chosen(places or [""], groups.get("all", ()), groups, expected)
        except (OSError, ValueError) as error:
            raise AnsibleError(one_line(error)) from error
        known = {capture.host for capture in found.values()}
        others = sorted(host for host in groups.get("zpower_captures", ()) if host not in known)
        # those of an earlier play have one
        if others := [host for host in others if "zpower_root" not in (variables or {})["hostvars"].raw_get(host)]:
            rule = "the hosts of the group zpower_captures must be the captures"
            raise AnsibleError(f"{rule}: {', '.join(others)} is not one. Correct the inventory")
        for sentence in left_out:
            Display().warning(sentence)
        return [{"host": capture.host, "root": str(capture.path)} for capture in found.values()]
