# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bare hosts: what verify and check mode say about them, and that neither touches them."""

import json


def test_a_bare_host_is_remembered(masks, stored, memory):
    assert masks.count("hsi0/queues/rx-") == 8, "four receive queues with two files each"
    assert "zpower" not in stored
    memory.write_text(json.dumps({"masks": masks, "stored": stored}))


def test_verify_fails_and_names_every_failing_value(told, about, remembered):
    status, text, _changed = told("verify")
    assert status != 0
    assert "hsi0" in about(text)
    for queue in range(4):
        assert f"rx-{queue}" in about(text)


def test_check_mode_predicts_a_change_and_makes_none(name, told, remembered):
    status, text, changed = told("site", "--check", "--diff")
    assert status == 0, text
    assert changed == {"app1": 1, "app2": 1} and name in changed
    assert "rps_cpus" in text


def test_nothing_was_touched(masks, stored, remembered):
    assert masks == remembered["masks"]
    assert stored == remembered["stored"]
