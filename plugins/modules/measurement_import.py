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
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Makes measurement records from elapsed times, units of work, utilizations, latencies and other figures of a batch
    job or a benchmark, with their source. They are compared and reported like what this collection measures itself.
  - The figures come from variables, from a CSV file whose first line names the fields, or from a YAML or JSON file.
  - A row is one run. Rows with the same change, host, peer, workload, phase and round are the runs of that round. Where
    no row of a state has a round, each row is a round of its own, in the order of the rows.
  - All rows are checked before the first record is written. A row that cannot be used is told with its line and
    with what would be right, and then nothing is imported.
  - The same rows give the same records. Importing them again changes nothing.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
attributes:
  check_mode:
    description: Checks everything, predicts which records would be written, and writes none.
options:
  change:
    description:
      - The change that the records belong to, for rows that do not name one.
      - Letters, digits, C(.), C(_) and C(-), at most 64 characters, a letter or digit first.
    type: str
  src:
    description:
      - A CSV, YAML or JSON file on the controller, relative to the working directory of the playbook run, in UTF-8.
      - In YAML it holds a list of rows, or the two fields C(defaults) and C(rows).
      - In CSV the fields of a mapping are columns with a point in their names, as in C(client.utilization_pct).
      - Exactly one of O(src) and O(rows) has to be given.
    type: path
  format:
    description: What O(src) is. V(auto) goes by the ending C(.csv), C(.yml), C(.yaml) or C(.json).
    type: str
    choices: [auto, csv, yaml]
    default: auto
  delimiter:
    description: What separates the columns of a CSV file, one character; a tab is C("\t") in double quotes.
    type: str
    default: ','
  rows:
    description:
      - The rows as variables. An empty value is one that is not known.
      - All suboptions can stand in a file as well, and in O(defaults).
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
        description: The other system that had a part in it, V(local) by default.
        type: str
      phase:
        description: V(before), V(after) or another state of the change. Required.
        type: str
      round:
        description:
          - The round that this run belongs to, from 1 on.
          - The round is the unit of evidence, and five of each state are the least from which a verdict is drawn.
        type: int
      workload:
        description: The name of what was run, for example V(account-settlement). Required.
        type: str
      warmup:
        description: Whether the run is a warm-up that does not count. Needs O(rows[].round).
        type: bool
      ok:
        description: Whether the run ended well. It did, unless there is an O(rows[].error).
        type: bool
      error:
        description: Why the run failed. It is kept as a failed run, and none of its figures is used.
        type: str
      started:
        description:
          - When the run began, with its time zone, as in V(2026-11-20T16:05:00+01:00) or V(2026-11-20T15:05:00Z).
          - Without it nobody can see whether the states took turns, and the report says so.
        type: str
      finished:
        description: When it ended.
        type: str
      elapsed_s:
        description:
          - Elapsed time in seconds, by default from O(rows[].started) to O(rows[].finished).
          - It decides where O(rows[].metric) names nothing else.
        type: float
      units:
        description: The units of work that the run did. ETR and ITR, and CPU time per unit, follow from it.
        type: float
      unit:
        description: What one unit of work is, in a word, for example V(account).
        type: str
      latency_us:
        description: Latency in µs. It decides where there is no elapsed time and O(rows[].metric) names nothing else.
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
          - The application's end. CPU time is given in one way, as utilization, as CPU seconds, or as user and system
            time. All of them are over the run and need the elapsed time.
          - C(system), C(arch), C(kernel), C(machine), C(cpus_online), C(interface) and C(mtu) have to be equal in both
            states.
        type: dict
        suboptions: &end
          utilization_pct:
            description:
              - Percent of all processors in use. The CPU time follows where C(cpus_online) is given; without it there
                is an ITR, and no CPU time.
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
            description:
              - The CPUs that the utilization is a share of, threads where it counts threads.
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
        description: What else defines the workload, by name. It has to be equal in both states.
        type: dict
      context:
        description:
          - Settings of the application that are no tuning of this collection, by name, for example
            C(packet_size), C(number_range_buffer) or C(jobs).
          - They have to be equal in both states, unless the report is told which of them were to change.
        type: dict
      source:
        description: Where the figures come from. Required, with the kind and with a file or a text.
        type: dict
        suboptions:
          kind:
            description: What it is.
            type: str
            choices: [sap_job_log, rmf, sd_benchmark, sgen, other]
          file:
            description: The file, the name of O(src) by default.
            type: str
          text:
            description: Where it can be looked up. Required for V(other).
            type: str
      bytes:
        description: Size of one message, where that makes sense.
        type: int
      loops:
        description: Messages of a run, where that makes sense.
        type: int
      connections:
        description: Parallel connections, jobs or processes, 1 by default.
        type: int
      control:
        description: Whether this is a workload that the change cannot touch. What it does shows what moved by itself.
        type: bool
  defaults:
    description:
      - Fields as in O(rows) for all rows that do not have them. Those of the file come before these.
      - Mappings such as C(client) are filled up field by field.
    type: dict
    default: {}
  results:
    description: The results folder on the controller, relative to the working directory of the playbook run.
    type: path
    default: results
  replace:
    description:
      - Whether a record that was imported before and says otherwise is replaced. Without it, that is an error.
      - Records that this collection measured itself are never replaced.
      - Where rounds are numbered in the order of the rows, fewer rows than before are an error that names the records
        to remove, because the last ones would be left and count as well.
    type: bool
    default: false
