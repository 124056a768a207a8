#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMT, the route to the database and the use of SMC: options of module_utils/_machine/checks.py."""

DOCUMENTATION = r"""
---
module: platform_settings_info
short_description: Check SMT, the route to the database host and the use of SMC
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Returns tuning records for settings that this collection does not change, because a change takes a reboot or new
    cabling. This module never fails for a record; the role C(zpower.sap_tuning.verify) fails if one is not compliant.
  - The record V(SMT) shows the threads per core of an LPAR. If O(threads_per_core) differs, the reason says
    how to change it.
  - The record V(z/VM) of a guest of z/VM shows how many cores the LPAR of z/VM has, and whether z/VM can use them.
  - The record V(capacity) says how many cores an LPAR, or a partition of AIX, is entitled to, if that is known. It is
    V(compliant); a remark names C(vertical:low) cores, which get time only if other LPARs leave it.
  - The record V(cluster) of a node of a Pacemaker cluster names it, and the instances that it manages.
  - The record V(HiperSockets) shows whether the route to O(database_host) leads through a HiperSockets interface,
    with its MTU and input buffers. For a VLAN or a bond, the interfaces below it count.
  - With O(tunings), each tuning that was applied on the host and is not in the list has a record. It is V(drifted)
    and names the command that takes the tuning back.
  - The record V(SMC) shows whether the open TCP connections between this host and O(smc_peers) use SMC-R or SMC-D,
    and if not, why. The source is the kernel interface of C(smcss). Without O(smc_peers), it covers all SMC sockets,
    if the kernel has SMC. Its remarks name devices and counters.
  - The record V(HiperSockets) exists only with O(database_host), the record V(SMC) only with O(smc_peers) or if
    the kernel has SMC.
  - A host with SLES or RHEL and an SAP instance has the records V(nofile), V(nproc), V(tasks), V(uuidd), V(sysstat),
    V(sysctl-logger) and V(I/O scheduler). They show what is in force and what SAP notes ask for. A difference is
    V(observed); a value that this user or the capture cannot show is V(unknown).
  - Needs Python 3.6 or later on the host.
options:
  threads_per_core:
    description: How many threads each core of an LPAR should run, V(1) or V(2); if unset, any number is compliant.
    type: int
    choices: [1, 2]
  database_host:
    description:
      - Names or addresses of the hosts that should be reached through HiperSockets, such as those of the database, of
        the enqueue server and of other application servers; if unset, this is not checked. Of several, each has a
        record, C(HiperSockets to NAME).
      - Nothing is sent to them. The names are looked up, and the kernel gives the route.
    type: list
    elements: str
  smc_peers:
    description:
      - Names or addresses of the hosts to which connections should use SMC; if empty, SMC sockets are only listed.
      - With an AIX peer this is SMC-R version 1. A connection that fell back to TCP makes the record V(drifted), and
        so does a peer with plain TCP connections only. Plain connections beside others that use SMC, such as SSH, are
        a remark. For a peer without any open connection the verdict is V(not_applicable).
    type: list
    elements: str
    default: []
  tunings:
    description:
      - Names of the tunings chosen for the host. Any other that is applied is V(drifted); if unset, not checked.
      - A tuning counts as applied while its journal or one of its files exists, which only root can see.
    type: list
    version_added: 0.9.0
    elements: str
  root:
    description: A capture that is checked instead of the host; see O(zpower.sap_tuning.rps#module:root).
    type: path
    version_added: 0.9.0
attributes:
  check_mode:
    description: Changes nothing in any mode.
    support: full
  diff_mode:
    description: There is nothing to show.
    support: none
  platform:
    description: SMT and HiperSockets exist on IBM Z, SMC on Linux. Elsewhere the verdict is V(not_applicable).
    support: full
    platforms: posix
"""

EXAMPLES = r"""
- name: Show the SMT state
  zpower.sap_tuning.platform_settings_info:

- name: SMT is on, and the database is reached through HiperSockets
  zpower.sap_tuning.platform_settings_info:
    threads_per_core: 2
    database_host: [sapdb1-hs, sapascs-hs]

- name: Connections to the database and to the central services use SMC
  zpower.sap_tuning.platform_settings_info:
    smc_peers: [sapdb1, sapascs]

- name: No other tuning than these two is applied
  zpower.sap_tuning.platform_settings_info:
    tunings: [rps, sap_profile]
  become: true
"""

RETURN = r"""
tuning:
  description: The records V(SMT), V(capacity), V(HiperSockets) and V(SMC), those of SAP notes, and one per tuning not
    chosen. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success
  type: list
  elements: dict
  sample:
    - name: platform
      subject: HiperSockets
      wanted: {database_host: sapdb1-hs, card_type: HiperSockets}
      after: {running: {route: hsi0, hsi0: 'HiperSockets, MTU 57344, 64 buffers'}, stored: null, next_boot: null}
      verdict: compliant
      reason: packets to sapdb1-hs leave through HiperSockets
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.records import summary
from ..module_utils._machine.checks import OPTIONS, records
from ..module_utils._machine.reading import HostError, host_and_system


def main():
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    params = dict(module.params)
    try:
        host, system = host_and_system(params.pop("root"))
    except HostError as error:
        module.fail_json(msg=str(error))
    found = records(host, system, **params)
    for remark in host.summary():
        module.warn(remark)
    module.exit_json(changed=False, msg=summary(found), tuning=found)


if __name__ == "__main__":
    main()
