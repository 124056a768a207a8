#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC-R on AIX: face of module_utils/_tunings/smc_r.py."""

DOCUMENTATION = r"""
---
module: smc_r
short_description: Let TCP connections of AIX use RDMA (SMC-R)
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Sets attributes of AIX's SMC-R device, in one C(chdev), in the database and in force, reads them back, and can take
    them back to the values found first.
  - With SMC-R two hosts that both offer it talk over RDMA, without a change to the applications. Published are 15 to
    30 % shorter round trips of niping, and runs that were shorter by up to a third (IBM, SMC-R on AIX for SAP, v1.0).
  - Connections to a host without SMC-R stay plain TCP, and no message says so. How to see which ones use it, and what
    both ends need, stands in the tuning's page.
  - Where AIX is older than 7200-02, or the device or a RoCE adapter is missing, the record says V(unsupported) and
    what to install.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  device:
    description:
      - The SMC-R device. If it is not set, V(smcr0), or where that is missing the only one that C(lsdev) has.
      - With O(state=restored), only this device; if it is not set, all that were changed.
    type: str
  preset:
    description:
      - Published values. V(enabled) is C(enabled) 1, C(ip_addr_list) any, C(port_range) any, C(conns_per_lg) 16,
        C(init_snd_pools) 2, C(max_memory) 512, C(rx_intr_packets) 128, C(tx_intr_cnt) 128, C(tx_intr_time) 10000.
      - V(optimized) is the same with C(conns_per_lg) 64, C(init_snd_pools) 16, C(rx_intr_packets) 256.
      - V(disabled) is C(enabled) 0 and leaves the others.
    type: str
    choices: [disabled, enabled, optimized]
  attributes:
    description:
      - The site's own values, by attribute, as C(lsattr) shows them. They win over O(preset).
      - C(ip_addr_list) and C(port_range) must both be set, or AIX does not use SMC-R; leaving one empty is an error.
    type: dict
    default: {}
  sap_ports:
    description:
      - Instance numbers in quotes, whose ports become C(port_range) instead of V(any). These are 32nn (dispatcher,
        enqueue server), 33nn (gateway), 36nn and 39nn (message server), 80nn and 443nn (ICM).
      - They are written as C(3200-3201,3300-3301). How C(port_range) takes several ports is not published, so make sure
        that connections use SMC-R.
    type: list
    elements: str
    default: []
  when_busy:
    description:
      - What to do where C(chdev) says that the device is busy (0514-062). V(fail) leaves everything as it is.
      - V(defer) changes the database only (C(chdev -P)); the verdict is V(pending_restart) until the device is
        configured anew, by C(rmdev) and C(mkdev) or by a reboot.
    type: str
    choices: [fail, defer]
    default: fail
attributes:
  platform:
    platforms: aix
notes:
  - Written from the documented formats of AIX's commands; nothing here has run on AIX yet.
"""

EXAMPLES = r"""
- name: SMC-R for all TCP connections, with the values that the study ended with
  zpower.sap_tuning.smc_r:
    preset: optimized

- name: For the ports of SAP instances 00 and 01 only, with more memory, at the next reboot where the device is busy
  zpower.sap_tuning.smc_r:
    preset: enabled
    sap_ports: ['00', '01']
    attributes:
      max_memory: 1024
    when_busy: defer

- name: SMC-R off
  zpower.sap_tuning.smc_r:
    preset: disabled

- name: Back to the values that were there before this collection touched them
  zpower.sap_tuning.smc_r:
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
      sample: smc_r
    subject:
      description: The device.
      returned: always
      type: str
      sample: smcr0
    wanted:
      description: What was asked for.
      returned: always
      type: dict
      sample: {state: present, attributes: {conns_per_lg: '64'}}
    before:
      description:
        - The values found, by attribute. RV(ignore:running) are those with which the device was last configured,
          RV(ignore:stored) those of the database, which are RV(ignore:next_boot) too.
      returned: always
      type: dict
      sample: {running: {conns_per_lg: '16'}, stored: {conns_per_lg: '16'}, next_boot: {conns_per_lg: '16'}}
    after:
      description: The same after the run; in check mode what it would be.
      returned: always
      type: dict
      sample: {running: {conns_per_lg: '64'}, stored: {conns_per_lg: '64'}, next_boot: {conns_per_lg: '64'}}
    verdict:
      description:
        - V(compliant) and V(changed) are as wanted. V(pending_restart) is stored, by whomever, and not in force yet.
        - V(drifted) is not as wanted, found in check mode, or left alone by O(state=restored) because someone else has
          changed it since, or SMC-R is on and a list empty without which it is not used.
        - V(not_applicable) and V(unsupported) say why and are no failures.
      returned: always
      type: str
      sample: changed
    reason:
      description: Why the verdict is what it is.
      returned: always
      type: str
      sample: 1 value set and read back
    remarks:
      description: What is worth knowing although nothing is wrong.
      returned: always
      type: list
      elements: str
      sample: ['smcr0 is busy: only its database was changed (chdev -P)']
    restart:
      description: What must be restarted for stored values to act, V(device).
      returned: always
      type: str
      sample: device
    conflicts:
      description: Lines with C(chdev) in C(/etc/inittab), rc scripts and root's crontab that set the same attributes.
      returned: always
      type: list
      elements: dict
      sample:
        - what: boot script
          file: /etc/rc.d/rc2.d/S99site
          line: 3
          value: '16'
          wins: possible
          effect: sets conns_per_lg of smcr0 to 16
    sources:
      description: Where the tuning is published.
      returned: always
      type: list
      elements: str
      sample: ['SMC-R on AIX for SAP, Experience report (IBM, v1.0, 2019-01-14)']
    undo:
      description: How it is taken back.
      returned: always
      type: str
      sample: 'ansible-playbook zpower.sap_tuning.rollback, or state: restored of smc_r'
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.entry_point import STATE_ARGUMENTS, run_tuning
from ..module_utils._tunings.smc_r import SmcR


def main():
    module = AnsibleModule(
        argument_spec=dict(
            STATE_ARGUMENTS,
            device=dict(type="str"),
            preset=dict(type="str", choices=["disabled", "enabled", "optimized"]),
            attributes=dict(type="dict", default={}),
            sap_ports=dict(type="list", elements="str", default=[]),
            when_busy=dict(type="str", choices=["fail", "defer"], default="fail"),
        ),
        supports_check_mode=True,
    )
    run_tuning(module, SmcR)


if __name__ == "__main__":
    main()
