# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guest after rollback: everything is what it was before the first change."""


def test_the_kernel_has_its_first_values(masks, siblings, topology, remembered):
    assert masks == remembered["masks"]
    assert (siblings, topology) == (remembered["siblings"], remembered["topology"])


def test_nothing_is_stored_any_more(stored, remembered):
    assert stored == remembered["stored"]


def test_a_second_rollback_changes_nothing(play):
    status, text, changed = play("rollback")
    assert (status, changed) == (0, {"guest": 0}), text
