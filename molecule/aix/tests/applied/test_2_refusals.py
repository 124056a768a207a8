# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong on AIX: one sentence, and the devices are as they were."""

import functools
import json

import pytest

HOST = "app1"
SET = "/usr/bin/python3 /var/standin/aix/machine.py set "
HOSTILE = "; touch /var/standin/hostile; $(touch /var/standin/hostile)"


@pytest.fixture
def smc_r(module):
    """Call the module on this host: its result."""
    return functools.partial(module, "smc_r")


@pytest.fixture(autouse=True)
def unchanged(state):
    """The devices before and after a test are the same."""
    before = state()
    yield
    assert state() == before


def verdict(result):
    """(verdict, reason) of a result that has one record."""
    record = result["tuning"][0]
    assert not result["changed"], result
    return record["verdict"], record["reason"]


def test_a_device_in_use(smc_r, edited, values):
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
def test_what_smc_r_lacks(host, smc_r, edited, calls, breaks, words):
    with edited():
        host.run_expect([0], breaks)
        before = calls()
        found, reason = verdict(smc_r(preset="optimized"))
        assert calls() == before
    assert found == "unsupported" and [word for word in words if word not in reason] == [], reason


@pytest.mark.parametrize(
    ("name", "asked", "words"),
    [
        ("smc_r", {"preset": "optimized"}, ["conns_per_lg", "1...16 (+1)"]),
        ("smc_r", {"preset": "enabled", "attributes": {"port_range": ""}}, ["port_range", "any"]),
        ("aix_device_attributes", {"devices": {"en0": {"mt": "1500"}}}, ["0514-528", "mtu"]),
    ],
)
def test_values_that_are_refused_before_any_change(module, edited, calls, name, asked, words):
    before = calls()
    with edited('devices.smcr0.attributes.conns_per_lg.legal=["1...16 (+1)"]'):
        result = module(name, **asked)
    assert "tuning" not in result and not result["changed"]
    assert [word for word in words if word not in result["msg"]] == [], result["msg"]
    assert calls() == before


def test_attributes_of_a_device_that_is_not_there(module, edited, host):
    with edited():
        host.run_expect([0], "rmdev -d -l smcr0")
        result = module("aix_device_attributes", devices={"smcr0": {"enabled": "1"}})
    assert verdict(result)[0] == "not_applicable"


def test_a_device_by_another_name(host, smc_r, edited, state):
    with edited():
        found = state()["devices"]["smcr0"]
        host.run_expect([0], "rmdev -d -l smcr0")
        host.run_expect([0], f"{SET} 'devices.smcr3={json.dumps(found)}'")
        result = smc_r(preset="enabled")
    assert [(one["subject"], one["verdict"]) for one in result["tuning"]] == [("smcr3", "compliant")]


def test_a_hostile_value_is_one_word(host, smc_r, edited, calls):
    with edited():
        result = smc_r(attributes={"port_range": HOSTILE})
        assert result["changed"], result
        assert calls()[-1] == ["chdev", "-l", "smcr0", "-a", f"port_range={HOSTILE}"]
        assert host.check_output("lsattr -El smcr0 -a port_range -F value") == HOSTILE
    # testinfra has files for systems that it knows, and takes this for AIX
    assert host.run("test -e /var/standin/hostile").rc == 1


def test_somebody_else_would_set_it_at_boot(smc_r, broken):
    line = "smc:2:once:/usr/sbin/chdev -l smcr0 -a conns_per_lg=99"
    with broken(f"echo '{line}' > /etc/inittab", "rm /etc/inittab"):
        result = smc_r(preset="enabled")
    assert "/etc/inittab" in json.dumps(result["tuning"][0]["conflicts"])
