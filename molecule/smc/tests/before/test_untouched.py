# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A guest without SMC: what is reported about it; reading it loads no module."""

import json
import re


def test_the_state_of_a_bare_guest_is_saved(stored, loaded, sysctls, memory):
    assert (loaded, sysctls) == (False, {})
    assert "zpower" not in stored
    memory.write_text(json.dumps({"stored": stored}))


def test_platform_info_reports_no_smc(module):
    assert module("platform_info")["ansible_facts"]["zpower_platform"]["smc"] is None


def test_verify_says_that_nothing_uses_smc(play):
    status, text, _changed = play("verify")
    assert status != 0
    assert re.search(r"^smc1 +platform +SMC .*drifted$", text, re.MULTILINE), text
    assert "has not loaded its module smc" in text
    assert re.search(r"^smc1 +smc_sysctls +net.smc .*unsupported$", text, re.MULTILINE), text
    assert "modprobe smc" in text


def test_verify_predicts_what_the_instance_lacks(record):
    status, text = record()
    assert status != 0
    assert "LD_PRELOAD: absent, wanted libsmc-preload.so" in text, text


def test_reading_has_loaded_no_module(loaded, stored, remembered):
    assert not loaded
    assert stored == remembered["stored"]
