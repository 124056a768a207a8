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
description:
  - For the roles of this collection only; it may change in any version.
    Use the playbook C(zpower.sap_tuning.rollout).
  - It reads the results of other tasks of the play, decides, and keeps the state of the rollout with its summary in
    C(<results>/rollouts/<change>/). It contacts no host.
  - Each variable of the role is an option without C(rollout_) in front, and so are C(report_material_pct) and
    C(report_expected_change). An option
    that is not given defaults to its variable.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  event:
    description:
      - The point that the role has reached.
      - V(planned) forms the batches of all hosts of the play and shows the plan. If the rollout was begun before, it
        returns the batches that are left, and fails if the plan has changed. It returns its decisions as the fact
        C(__rollout_plan).
      - V(begun) begins the batch of the play and returns its stages, and fails outside the change window.
      - V(judged) decides after O(stage) whether the batch goes on, and fails if it does not.
      - V(owned) returns how a batch that stops ends on its hosts; nothing if another run has taken the rollout over.
      - V(stopped) ends a batch that does not go on, after it was taken back or left, and fails.
      - All but V(owned) fail if another run has taken the rollout over.
    type: str
    version_added: 1.0.0
    choices: [planned, begun, judged, owned, stopped]
    required: true
  stage:
    description: What the hosts have just done, for O(event=judged).
    type: str
    choices: [preflight, measuring before, applying, verifying, measuring after, confirming]
  workloads:
    description: The workloads that the guard measures, for O(event=planned).
    type: list
    elements: str
    default: []
  reason:
    description: Why the batch stopped if no gate says so, for O(event=stopped).
    type: str
    default: a task failed
"""

EXAMPLES = r"""
- name: Plan the batches
  zpower.sap_tuning.rollout:
    event: planned
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
  returned: event=planned
  type: list
  elements: str
measurement:
  description: The change of the guard's measurement.
  returned: event=begun
  type: str
  sample: rps-2026-11-batch-2
stages:
  description: The stages that the role goes through.
  returned: event=begun or event=owned
  type: list
  elements: dict
"""
