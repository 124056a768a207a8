#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: evidence_unite
short_description: Write the evidence of a run from its slices
version_added: 0.9.0
description:
  - Runs of C(verify), C(site), C(rollback) and C(confirm) with the same C(zpower_run) unite their evidence themselves.
    This is needed only if they could not, because their file system has no locks, or because their files were brought
    together afterwards.
  - Reads the files C(slices/*.json) in C(<results>/<kind>/run-<run>/) and writes the other files of that folder.
  - Prints each slice with its controller and time, and why slices may not belong to one run.
  - The task fails after it has written the files if a slice was left out, or was added or changed after the run was
    united.
  - It needs no connection to any host.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  run:
    description: The name of the run, by default that in C(zpower_run).
    type: str
  kind:
    description: The playbook whose slices are united.
    type: str
    choices: [verify, site, rollback, confirm]
    default: verify
seealso:
  - module: zpower.sap_tuning.evidence_diff_info
"""

EXAMPLES = r"""
- name: Unite the slices of the workflow job 4711
  zpower.sap_tuning.evidence_unite:
    run: 4711-12
  run_once: true
"""

RETURN = r"""
result:
  description: The result of the whole run. V(unfinished) if a slice has not ended or cannot be read.
  returned: always
  type: str
  sample: drift
problems:
  description: Why slices may not belong to one run, and mistakes in waivers.
  returned: always
  type: list
  elements: str
  sample: []
slices:
  description: Each slice by its C(file), with the SHA-256 of its bytes, the C(controller) that ran it, and when it had
    C(begun) and C(ended). C(late) says that it was added or changed after the run was united.
  returned: always
  type: list
  elements: dict
  sample:
    - file: 20261120T100000Z-1a2b3c4d.json
      sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
      controller: control1
      begun: "2026-11-20T10:00:00Z"
      ended: "2026-11-20T10:02:13Z"
      late: false
paths:
  description: The path of each format.
  returned: always
  type: dict
  sample: {html: results/verify/run-4711-12/verify.html}
"""
