#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU polarization of an LPAR: face of module_utils/_tunings/cpu_polarization.py."""

DOCUMENTATION = r"""
---
module: cpu_polarization
short_description: Dispatch the CPUs of an LPAR vertically or horizontally
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Sets the dispatching mode of an LPAR on IBM Z, as C(chcpu -p) does, now and for the next boot, waits until every
    online
    CPU shows it, and can take it back to the mode found first.
  - With horizontal polarization the LPAR's share of the machine is spread evenly over all its CPUs. With vertical
    polarization a few CPUs get all of a real one (C(vertical:high)), one or two a part of it (C(vertical:medium)), and
    the others only what other LPARs leave (C(vertical:low)), so that work stays on fewer CPUs with warmer caches.
  - The published effects are small, under 1 % of batch elapsed time (IBM, Performance Evaluation of SAP Application
    Servers on Z, v1.02, 5.6) and no change (IBM, SAP CRM 7.0 on IBM Z, v1.00, 4.3), both on LPARs of 12 to 16 IFLs.
    Measure it on your own machines.
  - A guest of z/VM or KVM has no such choice; there the record says V(unsupported) and why.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  mode:
    description: The dispatching mode.
    type: str
    choices: [vertical, horizontal]
    default: vertical
  wait_timeout:
    description:
      - For how many seconds to wait until all online CPUs show the mode. After a switch each of them shows C(unknown)
        until
        the machine has reported its new topology, usually for a second, and for a minute where the report is late.
    type: int
    default: 75
notes:
  - Where the kernel has the sysctl C(s390.polarization) (6.12 and later), that is the knob, kept by
    C(/etc/sysctl.d/91-zpower-sap-tuning-cpu-polarization.conf); elsewhere C(/sys/devices/system/cpu/dispatching), kept
    by C(/etc/tmpfiles.d/91-zpower-sap-tuning-cpu-polarization.conf).
  - A kernel that boots into the wanted mode by itself (C(CONFIG_SCHED_TOPOLOGY_VERTICAL)) needs no such file and gets
    none,
    unless something else on the host sets another mode.
"""

EXAMPLES = r"""
- name: Vertical dispatching
  zpower.sap_tuning.cpu_polarization:
    mode: vertical

- name: Back to the mode that was there before this collection touched it
  zpower.sap_tuning.cpu_polarization:
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
      sample: cpu_polarization
    subject:
      description: The name of the knob.
      returned: always
      type: str
      sample: dispatching
    wanted:
      description: What was asked for.
      returned: always
      type: dict
      sample: {state: present, mode: vertical}
    before:
      description: The values found, RV(ignore:running), RV(ignore:stored), and RV(ignore:next_boot).
      returned: always
      type: dict
      sample: {running: {dispatching: horizontal}, stored: null, next_boot: {dispatching: horizontal}}
    after:
      description: The same after the run; in check mode what it would be.
      returned: always
      type: dict
      sample: {running: {dispatching: vertical}, stored: {sysctl.d: vertical}, next_boot: {dispatching: vertical}}
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
      sample: ['entitlement of the 8 online CPUs: 4 high, 2 medium, 2 low']
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
      sample: [{what: unit, file: /etc/systemd/system/tune.service, line: 5, value: horizontal, wins: 'yes'}]
    sources:
      description: Where the tuning is published.
      returned: always
      type: list
      elements: str
      sample: ['Linux kernel, arch/s390/kernel/topology.c']
    undo:
      description: How it is taken back.
      returned: always
      type: str
      sample: 'ansible-playbook zpower.sap_tuning.rollback, or state: restored of cpu_polarization'
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.entry_point import STATE_ARGUMENTS, run_tuning
from ..module_utils._tunings.cpu_polarization import CpuPolarization


def main():
    module = AnsibleModule(
        argument_spec=dict(
            STATE_ARGUMENTS,
            mode=dict(type="str", choices=["vertical", "horizontal"], default="vertical"),
            wait_timeout=dict(type="int", default=75),
        ),
        supports_check_mode=True,
    )
    run_tuning(module, CpuPolarization)


if __name__ == "__main__":
    main()
