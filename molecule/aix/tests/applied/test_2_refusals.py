# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong on AIX: one sentence, and the devices are as they were."""

import functools
import json

import pytest

LEGAL = 'devices.smcr0.attributes.conns_per_lg.legal=["1...16 (+1)"]'
FIXED = 'devices.smcr0.attributes.conns_per_lg.settable="False"'
HOSTILE = "; touch /var/standin/hostile; $(touch /var/standin/hostile)"


@pytest.fixture(autouse=True)
def one_host_is_enough(only_app1):
    """What goes wrong does so on app1."""


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
    assert result["tuning"][0]["verdict"] == "failed" and not result["changed"]
    for part in ("Method error (/usr/lib/methods/chgsmcr): 0514-062", "device is busy", "when_busy: defer"):
        assert part in result["msg"]


def test_a_value_that_is_not_legal(smc_r, edited, calls):
    before = calls()
    with edited(LEGAL):
        result = smc_r(preset="optimized")
    assert "tuning" not in result and not result["changed"]
    assert "conns_per_lg" in result["msg"] and "1...16 (+1)" in result["msg"]
    assert calls() == before


def test_an_attribute_that_users_cannot_set(smc_r, edited, calls):
    before = calls()
    with edited(FIXED):
        found, reason = verdict(smc_r(preset="optimized"))
    assert found == "unsupported" and "conns_per_lg" in reason
    assert calls() == before


def test_an_attribute_that_the_device_does_not_have(module):
    result = module("aix_device_attributes", devices={"en0": {"mt": "1500"}})
    assert "tuning" not in result and "0514-528" in result["msg"] and "mtu" in result["msg"]


def test_an_empty_list_means_no_smc_r(smc_r, calls):
    before = calls()
    result = smc_r(preset="enabled", attributes={"port_range": ""})
    assert "tuning" not in result and "port_range" in result["msg"] and "any" in result["msg"]
    assert calls() == before


def test_a_device_that_is_not_there(host, smc_r, module, edited):
    with edited():
        host.run_expect([0], "rmdev -d -l smcr0")
        found, reason = verdict(smc_r(preset="enabled"))
        other = verdict(module("aix_device_attributes", devices={"smcr0": {"enabled": "1"}}))
    assert found == "unsupported" and "such as smcr0" in reason and "cfgmgr" in reason
    assert other[0] == "not_applicable"


def test_a_device_that_is_not_configured(host, smc_r, edited):
    with edited():
        host.run_expect([0], "rmdev -l smcr0")
        found, reason = verdict(smc_r(preset="enabled"))
    assert found == "unsupported" and "Defined" in reason and "mkdev -l smcr0" in reason


def test_no_roce_adapter(host, smc_r, edited):
    with edited():
        host.run_expect([0], "rmdev -d -l roce0")
        found, reason = verdict(smc_r(preset="enabled"))
    assert found == "unsupported" and "RoCE" in reason


def test_a_level_before_smc_r(smc_r, edited):
    with edited('oslevel="7200-01-04-1717"'):
        found, reason = verdict(smc_r(preset="enabled"))
    assert found == "unsupported" and "7200-01-04-1717" in reason and "7200-02" in reason


def test_a_device_by_another_name(host, smc_r, edited, state):
    with edited():
        found = state()["devices"]["smcr0"]
        host.run_expect([0], "rmdev -d -l smcr0")
        host.run_expect([0], f"/usr/bin/python3 /var/standin/aix/machine.py set 'devices.smcr3={json.dumps(found)}'")
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


def test_somebody_else_would_set_it_at_boot(host, smc_r):
    host.run_expect([0], "echo 'smc:2:once:/usr/sbin/chdev -l smcr0 -a conns_per_lg=99' > /etc/inittab")
    result = smc_r(preset="enabled")
    host.run_expect([0], "rm /etc/inittab")
    assert "/etc/inittab" in json.dumps(result["tuning"][0]["conflicts"])
