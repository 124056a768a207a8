# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts after rollback: everything is as found before the first change, byte for byte."""


def test_everything_is_as_found(masks, stored, remembered):
    assert masks == remembered["masks"]
    assert stored == remembered["stored"]


def test_a_second_rollback_changes_nothing(name, told):
    status, text, changed = told("rollback")
    assert (status, changed) == (0, {"app1": 0, "app2": 0}) and name in changed, text
