# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the AIX stand-in read: its state file, the calls that change devices, and what is said of it."""

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
        pytest.skip("app2 is too old for SMC-R and has no device for it")


@pytest.fixture
def state(host):
    """The stand-in's state when asked."""
    return lambda: json.loads(host.check_output(f"cat {STANDIN}/state.json"))


@pytest.fixture
def values(state):
    """{attribute: value} of a device when asked: as the ODM has them, or in force."""

    def read(device, which):
        return {key: one[which] for key, one in state()["devices"][device]["attributes"].items()}

    return read


@pytest.fixture
def calls(host):
    """The words of every chdev, mkdev and rmdev so far, when asked."""
    return lambda: [json.loads(line) for line in host.run(f"cat {STANDIN}/calls").stdout.splitlines()]


@pytest.fixture
def nodelayack(state):
    """The running value of no.tcp_nodelayack when asked."""
    return lambda: state()["tunables"]["rows"]["no"]["tcp_nodelayack"][0]


@pytest.fixture
def nextboot(host):
    """The text of /etc/tunables/nextboot when asked."""
    return lambda: host.run_expect([0], "cat /etc/tunables/nextboot").stdout


@pytest.fixture
def journal(host):
    """Every file of the journal when asked, with its mode."""

    def read():
        return host.run("find /var/adm/zpower_sap_tuning -printf '%p %m\\n'").stdout.splitlines()

    return read


@pytest.fixture
def edited(host):
    """The state changed for the length of a block, and then put back as it was."""

    @contextlib.contextmanager
    def edit(*changes):
        host.run_expect([0], f"cp {STANDIN}/state.json {STANDIN}/kept")
        try:
            host.run_expect([0], f"{MACHINE} set " + " ".join(f"'{change}'" for change in changes))
            yield
        finally:
            host.run_expect([0], f"mv {STANDIN}/kept {STANDIN}/state.json")

    return edit
