#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: measurement_scaling
short_description: One metric over 1 to n connections, jobs or guests
version_added: 0.1.0
description:
  - Reads the records of one change, puts workloads that differ only in O(x) on one curve, and shows each point
    relative to the first one, with its efficiency and the knee of the curve.
  - Work done is the amount of work in the same time, relative to the first point. Efficiency is work done relative to
    O(x). It is 100 % if twice the connections do twice the work.
  - The knee is the point farthest above the straight line from the first point to the last one. A curve that is
    nowhere more than 10 % of its own rise above that line is nearly straight and has no knee.
  - Each phase has its own curve. If every phase holds a single O(x), for example if each number of guests was
    measured in its own phase, the phases are the points of one curve.
  - Writes C(scaling-<x>.json), C(.html), C(.md) and C(.csv) into the folder of the change. The same records
    give the same bytes.
  - Prints the headline and the path of the page.
  - An option that is not given defaults to its variable, such as C(scaling_x), if that is set.
  - It needs no connection to any host. Run it once per play, with C(run_once).
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  change:
    description: The change to read, the name of its folder below O(results).
    type: str
    default: ""
  x:
    description: The x axis of the curve, V(connections), C(params.<name>) for a parameter of the workload, or
      C(context.<name>) for a setting noted in the records, such as V(context.guests).
    type: str
    default: connections
  work:
    description:
      - How a metric that is a time translates into work done. Rates are those of the whole system and ignore it.
      - V(each) if each of the O(x) does as much as the first one does alone, such as connections that each wait for
        their own answer. V(whole) if the work is divided among them, such as jobs that share a batch.
    type: str
    choices: [each, whole]
    default: each
  workload:
    description: Only workloads that match this pattern, with wildcards as in file names.
    type: str
    default: '*'
  phases:
    description: Only these phases. By default all.
    type: list
    elements: str
    default: []
  formats:
    description: The files to write.
    type: list
    elements: str
    choices: [json, html, md, csv]
    default: [json, html, md, csv]
seealso:
  - module: zpower.sap_tuning.measurement_report
  - module: zpower.sap_tuning.measurement_trend
"""

EXAMPLES = r"""
- name: What more connections bring, before and after a change
  zpower.sap_tuning.measurement_scaling:
    change: rps-2026-11
  run_once: true

- name: Elapsed time of a batch over its parallel jobs
  zpower.sap_tuning.measurement_scaling:
    change: settlement-jobs
    x: context.jobs
    work: whole
  run_once: true

- name: A rate over the processes of fio
  zpower.sap_tuning.measurement_scaling:
    change: disk-2026-11
    x: params.processes
    workload: fio-randread-*
  run_once: true
"""

RETURN = r"""
headline:
  description: The scaling in one sentence.
  returned: success
  type: str
  sample: At 250 connections, 13.9 to 30.4 times the work of 1; the curves bend at 50.
curves:
  description: The number of curves.
  returned: success
  type: int
  sample: 2
paths:
  description: The file of each format, also in check mode.
  returned: success
  type: dict
  sample: {"json": "results/rps-2026-11/scaling-connections.json"}
"""
