# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before anything is set: the loaded module, fallbacks, and SMC-D with the system EID alone."""

import json
import re

SEID = "IBM-SYSZ-ISMSEID"


def test_the_module_of_the_lab_is_loaded(host):
    assert host.check_output("modinfo -F vermagic smc").split()[0] == host.check_output("uname -r")
    assert "smc: adding smcd device loopback-ism" in host.check_output("dmesg")


def test_platform_info_reports_loopback_as_the_only_device(smc, tables):
    assert [(device["type"], device["name"]) for device in smc()["devices"]] == [("SMCD", "loopback")]
    assert (tables()["ism_v2"], tables()["devices"]) == (1, 0)


def test_a_peer_without_smc_causes_a_fallback_with_a_reason(play, connected, tables):
    with connected(5002):
        status, text, _changed = play("verify")
    assert status != 0
    assert "TCP instead of SMC, 0x03010000 (the peer does not support SMC)" in text, text
    assert ["client", "0x3010000", 1] in tables()["fallbacks"]
    assert re.search(r"SMCD device loopback, for connections inside this host only", text), text


def test_verify_reports_the_counters_of_the_peer_s_namespace(play, tables):
    """The instance's connections use plain TCP, which the server of the peer counts as fallbacks."""
    fallen = {(end, reason): count for end, reason, count in tables("peer")["fallbacks"]}
    assert fallen["server", "0x3010000"] >= 2
    assert not [end for end, _reason, _count in tables()["fallbacks"] if end == "server"]
    _status, text, _changed = play("verify")
    assert re.search(r"fallbacks to TCP in the network namespace of process \d+: \d+; reasons: \d+ 0x03010000", text)


def test_the_system_eid_alone_is_enough_for_smc_d(connected, tables, smc):
    assert (tables()["seid"][0][: len(SEID)], tables()["seid"][1], smc()["ueids"]) == (SEID, 1, [])
    with connected(5001):
        assert [(entry["mode"], entry["count"]) for entry in smc()["sockets"]] == [("SMCD", 1)]
        groups = tables()["groups"]
    assert {(entry["chid"], entry["version"], entry["same_gid"]) for entry in groups} == {(0xFFFF, 2, True)}
    assert all(entry["eid"].startswith(SEID) for entry in groups)
    assert (tables()["client_v2"], tables()["server_v2"]) == (1, 0)
    assert (tables("peer")["client_v2"], tables("peer")["server_v2"]) == (0, 1)


def test_the_state_of_an_untouched_guest_is_saved(stored, memory):
    assert "zpower" not in stored
    memory.write_text(json.dumps({"stored": stored}))
