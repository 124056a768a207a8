#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive Packet Steering of a host's interfaces: options of module_utils/_tunings/rps.py."""

DOCUMENTATION = r"""
---
module: rps
short_description: Spread received packets over CPUs (Receive Packet Steering)
version_added: 0.1.0
description:
  - Sets the CPU mask C(rps_cpus) of every receive queue of the chosen interfaces, now and for the next boot, reads it
    back from the kernel, and can take everything back to the exact values it found.
  - An interface with one receive queue, such as a HiperSockets or OSA interface on Linux on Z, hands all received
    packets to one CPU. RPS lets the CPUs of the mask share that work.
  - IBM published 4 to 6 % less batch elapsed time with one HiperSockets interface in LPARs of 16 IFLs with SMT-2, which
    are 32 CPUs for Linux. All gave most of it, every fourth was best (Performance Evaluation of SAP Application Servers
    on Z, v1.02, 5.8). The paper prints the mask of all as C(0000ffff), 16 of 32 CPUs, and calls them cores; so it is
    unknown whether every fourth CPU or every fourth core was best, see O(unit). Another study has 3 % more throughput
    (IBM, SAP CRM 7.0 on IBM Z, v1.00, 4.2.2).
  - The mask holds the CPUs that are online when the module runs. A CPU that comes online later is added when
    the module runs again.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  state:
    description:
      - V(present) sets the mask, V(off) switches RPS off and keeps it off, V(restored) goes back to the first values.
      - V(present) sets the mask now and for the next boot. V(confirmed) keeps the values that a call with
        O(confirm_within) has set, and sets nothing.
      - First values are those found before this collection first changed them, as the journal on the host has them. A
        value that someone else has changed since is left alone and reported.
    type: str
    choices: [present, 'off', restored, confirmed]
    default: present
  interfaces:
    description:
      - Interfaces by name, shell glob (V(hsi*)) or card type (V(hipersockets), V(osa)).
        V(auto) selects interfaces that carry traffic.
      - V(hipersockets) and V(osa) take the interfaces of the driver qeth by their card type, including guest LANs of
        z/VM. Their names do not tell, because distributions name both C(enc) and the device number.
      - V(auto) takes every interface that is up, has received packets, has fewer receive queues than the machine has
        online CPUs, and does not receive through another interface (bond, VLAN, bridge). HiperSockets and OSA
        interfaces need not have received anything yet; management interfaces (OSM, OSN) are left out. With
        O(state=restored), V(auto) takes everything in the journal.
      - The loopback interface is never touched.
    type: list
    elements: str
    default: [auto]
  cpus:
    description:
      - The CPUs that share the work, V(all) online ones, the V(entitled) ones, a CPU list such as V(0-7,16), or a
        mask such as V(0xff) or V(ff,ffffffff) (as in /sys).
      - Write masks in quotes, because YAML makes the number 255 of V(0xff). A list with leading zeros is an error,
        because V(00000033) could be CPU 33 or the mask of CPUs 0, 1, 4 and 5.
      - V(entitled) takes the CPUs that are V(vertical:high) or V(vertical:medium) in an LPAR with vertical polarization
        (tuning cpu_polarization). The others are V(vertical:low) and get only the time that other LPARs leave, so
        packets handed to them may wait. PR/SM moves the entitlement, so verify compares the mask with the CPUs that are
        entitled then. Without vertical polarization, as in most guests, V(entitled) is V(all).
      - A listed CPU that is offline or does not exist is an error, because the kernel would silently drop it.
    type: str
    default: all
  every:
    description:
      - Take only the CPUs of O(cpus) whose number is a multiple of this, or whose core's number is, see O(unit).
      - V(2) takes CPUs 0, 2, 4 and so on; with SMT-2 this is one thread per core.
    type: int
    default: 1
  unit:
    description:
      - What O(every) counts, CPUs or cores. Without SMT both are the same.
      - With SMT-2 and O(every=2), V(cpu) takes CPUs 0, 2, 4, 6 and so on, one thread of each core; V(core) takes CPUs
        0, 1, 4, 5 and so on, both threads of every second core.
    type: str
    version_added: 0.9.0
    choices: [cpu, core]
    default: cpu
  flow_steering:
    description:
      - Also switch on Receive Flow Steering with both of its sizes. It excludes O(flow_cnt).
      - O(sock_flow_entries) is 32768 if unset, the value of Documentation/networking/scaling.rst in Linux 6.12 (65536
        in 7.2); each receive queue of an interface gets that number divided by the number of the interface's queues as
        C(rps_flow_cnt), rounded up to a power of two.
    type: bool
    version_added: 0.9.0
    default: false
  flow_cnt:
    description:
      - Also set C(rps_flow_cnt) of every receive queue (Receive Flow Steering); if unset, it is left alone.
      - The kernel rounds it up to a power of two. Receive Flow Steering needs O(sock_flow_entries) too; each queue
        usually gets that number divided by the number of queues.
    type: int
  sock_flow_entries:
    description:
      - Also set the sysctl C(net.core.rps_sock_flow_entries); if unset, it is left alone.
      - The kernel rounds it up to a power of two. If the network namespace has no such sysctl,
        the record says V(unsupported).
    type: int
notes:
  - Kept over reboots by udev rules in C(/etc/udev/rules.d/91-zpower-sap-tuning-rps.rules) and,
    for O(sock_flow_entries), by C(/etc/sysctl.d/91-zpower-sap-tuning-rps.conf).
  - irqbalance moves interrupts and does not touch RPS masks; it is not a conflict.
"""

EXAMPLES = r"""
- name: All CPUs share the work of the HiperSockets interface
  zpower.sap_tuning.rps:
    interfaces: [hsi0]

- name: Every fourth CPU for all HiperSockets interfaces
  zpower.sap_tuning.rps:
    interfaces: [hipersockets]
    every: 4

- name: Both threads of every second core, but none that is vertical:low
  zpower.sap_tuning.rps:
    interfaces: [hipersockets]
    cpus: entitled
    every: 2
    unit: core

- name: Eight CPUs, with Receive Flow Steering
  zpower.sap_tuning.rps:
    interfaces: [enc1000]
    cpus: 0-7
    flow_steering: true

- name: Switch RPS off and keep it off
  zpower.sap_tuning.rps:
    interfaces: [hsi0]
    state: 'off'

- name: Back to the first values
  zpower.sap_tuning.rps:
    state: restored
"""

RETURN = r"""
tuning:
  description: One record per interface, and one for the sysctl if it is requested. Fields and verdicts
    are described in U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - name: rps
      subject: hsi0
      wanted: {state: present, rps_cpus: 0000ffff}
      before: {running: {rx-0: '00000000'}, stored: null, next_boot: {rps_cpus: '0'}}
      after: {running: {rx-0: 0000ffff}, stored: {udev rule: rps_cpus=0000ffff}, next_boot: {rps_cpus: 0000ffff}}
      verdict: changed
      reason: 2 values set and read back
      remarks: []
      restart: none
      conflicts: [{what: udev rule, file: /etc/udev/rules.d/95-net.rules, line: 3, value: '1', wins: 'no'}]
      sources: ['Linux kernel, Documentation/networking/scaling.rst']
      undo: 'ansible-playbook zpower.sap_tuning.rollback, or state: restored of rps'
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.rps import Rps


def main():
    run_tuning(Rps)


if __name__ == "__main__":
    main()
