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
description:
  - Reads a file that nmon recorded on AIX (topas_nmon) or Linux, or that sysstat (C(sar), C(mpstat)) recorded on
    Linux, and returns the CPU time of a window, which is elapsed time × utilization. Use it for runs that were
    measured without this collection, and for hosts whose CPU time this collection cannot read.
  - With O(change), the intervals of the window are also stored beside the measurement records of a host. The report
    then uses them for each round without CPU time of its own, if one file covers the counted runs of the round.
  - On AIX the utilization is that of physical processors if the file has the sections C(PCPU_ALL) or C(LPAR).
  - In a shared partition of AIX the figures are shares of different things. C(cpu_s) is seconds of whole processors.
    C(cpus) is the number of virtual processors, whatever the entitlement. C(busy_pct) and the other percentages are
    those of the entitlement, or of the processors consumed (C(physc)) if that is more. So C(busy_pct) × C(cpus) is not
    C(cpu_s) there. C(pct_of) names the denominator of the percentages.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  src:
    description: The file on the controller, relative to the working directory of the playbook run. A file of nmon may
      be compressed with gzip (C(.nmon.gz)).
    type: path
    required: true
  format:
    description:
      - The format of the file. V(auto) detects it.
      - V(nmon) is a file of nmon, V(mpstat) the output of C(mpstat -o JSON) with an interval, V(sadf) the output of
        C(sadf -j FILE -- -u ALL).
      - V(sar) is the binary file of C(sar -o) or C(sadc). The controller needs C(sadf) from a version of sysstat that
        knows the format of the file.
    type: str
    choices: [auto, nmon, sadf, mpstat, sar]
    default: auto
  begin:
    description:
      - Start of the window in the time of the file, V(16:30:00) for the first day of the file or V(2026-11-20
        16:30:00). Files of nmon and mpstat have the local time of the recorded host without time zone, files of sar
        and sadf have UTC. By default the start of the file.
      - Quote it, because YAML reads V(16:30:00) as a number.
    type: str
  end:
    description: End of the window, by default the end of the file. A time of day that is not after O(begin) is
      on the next day.
    type: str
  date:
    description: Day of the first report in a file of mpstat, such as V(2026-11-20). Required if the file has its date
      in a local format, which C(S_TIME_FORMAT=ISO) prevents.
    type: str
  cpus:
    description:
      - The number of processors that the percentages refer to, if the file does not say it.
      - AIX files without C(PCPU_ALL) and C(LPAR) do not say it, because their column C(PhysicalCPUs) can count
        threads. In a dedicated partition the percentages refer to its processors, in a shared one to its entitlement,
        as long as it does not use more.
      - The number in files of sysstat includes offline CPUs. If there are some, and the file has no figures of single
        CPUs (C(-P ALL)), give the number of CPUs that are online.
    type: float
  smc_r:
    description: Whether SMC-R carried traffic on this AIX host, for files of nmon. If it did, network
      counters do not apply.
    type: bool
  change:
    description: Store the intervals of the window with the records of this change.
    type: str
  host:
    description: The host of the records that the file belongs to, which is the one that measured or was imported as
      such. By default the host of the task. Needs O(change).
    type: str
  side:
    description: The recorded end of those records, their own host (V(client)) or its peer (V(server)).
    type: str
    choices: [client, server]
    default: client
  utc_offset:
    description: The offset of the file's local time from UTC, such as V(+01:00), because records have UTC. Required
      with O(change), unless the file has UTC, and an error without it. Import a file in which daylight saving time
      begins or ends in two windows, each with its offset. Quote it, because YAML reads V(+01:00) as a number.
    type: str
  replace:
    description: Use this file also for rounds that have CPU time of their own.
    type: bool
    default: false
notes:
  - A sample covers the time since the sample before. If only a part of that time lies in the window, this part counts.
  - If the clock was set back, the window must lie on one side of that. A step outside the window does not matter.
  - The intervals are stored in C(<results>/<change>/<host>/cpu-<side>.json). Importing a file again replaces its
    intervals of the same time. Intervals of other files stay.
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
  description: The CPU time of the window, and figures of the file about it. L(The documentation,
    https://github.com/zpower/sap_tuning/blob/main/docs/cpu.md#the-result-of-cpu_import) explains each of them.
    Missing values are null.
  returned: success
  type: dict
  sample: {format: nmon, host: aixapp1, system: AIX, level: 7.2.1.2, version: TOPAS-NMON, zone: local,
    begin: '2026-11-20 16:30:00', end: '2026-11-20 16:33:20', elapsed_s: 200.0, covered_s: 200.0, samples: 20,
    source: PCPU_ALL, cpu_s: 45.8, user_s: 7.8, system_s: 38.0, softirq_s: null, steal_s: null, cpus: 2.0,
    user_pct: 3.9, system_pct: 19.0, softirq_pct: null, wait_pct: 0.0, idle_pct: 77.1, steal_pct: null, busy_pct: 22.9,
    pct_of: 'the entitlement, or the processors consumed if that is more', physc: 0.31, entitlement: 1.0,
    network: {applicable: true, reason: null, interfaces: {en0: {read_kb: 500.0}}}, remarks: []}
path:
  description: The file with the stored intervals.
  returned: success, with O(change)
  type: str
  sample: results/smc-r-2026-11/aixapp1/cpu-client.json
intervals:
  description: The number of intervals of O(src) in it.
  returned: success, with O(change)
  type: int
  sample: 360
"""
