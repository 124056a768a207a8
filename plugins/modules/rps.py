#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive Packet Steering of a host's interfaces: face of module_utils/_tunings/rps.py."""

DOCUMENTATION = r"""
---
module: rps
short_description: Spread received packets over CPUs (Receive Packet Steering)
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Sets the CPU mask C(rps_cpus) of every receive queue of the chosen interfaces, now and for the next boot,
    verifies what
    the kernel took, and can take everything back to the exact values it found.
  - An interface with one receive queue, such as a HiperSockets or OSA interface on Linux on Z, hands all received
    packets
    to one CPU. RPS lets the CPUs of the mask share that work.
  - Published results with one HiperSockets interface and 16 CPUs are 4 to 6 % less batch elapsed time, with most of it
    from all CPUs and the best of it from every fourth CPU (IBM, Performance Evaluation of SAP Application Servers on Z,
    v1.02, 5.8), and 3 % more throughput (IBM, SAP CRM 7.0 on IBM Z, v1.00, 4.2.2).
  - The mask is built from the CPUs that are online when the module runs. A CPU that comes online later is not in it
    until
    the module runs again.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  state:
    description:
      - V(present) sets the mask and keeps it over reboots.
      - V(off) switches RPS off and keeps it off.
      - V(restored) goes back to the values found before this collection first changed them, as the journal on the
        host has them. A value that someone else has changed since is left alone and reported.
    type: str
    choices: [present, 'off', restored]
    default: present
  interfaces:
    description:
      - Interfaces by name, by shell glob (C(hsi*)), V(hipersockets), V(osa), or V(auto).
      - V(hipersockets) and V(osa) take the interfaces of the driver qeth by their card type, guest LANs of z/VM
        included. A name says nothing, since distributions rename both to C(enc) and the device number.
      - V(auto) takes every interface that is up, has received packets, has fewer receive queues than the machine has
        online CPUs, and does not receive through another interface (bond, VLAN, bridge). HiperSockets and OSA
        interfaces need not have received anything yet; those for management (OSM, OSN) are left out. With
        O(state=restored) it takes everything in the journal.
      - The loopback interface is never touched.
    type: list
    elements: str
    default: [auto]
  cpus:
    description:
      - The CPUs that share the work, V(all) online ones or a CPU list such as V(0-7,16).
      - A CPU of the list that is offline or does not exist is an error, because the kernel would silently drop it.
    type: str
    default: all
  every:
    description:
      - Take only those of O(cpus) whose number is a multiple of this. V(2) is CPU 0, 2, 4 and so on; with SMT-2 that
        is one
        thread of each core.
    type: int
    default: 1
  flow_cnt:
    description:
      - Also set C(rps_flow_cnt) of every receive queue (Receive Flow Steering). The kernel rounds it up to a power
        of two.
      - Receive Flow Steering needs O(sock_flow_entries) too; each queue usually gets that number divided by the queues.
    type: int
  sock_flow_entries:
    description:
      - Also set the sysctl C(net.core.rps_sock_flow_entries). The kernel rounds it up to a power of two.
      - Where the network namespace has no such sysctl the record says V(unsupported).
    type: int
notes:
  - Kept over reboots by udev rules in C(/etc/udev/rules.d/91-zpower-sap-tuning-rps.rules) and, for
    O(sock_flow_entries),
    by C(/etc/sysctl.d/91-zpower-sap-tuning-rps.conf).
  - irqbalance moves interrupts and does not touch RPS masks; it is no conflict.
"""

EXAMPLES = r"""
- name: All CPUs share the work of the HiperSockets interface
  zpower.sap_tuning.rps:
    interfaces: [hsi0]

- name: Every fourth CPU for all HiperSockets interfaces, which was best in the published measurement
  zpower.sap_tuning.rps:
    interfaces: [hipersockets]
    every: 4

- name: Eight CPUs, with Receive Flow Steering
  zpower.sap_tuning.rps:
    interfaces: [enc1000]
    cpus: 0-7
    flow_cnt: 32768
    sock_flow_entries: 32768

- name: Switch RPS off and keep it off
  zpower.sap_tuning.rps:
    interfaces: [hsi0]
    state: 'off'

- name: Back to what was there before this collection touched it
  zpower.sap_tuning.rps:
    state: restored
"""

RETURN = r"""
tuning:
  description: One record for each interface, and one for the sysctl where it was asked for.
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  contains:
    name:
      description: The tuning.
      returned: always
      type: str
      sample: rps
    subject:
      description: The interface, or the name of the sysctl.
      returned: always
      type: str
      sample: hsi0
    wanted:
      description: What was asked for, with the mask in the kernel's format.
      returned: always
      type: dict
      sample: {state: present, rps_cpus: 0000ffff}
    before:
      description: The values found, RV(ignore:running) by receive queue, RV(ignore:stored), and RV(ignore:next_boot).
      returned: always
      type: dict
      sample: {running: {rx-0: '00000000'}, stored: null, next_boot: {rps_cpus: '0'}}
    after:
      description: The same after the run; in check mode what it would be.
      returned: always
      type: dict
      sample: {running: {rx-0: 0000ffff}, stored: {udev rule: rps_cpus=0000ffff}, next_boot: {rps_cpus: 0000ffff}}
    verdict:
      description:
        - V(compliant) and V(changed) are as wanted. V(drifted) is not as wanted, found in check mode, or lost at the
          next boot
          to a conflict, or left alone by O(state=restored) because someone else has changed it since.
        - V(not_applicable) and V(unsupported) say why and are no failures.
      returned: always
      type: str
      sample: changed
    reason:
      description: Why the verdict is what it is.
      returned: always
      type: str
      sample: 2 values set and read back
    restart:
      description: What must be restarted for the values to act; RPS needs nothing.
      returned: always
      type: str
      sample: none
    conflicts:
      description: Who else would set the mask, with RV(ignore:file), RV(ignore:line), its value and whether it wins
        (V(yes), V(no), V(possible)).
      returned: always
      type: list
      elements: dict
      sample: [{what: udev rule, file: /etc/udev/rules.d/95-net.rules, line: 3, value: '1', wins: 'yes'}]
    sources:
      description: Where the tuning is published.
      returned: always
      type: list
      elements: str
      sample: ['Linux kernel, Documentation/networking/scaling.rst']
    undo:
      description: How it is taken back.
      returned: always
      type: str
      sample: 'ansible-playbook zpower.sap_tuning.rollback, or state: restored of rps'
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.entry_point import STATE_ARGUMENTS, run_tuning
from ..module_utils._tunings.rps import Rps


def main():
    module = AnsibleModule(
        argument_spec=dict(
            STATE_ARGUMENTS,
            state=dict(type="str", choices=["present", "off", "restored"], default="present"),
            interfaces=dict(type="list", elements="str", default=["auto"]),
            cpus=dict(type="str", default="all"),
            every=dict(type="int", default=1),
            flow_cnt=dict(type="int"),
            sock_flow_entries=dict(type="int"),
        ),
        supports_check_mode=True,
    )
    run_tuning(module, Rps)


if __name__ == "__main__":
    main()
