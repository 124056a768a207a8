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
description:
  - For the roles of this collection only; it may change in any version.
    Use the role C(tune) with C(tune_change).
  - Stores the records that tuning modules such as M(zpower.sap_tuning.rps) returned in
    RV(zpower.sap_tuning.rps#module:tuning) as
    C(<results>/<change>/<host>/tunings-<phase>-<round>.json) on the controller.
  - The report then shows the changes between two phases, and calls measurements not comparable if their
    tuning had no effect.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  change:
    description: The change that the records belong to, at most 64 letters, digits, C(.), C(_) and C(-).
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
  tunings:
    description: The tuning records.
    type: list
    elements: dict
    required: true
  found:
    description: Further tuning records, from calls in check mode. Only the state that they found is kept, as the state
      in which the host was left on purpose.
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
  returned: success, unless in check mode
  type: str
  sample: results/rps-2026-11/app1/tunings-after-1.json
"""
