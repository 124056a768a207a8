#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: record_tunings
short_description: Keep the tuning records of a host beside its measurements
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Writes the records that tuning modules such as M(zpower.sap_tuning.rps) returned under
    RV(zpower.sap_tuning.rps#module:tuning)
    to C(<results>/<change>/<host>/tunings-<phase>-<round>.json) on the controller.
  - The report then shows what was changed between two phases, and calls measurements not comparable whose tuning did
    not take effect.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  change:
    description: The change that the records belong to, letters, digits, C(.), C(_) and C(-).
    type: str
    required: true
  phase:
    description: The phase for which the host was brought into this state.
    type: str
    required: true
  round:
    description: The round for which the host was brought into this state.
    type: int
    default: 1
  results:
    description: The results folder on the controller, relative to the working directory of the playbook run.
    type: path
    default: results
  tunings:
    description: The tuning records.
    type: list
    elements: dict
    required: true
  found:
    description:
      - Further tuning records, of calls in check mode. Of these only what the calls found is kept, as the state in
        which the host was left on purpose.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: RPS on all CPUs
  zpower.sap_tuning.rps:
    interfaces: [hsi0]
  register: rps_result

- name: Keep what it did
  zpower.sap_tuning.record_tunings:
    change: rps-2026-11
    phase: after
    tunings: "{{ rps_result.tuning }}"
"""

RETURN = r"""
path:
  description: The file that was written.
  returned: when something was written
  type: str
  sample: results/rps-2026-11/app1/tunings-after-1.json
"""
