#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: experiment
short_description: Plan a measurement of several states, go on with it, and tell which level won
version_added: 0.1.0
description:
  - For the roles of this collection only; it may change in any version.
    Use the roles C(experiment) and C(before_after).
  - Keeps the plan of an experiment in C(<results>/<change>/experiment.json) on the controller, with its factors,
    their levels, the order in which they are measured and the seed that this order was drawn with.
  - Reads from the records of the change which steps are done, so that an interrupted experiment can be resumed.
  - In the role C(zpower.sap_tuning.before_after), whose session has the two states C(before) and C(after), it reads
    from the records where to continue, and keeps no plan.
  - It changes nothing on any host. The roles apply the states, measure them and take them back.
  - The variables of the role, such as C(experiment_factors), are options without the name of the role in front, and
    so is C(report_expected_change). An option that is not given has the value of its variable.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  event:
    description:
      - The point that the role has reached.
      - V(begun) returns what all hosts of C(before_after) have in common, such as the number of the session. It fails
        if the hosts ask for different plans, if the change cannot be continued, or if measuring is pointless according
        to a calibration.
      - V(planned) makes the plan, or resumes the existing one, and returns the steps that are left. A plan
        with other factors, baseline or seed under the name of an existing one is refused. More rounds or more
        minutes continue an existing one. In C(before_after), it returns the session of this host.
      - V(looked) ends the experiment if every level is decided, or if the next O(part) would end after
        O(max_minutes) of the plan.
      - V(decided) returns the level that won, from the records of the change.
      - V(ended) records in the plan how the session that V(planned) began has ended. Without O(kept) it returns
        the level that won, too. In C(before_after), it returns how the host is left.
      - The roles C(experiment) and C(before_after) call the others in each step. V(set) fails if O(level) is not in
        force, V(held) if it is no longer in force, and V(measured) keeps the tuning records of the step, if the peers
        are at the same one.
    type: str
    version_added: 1.0.0
    choices: [begun, planned, set, held, measured, looked, decided, ended]
    default: planned
  max_minutes:
    description:
      - Do not start rounds that would exceed this many minutes; V(0) means no limit. The rounds before the first
        look are always measured.
    type: float
    version_added: 0.9.0
    default: 0.0
  hosts:
    description: The hosts that take part, with O(event=planned). By default those of the play, or of its batch.
    type: list
    elements: str
  kept:
    description: With O(event=ended), the level that the hosts keep. Leave it out if everything was taken back.
    type: str
  level:
    description: The step, one of RV(steps), or a cell of RV(plan). For V(set), V(held) and V(measured) of O(event).
    type: dict
    version_added: 0.9.0
  step:
    description: The number of the step, from 0.
    type: int
    version_added: 1.0.0
  part:
    description: One of RV(parts), for O(event=looked).
    type: dict
    version_added: 0.9.0
  tunings:
    description: The tunings of this host that take part, for the calls between the steps.
    type: list
    version_added: 0.9.0
    elements: str
    default: []
seealso:
  - module: zpower.sap_tuning.measurement_report
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
    event: decided
    change: rps-levels
  run_once: true
  delegate_to: localhost
  register: decision
"""

RETURN = r"""
plan:
  description: The plan, with its RV(ignore:baseline), RV(ignore:cells), RV(ignore:rounds), RV(ignore:max_rounds),
    RV(ignore:seed) and RV(ignore:order). A cell is a combination of levels; RV(ignore:probe) are the variables
    for checking tunings that stay as found.
  returned: event=planned
  type: dict
  sample:
    baseline: 'off'
    rounds: 1
    max_rounds: 1
    seed: 7
    order: [['off', all]]
    cells:
      - {name: 'off', levels: {rps: 'off'}, vars: {rps_state: 'off', rps_every: 1}, probe: {}, set: [rps], found: []}
      - {name: all, levels: {rps: all}, vars: {rps_state: present, rps_every: 1}, probe: {}, set: [rps], found: []}
steps:
  description: The steps that are left, in their order, each with the hosts that must measure.
  returned: event=planned
  type: list
  elements: dict
  sample:
    - {phase: all, round: 1, session: 1, label: all 1, hosts: [app1], name: all, vars: {rps_state: present}, probe: {},
       back: [rps], set: [rps], found: []}
parts:
  description:
    - Which of RV(steps) lie before each look at the records, from RV(ignore:begin) to before RV(ignore:end), counted
      from 0. RV(ignore:rounds) is the number of rounds per level at its end, RV(ignore:next) the number of steps of the
      next part.
  returned: event=planned
  type: list
  elements: dict
  sample: [{rounds: 6, begin: 0, end: 12, next: 4}, {rounds: 8, begin: 12, end: 16, next: 0}]
tunings:
  description: The tunings that take part; with V(decided) and V(ended) of O(event) those that the winner sets.
  returned: event=planned, event=decided or event=ended
  type: list
  elements: str
  sample: [rps]
remarks:
  description: Objections to this plan.
  returned: event=planned
  type: list
  elements: str
  sample: ['6 rounds are too few for a winner: 2 levels beside the baseline need 8']
winner:
  description: The level that won, or null.
  returned: event=decided or event=ended
  type: str
  sample: every-4
vars:
  description: The variables of the winner.
  returned: event=decided or event=ended
  type: dict
  sample: {rps_state: present, rps_every: 4}
progress:
  description: How far the experiment came, in steps that every host has done.
  returned: event=decided or event=ended
  type: dict
  sample: {done: 24, steps: 24, complete: true}
"""
