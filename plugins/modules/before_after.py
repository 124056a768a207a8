#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: before_after
short_description: Decide the order and the end of a measurement of two states
version_added: 0.9.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - A part of the role C(before_after), which applies the tunings and measures. Use that role.
  - It reads the results of other tasks of the play, decides, and keeps tuning records. It contacts no host.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  state:
    description:
      - V(begun) returns what all hosts of the play have in common, such as the number of the session. It fails if the
        hosts ask for different plans, if the change cannot be continued, or if measuring is pointless according to a
        calibration.
      - V(found) returns the tunings that have their first values, after the way back was predicted.
      - V(planned) returns the steps of this host and the state to go back to, after the tunings were predicted.
      - V(described) returns the plan of the play in sentences.
      - V(reached) fails if a peer is not in the state of O(step), and keeps the tuning records of the step.
      - V(looked) returns what V(begun) returned, and whether the measurement is over after O(step). If the round of a
        continued change does not fit its earlier rounds, it sets the records of this session aside.
      - V(ended) returns whether both states were measured, and which tunings are to be taken back and set then.
    type: str
    choices: [begun, found, planned, described, reached, looked, ended]
    required: true
  tunings:
    description: The tunings of this host, for O(state=found).
    type: list
    elements: str
    default: []
  design:
    description: The order of the states, as in the role, for O(state=found).
    type: str
    choices: [auto, alternate, blocks]
    default: auto
  final:
    description: The state in which the host is left, as in the role, for O(state=ended).
    type: str
    choices: [tuned, restored]
    default: tuned
  seed:
    description: The text from which the order of the states is drawn, for O(state=planned).
    type: str
    default: ""
  continue:
    description: Whether the change is continued, for O(state=begun).
    type: bool
    default: false
  force:
    description: Whether a change is continued that needs no more rounds, and measured where it is pointless.
    type: bool
    default: false
  material_pct:
    description: The smallest change that counts, in percent, as in M(zpower.sap_tuning.report).
    type: float
    default: 5
  expected_change:
    description: Items that may differ between the states, as in M(zpower.sap_tuning.report).
    type: list
    elements: str
    default: []
  step:
    description: The number of the step, from 0, for O(state=reached) and O(state=looked).
    type: int
  change:
    description: The name of the change.
    type: str
"""

EXAMPLES = r"""
- name: Plan the order of the states
  zpower.sap_tuning.before_after:
    state: planned
    change: rps-2026-11
    seed: rps-2026-11
"""

RETURN = r"""
steps:
  description: Each round in its turn, and whether the state is set before it.
  returned: state=planned
  type: list
  elements: dict
  sample:
    - {phase: after, round: 1, set: true}
    - {phase: before, round: 1, set: true}
blocks:
  description: The steps up to each look, and the rounds per state then.
  returned: state=planned
  type: list
  elements: dict
  sample:
    - {begin: 0, end: 12, rounds: 6}
    - {begin: 12, end: 16, rounds: 8}
lines:
  description: The plan in sentences.
  returned: state=described
  type: list
  elements: str
  sample: ["At most 8 rounds of each state; it ends after 6 if the verdict is certain then."]
over:
  description: Whether the measurement is over.
  returned: state=begun, state=looked
  type: bool
  sample: false
said:
  description: The verdict of the look and what follows.
  returned: state=begun, state=looked
  type: str
  sample: "6 rounds of each state: UNCHANGED. The whole interval lies within the material limit of 5 %."
succeeded:
  description: Whether both states were measured.
  returned: state=ended
  type: bool
  sample: true
back:
  description: The tunings to take back first, to the values of RV(checkpoint), or to the first ones if that is empty.
  returned: state=ended
  type: list
  elements: str
  sample: [rps]
checkpoint:
  description: The name of the change, if the host was not found in one of both states; else empty.
  returned: state=ended
  type: str
  sample: rps-2026-11
set:
  description: The tunings to set then.
  returned: state=ended
  type: list
  elements: str
  sample: [rps]
"""
