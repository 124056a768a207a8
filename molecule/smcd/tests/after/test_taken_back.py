# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guest after rollback: no UEID is set, the system EID is enabled again, and the instance uses TCP."""


def test_everything_is_as_found(smc, tables, sysctls, stored, profile, preloaded, remembered):
    found = smc()
    assert (found["ueids"], found["sockets"], tables()["seid"][1]) == ([], [], 1)
    assert (sysctls["rmem"], stored) == ("65536", remembered["stored"])
    assert "LD_PRELOAD" not in profile() and preloaded == {False}


def test_a_second_rollback_changes_nothing(play):
    status, text, changed = play("rollback")
    assert (status, changed) == (0, {"guest": 0}), text
