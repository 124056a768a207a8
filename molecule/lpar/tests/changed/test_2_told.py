# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What verify says about both LPARs, each with its own requested mode, while CPUs are missing."""

import re

MODE = "{\"cpu_polarization_mode\": \"{{ 'horizontal' if inventory_hostname == 'lpar612' else 'vertical' }}\"}"
OFF = '{"hiperdispatch_enabled": "{{ inventory_hostname != \'lpar612\' }}"}'


def test_verify_agrees(told):
    status, text, verdicts, changed = told("verify", "--extra-vars", MODE, "--extra-vars", OFF)
    assert (status, verdicts["cpu_polarization"], changed) == (0, "compliant", 0), text
    said = r"^lpar61.*: cpu_polarization dispatching: entitlement of the 2 online CPUs: 2 medium \(at least 1\.0 of "
    said += r"2 online cores\)$"
    assert re.search(said, text, re.MULTILINE), text


def test_hiperdispatch_on_horizontal_cpus_is_drift_and_names_the_other_tuning(told, name):
    _status, text, verdicts, _changed = told("verify", "--extra-vars", MODE)
    assert verdicts["hiperdispatch"] == {"lpar61": "unsupported", "lpar612": "drifted"}[name], text
    said = r"^lpar612.*: the CPUs are horizontal now, and HiperDispatch acts on vertical CPUs only"
    assert re.search(said, text, re.MULTILINE), text
    assert "/etc/sysctl.d/91-zpower-sap-tuning-cpu-polarization.conf, line 3" in text
