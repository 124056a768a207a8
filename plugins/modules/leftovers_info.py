#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this collection has left on a host: the face of module_utils/_tunings/_leftovers.py."""

DOCUMENTATION = r"""
---
module: leftovers_info
short_description: List what this collection has left on a host
version_added: 0.9.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Looks for journals, checkpoints, values on probation and their guardians, locks, files of tunings, services and
    files of killed runs, whatever tunings are chosen for the host. Changes nothing.
  - Files of tunings are found by their names and marks, so also without a journal. A value without a file of this
    collection, such as a device attribute of AIX or a line of C(/etc/fstab), is known only to its journal.
  - It never fails for something that is left. The playbook C(zpower.sap_tuning.leftovers) does.
  - Needs Python 3.6 or later on the host, and root, because only root can read the journals.
options: {}
attributes:
  check_mode:
    description: Changes nothing in any mode.
    support: full
  diff_mode:
    description: There is nothing to show.
    support: none
  platform:
    description: Linux and AIX.
    support: full
    platforms: posix
seealso:
  - module: zpower.sap_tuning.tunings
"""

EXAMPLES = r"""
- name: What is left after a rollback
  zpower.sap_tuning.leftovers_info:
  become: true
  register: site_leftovers

- name: Nothing may be left
  ansible.builtin.fail:
    msg: "{{ site_leftovers.failing | join('; ') }}"
  when: site_leftovers.failing | length > 0
"""

RETURN = r"""
tuning:
  description: One tuning record per journal, checkpoint, held lock and group of files, V(drifted), with the command
    that removes it in C(undo); V(failed) if a file cannot be read. One V(compliant) record if nothing is left. Fields
    and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success
  type: list
  elements: dict
  sample:
    - name: rps
      subject: journal
      wanted: {state: restored}
      after: {running: null, stored: {first values: 2, since: '2026-11-23T03:15:00Z'}, next_boot: null}
      verdict: drifted
      reason: /var/lib/zpower_sap_tuning/rps.json holds the first values; ansible-playbook
        zpower.sap_tuning.rollback --limit HOST --tags rps restores them
      undo: ansible-playbook zpower.sap_tuning.rollback --limit HOST --tags rps
errors:
  description: One sentence per file or folder that cannot be read.
  returned: success
  type: list
  elements: str
drift:
  description: One sentence per record of something that is left.
  returned: success
  type: list
  elements: str
failing:
  description: RV(errors) and RV(drift). Empty exactly if nothing is left.
  returned: success
  type: list
  elements: str
tunings:
  description: Always empty, because no tuning is run. The callback P(zpower.sap_tuning.tunings#callback) expects it
    beside RV(errors) and RV(drift).
  returned: success
  type: dict
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.records import summary
from ..module_utils._host.host import Host
from ..module_utils._tunings._leftovers import records


def main():
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    found = records(Host(), platform.system())
    errors = ["%s: %s" % (one["name"], one["reason"]) for one in found if one["verdict"] == "failed"]
    drift = [one["reason"] for one in found if one["verdict"] == "drifted"]
    module.exit_json(
        changed=False, msg=summary(found), tuning=found, tunings={}, errors=errors, drift=drift, failing=errors + drift
    )


if __name__ == "__main__":
    main()
