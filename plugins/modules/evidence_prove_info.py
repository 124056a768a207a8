#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: evidence_prove_info
short_description: Whether evidence is what its runs wrote
version_added: 1.0.0
description:
  - Checks all evidence below the results folder; checksums of all files, the chain of runs, signatures, and whether
    verdicts, totals and formats follow from the rows of the hosts.
  - What hosts said cannot be checked afterwards. Verdicts and formats of other versions of the collection are skipped.
  - The task fails if anything is wrong, or if no run could be proved.
  - It needs no connection to any host and writes nothing.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  evidence_signers:
    description: Demands signatures by a key of this file, which has the form C(ALLOWED SIGNERS) of C(ssh-keygen(1)).
    type: path
  evidence_identity:
    description: Who has signed, as a principal of O(evidence_signers). Required with it.
    type: str
seealso:
  - module: zpower.sap_tuning.evidence_unite
"""

EXAMPLES = r"""
- name: Prove the evidence of all runs, which the auditors' key has signed
  zpower.sap_tuning.evidence_prove_info:
    evidence_signers: /etc/sap/evidence_signers
    evidence_identity: evidence@example.com
  run_once: true
"""

RETURN = r"""
notes:
  description:
    - At least one entry per run, in the order of their ends. C(run) is its folder, C(result) V(proved), V(WRONG) or
      V(SKIPPED), and C(sentence) says what is wrong, or what was not checked.
  returned: always
  type: list
  elements: dict
  sample: [{run: verify/20261120T100000Z, result: WRONG, sentence: verify.csv was changed}]
"""
