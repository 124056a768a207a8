#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: rollout
short_description: Decide the batches of a rollout, and whether it goes on
version_added: 0.9.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - A part of the role C(rollout), which runs the tunings. Use the playbook C(zpower.sap_tuning.rollout).
  - It reads the results of other tasks of the play, decides, and keeps the state of the rollout with its summary in
    C(<results>/rollouts/<change>/). It contacts no host.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  state:
    description:
      - V(planned) forms the batches of all hosts of the play and shows the plan. If the rollout was begun before, it
        returns the batches that are left, and fails if the plan has changed. It returns its decisions as the fact
        C(__rollout_plan).
      - V(begun) begins the batch of the play, and fails outside the change window.
      - V(judged) decides after O(stage) whether the batch goes on, and fails if it does not.
      - V(stopped) ends a batch that does not go on, after it was taken back or left, and fails.
    type: str
    choices: [planned, begun, judged, stopped]
    required: true
  stage:
    description: What the hosts have just done, for O(state=judged).
    type: str
    choices: [preflight, measuring before, applying, verifying, measuring after, confirming]
  change:
    description: The name of the rollout, for O(state=planned) and O(state=begun).
    type: str
    default: ""
  tunings:
    description: The name of the variable with the tunings of a host, for O(state=planned).
    type: str
    default: zpower_tunings
  canaries:
    description: The hosts of the first batch. A number, a percentage, or names of hosts and groups.
    type: raw
    default: 1
  batches:
    description: The sizes of the batches behind the canaries, numbers or percentages. The last one repeats.
    type: raw
    default: ["25%"]
  by:
    description: Groups. No batch has hosts of two of them.
    type: raw
    default: []
  soak:
    description: The time between applying and verifying, as seconds or such as V(10m).
    type: raw
    default: 0
  not_before:
    description: No batch begins before this time, such as V(2026-11-28 22:00), or V(22:00) for every day.
    type: str
    default: ""
  not_after:
    description: No batch begins after this time.
    type: str
    default: ""
  time_zone:
    description: The time zone of these times, such as V(Europe/Berlin). If empty, UTC.
    type: str
    default: ""
  guard:
    description: Measure each batch before and after, and stop if it became worse.
    type: bool
    default: false
  workloads:
    description: The workloads that the guard measures, for O(state=planned).
    type: list
    elements: str
    default: []
  guard_cpu_pct:
    description: By how many percent the CPU time per unit of work may grow.
    type: float
    default: 5
  on_failure:
    description: Whether the hosts of a batch that stops get back the values they had before it, or keep the new ones.
    type: str
    choices: [back, leave]
    default: back
  reason:
    description: Why the batch stopped if no gate says so, for O(state=stopped).
    type: str
    default: a task failed
  confirm_within:
    description:
      - After this time a host takes its values back by itself, unless its batch was confirmed. V(0) means that it does
        not. V(auto) is O(soak) and an hour, with O(guard) two hours.
    type: str
    default: auto
  material_pct:
    description: The smallest change that counts for the guard, in percent, as in M(zpower.sap_tuning.report).
    type: float
    default: 5
  expected_change:
    description: Items that may differ between the states, as in M(zpower.sap_tuning.report).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Plan the batches
  zpower.sap_tuning.rollout:
    state: planned
    change: rps-2026-11
    canaries: 1
    batches: [2, "50%"]
  run_once: true
  delegate_to: localhost
  delegate_facts: true
"""

RETURN = r"""
lines:
  description: The plan in sentences.
  returned: state=planned
  type: list
  elements: str
again:
  description: Whether the batch was begun before and did not end well.
  returned: state=begun
  type: bool
  sample: false
measurement:
  description: The change of the guard's measurement.
  returned: state=begun
  type: str
  sample: rps-2026-11-batch-2
soak:
  description: Seconds.
  returned: state=begun
  type: int
  sample: 600
measures:
  description: Whether the guard measures.
  returned: state=begun
  type: bool
  sample: true
on_failure:
  description: The option of this name.
  returned: state=begun
  type: str
  sample: back
"""
