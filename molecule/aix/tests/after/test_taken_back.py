# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts after rollback: every value of every device, stored and active, is the one found before the first change."""


def test_every_device_and_every_byte_is_as_found(state, nextboot, journal, remembered):
    assert state() == remembered["state"]
    assert nextboot() == remembered["nextboot"]
    assert journal() == []


def test_a_second_rollback_changes_nothing(name, told, calls):
    before = calls()
    status, text, changed = told("rollback")
    assert (status, changed[name]) == (0, 0), text
    assert calls() == before
