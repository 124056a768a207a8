#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU topology of a guest: face of module_utils/_tunings/cpu_topology.py."""

DOCUMENTATION = r"""
---
module: cpu_topology
short_description: Let the scheduler of a guest take all CPUs for cores of one socket
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Sets the sysctl C(s390.topology) of a guest that gets no topology information from its hypervisor (z/VM, KVM), now
    and
    for the next boot, proves it by what the scheduler sees, and can take it back to the value found first. The
    published
    study calls it C(sw_siblings).
  - Without topology information every CPU is a socket, book and drawer of its own, the greatest distance the scheduler
    knows. With O(sw_siblings=true) all CPUs are siblings in one socket, and the scheduler moves work between them more
    readily.
  - Published are 26 % less batch elapsed time on z/VM guests with SMT, which had needed about 30 % more than without
    SMT because they did not know their topology, and 1 % without SMT (IBM, Performance Evaluation of SAP Application
    Servers on Z, v1.02, 5.1 to 5.4 and table 2).
  - The kernel's commit speaks of up to 10 %, depending on the workload, and of the default as the better choice on
    overcommitted hypervisors.
  - An LPAR knows its real topology; there the record says V(not_applicable).
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  sw_siblings:
    description: V(true) for one socket with all CPUs (C(s390.topology) 1), V(false) for each CPU by itself (0).
    type: bool
    default: true
notes:
  - Kept over reboots by C(/etc/sysctl.d/91-zpower-sap-tuning-cpu-topology.conf), which has the last word over
    C(topology=on) and C(topology=off) on the kernel command line.
"""

EXAMPLES = r"""
- name: All CPUs are siblings
  zpower.sap_tuning.cpu_topology:

- name: Each CPU by itself, the kernel's default
  zpower.sap_tuning.cpu_topology:
    sw_siblings: false

- name: Back to the value that was there before this collection touched it
  zpower.sap_tuning.cpu_topology:
    state: restored
"""

RETURN = r"""
tuning:
  description: One record.
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  contains:
    name:
      description: The tuning.
      returned: always
      type: str
      sample: cpu_topology
    subject:
      description: The name of the sysctl.
      returned: always
      type: str
      sample: s390.topology
    wanted:
      description: What was asked for.
      returned: always
      type: dict
      sample: {state: present, sw_siblings: true, s390.topology: '1'}
    before:
      description: The values found, RV(ignore:running), RV(ignore:stored), and RV(ignore:next_boot).
      returned: always
      type: dict
      sample: {running: {s390.topology: '0'}, stored: null, next_boot: {s390.topology: '0'}}
    after:
      description: The same after the run; in check mode what it would be.
      returned: always
      type: dict
      sample: {running: {s390.topology: '1'}, stored: {sysctl.d: '1'}, next_boot: {s390.topology: '1'}}
    verdict:
      description:
        - V(compliant) and V(changed) are as wanted. V(drifted) is not as wanted, found in check mode, or lost at the
          next boot to a conflict, or left alone by O(state=restored) because someone else has changed it since.
        - V(not_applicable) and V(unsupported) say why and are no failures.
      returned: always
      type: str
      sample: changed
    reason:
      description: Why the verdict is what it is.
      returned: always
      type: str
      sample: 2 values set and read back
    remarks:
      description: What is worth knowing although nothing is wrong.
      returned: always
      type: list
      elements: str
      sample: ['the scheduler takes CPUs 0-7 for cores of one socket']
    restart:
      description: What must be restarted for the values to act; nothing.
      returned: always
      type: str
      sample: none
    conflicts:
      description: Who else would set it, with RV(ignore:file), RV(ignore:line), its value and whether it wins
        (V(yes), V(no), V(possible)).
      returned: always
      type: list
      elements: dict
      sample: [{what: kernel command line, file: /proc/cmdline, line: 1, value: '0', wins: 'no'}]
    sources:
      description: Where the tuning is published.
      returned: always
      type: list
      elements: str
      sample: ['Performance Evaluation of SAP Application Servers on Z (IBM, v1.02, 2018-07-16), 5.4']
    undo:
      description: How it is taken back.
      returned: always
      type: str
      sample: 'ansible-playbook zpower.sap_tuning.rollback, or state: restored of cpu_topology'
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.entry_point import STATE_ARGUMENTS, run_tuning
from ..module_utils._tunings.cpu_topology import CpuTopology


def main():
    module = AnsibleModule(
        argument_spec=dict(STATE_ARGUMENTS, sw_siblings=dict(type="bool", default=True)),
        supports_check_mode=True,
    )
    run_tuning(module, CpuTopology)


if __name__ == "__main__":
    main()
