#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: measurement_report
short_description: Compare the phases of a change and write the report
version_added: 0.1.0
description:
  - Reads all records of a change from the results folder, compares the phase C(before) with the phase C(after), and
    writes the report as JSON, HTML, Markdown and CSV beside the records.
  - If the change is an experiment, the report compares each level with the baseline and names the winner.
  - The same records give the same report, byte by byte. A second run changes nothing.
  - The report names each record that cannot be read, and each expected host without a measurement, with the reason.
    Neither counts as a success.
  - Prints the headline and the path of the page.
  - An option that is not given defaults to its variable, such as C(report_formats), if that is set.
  - It needs no connection to any host. Run it once per play, with C(run_once).
extends_documentation_fragment:
  - zpower.sap_tuning.controller
options:
  change:
    description:
      - The change to report on, the name of its folder below O(results).
      - At most 64 letters, digits, C(.), C(_) and C(-), a letter or digit first.
    type: str
    default: ""
  formats:
    description:
      - The files to write, each as C(report.<format>).
      - V(json) is the canonical form and holds everything. V(html) is one file without script that loads nothing.
        V(md) is for a ticket.
      - V(csv) has one row per run with the columns change, host, peer, workload, phase, round, run,
        warmup, ok, started, metric, value, unit, error. A text that a spreadsheet would read as a formula
        gets a leading apostrophe.
    type: list
    elements: str
    choices: [json, html, md, csv]
    default: [json, html, md, csv]
  fail_on:
    description:
      - When the verdict makes the task fail. All files are written first.
      - V(regressed) fails on C(REGRESSED). V(inconclusive) fails on everything that is not proven, which is
        C(REGRESSED), C(INCONCLUSIVE), C(NOT COMPARABLE) and C(NO DATA).
      - In check mode a change without records does not fail, because a play in check mode measures nothing.
    type: str
    choices: [never, regressed, inconclusive]
    default: never
  material_pct:
    description:
      - Differences up to this many percent are not material, whatever their significance.
      - By default 5, or the limit by which the winner of an experiment was chosen.
    type: float
  expected_hosts:
    description:
      - The hosts that the report must account for. Those without a record are listed as not measured.
      - By default all hosts of the play, with failed and unreachable hosts named as such, and all hosts of
        the inventory that are not in the play, for example because of C(--limit). Give the list if the
        play has only C(localhost).
    type: list
    elements: str
  expected_change:
    description:
      - Items that differ between the two states on purpose, such as another kernel or machine. The report shows them
        as declared. Everything else must still match. Within one state, declared items must match, too.
      - Name an item as under Comparability in the report, V(server.kernel), or without its first part, V(kernel), for
        both ends. C(*) and C(?) are wildcards as in file names.
      - Of a fingerprint these must match, V(system), V(arch), V(kernel), V(machine), V(cpus_online), V(interface),
        V(mtu), and V(entitlement) and V(sap_kernel) if both states have them; of a workload V(version), V(bytes),
        V(loops), V(connections), V(unit) (of work), V(units) (how many were done, if V(elapsed_s) decides) and
        V(workload.params.*); of the application V(context.*). Tool and metric, with its unit and direction, may never
        differ.
    type: list
    elements: str
    default: []
  repeat:
    description:
      - The command for repeating the measurement, as the report shows it.
      - By default C(ansible-playbook) with inventory, limit and playbook of this run. If this run only reports, the
        playbook is C(zpower.sap_tuning.before_after) or C(zpower.sap_tuning.experiment). Extra variables are left
        out, because they may be secret.
    type: str
  results_command:
    description:
      - A program and its arguments, called on the controller without a shell, with the folder of the report as its last
        argument, after each time that the report was written. It has 5 minutes. A failure is a warning.
      - A list, or JSON text of one; empty for none.
    type: raw
    version_added: 0.9.0
notes:
  - Under C(serial), C(run_once) runs once per batch. Each batch then writes the report again, which does no harm.
seealso:
  - module: zpower.sap_tuning.niping
  - module: zpower.sap_tuning.measurement_trend
  - module: zpower.sap_tuning.measurement_scaling
"""

EXAMPLES = r"""
- name: Write the report of a change
  zpower.sap_tuning.measurement_report:
    change: rps-2026-11
  run_once: true
  register: outcome

- name: Stop the pipeline on anything that is not proven, keep only what it reads
  zpower.sap_tuning.measurement_report:
    change: rps-2026-11
    results: /srv/measurements
    formats: [json, csv]
    fail_on: inconclusive
    material_pct: 3
  run_once: true

- name: Report from a play on localhost, where the hosts of the change are not in the play
  zpower.sap_tuning.measurement_report:
    change: rps-2026-11
    expected_hosts: "{{ groups['sap'] }}"

- name: Two machine generations and their kernels, on purpose
  zpower.sap_tuning.measurement_report:
    change: z14-to-z16
    expected_change: [machine, kernel]
  run_once: true
"""

RETURN = r"""
verdict:
  description: The overall verdict, one of C(IMPROVED), C(REGRESSED), C(UNCHANGED), C(INCONCLUSIVE), C(NOT
    COMPARABLE) and C(NO DATA).
  returned: always
  type: str
  sample: IMPROVED
verdict_text:
  description: The verdict as the report shows it, which can be C(IMPROVED, WITH WARNINGS) for C(IMPROVED).
  returned: always
  type: str
  sample: IMPROVED, WITH WARNINGS
headline:
  description: The result in one sentence.
  returned: always
  type: str
  sample: Round trips are 11 to 14 % faster on both hosts.
counts:
  description: The number of comparisons per verdict, without the control workloads.
  returned: always
  type: dict
  sample: {"IMPROVED": 2, "REGRESSED": 0, "UNCHANGED": 1, "INCONCLUSIVE": 0, "NOT COMPARABLE": 0, "NO DATA": 0}
paths:
  description: The file of each format, also in check mode.
  returned: always
  type: dict
  sample: {"json": "results/rps-2026-11/report.json", "html": "results/rps-2026-11/report.html"}
measured:
  description: The hosts with a comparison.
  returned: always
  type: list
  elements: str
  sample: [app1, app2]
not_measured:
  description: The hosts without a measurement, each with the reason.
  returned: always
  type: list
  elements: dict
  sample: [{"host": "db1", "reason": "failed or unreachable"}]
"""
