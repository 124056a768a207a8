#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: measurement_check
short_description: Check what a measurement needs, before anything is changed
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Fails in one sentence if a host cannot be measured as asked, because of the name of the change, the results folder,
    the workloads or the peers. It contacts no host and changes nothing.
  - The roles C(measure), C(before_after) and C(experiment) begin with it.
  - It also fails if the playbook runs with C(--tags), which would leave out tasks of the measurement.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  change:
    description: The change that the records will belong to, letters, digits, C(.), C(_) and C(-).
    type: str
    required: true
  results:
    description: The results folder on the controller, relative to the working directory of the playbook run.
    type: path
    default: results
  rounds:
    description: The number of rounds per phase.
    type: int
    default: 6
  workloads:
    description: The workloads. V(niping) and V(network) need O(peer), V(enqueue) needs O(enqueue_peer).
    type: list
    elements: str
    choices: [niping, network, enqueue, fio, openssl]
    default: [niping]
  peer:
    description: Inventory name of the host to measure against. If empty, V(niping) and V(network) measure nothing.
    type: str
    default: ""
  enqueue_peer:
    description: Inventory name of the host of the enqueue server. If empty, V(enqueue) measures nothing.
    type: str
    default: ""
  fio_directory:
    description: The directory for the files of V(fio).
    type: str
    default: ""
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
host:
  description: The inventory name of this host.
  returned: success
  type: str
  sample: sapapp1
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
"""
