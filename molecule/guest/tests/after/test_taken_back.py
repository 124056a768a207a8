# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guest after rollback: everything is as found before the first change."""


def test_everything_is_as_found(masks, siblings, topology, stored, remembered):
    assert (masks, stored) == (remembered["masks"], remembered["stored"])
    assert (siblings, topology) == (remembered["siblings"], remembered["topology"])


def test_a_second_rollback_changes_nothing(play):
    status, text, changed = play("rollback")
    assert (status, changed) == (0, {"guest": 0}), text
