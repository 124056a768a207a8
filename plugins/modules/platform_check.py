#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMT, the way to the database and SMC, looked at: face of module_utils/_platform_check.py."""

DOCUMENTATION = r"""
---
module: platform_check
short_description: Compare SMT, the interface to the database host and the use of SMC with what is wanted
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Returns records as the tunings do, for what this collection does not set itself, because it takes a reboot or new
    cabling. The role C(zpower.sap_tuning.verify) fails where a record is not as wanted; this module itself does not.
  - The record V(SMT) tells the threads per core of an LPAR. Where O(threads_per_core) is something else, the reason
    says what it takes to change it.
  - The record V(HiperSockets) tells whether the route to O(database_host) leads through a HiperSockets interface, with
    its MTU and input buffers. A VLAN or a bond counts by the interfaces below it.
  - With O(tunings), there is a record for each tuning that was applied on the host and is none of them. It is
    V(drifted) and names the command that takes the tuning back.
  - The record V(SMC) tells whether the TCP connections that are open now between this host and O(smc_peers) really use
    SMC-R or SMC-D, and why they do not. It is read from the kernel as C(smcss) does. Without O(smc_peers) it tells of
    all SMC sockets, where the kernel has SMC at all. Its remarks name devices and counters.
options:
  threads_per_core:
    description:
      - How many threads each core of an LPAR should run. Unset, any number is right and the record only tells it.
    type: int
    choices: [1, 2]
  database_host:
    description:
      - Name or address of the database host. Unset, there is no record V(HiperSockets).
      - Nothing is sent to it; the name is looked up, and the route is the kernel's own choice.
    type: str
  smc_peers:
    description:
      - Names or addresses of the hosts to which connections should use SMC. With an AIX peer that is SMC-R version 1.
      - A connection that fell back to TCP makes the record V(drifted), and so does a peer whose connections were all
        opened as plain TCP. Plain connections beside others that use SMC, such as SSH, are a remark.
      - A peer without any open connection says nothing (V(not_applicable)).
    type: list
    elements: str
    default: []
  tunings:
    description:
      - Names of the tunings that are chosen for the host. Of the others no journal and no file may be left, which only
        root can tell. Unset, nobody looks at that.
    type: list
    elements: str
attributes:
  check_mode:
    description: Changes nothing in any mode.
    support: full
  diff_mode:
    description: There is nothing to show.
    support: none
  platform:
    description: SMT and HiperSockets are of LPARs and guests of IBM Z, SMC is of Linux. Elsewhere the verdict is
      V(not_applicable).
    support: full
    platforms: posix
"""

EXAMPLES = r"""
- name: Tell the SMT state
  zpower.sap_tuning.platform_check:

- name: SMT is on, and the database is reached through HiperSockets
  zpower.sap_tuning.platform_check:
    threads_per_core: 2
    database_host: sapdb1-hs

- name: Connections to the database and to the central services use SMC
  zpower.sap_tuning.platform_check:
    smc_peers: [sapdb1, sapascs]

- name: Nothing is left of tunings that were chosen once
  zpower.sap_tuning.platform_check:
    tunings: [rps, sap_profile]
  become: true
"""

RETURN = r"""
tuning:
  description: The records, RV(ignore:SMT), where a database host is named RV(ignore:HiperSockets), and where peers are
    named or the kernel has SMC RV(ignore:SMC).
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Always V(platform).
      returned: always
      type: str
      sample: platform
    subject:
      description: V(SMT), V(HiperSockets), V(SMC), or the name of a tuning that is applied and not chosen.
      returned: always
      type: str
      sample: HiperSockets
    wanted:
      description: What was asked for.
      returned: always
      type: dict
      sample: {database_host: sapdb1-hs, card_type: HiperSockets}
    before:
      description: What was found, RV(ignore:running); RV(ignore:stored) and RV(ignore:next_boot) are not looked at.
      returned: always
      type: dict
      sample: {running: {route: hsi0, hsi0: 'HiperSockets, MTU 57344, 128 buffers'}, stored: null, next_boot: null}
    after:
      description: The same, because nothing is changed.
      returned: always
      type: dict
      sample: {running: {route: hsi0, hsi0: 'HiperSockets, MTU 57344, 128 buffers'}, stored: null, next_boot: null}
    verdict:
      description: V(compliant), V(drifted), V(unsupported) where the machine cannot do it, V(not_applicable) where the
        question makes no sense, V(failed) where there is no way to the database host.
      returned: always
      type: str
      sample: compliant
    reason:
      description: Why the verdict is what it is, and what it takes to change it.
      returned: always
      type: str
      sample: 2 of 2 possible threads per core
    restart:
      description: What a change would need.
      returned: always
      type: str
      sample: reboot
    conflicts:
      description: Always empty.
      returned: always
      type: list
      elements: dict
      sample: []
    remarks:
      description: Sentences worth knowing although nothing is wrong.
      returned: always
      type: list
      elements: str
      sample: ['hsi0: IBM recommends 128 buffers (buffer_count) for HiperSockets']
    sources:
      description: Where it is published.
      returned: always
      type: list
      elements: str
      sample: ['Performance Evaluation of SAP Application Servers on Z (IBM, v1.02, 2018-07-16), 5.1']
    undo:
      description: The command that takes back a tuning that is not chosen, otherwise V(null).
      returned: always
      type: str
      sample: ansible-playbook zpower.sap_tuning.rollback --limit HOST --tags rps
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.run import summary
from ..module_utils._machine.checks import records
from ..module_utils._machine.reading import ReadingHost


def main():
    module = AnsibleModule(
        argument_spec=dict(
            threads_per_core=dict(type="int", choices=[1, 2]),
            database_host=dict(type="str"),
            smc_peers=dict(type="list", elements="str", default=[]),
            tunings=dict(type="list", elements="str"),
        ),
        supports_check_mode=True,
    )
    host = ReadingHost()
    params = module.params
    wanted = [params[name] for name in ("threads_per_core", "database_host", "smc_peers", "tunings")]
    found = records(host, platform.system(), *wanted)
    for remark in host.summary():
        module.warn(remark)
    module.exit_json(changed=False, msg=summary(found), tuning=found)


if __name__ == "__main__":
    main()
