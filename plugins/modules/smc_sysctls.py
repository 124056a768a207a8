#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of SMC on Linux: face of module_utils/_tunings/smc_sysctls.py."""

DOCUMENTATION = r"""
---
module: smc_sysctls
short_description: Set the sysctls of SMC-R and SMC-D on Linux
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Sets sysctls C(net.smc.*), now and for the next boot, proves them, and can take them back to the values found first.
  - Only where the kernel has them, which is where its module C(smc) is loaded. A name that the kernel does not have is
    V(unsupported), and then nothing is set. An option that is not set is left alone; without any the verdict is
    V(not_applicable).
  - This switches no connection to SMC. That takes RoCE or ISM devices with a common PNET id on both ends, and programs
    that open SMC sockets (C(smc_run)). Whether they do is told by M(zpower.sap_tuning.platform_check).
  - No published measurement says what these values are worth for SAP. Measure before and after.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  autocorking_size:
    description: Bytes up to which small messages of one connection are put together; V(0) sends each by itself.
    type: int
  limit_smc_hs:
    description: V(1) lets new connections fall back to TCP while many handshakes are under way, V(0) does not.
    type: int
    choices: [0, 1]
  rmem:
    description: Bytes of the receive buffer that a connection begins with, from 16384.
    type: int
  wmem:
    description: Bytes of the send buffer that a connection begins with, from 16384.
    type: int
  smcr_buf_type:
    description: Buffers of new link groups of SMC-R, V(0) physically contiguous, V(1) virtually, V(2) physically where
      there is such memory.
    type: int
    choices: [0, 1, 2]
  smcr_max_conns_per_lgr:
    description: Connections of one link group, from 16 to 255. SMC-R from version 2.1 on.
    type: int
  smcr_max_links_per_lgr:
    description: Links of one link group, 1 or 2. SMC-R from version 2.1 on.
    type: int
  smcr_max_recv_wr:
    description: Work requests that a link can receive at once, from 2 to 2048. Newer kernels only.
    type: int
  smcr_max_send_wr:
    description: Work requests that a link can send at once, from 2 to 2048. Newer kernels only.
    type: int
  smcr_testlink_time:
    description: Seconds without traffic after which a link is tested; V(0) tests none.
    type: int
notes:
  - Kept over reboots by C(/etc/sysctl.d/91-zpower-sap-tuning-smc-sysctls.conf), and by
    C(/etc/modules-load.d/91-zpower-sap-tuning-smc-sysctls.conf) where nothing else loads the module C(smc) at boot,
    because sysctl.d is read only once.
  - A value out of the kernel's limits is refused by the kernel, and the error says so; nothing is changed then.
  - The values are those of the network namespace in which the module runs.
"""

EXAMPLES = r"""
- name: Larger buffers for SMC
  zpower.sap_tuning.smc_sysctls:
    rmem: 262144
    wmem: 262144

- name: Back to the values that were there before this collection touched them
  zpower.sap_tuning.smc_sysctls:
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
      sample: smc_sysctls
    subject:
      description: Always C(net.smc).
      returned: always
      type: str
      sample: net.smc
    wanted:
      description: What was asked for.
      returned: always
      type: dict
      sample: {state: present, net.smc.wmem: '262144'}
    before:
      description: The values found, RV(ignore:running), RV(ignore:stored), and RV(ignore:next_boot).
      returned: always
      type: dict
      sample: {running: {net.smc.wmem: '65536'}, stored: null, next_boot: null}
    after:
      description: The same after the run; in check mode what it would be. RV(ignore:module) is the module that is
        loaded before sysctl.d is read.
      returned: always
      type: dict
      sample: {running: {net.smc.wmem: '262144'}, stored: {module: smc, net.smc.wmem: '262144'},
               next_boot: {net.smc.wmem: '262144'}}
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
      sample: 3 values set and read back
    remarks:
      description: Always empty.
      returned: always
      type: list
      elements: str
      sample: []
    restart:
      description: What must be restarted for the values to act; nothing. Connections that are open keep their own.
      returned: always
      type: str
      sample: none
    conflicts:
      description: Who else would set a value, with RV(ignore:item), RV(ignore:file), RV(ignore:line), the value and
        whether it wins (V(yes), V(no), V(possible)).
      returned: always
      type: list
      elements: dict
      sample: [{what: sysctl.d, item: net.smc.wmem, file: /etc/sysctl.d/99-site.conf, line: 1, value: '65536',
                wins: 'yes'}]
    sources:
      description: Where the values are described.
      returned: always
      type: list
      elements: str
      sample: ['Linux kernel, Documentation/networking/smc-sysctl.rst']
    undo:
      description: How it is taken back.
      returned: always
      type: str
      sample: 'ansible-playbook zpower.sap_tuning.rollback, or state: restored of smc_sysctls'
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.entry_point import STATE_ARGUMENTS, run_tuning
from ..module_utils._tunings.smc_sysctls import SmcSysctls


def main():
    module = AnsibleModule(
        argument_spec=dict(
            STATE_ARGUMENTS,
            autocorking_size=dict(type="int"),
            limit_smc_hs=dict(type="int", choices=[0, 1]),
            rmem=dict(type="int"),
            wmem=dict(type="int"),
            smcr_buf_type=dict(type="int", choices=[0, 1, 2]),
            smcr_max_conns_per_lgr=dict(type="int"),
            smcr_max_links_per_lgr=dict(type="int"),
            smcr_max_recv_wr=dict(type="int"),
            smcr_max_send_wr=dict(type="int"),
            smcr_testlink_time=dict(type="int"),
        ),
        supports_check_mode=True,
    )
    run_tuning(module, SmcSysctls)


if __name__ == "__main__":
    main()
