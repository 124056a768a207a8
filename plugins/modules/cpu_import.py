#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: cpu_import
short_description: CPU seconds of a window from a file of nmon or sysstat
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Reads a file that nmon recorded on AIX (topas_nmon) or Linux, or that sysstat (C(sar), C(mpstat)) recorded on Linux,
    and returns the CPU time of a window, which is elapsed time × utilization. It is meant for runs that were measured
    outside of this collection, or on a host where its own modules get no CPU time.
  - With O(change) the intervals of the window are also kept beside the measurement records of a host. The report then
    takes the CPU time of a round from there, where the round has none of its own and one file covers its counted runs.
  - On AIX the utilization is that of physical processors where the file has the sections C(PCPU_ALL) or C(LPAR).
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  src:
    description: The file on the controller, relative to the working directory of the playbook run.
    type: path
    required: true
  format:
    description:
      - What the file is. V(auto) tells by its beginning.
      - V(nmon) is a file of nmon, V(mpstat) what C(mpstat -o JSON) with an interval printed, V(sadf) what
        C(sadf -j FILE -- -u ALL) printed.
      - V(sar) is the binary file of C(sar -o) or C(sadc). It is read by C(sadf) of the controller, which has to have
        sysstat for that, of a version that knows the format of the file.
    type: str
    choices: [auto, nmon, sadf, mpstat, sar]
    default: auto
  begin:
    description:
      - Begin of the window in the time of the file (RV(cpu.zone)), V(16:30:00) for the first day of the file or
        V(2026-11-20 16:30:00). Files of nmon and mpstat have the local time of the recorded host and no time zone,
        those of sar and sadf have UTC.
      - Quote it, for YAML takes V(16:30:00) for a number. The begin of the file where it is not set.
    type: str
  end:
    description: End of the window, the end of the file where it is not set. A time of day that is not after O(begin) is
      on the next day.
    type: str
  date:
    description: Day of the first report in a file of mpstat, such as V(2026-11-20). It is needed where the file has its
      day in the way of a country, which it has not if mpstat ran with C(S_TIME_FORMAT=ISO).
    type: str
  cpus:
    description:
      - How many processors the percentages are a share of, where the file does not say.
      - On AIX that is so in files without C(PCPU_ALL) and C(LPAR), for their column C(PhysicalCPUs) can count threads.
        In a dedicated partition the percentages are shares of its processors, in a shared one of its entitlement, as
        long as it does not use more.
      - The number in files of sysstat counts CPUs that are offline, too. Where some are, and the file has no figures of
        single CPUs (C(-P ALL)), it has to be given.
    type: float
  smc_r:
    description: Whether SMC-R carried traffic on this AIX host. Where it did, network counters do not apply. Of nmon
      files only.
    type: bool
  change:
    description: Keep the intervals of the window with the records of this change.
    type: str
  results:
    description: The folder with the changes.
    type: path
    default: results
  host:
    description: The host whose records it belongs to, which is the one that measured or was imported as such. The host
      of the task where it is not set.
    type: str
  side:
    description: The end of those records that was recorded, their own host (V(client)) or its peer (V(server)).
    type: str
    choices: [client, server]
    default: client
  utc_offset:
    description: What the local time of the file is ahead of UTC, such as V(+01:00), because records have UTC. Needed
      with O(change), unless the file has UTC already. Quote it, for YAML takes V(+01:00) for a number.
    type: str
  replace:
    description: Take the CPU time of this file also for rounds that have their own.
    type: bool
    default: false
notes:
  - A sample stands for the time since the one before. Where only a part of that time lies in the window, this part
    of it counts.
  - The intervals are kept in C(<results>/<change>/<host>/cpu-<side>.json). What the same file said before about the
    same time is replaced, other files are added to.
"""

EXAMPLES = r"""
- name: CPU time of two runs that were recorded by hand
  zpower.sap_tuning.cpu_import:
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
    msg: "{{ recorded.results | map(attribute='cpu.cpu_s') }}"

- name: The CPU time of both ends while a change was measured, for its report
  zpower.sap_tuning.cpu_import:
    src: "recorded/{{ item.file }}"
    change: smc-r-2026-11
    host: aixapp1
    side: "{{ item.side }}"
    utc_offset: '+01:00'
  loop:
    - {file: aixapp1_261120_1600.nmon, side: client}
    - {file: lnxdb1.json, side: server}
"""

RETURN = r"""
cpu:
  description: The window. What the file does not say is null.
  returned: success
  type: dict
  contains:
    format:
      description: What the file is, V(nmon), V(sadf) (also of a binary file of sar) or V(mpstat).
      returned: success
      type: str
      sample: nmon
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
    zone:
      description: What the times are, V(local) or V(UTC).
      returned: success
      type: str
      sample: local
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
      description: How much of it the CPU time is about, less where samples are missing.
      returned: success
      type: float
      sample: 200.0
    samples:
      description: The samples that have a part in it.
      returned: success
      type: int
      sample: 20
    source:
      description:
        - Where the CPU time comes from. Of nmon the first of V(PCPU_ALL), V(LPAR) (percentages of the entitlement),
          V(CPU_ALL) (percentages of all processors) and V(PhysicalCPU) (processors consumed, with idle turns) that
          covers most; V(cpu-load) of sysstat.
        - Null where the file does not say of how many processors its percentages are.
      returned: success
      type: str
      sample: PCPU_ALL
    cpu_s:
      description: CPU seconds of user, system and interrupts together.
      returned: success
      type: float
      sample: 45.8
    user_s:
      description: CPU seconds of user code, with nice and guests.
      returned: success
      type: float
      sample: 7.8
    system_s:
      description: CPU seconds of the kernel.
      returned: success
      type: float
      sample: 38.0
    softirq_s:
      description: CPU seconds in interrupts, where the file has them apart; else they are in RV(cpu.system_s).
      returned: success
      type: float
      sample: null
    steal_s:
      description: CPU seconds that a hypervisor took, on Linux.
      returned: success
      type: float
      sample: null
    cpus:
      description: How many processors there were, a mean over the window.
      returned: success
      type: float
      sample: 2.0
    busy_pct:
      description: User, system and interrupts as the file has them, a mean over the window.
      returned: success
      type: float
      sample: 22.9
    user_pct:
      description: User.
      returned: success
      type: float
      sample: 3.9
    system_pct:
      description: System.
      returned: success
      type: float
      sample: 19.0
    softirq_pct:
      description: Interrupts, where the file has them apart.
      returned: success
      type: float
      sample: null
    wait_pct:
      description: Waiting for I/O.
      returned: success
      type: float
      sample: 0.0
    idle_pct:
      description: Idle.
      returned: success
      type: float
      sample: 77.1
    steal_pct:
      description: Steal, on Linux.
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
        - Null for files of sysstat.
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
path:
  description: The file that holds the intervals.
  returned: success, if a change is named
  type: str
  sample: results/smc-r-2026-11/aixapp1/cpu-client.json
intervals:
  description: How many intervals of this file it holds.
  returned: success, if a change is named
  type: int
  sample: 360
"""
