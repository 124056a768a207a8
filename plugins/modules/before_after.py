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
description:
  - A part of the role C(before_after), which applies the tunings and measures. Use that role.
  - It reads the results of other tasks of the play, decides, and keeps tuning records. It contacts no host.
  - Each variable of the role is an option without C(before_after_) in front, and so are C(report_material_pct) and
    C(report_expected_change). An option that is not given has the value of its variable.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  event:
    description:
      - The point that the role has reached. The old name C(state) is deprecated.
      - V(begun) returns what all hosts of the play have in common, such as the number of the session. It fails if the
        hosts ask for different plans, if the change cannot be continued, or if measuring is pointless according to a
        calibration.
      - V(found) returns the tunings that have their first values, after the way back was predicted.
      - V(planned) returns the session of this host, after the tunings were predicted. M(zpower.sap_tuning.experiment)
        does its steps and looks.
      - V(ended) returns whether both states were measured, and which tunings are to be taken back and set then.
    type: str
    version_added: 1.0.0
    aliases: [state]
    choices: [begun, found, planned, ended]
    required: true
  tunings:
    description: The tunings of this host, for O(event=found).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Plan the order of the states
  zpower.sap_tuning.before_after:
    event: planned
    change: rps-2026-11
"""

RETURN = r"""
steps:
  description: Each round in its turn, with the tunings that are set or taken back before it.
  returned: event=planned
  type: list
  elements: dict
  sample:
    - {phase: after, round: 1, session: 1, label: round 1, hosts: [app1], set: [rps], found: [], vars: {}, probe: {}}
    - {phase: before, round: 1, session: 1, label: round 2, hosts: [app1], set: [rps], found: [], vars: {}, probe: {}}
parts:
  description: The steps up to each look, and the rounds per state then, as in M(zpower.sap_tuning.experiment).
  returned: event=planned
  type: list
  elements: dict
  sample: [{rounds: 6, begin: 0, end: 12, next: 4}, {rounds: 8, begin: 12, end: 16, next: 0}]
lines:
  description: The plan of the play in sentences.
  returned: event=planned
  type: list
  elements: str
  sample: ["At most 8 rounds of each state; it ends after 6 if the verdict is certain then."]
succeeded:
  description: Whether both states were measured.
  returned: event=ended
  type: bool
  sample: true
back:
  description: The tunings to take back first, to the values of RV(checkpoint), or to the first ones if that is empty.
  returned: event=ended
  type: list
  elements: str
  sample: [rps]
checkpoint:
  description: The name of the change, if the host was not found in one of both states; else empty.
  returned: event=ended
  type: str
  sample: rps-2026-11
set:
  description: The tunings to set then.
  returned: event=ended
  type: list
  elements: str
  sample: [rps]
"""