notes:
  - It needs no connection to any host. Run it once for a play, with C(run_once).
  - Numbers have a point and no separators of thousands.
seealso:
  - module: zpower.sap_tuning.report
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
  description: How many records are new.
  returned: success
  type: int
  sample: 10
replaced:
  description: How many records took the place of others.
  returned: success
  type: int
  sample: 0
unchanged:
  description: How many records were there already.
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
  description: What the records say, one entry for each change, host, peer, workload and phase.
  returned: success
  type: list
  elements: dict
  contains:
    change:
      description: The change.
      returned: success
      type: str
      sample: rps-2026-11
    host:
      description: The host.
      returned: success
      type: str
      sample: app1
    peer:
      description: The peer.
      returned: success
      type: str
      sample: db1
    workload:
      description: The workload.
      returned: success
      type: str
      sample: settlement
    phase:
      description: The phase.
      returned: success
      type: str
      sample: before
    rounds:
      description: Rounds.
      returned: success
      type: int
      sample: 5
    runs_ok:
      description: Runs that count and ended well.
      returned: success
      type: int
      sample: 5
    runs_failed:
      description: Runs that count and failed.
      returned: success
      type: int
      sample: 0
    metric:
      description: The figure that decides, with unit and direction.
      returned: success
      type: dict
      sample: {name: elapsed_s, unit: s, better: lower}
    median:
      description: The median of the rounds, null where no run ended well.
      returned: success
      type: float
      sample: 9399.0
    etr_per_h:
      description: External throughput rate, units of work per hour of elapsed time. Null where a run tells not both.
      returned: success
      type: float
      sample: 22981168.2
    client:
      description: CPU time of the application's end, null where a run does not tell it.
      returned: success
      type: dict
      contains: &kpis
        utilization_pct:
          description: Percent of all processors.
          returned: success
          type: float
          sample: 80.0
        cpu_s:
          description: CPU seconds of all runs, null where only a share is known.
          returned: success
          type: float
          sample: 962457.6
        cpu_us_per_unit:
          description: CPU time of a unit of work in µs.
          returned: success
          type: float
          sample: 16041.0
        itr_per_h:
          description: Internal throughput rate, ETR divided by the utilization.
          returned: success
          type: float
          sample: 28726460.2
        itr_reason:
          description: Why there is no ITR.
          returned: success
          type: str
          sample: null
    server:
      description: The same of the database's end.
      returned: success
      type: dict
      contains: *kpis
"""
