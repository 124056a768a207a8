#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: nmon_import
short_description: CPU seconds of a window from a file of nmon
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Reads a file that nmon recorded on AIX (topas_nmon) or Linux, and returns the CPU time of a window, which is elapsed
    time × utilization. It is meant for runs that were measured outside of this collection.
  - On AIX the utilization is that of physical processors where the file has the sections C(PCPU_ALL) or C(LPAR).
  - Nothing is written, and nothing becomes a measurement record, because what was measured by hand has no rounds that
    could be compared.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  src:
    description: The file on the controller, relative to the working directory of the playbook run.
    type: path
    required: true
  begin:
    description:
      - Begin of the window in the local time of the recorded host, V(16:30:00) for the first day of the file or
        V(2026-11-20 16:30:00). Nmon files have no time zone.
      - The begin of the file where it is not set.
    type: str
  end:
    description: End of the window, the end of the file where it is not set. A time of day that is not after O(begin) is
      on the next day.
    type: str
  cpus:
    description:
      - How many processors the percentages of C(CPU_ALL) are a share of, where the file does not say.
      - On AIX that is so in files without C(PCPU_ALL) and C(LPAR), for their column C(PhysicalCPUs) can count threads.
        In a dedicated partition the percentages are shares of its processors, in a shared one of its entitlement, as
        long as it does not use more.
    type: float
  smc_r:
    description: Whether SMC-R carried traffic on this AIX host. Where it did, network counters do not apply.
    type: bool
notes:
  - A snapshot stands for the time since the one before. Where only a part of that time lies in the window, this part
    of it counts.
"""

EXAMPLES = r"""
- name: CPU time of two runs that were recorded by hand
  zpower.sap_tuning.nmon_import:
    src: recorded/aixapp1_261120_1600.nmon
    begin: "{{ item.begin }}"
    end: "{{ item.end }}"
    smc_r: "{{ item.smc_r }}"
  register: recorded
  loop:
    - {begin: '16:05:00', end: '16:09:00', smc_r: false}
    - {begin: '16:30:00', end: '16:33:20', smc_r: true}

- name: CPU seconds of both
  ansible.builtin.debug:
    msg: "{{ recorded.results | map(attribute='nmon.cpu_s') }}"
"""

RETURN = r"""
nmon:
  description: The window. What the file does not say is null.
  returned: success
  type: dict
  contains:
    host:
      description: The host in the file.
      returned: success
      type: str
      sample: aixapp1
    system:
      description: AIX or Linux.
      returned: success
      type: str
      sample: AIX
    level:
      description: The level of AIX, or the Linux kernel.
      returned: success
      type: str
      sample: 7.2.1.2
    version:
      description: The version of nmon.
      returned: success
      type: str
      sample: TOPAS-NMON
    begin:
      description: The begin of the window in the time of the file.
      returned: success
      type: str
      sample: '2026-11-20 16:30:00'
    end:
      description: The end of the window.
      returned: success
      type: str
      sample: '2026-11-20 16:33:20'
    elapsed_s:
      description: Its length.
      returned: success
      type: float
      sample: 200.0
    covered_s:
      description: How much of it the CPU time is about, less where snapshots are missing.
      returned: success
      type: float
      sample: 200.0
    snapshots:
      description: The snapshots that have a part in it.
      returned: success
      type: int
      sample: 20
    source:
      description:
        - Where the CPU time comes from, the first of V(PCPU_ALL), V(LPAR) (percentages of the entitlement), V(CPU_ALL)
          (percentages of all processors) and V(PhysicalCPU) (processors consumed, with idle turns) that covers most.
        - Null where the file does not say of how many processors its percentages are.
      returned: success
      type: str
      sample: PCPU_ALL
    cpu_s:
      description: CPU seconds, user and system.
      returned: success
      type: float
      sample: 45.8
    user_s:
      description: CPU seconds of user code.
      returned: success
      type: float
      sample: 7.8
    system_s:
      description: CPU seconds of the kernel.
      returned: success
      type: float
      sample: 38.0
    steal_s:
      description: CPU seconds that a hypervisor took, on Linux.
      returned: success
      type: float
      sample: null
    busy_pct:
      description: User and system in C(CPU_ALL), as nmon has it, a mean over the window.
      returned: success
      type: float
      sample: 22.9
    user_pct:
      description: User in C(CPU_ALL).
      returned: success
      type: float
      sample: 3.9
    system_pct:
      description: System in C(CPU_ALL).
      returned: success
      type: float
      sample: 19.0
    wait_pct:
      description: Waiting for I/O in C(CPU_ALL).
      returned: success
      type: float
      sample: 0.0
    idle_pct:
      description: Idle in C(CPU_ALL).
      returned: success
      type: float
      sample: 77.1
    steal_pct:
      description: Steal in C(CPU_ALL), on Linux.
      returned: success
      type: float
      sample: null
    physc:
      description: Processors that the partition consumed (C(PhysicalCPU) of C(LPAR)), a mean over the window.
      returned: success
      type: float
      sample: 0.31
    entitlement:
      description: Processors that it is entitled to.
      returned: success
      type: float
      sample: 1.0
    network:
      description:
        - Network traffic in RV(ignore:interfaces), kB by interface, and whether it is RV(ignore:applicable). It is
          V(false) where SMC-R was on, null where that is not said of an AIX host, with the RV(ignore:reason).
      returned: success
      type: dict
      sample: {applicable: false, reason: 'SMC-R goes past the network counters that nmon reads: they do not show its
        traffic', interfaces: {}}
    remarks:
      description: What to know about these figures; also shown as warnings.
      returned: success
      type: list
      elements: str
      sample: []
"""
