# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A device that was in use: the ODM has the new values, the old ones are active, and verify reports both."""

import pytest

OPTIMIZED = {"conns_per_lg": "64", "init_snd_pools": "16", "rx_intr_packets": "256"}
BEFORE = {"conns_per_lg": "16", "init_snd_pools": "2", "rx_intr_packets": "128"}
WANTED = ("-e", "smc_r_preset=optimized", "-e", "smc_r_when_busy=defer")


@pytest.fixture
def chosen(values):
    """Return a function that reads the attributes in which the presets differ."""
    return lambda which: {name: values("smcr0", which)[name] for name in OPTIMIZED}


def test_the_odm_has_the_new_values_and_the_old_ones_are_active(only_app1, chosen):
    assert (chosen("odm"), chosen("in_force")) == (OPTIMIZED, BEFORE)


def test_the_device_was_tried_before_only_the_odm_was_changed(only_app1, calls):
    tried, deferred = [call for call in calls() if "smcr0" in call][-2:]
    assert tried == ["chdev", "-l", "smcr0"] + [
        word for name in sorted(OPTIMIZED) for word in ("-a", f"{name}={OPTIMIZED[name]}")
    ]
    assert deferred == [*tried[:3], "-P", *tried[3:]]


def test_verify_reports_that_a_restart_is_pending(name, told, verdicts):
    status, text, _changed = told("verify", *WANTED)
    assert status != 0
    assert verdicts(text)["smc_r", "smcr0"] == {"app1": "pending_restart", "app2": "unsupported"}[name]
    assert "smcr0 conns_per_lg: 16 is in force, 64 once the device is configured again" in text


def test_a_second_run_changes_nothing_and_reports_it_too(name, told, verdicts, calls):
    before = calls()
    status, text, changed = told("site", *WANTED)
    assert (status, changed[name]) == (0, 0), text
    assert verdicts(text)["smc_r", "smcr0"] == {"app1": "pending_restart", "app2": "unsupported"}[name]
    assert calls() == before
