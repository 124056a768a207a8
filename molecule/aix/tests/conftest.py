# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the AIX stand-in: its state file, and the calls that change devices."""

import contextlib
import json

import pytest

STANDIN = "/var/standin/aix"
MACHINE = f"/usr/bin/python3 {STANDIN}/machine.py"


def pytest_report_header():
    return "AIX: a stand-in for its commands (tests/standins/aix). Nothing here has run on AIX."


@pytest.fixture
def only_app1(name):
    if name != "app1":
        pytest.skip("app2 is too old for SMC-R and has no device")


@pytest.fixture
def state(host):
    """Return a function that reads the stand-in's state."""
    return lambda: json.loads(host.check_output(f"cat {STANDIN}/state.json"))


@pytest.fixture
def values(state):
    """Return a function that reads {attribute: value} of a device: those in the ODM, or the active ones."""

    def read(device, which):
        return {key: one[which] for key, one in state()["devices"][device]["attributes"].items()}

    return read


@pytest.fixture
def calls(host):
    """Return a function that lists the words of all calls of chdev, mkdev and rmdev."""
    return lambda: [json.loads(line) for line in host.run(f"cat {STANDIN}/calls").stdout.splitlines()]


@pytest.fixture
def nodelayack(state):
    """Return a function that reads the running value of no.tcp_nodelayack."""
    return lambda: state()["tunables"]["rows"]["no"]["tcp_nodelayack"][0]


@pytest.fixture
def nextboot(host):
    """Return a function that reads /etc/tunables/nextboot."""
    return lambda: host.run_expect([0], "cat /etc/tunables/nextboot").stdout


@pytest.fixture
def journal(host):
    """Return a function that lists all files of the journal with their modes."""

    def read():
        return host.run("find /var/adm/zpower_sap_tuning -printf '%p %m\\n'").stdout.splitlines()

    return read


@pytest.fixture
def edited(host):
    """Return a context manager that changes the stand-in's state and restores it at the end."""

    @contextlib.contextmanager
    def edit(*changes):
        host.run_expect([0], f"cp {STANDIN}/state.json {STANDIN}/kept")
        try:
            host.run_expect([0], f"{MACHINE} set " + " ".join(f"'{change}'" for change in changes))
            yield
        finally:
            host.run_expect([0], f"mv {STANDIN}/kept {STANDIN}/state.json")

    return edit
