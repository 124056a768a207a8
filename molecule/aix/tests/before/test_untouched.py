# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Untouched hosts: what verify and check mode say about them; neither changes anything."""

import json
import re


def test_the_state_of_a_host_is_saved(state, memory, journal, calls, nextboot):
    assert journal() == []
    # the tests of the stand-in have called it before
    memory.write_text(json.dumps({"state": state(), "calls": len(calls()), "nextboot": nextboot()}))


def test_verify_fails_and_names_every_failing_value(name, told, verdicts):
    status, text, _changed = told("verify")
    assert status != 0
    found = verdicts(text)
    assert found["aix_device_attributes", "sys0"] == found["aix_device_attributes", "en0"] == "drifted"
    assert "en0 mtu: 1500, wanted 9000" in text
    if name == "app1":
        assert found["smc_r", "smcr0"] == "drifted"
        assert "; ip_addr_list, port_range: empty, wanted any" in text


def test_check_mode_predicts_every_change(name, told, verdicts):
    status, text, changed = told("site", "--check", "--diff")
    assert (status, changed[name]) == (0, 1), text
    assert verdicts(text)["smc_r", "smcr0"] == {"app1": "drifted", "app2": "unsupported"}[name]
    assert "SMC-R needs AIX 7200-02 or later" in text and "7100-05-09-2148" in text
    assert len(re.findall(r"^\+en0 mtu \(stored\): 9000$", text, re.MULTILINE)) == 2
    assert len(re.findall(r"^\+no.tcp_nodelayack \((?:stored|running)\): 1$", text, re.MULTILINE)) == 4
    predicted = dict(re.findall(r"^\+smcr0 (\w+) \(stored\): (.*)$", text, re.MULTILINE))
    assert len(predicted) == 9
    assert (predicted["enabled"], predicted["ip_addr_list"], predicted["tx_intr_time"]) == ("1", "any", "10000")


def test_nothing_was_touched(state, remembered, journal, calls, nextboot):
    assert state() == remembered["state"] and nextboot() == remembered["nextboot"]
    assert journal() == []
    assert len(calls()) == remembered["calls"]
