# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts after rollback: everything is what it was before the first change, byte for byte."""


def test_all_of_sys_class_net_is_what_it_was(masks, remembered):
    assert masks == remembered["masks"]


def test_nothing_is_stored_any_more(stored, remembered):
    assert stored == remembered["stored"]


def test_a_second_rollback_changes_nothing(name, told):
    status, text, changed = told("rollback")
    assert (status, changed) == (0, {"app1": 0, "app2": 0}) and name in changed, text
