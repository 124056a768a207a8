# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bare hosts: what verify and check mode say about them; neither changes anything."""

import json


def test_the_state_of_a_bare_host_is_saved(masks, stored, memory):
    assert masks.count("hsi0/queues/rx-") == 8, "four receive queues with two files each"
    assert "zpower" not in stored
    memory.write_text(json.dumps({"masks": masks, "stored": stored}))


def test_verify_fails_and_names_every_failing_value(told, about):
    status, text, _changed = told("verify")
    assert status != 0
    assert [word for word in ("hsi0", "rx-0", "rx-1", "rx-2", "rx-3") if word not in about(text)] == []


def test_check_mode_predicts_a_change(told):
    status, text, changed = told("site", "--check", "--diff")
    assert status == 0, text
    assert changed == {"app1": 1, "app2": 1} and "rps_cpus" in text


def test_nothing_was_touched(masks, stored, remembered):
    assert (masks, stored) == (remembered["masks"], remembered["stored"])
