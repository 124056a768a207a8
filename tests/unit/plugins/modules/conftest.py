# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of several modules share."""

import pytest
from ansible.module_utils import basic


@pytest.fixture
def warned(monkeypatch):
    """Return the warnings of a call; ansible-core itself keeps them for the life of a process."""
    warnings = []
    monkeypatch.setattr(basic.AnsibleModule, "warn", lambda _module, text: warnings.append(text))
    return warnings
