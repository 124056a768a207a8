# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bare hosts: what verify and check mode say about them, and that neither touches them."""

import json


def test_a_bare_host_is_remembered(masks, stored, memory):
    assert masks.count("hsi0/queues/rx-") == 8, "four receive queues with two files each"
    assert "zpower" not in stored
    memory.write_text(json.dumps({"masks": masks, "stored": stored}))


def test_verify_fails_and_names_every_failing_value(host, play, remembered):
    status, text, _changed = play("verify", "--limit", host.backend.get_hostname())
    assert status != 0
    assert "hsi0" in text
    for queue in range(4):
        assert f"rx-{queue}" in text


def test_check_mode_predicts_a_change_and_makes_none(host, play, remembered):
    name = host.backend.get_hostname()
    status, text, changed = play("site", "--check", "--diff", "--limit", name)
    assert status == 0, text
    assert changed == {name: 1}
    assert "rps_cpus" in text


def test_nothing_was_touched(masks, stored, remembered):
    assert masks == remembered["masks"]
    assert stored == remembered["stored"]
