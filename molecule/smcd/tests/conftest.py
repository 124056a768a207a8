# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that read the state of SMC-D from the guest's kernel, and connections for the tests.

The only device is loopback: no test here proves ISM hardware, PNET IDs, SMC-D version 1, another LPAR, or speed.
"""

import contextlib
import json

import pytest

PEER = "10.77.0.2"


@pytest.fixture
def tables(host):
    """Return a function that runs tables.py in the first or a named network namespace."""

    def look(namespace=""):
        inside = f"ip netns exec {namespace} " if namespace else ""
        return json.loads(host.check_output(f"{inside}python3 /root/tables.py"))

    return look


@pytest.fixture
def smc(module):
    """Return a function that reads the fact smc of platform_info."""
    return lambda: module("platform_info")["ansible_facts"]["zpower_platform"]["smc"]


@pytest.fixture
def connected(host, tables, eventually):
    """Return a context manager with an SMC socket that is connected to a port of the peer."""

    @contextlib.contextmanager
    def stay(port):
        before = sum(entry["connections"] for entry in tables()["groups"]) + fallen_back(tables())
        host.check_output(f"systemd-run --unit=connected /usr/bin/python3 /root/connected.py {PEER} {port}")
        try:
            assert eventually(
                lambda: sum(entry["connections"] for entry in tables()["groups"]) + fallen_back(tables()) > before
            )
            yield
        finally:
            host.check_output("systemctl stop connected")

    return stay


def fallen_back(found):
    return sum(count for _end, _reason, count in found["fallbacks"])
