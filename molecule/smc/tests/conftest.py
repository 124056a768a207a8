# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that read the state of SMC from the guest."""

import pytest


@pytest.fixture
def loaded(host):
    """Return whether the module smc is loaded."""
    return host.run("grep -q '^smc ' /proc/modules").rc == 0


@pytest.fixture
def modules_at_boot(host):
    """Return the files of modules-load.d that the tunings wrote."""
    return host.run("cat /etc/modules-load.d/*zpower*").stdout
