# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""After rollback, every profile is as found, byte for byte, and the instances use it."""


def test_every_profile_is_as_found(profiles, stored, remembered):
    assert profiles() == remembered["profiles"]
    assert stored == remembered["stored"]


def test_the_instances_run_as_before(name, work_processes, parameter, is_up):
    assert is_up("D00") and (name == "app2" or is_up("ASCS01"))
    assert [row[1:] for row in work_processes()] == [(0, 0)] * 4
    assert parameter("D00", "rdisp/linux/os_scheduler") == "SCHED_OTHER"
    assert parameter("D00", "rsdb/ntab/entrycount") == "128000"


def test_a_second_rollback_changes_nothing(name, told):
    status, text, changed = told("rollback")
    assert (status, changed[name]) == (0, 0), text
    assert "changed by someone else" not in text
