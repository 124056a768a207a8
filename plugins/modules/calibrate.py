#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: calibrate
short_description: What measurements on these hosts can show
version_added: 0.9.0
description:
  - For the roles of this collection only; it may change in any version. Use the role C(calibrate).
  - Reads the rounds of the phase C(calibration) of a change, in which nothing was changed, and says for each host and
    workload how much runs, rounds and boots vary, the smallest change that a planned measurement can show, how many
    rounds other changes take, how often a verdict would be false, and why a measurement is pointless.
  - Writes C(calibration.json) and C(calibration.md) into the folder of the change. The same records give the same
    bytes.
  - C(calibrate_change), C(calibrate_results) and C(calibrate_material_pct) are options without C(calibrate_) in front.
    One that is not given defaults to its variable.
  - It needs no connection to any host. Run it once per play, with C(run_once).
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  event:
    description:
      - The point that the role has reached.
      - V(planned) returns the number of the first round and of the session, before the rounds are measured.
      - V(written) writes the calibration from all rounds so far.
    type: str
    version_added: 1.0.0
    choices: [planned, written]
    default: written
  rounds:
    description:
      - With O(event=planned) the rounds to measure, at least 8.
      - With O(event=written) the rounds per state of the measurements that are planned.
    type: int
    default: 6
seealso:
  - module: zpower.sap_tuning.measurement_report
"""

EXAMPLES = r"""
- name: What a measurement with 8 rounds per state can show
  zpower.sap_tuning.calibrate:
    rounds: 8
  run_once: true
"""

RETURN = r"""
headline:
  description: The calibration in one or two sentences.
  returned: event=written
  type: str
  sample: '2 hosts calibrated. 6 rounds per state can show a change of 8.3 %, about 12 min.'
lines:
  description: The headline, the table and all sentences, for a terminal.
  returned: event=written
  type: list
  elements: str
  sample: ['2 hosts calibrated. 6 rounds per state can show a change of 8.3 %, about 12 min.']
paths:
  description: The file of each format, also in check mode.
  returned: event=written
  type: dict
  sample: {"json": "results/calibration/calibration.json", "md": "results/calibration/calibration.md"}
"""
