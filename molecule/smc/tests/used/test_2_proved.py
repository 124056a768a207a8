# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""While a connection is open: what platform_info and verify report about it and about a fallback."""

import json
import re

import pytest


def test_the_settings_are_active_and_stored(sysctls, modules_at_boot, host):
    assert (sysctls["rmem"], sysctls["wmem"]) == ("262144", "262144")
    assert "net.smc.wmem = 262144" in host.check_output("cat /etc/sysctl.d/91-zpower-sap-tuning-smc-sysctls.conf")
    assert "\nsmc\n" in modules_at_boot


def test_platform_info_reports_device_connection_and_counters(module):
    found = module("platform_info")["ansible_facts"]["zpower_platform"]["smc"]
    (device,) = found["devices"]
    assert (device["type"], device["name"], device["interface"], device["active"]) == ("SMCR", "rxe0", "enc3", True)
    assert (device["pnet_id"], device["pnet_id_by_user"], found["ueids"]) == ("SAPNET", True, ["SAP.EID.LAB"])
    # the open connection, and those of two work processes
    assert found["sockets"] == [{"peer": "10.99.0.2", "mode": "SMCR", "fallback": None, "count": 3}]
    # four connections of the measurement's runs, those of its calibration, and the open ones
    assert found["stats"]["SMCR"]["client_v2"] >= 5
    assert found["stats"]["SMCR"]["bytes_sent"] > 100_000


def test_verify_confirms_that_the_traffic_uses_smc(play):
    status, text, changed = play("verify")
    assert (status, changed) == (0, {"smc1": 0, "smc2": 0}), text
    for name in ("smc1", "smc2"):
        assert re.search(rf"^{name} +platform +SMC +3 SMCR .*compliant$", text, re.MULTILINE), text
        said = rf"^.*{name}\b.*: platform SMC: SMCR device rxe0 port 1 of enc3, active, PNET id SAPNET"
        assert re.search(said, text, re.MULTILINE), text
        assert re.search(rf"^{name} +smc_sysctls +net.smc .*compliant$", text, re.MULTILINE), text


def test_the_connections_of_the_instance_use_smc_r(record, preloaded, profile):
    status, text = record()
    assert status == 0 and preloaded == {True}, text
    assert "connections of PRD_00 now: 2 SMCR" in text, text
    assert profile().splitlines()[-1] == "SETENV_02 = LD_PRELOAD=libsmc-preload.so"


@pytest.fixture
def fallen(host):
    """Open a connection that falls back to TCP, because sshd does not open SMC sockets."""
    host.check_output("systemd-run --unit=fallen /usr/bin/python3 /root/connected.py 10.99.0.2 22")
    yield
    host.check_output("systemctl stop fallen")


def test_verify_names_a_connection_that_fell_back(play, fallen):
    status, text, _changed = play("verify", "--limit", "smc1")
    assert status != 0
    assert "3 SMCR, 1 TCP instead of SMC, 0x03010000 (the peer does not support SMC)" in text, text


def test_the_stored_files_are_saved_for_later(stored, boot, memory, remembered):
    memory.write_text(json.dumps({**remembered, "kept": stored, "boot": boot}))
