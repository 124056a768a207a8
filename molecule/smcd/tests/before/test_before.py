# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Before anything is set: which module is in use, what falls back, and what the system EID does alone."""

import json
import re

SEID = "IBM-SYSZ-ISMSEID"


def test_the_module_of_the_lab_is_in_use(host):
    assert host.check_output("modinfo -F vermagic smc").split()[0] == host.check_output("uname -r")
    assert "smc: adding smcd device loopback-ism" in host.check_output("dmesg")


def test_platform_info_names_loopback_and_no_other_device(smc, tables):
    assert [(device["type"], device["name"]) for device in smc()["devices"]] == [("SMCD", "loopback")]
    assert (tables()["ism_v2"], tables()["devices"]) == (1, 0)


def test_a_peer_without_smc_is_a_fallback_with_its_reason(play, connected, tables):
    with connected(5002):
        status, text, _changed = play("verify")
    assert status != 0
    assert "TCP instead of SMC, 0x03010000 (the peer does not support SMC)" in text, text
    assert ["client", "0x3010000", 1] in tables()["fallbacks"]
    assert re.search(r"SMCD device loopback, for connections inside this host only", text), text


def test_the_counters_of_the_peer_are_its_own_and_verify_names_them(play, tables):
    """The instance's connections are plain TCP, which the server of the peer counts as fallbacks."""
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


def test_an_undisturbed_guest_is_remembered(stored, memory):
    assert "zpower" not in stored
    memory.write_text(json.dumps({"stored": stored}))
