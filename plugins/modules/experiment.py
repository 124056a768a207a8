#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: experiment
short_description: Plan an experiment with several levels of a tuning, go on with it, and tell which level won
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Keeps the plan of an experiment in C(<results>/<change>/experiment.json) on the controller, with its factors, their
    levels, the order in which they are measured and the seed that this order was drawn with.
  - Reads from the records of the change which steps are done, so that an experiment that was interrupted goes on.
  - It changes nothing on any host. The role C(zpower.sap_tuning.experiment) applies the levels, measures them and takes
    them back; use that.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  state:
    description:
      - V(planned) makes the plan, or goes on with the one that is there, and returns the steps that are left. A plan
        with other factors, baseline, rounds or seed under the name of one that is there is refused.
      - V(decided) returns the level that won, from the records of the change.
      - V(ended) notes in the plan that the session which V(planned) began is over, and how.
    type: str
    choices: [planned, decided, ended]
    default: planned
  change:
    description: The name of the change, letters, digits, C(.), C(_) and C(-), at most 64 characters.
    type: str
    required: true
  results:
    description: The results folder on the controller, relative to the working directory of the playbook run.
    type: path
    default: results
  factors:
    description:
      - What is varied. With more than one factor, every combination of their levels is measured. Required for
        O(state=planned).
    type: list
    elements: dict
    suboptions:
      name:
        description: The name of the factor.
        type: str
        required: true
      levels:
        description: At least two levels.
        type: list
        elements: dict
        required: true
        suboptions:
          name:
            description:
              - The name of the level, a part of the names of records. Quote V('off') and V('on'), which YAML takes for
                true and false.
            type: str
            required: true
          vars:
            description:
              - Variables of tuning roles and their values. All levels of a factor set the same variables.
            type: dict
          found:
            description: This level is the state in which the hosts were found. It has no O(factors[].levels[].vars).
            type: bool
            default: false
  baseline:
    description:
      - The level that all others are compared with. With several factors, the names of their levels joined by points,
        such as V(found.off). By default the first level of each factor.
    type: str
  rounds:
    description: How often each combination of levels is measured.
    type: int
    default: 6
  seed:
    description:
      - What the order of the levels within each block is drawn with. By default it follows from the name of the change.
    type: int
  hosts:
    description: The hosts that take part, with O(state=planned). By default those of the play, or of its batch.
    type: list
    elements: str
  material_pct:
    description: With O(state=decided), differences up to this many percent are not material.
    type: float
    default: 5.0
  failures:
    description: With O(state=ended), by host why it did not do all steps. Empty texts say nothing.
    type: dict
    default: {}
  kept:
    description: With O(state=ended), the level that the hosts were left with. Nothing where all was taken back.
    type: str
seealso:
  - module: zpower.sap_tuning.report
"""

EXAMPLES = r"""
- name: What an experiment would do
  zpower.sap_tuning.experiment:
    change: rps-levels
    factors:
      - name: rps
        levels:
          - name: 'off'
            vars: {rps_state: 'off', rps_every: 1}
          - name: all
            vars: {rps_state: present, rps_every: 1}
          - name: every-4
            vars: {rps_state: present, rps_every: 4}
  check_mode: true
  run_once: true
  delegate_to: localhost

- name: Which level won
  zpower.sap_tuning.experiment:
    state: decided
    change: rps-levels
  run_once: true
  delegate_to: localhost
  register: decision
"""

RETURN = r"""
plan:
  description: The plan, with its RV(ignore:baseline), RV(ignore:cells), RV(ignore:rounds), RV(ignore:seed) and
    RV(ignore:order). A cell is a combination of levels; RV(ignore:probe) are the variables with which tunings are
    looked at that are as found.
  returned: state=planned
  type: dict
  sample:
    baseline: 'off'
    rounds: 1
    seed: 7
    order: [['off', all]]
    cells:
      - {name: 'off', levels: {rps: 'off'}, vars: {rps_state: 'off', rps_every: 1}, probe: {}, set: [rps], found: []}
      - {name: all, levels: {rps: all}, vars: {rps_state: present, rps_every: 1}, probe: {}, set: [rps], found: []}
steps:
  description: The steps that are left, in their order, each with the hosts that have to measure.
  returned: state=planned
  type: list
  elements: dict
  sample:
    - {phase: all, round: 1, hosts: [app1], name: all, vars: {rps_state: present}, probe: {}, set: [rps], found: []}
tunings:
  description: The tunings that take part, or with O(state=decided) those that the winner sets.
  returned: state=planned or state=decided
  type: list
  elements: str
  sample: [rps]
resumed:
  description: Whether the plan was there already.
  returned: state=planned
  type: bool
  sample: false
remarks:
  description: What speaks against this plan.
  returned: state=planned
  type: list
  elements: str
  sample: [3 rounds cannot have a winner: with 2 levels beside the baseline it takes 5]
winner:
  description: The level that won, or null.
  returned: state=decided
  type: str
  sample: every-4
vars:
  description: The variables of the winner.
  returned: state=decided
  type: dict
  sample: {rps_state: present, rps_every: 4}
progress:
  description: How far the experiment came, in steps that every host has done.
  returned: state=decided
  type: dict
  sample: {done: 24, steps: 24, complete: true}
failures:
  description: By host why it did not do all steps.
  returned: state=ended, when a session was open
  type: dict
  sample: {}
"""
