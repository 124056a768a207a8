# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instances that were restarted because the user named them: the new values are active, also in the kernel."""

SCHED_RR = 2


def test_the_work_processes_run_under_the_real_time_scheduler(work_processes, remembered):
    found = work_processes()
    assert {(policy, priority) for _pid, policy, priority in found} == {(SCHED_RR, 99)}
    assert len(found) == 4
    assert not {row[0] for row in found} & {row[0] for row in remembered["pids"]}


def test_the_instances_have_the_new_values(name, parameter, is_up):
    assert is_up("D00")
    assert parameter("D00", "rdisp/wp_no_btc") == "3"
    assert parameter("D00", "rsdb/ntab/entrycount") == "640000"
    if name == "app1":
        assert is_up("ASCS01")
        assert parameter("ASCS01", "rsdb/ntab/entrycount") == "640000"


def test_verify_agrees(told, name):
    status, text, changed = told("verify")
    assert status == 0, text
    assert changed[name] == 0


def test_a_second_run_restarts_nothing(told, name, work_processes):
    before = work_processes()
    status, text, changed = told("site", "-e", '{"sap_profile_restart": ["PRD_00", "PRD_01"]}')
    assert (status, changed[name]) == (0, 0), text
    assert work_processes() == before
