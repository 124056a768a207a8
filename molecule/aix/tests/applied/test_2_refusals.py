# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors on AIX: one sentence each, and the devices are unchanged."""

import functools

import pytest

HOST = "app1"
SET = "/usr/bin/python3 /var/standin/aix/machine.py set "
HOSTILE = "; touch /var/standin/hostile; $(touch /var/standin/hostile)"


@pytest.fixture
def smc_r(module):
    """Return a function that calls the module on this host and returns its result."""
    return functools.partial(module, "smc_r")


@pytest.fixture(autouse=True)
def unchanged(state):
    """Check that the devices are the same before and after a test."""
    before = state()
    yield
    assert state() == before


def verdict(result):
    """Return (verdict, reason) of a result with one record."""
    record = result["tuning"][0]
    assert not result["changed"], result
    return record["verdict"], record["reason"]


def test_a_device_in_use_is_left_alone(smc_r, edited, values):
    with edited("devices.smcr0.busy=true"):
        result = smc_r(preset="optimized")
        assert values("smcr0", "odm") == values("smcr0", "in_force")
        assert values("smcr0", "odm")["conns_per_lg"] == "16"
    assert verdict(result)[0] == "failed"
    for part in ("Method error (/usr/lib/methods/chgsmcr): 0514-062", "device is busy", "when_busy: defer"):
        assert part in result["msg"]


@pytest.mark.parametrize(
    ("breaks", "words"),
    [
        ("rmdev -d -l smcr0", ["such as smcr0", "cfgmgr"]),
        ("rmdev -l smcr0", ["Defined", "mkdev -l smcr0"]),
        ("rmdev -d -l roce0", ["RoCE"]),
        (SET + """'oslevel="7200-01-04-1717"'""", ["7200-01-04-1717", "7200-02"]),
        (SET + """'devices.smcr0.attributes.conns_per_lg.settable="False"'""", ["conns_per_lg"]),
    ],
)
def test_a_missing_requirement_of_smc_r_makes_it_unsupported(host, smc_r, edited, calls, breaks, words):
    with edited():
        host.run_expect([0], breaks)
        before = calls()
        found, reason = verdict(smc_r(preset="optimized"))
        assert calls() == before
    assert found == "unsupported" and [word for word in words if word not in reason] == [], reason


def test_a_hostile_value_stays_one_word(host, smc_r, edited, calls):
    with edited():
        result = smc_r(attributes={"port_range": HOSTILE})
        assert result["changed"], result
        assert calls()[-1] == ["chdev", "-l", "smcr0", "-a", f"port_range={HOSTILE}"]
        assert host.check_output("lsattr -El smcr0 -a port_range -F value") == HOSTILE
    # testinfra's file() does not support AIX, which this host claims to be
    assert host.run("test -e /var/standin/hostile").rc == 1
