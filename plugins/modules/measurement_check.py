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
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Fails in one sentence if a host cannot be measured as asked, because of the name of the change, the results
    folder, the workloads or the peers. It contacts no host and changes nothing.
  - The roles C(measure), C(before_after) and C(experiment) begin with it.
  - It also fails if the playbook runs with C(--tags), which would leave out tasks of the measurement.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  change:
    description: The change that the records will belong to, letters, digits, C(.), C(_) and C(-).
    type: str
    required: true
  rounds:
    description: The number of rounds per phase.
    type: int
    default: 6
  max_rounds:
    description: The number of rounds per phase after which a measurement ends without a verdict; V(0) is O(rounds).
    type: int
    default: 0
  max_minutes:
    description: The length of a measurement in minutes; V(0) is no limit.
    type: float
    default: 0
  runs:
    description: The runs per round that count.
    type: int
    default: 5
  warmup:
    description: The runs before these.
    type: int
    default: 1
  run_seconds:
    description: The length of a run.
    type: float
    default: 1
  enqueue_run_seconds:
    description: The length of a run of V(enqueue).
    type: float
    default: 15
  command_run_seconds:
    description: About how long a run of V(command) takes.
    type: float
    default: 60
  idle_seconds:
    description: The length of the idle window.
    type: float
    default: 1
  control:
    description: Whether the control workload is measured.
    type: bool
    default: true
  throttle:
    description: The number of hosts that measure at the same time.
    type: int
    default: 1
  series:
    description: The number of workloads of each kind, such as V(niping), in a round.
    type: dict
    default: {}
  calibration:
    description: The change that holds a calibration.
    type: str
    default: calibration
  workloads:
    description:
      - The workloads. V(niping) and V(network) need O(peer), V(enqueue) needs O(enqueue_peer), V(command) may have
        O(command_peer).
    type: list
    elements: str
    choices: [niping, network, enqueue, fio, openssl, command]
    default: [niping]
  peer:
    description: Inventory name of the host to measure against. If empty, V(niping) and V(network) measure nothing.
    type: str
    default: ""
  enqueue_peer:
    description: Inventory name of the host of the enqueue server. If empty, V(enqueue) measures nothing.
    type: str
    default: ""
  command_peer:
    description: Inventory name of the host whose CPU time is measured with V(command). If empty, there is none.
    type: str
    default: ""
  commands:
    description: The programs of V(command), see O(zpower.sap_tuning.workload#module:command).
    type: list
    elements: dict
    default: []
  fio_directory:
    description: The directory for the files of V(fio).
    type: str
    default: ""
  port:
    description: The fixed port of the servers, or V(0).
    type: int
    default: 0
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
workloads:
  description: Those of O(workloads) that this host measures, with their task files in the role C(measure).
  returned: success
  type: list
  elements: dict
  sample: [{name: niping, tasks: niping}]
servers:
  description: Those of them whose server on the peer stays for all rounds.
  returned: success
  type: list
  elements: str
  sample: [niping]
rounds:
  description: The rounds per phase before the verdict is looked at.
  returned: success
  type: int
  sample: 6
most:
  description: The rounds per phase after which the measurement ends.
  returned: success
  type: int
  sample: 16
minutes:
  description: The length of the measurement in minutes, or 0.
  returned: success
  type: float
  sample: 0
runs:
  description: The runs per round that count.
  returned: success
  type: int
  sample: 5
throttle:
  description: The number of hosts that measure at the same time.
  returned: success
  type: int
  sample: 1
seconds:
  description: About how long a round of this host takes.
  returned: success
  type: float
  sample: 49.0
calibration:
  description: The change that holds a calibration.
  returned: success
  type: str
  sample: calibration
at:
  description: The time of the check on the controller, in seconds.
  returned: success
  type: float
  sample: 1763820000.5
"""
