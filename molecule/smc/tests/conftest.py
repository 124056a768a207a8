# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel of a guest has of SMC, read from the guest itself."""

import pytest


@pytest.fixture
def loaded(host):
    """Whether the module smc is loaded."""
    return host.run("grep -q '^smc ' /proc/modules").rc == 0


@pytest.fixture
def modules_at_boot(host):
    """The files of modules-load.d that the tunings wrote."""
    return host.run("cat /etc/modules-load.d/*zpower*").stdout
