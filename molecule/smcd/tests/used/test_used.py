# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The instance after a restart with the library: its connections use SMC-D."""

import json
import re


def test_the_ueid_is_set_now_and_for_the_next_boot(smc, host):
    assert smc()["ueids"] == ["LAB.ONE"]
    assert "X-SMC=ueid LAB.ONE" in host.check_output("cat /etc/systemd/system/*zpower*smc*.service")


def test_the_connections_of_the_instance_use_smc_d(record, preloaded, profile):
    _status, text = record()
    assert preloaded == {True}
    assert "connections of PRD_00 now: 2 SMCD" in text, text
    assert "LD_PRELOAD=libsmc-preload.so" in profile()


def test_verify_reports_smc_d_to_the_peer_but_to_no_other_host(play):
    status, text, changed = play("verify")
    assert changed == {"guest": 0}, text
    assert re.search(r"^guest +platform +SMC +2 SMCD .*compliant$", text, re.MULTILINE), text
    assert re.search(r"^guest +smc +UEIDs .*compliant$", text, re.MULTILINE), text
    # loopback serves only this host, so the tuning has drifted
    assert status != 0 and re.search(r"^guest +smc +kernel .*drifted$", text, re.MULTILINE), text
    assert "no device for SMC but loopback, so every connection to another host falls back to TCP" in text, text


def test_buffers_belong_to_the_network_namespace(sysctls, host, tables):
    assert sysctls["rmem"] == "262144"
    assert host.check_output("ip netns exec peer cat /proc/sys/net/smc/rmem") == "65536"
    assert max(entry["dmb"] for entry in tables()["groups"]) >= 2 * 262144


def test_the_stored_files_are_saved_for_later(stored, boot, memory, remembered):
    memory.write_text(json.dumps({**remembered, "kept": stored, "boot": boot}))
