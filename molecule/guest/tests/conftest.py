# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scheduler of the guest sees, read from the guest itself."""

import pytest


@pytest.fixture
def siblings(host):
    """Return the CPUs that share a socket with each online CPU, as the kernel writes them: {cpu: list}."""
    text = host.check_output("cd /sys/devices/system/cpu && grep . cpu[0-9]*/topology/core_siblings_list")
    return dict(line.replace("/topology/core_siblings_list", "").split(":") for line in text.splitlines())


@pytest.fixture
def topology(host):
    return host.check_output("cat /proc/sys/s390/topology")


@pytest.fixture
def mask(host):
    """Return the CPUs that handle the packets of the network interface, as a number."""
    return int(host.check_output("cat /sys/class/net/enc1/queues/rx-0/rps_cpus").replace(",", ""), 16)
