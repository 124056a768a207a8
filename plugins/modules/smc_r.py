#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC-R on AIX: options of module_utils/_tunings/smc_r.py."""

DOCUMENTATION = r"""
---
module: smc_r
short_description: Let TCP connections of AIX use RDMA (SMC-R)
version_added: 0.1.0
description:
  - Sets attributes of AIX's SMC-R device, in one C(chdev), in the database and in force, reads them back, and can
    take them back to the values found first.
  - With SMC-R, two hosts that both offer it talk over RDMA, without a change to the applications. IBM published 15 to
    30 % shorter round trips of niping, and runs that were up to a third shorter (SMC-R on AIX for SAP, v1.0).
  - Connections to a host without SMC-R stay plain TCP without any message. The page of this tuning describes what
    both ends need, and how to see which connections use SMC-R.
  - If AIX is older than 7200-02, or the device or a RoCE adapter is missing, the record says V(unsupported)
    and what to install.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  device:
    description:
      - The SMC-R device; if unset, V(smcr0), or if that is missing the only SMC-R device of the host.
      - With O(state=restored), only this device; if unset, all that were changed.
    type: str
  preset:
    description:
      - Published values. V(enabled) switches SMC-R on with the first values of the study, V(optimized) with its final
        values, V(disabled) switches it off.
      - V(enabled) is C(enabled) 1, C(ip_addr_list) any, C(port_range) any, C(conns_per_lg) 16, C(init_snd_pools) 2,
        C(max_memory) 512, C(rx_intr_packets) 128, C(tx_intr_cnt) 128, C(tx_intr_time) 10000.
      - V(optimized) is the same with C(conns_per_lg) 64, C(init_snd_pools) 16, C(rx_intr_packets) 256.
      - V(disabled) is C(enabled) 0 and leaves the other attributes as they are.
    type: str
    choices: [disabled, enabled, optimized]
  attributes:
    description:
      - The site's own values by attribute, as C(lsattr) shows them. They win over O(preset).
      - C(ip_addr_list) and C(port_range) must both be set, or AIX does not use SMC-R; leaving one empty is an error.
    type: dict
    default: {}
  sap_ports:
    description:
      - Instance numbers in quotes, such as V('00'); their ports become C(port_range) instead of V(any).
      - The ports are 32nn (dispatcher, enqueue server), 33nn and 48nn (gateway), 36nn, 39nn and 81nn (message server),
        80nn and 443nn (ICM), and 5nn13 and 5nn14 (start service), written as C(3200-3201,3300-3301). The format of
        several ports in C(port_range) is not published, so check that connections use SMC-R.
    type: list
    elements: str
    default: []
  database_ports:
    description: Ports of the database, such as V('30015') or V('30013-30015'), beside those of O(sap_ports). Without
      them, connections of work processes to the database stay plain TCP if O(sap_ports) is used.
    type: list
    elements: str
    version_added: 1.0.0
    default: []
  when_busy:
    description:
      - If the device is busy, V(fail) changes nothing, V(defer) only the database until it is configured again.
      - Busy is error 0514-062 or 0514-029 of C(chdev). After V(defer) (C(chdev -P)) the verdict is V(pending_restart)
        until C(rmdev) and C(mkdev), or a reboot, configure the device again.
    type: str
    choices: [fail, defer]
    default: fail
attributes:
  platform:
    platforms: aix
notes:
  - Written from the documented formats of the AIX commands; nothing here has run on AIX yet.
"""

EXAMPLES = r"""
- name: SMC-R for all TCP connections, with the final values of the study
  zpower.sap_tuning.smc_r:
    preset: optimized

- name: For the ports of SAP instances 00 and 01 and of the database, with more memory; deferred if the device is busy
  zpower.sap_tuning.smc_r:
    preset: enabled
    sap_ports: ['00', '01']
    database_ports: ['30013-30015']
    attributes:
      max_memory: 1024
    when_busy: defer

- name: SMC-R off
  zpower.sap_tuning.smc_r:
    preset: disabled
"""

RETURN = r"""
tuning:
  description: One record per device. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: smc_r, subject: smcr0, verdict: pending_restart,
       reason: 'smcr0 conns_per_lg: 16 is in force, 64 once the device is configured again'}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.smc_r import SmcR


def main():
    run_tuning(SmcR)


if __name__ == "__main__":
    main()
