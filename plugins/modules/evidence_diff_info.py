#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: evidence_diff_info
short_description: What differs between two runs, or between two hosts of a run
version_added: 0.9.0
description:
  - Compares the evidence that playbooks such as C(verify), C(site) and C(rollback) write below the results folder.
  - Two runs show what changed meanwhile, host by host. Two hosts of one run show how they differ.
  - It compares whether a host could be checked, the facts of M(zpower.sap_tuning.platform_info), interfaces, SAP
    instances, SMC devices, conflicting services, and per subject of a tuning the verdict, the request, the values
    running, stored and at the next boot, and other settings of the same knob.
  - A line on the terminal per difference. What is the same on several hosts is printed once.
  - It needs no connection to any host and writes nothing.
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  kind:
    description: The playbook whose runs are compared, if O(from) and O(to) are not paths.
    type: str
    choices: [verify, site, rollback, rollout, confirm]
    default: verify
  from:
    description:
      - The first run. Runs that did not end are left out.
      - V(latest) is the last run, V(previous) the last one before O(to).
      - A day, such as V(2026-11-16), is the last run that began on or before that day. A weekday, such as V(monday), is
        the last such day before today. Days are UTC.
      - A time, such as V(20261116T100000Z), is the run of this name; the beginning of a time, such as V(20261116T10),
        the last run whose name begins with it.
      - Everything else is the path of a run's folder or of its JSON file.
      - By default V(previous).
    type: str
  to:
    description: The second run, in the same forms; with O(other_host) the run of both hosts. By default V(latest).
    type: str
  host:
    description: Shows only this host. With O(other_host), the first of two hosts.
    type: str
  other_host:
    description: Compares this host with O(host) in one run.
    type: str
seealso:
  - module: zpower.sap_tuning.platform_info
"""

EXAMPLES = r"""
- name: What the last run found that the one before it did not
  zpower.sap_tuning.evidence_diff_info:
  run_once: true

- name: What changed since Monday
  zpower.sap_tuning.evidence_diff_info:
    from: monday
  run_once: true

- name: Why app7 is not like app3
  zpower.sap_tuning.evidence_diff_info:
    host: app7
    other_host: app3
  run_once: true
"""

RETURN = r"""
differs:
  description: Whether there is any difference. Hosts in RV(unknown) do not count.
  returned: success
  type: bool
  sample: true
lines:
  description: The lines of the terminal.
  returned: success
  type: list
  elements: str
  sample:
    - verify of 2026-11-16 10:00:00 UTC → verify of 2026-11-20 10:00:00 UTC
    - interface hsi0
    - '  mtu: 57344 → 8192 (app7)'
    - 1 host with differences, 11 without
runs:
  description: The runs that were compared; one for two hosts.
  returned: success
  type: list
  elements: dict
  sample: [{path: results/verify/20261120T100000Z/verify.json, kind: verify, begun: '2026-11-20T10:00:00Z'}]
hosts:
  description: The hosts that differ; for two hosts one entry with both names.
  returned: success
  type: list
  elements: dict
  contains:
    host:
      description: The name of the host.
      returned: success
      type: str
      sample: app7
    changes:
      description:
        - Every difference. C(area) is V(host), V(platform), V(interface), V(SAP instance), V(SMC device), V(service) or
          V(tuning). C(value) is V(outcome), V(verdict), V(wanted), V(running), V(stored), V(next_boot) or V(conflicts),
          and empty for a fact. C(item) is the knob or fact. Both are empty if the whole subject came or went.
        - C(before) and C(after) are V(null) if there is no value. C(reason) says why a host was lost or a row failed.
      returned: success
      type: list
      elements: dict
      sample:
        - {area: interface, tuning: '', subject: hsi0, value: '', item: mtu, before: 57344, after: 8192, reason: ''}
same:
  description: How many hosts have no difference.
  returned: success
  type: int
  sample: 11
unknown:
  description: The hosts of both runs without a difference that were not checked to the end in at least one of them.
  returned: success
  type: list
  elements: str
  sample: []
only_before:
  description: The hosts that only the first run has.
  returned: success
  type: list
  elements: str
  sample: []
only_after:
  description: The hosts that only the second run has.
  returned: success
  type: list
  elements: str
  sample: [app13]
notes:
  description: What limits the comparison, such as tags, a limit, runs that were left out.
  returned: success
  type: list
  elements: str
  sample: []
"""
