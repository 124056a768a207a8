#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: measurement_import
short_description: Measurement records from figures that were measured elsewhere
version_added: 0.1.0
description:
  - Makes measurement records from elapsed times, units of work, utilizations, latencies and other figures of a batch
    job or a benchmark, with their source. They are compared and reported like what this collection measures itself.
  - The figures come from variables, from a CSV file whose first line names the fields, or from a YAML or JSON file.
  - A row is one run. Rows with the same change, host, peer, workload, phase and round are the runs of that round. If
    no row of a state has a round, each row is its own round, in the order of the rows.
  - All rows are checked before the first record is written. If a row cannot be used, the error names its line and
    says what would be right, and nothing is imported.
  - The same rows give the same records. Importing them again changes nothing.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  change:
    description:
      - The change that the records belong to, for rows that do not name one.
      - At most 64 letters, digits, C(.), C(_) and C(-), a letter or digit first.
    type: str
  src:
    description:
      - A CSV, YAML or JSON file on the controller, relative to the working directory of the playbook run, in UTF-8.
      - In YAML it holds a list of rows, or the two fields C(defaults) and C(rows).
      - In CSV the fields of a mapping are columns with a point in their names, as in C(client.utilization_pct).
      - Exactly one of O(src) and O(rows) must be given.
    type: path
  format:
    description: The format of O(src). V(auto) goes by the ending C(.csv), C(.yml), C(.yaml) or C(.json).
    type: str
    choices: [auto, csv, yaml]
    default: auto
  delimiter:
    description: The character that separates the columns of a CSV file. A tab is C("\t") in double quotes.
    type: str
    default: ','
  rows:
    description:
      - The rows as variables. An empty value is an unknown one.
      - Rows in a file, and O(defaults), have the same fields.
    type: list
    elements: dict
    suboptions:
      change:
        description: The change, O(change) by default, so that one file can hold a history of changes.
        type: str
      host:
        description: The host that was measured, usually an inventory name. Required.
        type: str
      peer:
        description: The other system of the measurement, V(local) by default.
        type: str
      phase:
        description: V(before), V(after) or another state of the change. Required.
        type: str
      round:
        description:
          - The round that this run belongs to, from 1 on.
          - The round is the unit of evidence. A verdict needs at least six rounds of each state.
        type: int
      workload:
        description: The name of the workload, for example V(account-settlement). Required.
        type: str
      warmup:
        description: Whether the run is a warm-up that does not count. Needs O(rows[].round).
        type: bool
      ok:
        description: Whether the run succeeded, by default if there is no O(rows[].error).
        type: bool
      error:
        description: Why the run failed. It is kept as a failed run, and its figures are not used.
        type: str
      started:
        description:
          - When the run began, with its time zone, as in V(2026-11-20T16:05:00+01:00) or V(2026-11-20T15:05:00Z).
          - Without it the report cannot see whether the states alternated, and says so.
        type: str
      finished:
        description: When it ended.
        type: str
      elapsed_s:
        description:
          - Elapsed time in seconds, by default from O(rows[].started) to O(rows[].finished).
          - It decides if O(rows[].metric) names nothing else.
        type: float
      units:
        description: Units of work of the run. They give ETR, ITR and CPU time per unit.
        type: float
      unit:
        description: One unit of work in a word, for example V(account).
        type: str
      latency_us:
        description: Latency in µs. It decides if there is no elapsed time and O(rows[].metric) names nothing else.
        type: float
      metric:
        description:
          - The figure that decides. A name alone is enough for C(elapsed_s) and C(latency_us).
          - A name is of small letters, digits and underscores, with the unit last.
        type: dict
        suboptions:
          name:
            description: One of O(rows[].metrics), C(elapsed_s) or C(latency_us).
            type: str
          unit:
            description: Its unit as shown, for example V(dialog steps/h).
            type: str
          better:
            description: The direction.
            type: str
            choices: [lower, higher]
      metrics:
        description: Other figures, numbers by name, for example C(dialog_steps_per_h) or C(response_ms).
        type: dict
      client:
        description:
          - The application's end. Give its CPU time in one way, as utilization, as CPU seconds, or as user and system
            time. All of them are over the run and need the elapsed time.
          - C(system), C(arch), C(kernel), C(machine), C(cpus_online), C(interface) and C(mtu) must be
            equal in both states.
        type: dict
        suboptions: &end
          utilization_pct:
            description:
              - Percent of all processors in use. With C(cpus_online) it gives the CPU time, without only an ITR.
            type: float
          cpu_s:
            description: CPU seconds, user and system together.
            type: float
          user_s:
            description: CPU seconds of user code.
            type: float
          system_s:
            description: CPU seconds of the kernel, interrupts too.
            type: float
          steal_s:
            description: CPU seconds that a hypervisor took.
            type: float
          cpus_online:
            description: The CPUs that the utilization refers to; threads if it counts threads.
            type: int
          system:
            description: Operating system.
            type: str
          arch:
            description: Architecture.
            type: str
          kernel:
            description: Kernel, or level of the operating system.
            type: str
          machine:
            description: Machine type.
            type: str
          interface:
            description: Network interface.
            type: str
          mtu:
            description: Its MTU.
            type: int
      server:
        description: The database's end, as O(rows[].client).
        type: dict
        suboptions: *end
      params:
        description: What else defines the workload, by name. It must be equal in both states.
        type: dict
      context:
        description:
          - Settings of the application that are not tunings of this collection, by name, for example
            C(packet_size), C(number_range_buffer) or C(jobs).
          - They must be equal in both states, unless the report declares them.
        type: dict
      source:
        description: Where the figures come from. Required, with the kind and with a file or a text.
        type: dict
        suboptions:
          kind:
            description: The kind of source.
            type: str
            choices: [sap_job_log, rmf, sd_benchmark, sgen, other]
          file:
            description: The file, the name of O(src) by default.
            type: str
          text:
            description: Where it can be looked up. Required for V(other).
            type: str
      bytes:
        description: Size of one message, if there are messages.
        type: int
      loops:
        description: Messages of a run, if there are messages.
        type: int
      connections:
        description: Parallel connections, jobs or processes, 1 by default.
        type: int
      control:
        description: Whether this is a workload that the change cannot affect. It shows changes of the environment.
        type: bool
  defaults:
    description:
      - Fields as in O(rows) for all rows that do not have them. Defaults in the file precede these.
      - Mappings such as C(client) are completed field by field.
    type: dict
    default: {}
  replace:
    description:
      - Replace an earlier import of a record that differs. By default a difference is an error.
      - Records that this collection measured itself are never replaced.
      - If rounds are numbered in the order of the rows, fewer rows than before are an error that names the records to
        remove, because the last ones would remain and count, too.
    type: bool
    default: false
