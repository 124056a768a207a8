#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The system base that SAP asks for: face of module_utils/_tunings/system_base.py."""

DOCUMENTATION = r"""
---
module: system_base
short_description: Compare a Linux application server with what SAP asks of the system, or set it
version_added: 0.9.0
description:
  - By default only compares sysctls and the size of C(/dev/shm) with the values that SAP Notes ask for, as SUSE and
    Red Hat publish them, and names each difference, which is not drift. With O(state=present) it also sets the values,
    now and for the next boot, reads them back, and can restore those found first.
  - A value that saptune, sapconf or tuned sets is left to that tool, and the record says so. saptune does not exist on
    IBM Z.
  - For application servers, never for SAP HANA. A value without a public source, or for another release, is left out.
    The record then says V(not_applicable).
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  state:
    description:
      - V(observe) only compares, V(present) sets values, V(restored) takes them back, V(confirmed) ends a probation.
      - With V(observe) a value that differs has the verdict V(observed), and the reason names it. Values that an
        earlier call has set stay, and with O(complete), as from the role, are V(drifted) until they are taken back.
      - V(present) sets the values now and for the next boot, V(restored) goes back to the first values.
      - V(confirmed) makes values that were set with O(confirm_within) normal ones and ends the probation. It sets
        nothing.
      - First values are those found before this collection first changed them, as the journal on the host has them. A
        value that someone else has changed since is left alone and reported.
    type: str
    choices: [observe, present, restored, confirmed]
    default: observe
  confirmed_state:
    description:
      - For the roles of this collection only; it may change in any version.
      - With O(state=confirmed), the state that the values should have.
    type: str
    choices: [observe, present, restored]
    default: present
  items:
    description:
      - What to compare or set. Ignored with O(state=restored), which takes everything back.
      - C(vm.max_map_count) is at least 2147483647 (SAP Note 900929).
      - C(kernel.shm) is C(kernel.shmmax) and C(kernel.shmall), which the kernel's defaults satisfy (941735), on SLES
        also C(kernel.shmmni), at least 32768 (1275776).
      - C(kernel.sem) is, field by field, at least 32000 1024000000 500 32000 on RHEL 8 to 10, and at least 1250 256000
        100 1024 on RHEL 7.
      - C(kernel.pid_max) is at least 4194304 on SLES 15 (2578899).
      - C(vm.dirty) is C(vm.dirty_bytes) 629145600 and C(vm.dirty_background_bytes) 314572800 on SLES 12, 15 and 16
        (1984787, 2578899, 3565382), on hosts with at least 3000 MiB of memory.
      - C(net.ipv4.tcp_keepalive) is time 300, interval 75 and 9 probes (1410736). Not by default, and not for a host
        with SAP ASE, which asks for another value.
      - C(/dev/shm) has at least 75 % of memory and swap, less 1 GiB (941735). It is only enlarged.
      - C(transparent_hugepage) is shown and never set.
      - The others are looked at only if they are named here.
      - C(nofile) is at least 1048576 open files on SLES 12, SLES 15 and RHEL (1771258), for logins and for units of SAP
        instances. It takes effect at the next login, and when the instance's unit starts next.
      - C(uuidd.socket) is enabled and started on SLES and RHEL (1984787, 2578899, 3565382, 1391070).
      - C(io_scheduler) is C(none) or C(noop) of SCSI disks on SLES (1984787, 2578899, 3565382).
    type: list
    elements: str
    choices:
      - vm.max_map_count
      - kernel.shm
      - kernel.sem
      - kernel.pid_max
      - vm.dirty
      - net.ipv4.tcp_keepalive
      - /dev/shm
      - transparent_hugepage
      - nofile
      - uuidd.socket
      - io_scheduler
    default:
      - vm.max_map_count
      - kernel.shm
      - kernel.sem
      - kernel.pid_max
      - vm.dirty
      - /dev/shm
      - transparent_hugepage
notes:
  - Kept over reboots by C(/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf), the size of C(/dev/shm) by its line in
    C(/etc/fstab); other lines stay as they are. A value that the host has after the next boot anyway is not stored.
    C(nofile) is C(/etc/security/limits.d/zz-zpower-sap-tuning-system-base.conf) and a drop-in of each unit
    C(SAP<SID>_<nn>.service), C(io_scheduler) is C(/etc/udev/rules.d/91-zpower-sap-tuning-system-base.rules).
  - If C(/dev/shm) is in use, O(state=restored) takes back only the line in C(/etc/fstab). The size then changes with
    the next boot, because shrinking it can end programs that have reserved more.
"""

EXAMPLES = r"""
- name: Compare with what SAP asks for, and change nothing
  zpower.sap_tuning.system_base:

- name: Set it
  zpower.sap_tuning.system_base:
    state: present

- name: Only the number of memory maps and the keepalive of TCP
  zpower.sap_tuning.system_base:
    state: present
    items: [vm.max_map_count, net.ipv4.tcp_keepalive]
"""

RETURN = r"""
tuning:
  description: One record per item. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: system_base, subject: vm.max_map_count, verdict: changed, reason: 2 values set and read back}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.system_base import SystemBase


def main():
    run_tuning(SystemBase)


if __name__ == "__main__":
    main()
