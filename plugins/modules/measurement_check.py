#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: measurement_check
short_description: Check what a measurement needs, before anything is changed
version_added: 0.9.0
description:
  - For the roles of this collection only; it may change in any version.
    Use the roles C(measure), C(before_after) and C(experiment), which begin with it.
  - Fails in one sentence if a host cannot be measured as requested, because of the name of the change, the
    results folder, the workloads or the peers. It contacts no host and changes nothing.
  - It also fails if the playbook runs with C(--tags), which would leave out tasks of the measurement.
  - Each variable of the role C(measure) is an option without C(measure_) in front, such as O(ignore:peer). An option
    that is not given defaults to its variable.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  new:
    description: Fail if the change has records of this host already.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: This host can be measured
  zpower.sap_tuning.measurement_check:
    change: rps-2026-11
    peer: sapdb1
    new: true
"""

RETURN = r"""
measures:
  description: Whether this host measures anything with these options.
  returned: success
  type: bool
  sample: true
peers:
  description: The hosts that it measures against.
  returned: success
  type: list
  elements: str
  sample: [sapdb1]
workloads:
  description: The workloads of C(measure_workloads) that this host measures, each load of C(enqueue) separately, with
    their task files in the role C(measure).
  returned: success
  type: list
  elements: dict
  sample: [{name: niping, load: '', what: round trips, tasks: call}]
seconds:
  description: About how long a round of this host takes.
  returned: success
  type: float
  sample: 49.0
"""