notes:
  - It needs no connection to any host. Run it once per play, with C(run_once).
  - Numbers have a point and no separators of thousands.
seealso:
  - module: zpower.sap_tuning.measurement_report
  - module: zpower.sap_tuning.cpu_import
"""

EXAMPLES = r"""
- name: Five nights of a batch job before a change and five after it, from a file
  zpower.sap_tuning.measurement_import:
    change: rps-2026-11
    src: settlement.csv
    defaults:
      host: app1
      peer: db1
      workload: settlement
      unit: account
      source:
        kind: sap_job_log
      context:
        jobs: 128
        packet_size: 1000
  run_once: true

# settlement.csv:
# phase,started,elapsed_s,units,client.utilization_pct,client.cpus_online,server.utilization_pct
# before,2026-11-09T22:00:00+01:00,9399,60000000,80,128,44
# before,2026-11-10T22:00:00+01:00,9412,60000000,80,128,44

- name: A benchmark with a figure of its own, from variables
  zpower.sap_tuning.measurement_import:
    change: sched-2026-11
    rows: "{{ benchmark_rows }}"
    defaults:
      host: app1
      workload: sd
      metric: {name: dialog_steps_per_h, unit: 1/h, better: higher}
      source: {kind: sd_benchmark, text: 'kit of 2026-10, run by hand'}
  vars:
    benchmark_rows:
      - {phase: before, metrics: {dialog_steps_per_h: 412000, response_ms: 980}}
      - {phase: after, metrics: {dialog_steps_per_h: 441000, response_ms: 960}}
  run_once: true
"""

RETURN = r"""
created:
  description: The number of new records.
  returned: success
  type: int
  sample: 10
replaced:
  description: The number of records that replaced others.
  returned: success
  type: int
  sample: 0
unchanged:
  description: The number of records that existed already.
  returned: success
  type: int
  sample: 0
paths:
  description: The records of these rows, new or not.
  returned: success
  type: list
  elements: str
  sample: [results/rps-2026-11/app1/before-1-settlement-db1.json]
states:
  description: The figures of the records, one entry per change, host, peer, workload and phase. L(The
    documentation, https://github.com/zpower/sap_tuning/blob/main/docs/imports.md#the-result) explains them.
    Unknown figures are null.
  returned: success
  type: list
  elements: dict
  sample:
    - {change: rps-2026-11, host: app1, peer: db1, workload: settlement, phase: before, rounds: 5, runs_ok: 5,
      runs_failed: 0, metric: {name: elapsed_s, unit: s, better: lower}, median: 9399.0, etr_per_h: 22981168.2,
      client: {utilization_pct: 80.0, cpu_s: 962457.6, cpu_us_per_unit: 16041.0, itr_per_h: 28726460.2,
      itr_reason: null}, server: {utilization_pct: 44.0, cpu_s: null, cpu_us_per_unit: null, itr_per_h: 52229927.7,
      itr_reason: null}}
"""
