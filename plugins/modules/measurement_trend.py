#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: measurement_trend
short_description: One metric over many changes
version_added: 0.1.0
description:
  - Puts changes into their order. For each host pair and workload it shows the effect of each change on the deciding
    metric, the movement between the changes, and the effect of all changes together.
  - Each change keeps the gain, interval and verdict of its own report. States of different changes were not measured
    together, so movement between two changes is shown as a gap and credited to neither.
  - Writes C(<name>.json), C(.html), C(.md) and C(.csv) into the results folder. The same records give the same bytes.
  - Prints the headline and the path of the page.
  - An option that is not given defaults to its variable, such as C(trend_workload), if that is set.
  - It needs no connection to any host. Run it once per play, with C(run_once).
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  name:
    description: The name of the trend and of its files. Letters, digits, C(.), C(_) and C(-).
    type: str
    default: trend
  changes:
    description:
      - The changes in their order. An entry is the name of a change, or a dict of C(change) and optionally C(label)
        (its name in the trend), C(before) and C(after) (the phases that are its two states; of an experiment, the
        names of two levels).
      - By default all changes of O(results) that have records of the phases C(before) and C(after) with their times,
        in the order in which they were measured.
    type: list
    elements: raw
    default: []
  workload:
    description: Only workloads that match this pattern, with wildcards as in file names.
    type: str
    default: '*'
  metric:
    description: Only workloads whose deciding metric matches this pattern.
    type: str
    default: '*'
  material_pct:
    description: Differences up to this many percent are not material, as in M(zpower.sap_tuning.measurement_report).
    type: float
    default: 5.0
  expected_change:
    description: Items that differ between the two states of a change on purpose, as in
      M(zpower.sap_tuning.measurement_report).
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
  - module: zpower.sap_tuning.measurement_scaling
"""

EXAMPLES = r"""
- name: What all changes of this year did to the settlement
  zpower.sap_tuning.measurement_trend:
    name: settlement-2026
    workload: settlement
    changes:
      - {change: hipersockets-2026-02, label: HiperSockets}
      - {change: topology-2026-05, label: topology}
      - rps-2026-11
  run_once: true

- name: Every change of the results folder, in the order of time
  zpower.sap_tuning.measurement_trend:
    results: /srv/measurements
  run_once: true

- name: Phases of one import, each against the one before it
  zpower.sap_tuning.measurement_trend:
    name: banking
    metric: elapsed_s
    changes:
      - {change: banking, before: osa, after: hipersockets, label: HiperSockets}
      - {change: banking, before: hipersockets, after: z14, label: z14}
  run_once: true
"""

RETURN = r"""
headline:
  description: The trend in one sentence.
  returned: success
  type: str
  sample: >-
    av2_us went from 100 µs to 80 µs over 1 change: 20.0 % less. The changes alone: 25.0 % better (+22.2 % to +27.8 %).
changes:
  description: The changes in their order.
  returned: success
  type: list
  elements: str
  sample: [hipersockets-2026-02, topology-2026-05, rps-2026-11]
paths:
  description: The file of each format, also in check mode.
  returned: success
  type: dict
  sample: {"json": "results/trend.json", "html": "results/trend.html"}
"""
