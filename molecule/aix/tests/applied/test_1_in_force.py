# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converged hosts: the values are stored and active, everything else is unchanged, and one chdev set them."""

import pytest

ENABLED = {
    "conns_per_lg": "16",
    "enabled": "1",
    "init_snd_pools": "2",
    "ip_addr_list": "any",
    "max_memory": "512",
    "port_range": "any",
    "rx_intr_packets": "128",
    "tx_intr_cnt": "128",
    "tx_intr_time": "10000",
}


def test_smc_r_is_enabled_as_in_the_study(only_app1, values):
    assert values("smcr0", "odm") == values("smcr0", "in_force") == ENABLED


def test_each_device_was_changed_in_one_call_although_the_tunings_ran_twice(name, calls, remembered):
    words = {call[2]: call for call in calls()[remembered["calls"] :]}
    assert sorted(words) == (["en0", "smcr0", "sys0"] if name == "app1" else ["en0", "sys0"])
    assert len(calls()) == remembered["calls"] + len(words)
    assert words["en0"] == ["chdev", "-l", "en0", "-a", "mtu=9000"]
    if name == "app1":
        pairs = [word for value in ENABLED.items() for word in ("-a", "{}={}".format(*value))]
        assert words["smcr0"] == ["chdev", "-l", "smcr0", *pairs]


@pytest.mark.parametrize("which", ["odm", "in_force"])
def test_other_devices_have_the_requested_values_and_nothing_else(values, remembered, which):
    found = {device: values(device, which) for device in remembered["state"]["devices"] if device != "smcr0"}
    before = {
        device: {name: one[which] for name, one in found["attributes"].items()}
        for device, found in remembered["state"]["devices"].items()
        if device != "smcr0"
    }
    before["en0"]["mtu"], before["sys0"]["maxuproc"] = "9000", "4096"
    assert found == before


def test_the_tunable_is_set_and_stored_and_other_lines_are_kept(nodelayack, nextboot, remembered):
    assert nodelayack() == "1"
    assert nextboot() == remembered["nextboot"] + '\ttcp_nodelayack = "1"\n'


def test_the_journal_is_for_root_only(journal):
    modes = dict(line.rsplit(" ", 1) for line in journal())
    assert modes.pop("/var/adm/zpower_sap_tuning") == "700"
    assert modes and set(modes.values()) == {"600"}


def test_verify_agrees(name, told, verdicts):
    status, text, changed = told("verify")
    assert (status, changed[name]) == (0, 0), text
    found = verdicts(text)
    assert found.pop(("smc_r", "smcr0")) == {"app1": "compliant", "app2": "unsupported"}[name]
    assert {found[row] for row in found if row[0] == "aix_device_attributes"} == {"compliant"}


def test_facts_of_the_platform(name, module):
    facts = module("platform_info")["ansible_facts"]["zpower_platform"]
    assert (facts["system"], facts["aix_level"][:7]) == ("AIX", {"app1": "7200-05", "app2": "7100-05"}[name])
