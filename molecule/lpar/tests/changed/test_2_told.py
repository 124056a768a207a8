# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What verify says about both LPARs, each with its own wanted mode, while CPUs are missing."""

import re

MODE = "{\"cpu_polarization_mode\": \"{{ 'horizontal' if inventory_hostname == 'lpar612' else 'vertical' }}\"}"


def test_verify_agrees(told):
    status, text, verdicts, changed = told("verify", "--extra-vars", MODE)
    assert (status, verdicts["cpu_polarization"], changed) == (0, "compliant", 0), text
    said = r"^lpar61.*: cpu_polarization dispatching: entitlement of the 2 online CPUs: 2 medium$"
    assert re.search(said, text, re.MULTILINE), text
