# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An untouched system: what verify and check mode say about it; neither changes anything."""

import json
import re


def test_the_state_of_a_system_is_saved(host, name, profiles, work_processes, parameter, is_up, stored, memory):
    found = profiles()
    assert is_up("D00") and (name == "app2" or is_up("ASCS01"))
    assert {(policy, priority) for _pid, policy, priority in work_processes()} == {(0, 0)}
    assert len(work_processes()) == 4
    assert parameter("D00", "rdisp/linux/os_scheduler") == "SCHED_OTHER"
    assert found["PRD_D00_app1"][4] and len(found["PRD_D00_app1"][0].splitlines()) > 1500
    assert host.run("command -v csh").rc != 0, "the instance's administrator has a shell that nobody can start"
    assert "rtprio" not in stored and "LimitRTPRIO" not in stored
    memory.write_text(json.dumps({"profiles": found, "stored": stored, "pids": work_processes()}))


def test_the_instances_are_found(name, module):
    found = module("platform_info")["ansible_facts"]["zpower_platform"]["sap_instances"]
    told = [(one["name"], one["role"], one["host"], one["enqueue"], one["user"], one["status"]) for one in found]
    expected = [("D00", "application_server", name, None, "prdadm", "running")]
    if name == "app1":
        expected.insert(0, ("ASCS01", "ascs", "prdscs", "ENSA2", "prdadm", "running"))
    assert told == expected


def test_verify_fails_and_names_every_failing_value(name, told):
    status, text, _changed = told("verify")
    assert status != 0
    assert f"/sapmnt/PRD/profile/PRD_D00_{name} rdisp/linux/os_scheduler: " in text
    assert "SCHED_RR" in text
    assert "rsdb/ntab/entrycount: 128000, wanted 640000" in text


def test_check_mode_predicts_the_stored_values(name, told, remembered, memory):
    status, text, changed = told("site", "--check", "--diff")
    assert status == 0, text
    assert changed["app1"] > 0 and changed["app2"] > 0
    lines = re.findall(r"^\+(/sapmnt/\S+) (\S+) \(stored\): (.*)$", text, re.MULTILINE)
    predicted = sorted({(path.rpartition("/")[2], parameter, value.rstrip()) for path, parameter, value in lines})
    assert (f"PRD_D00_{name}", "rdisp/linux/os_priority", "99") in predicted
    memory.write_text(json.dumps({**remembered, "predicted": predicted}))


def test_only_one_host_changes_the_shared_profile(told):
    text = told("site", "--check", "--diff")[1]
    assert len(re.findall(r"^\+\S+DEFAULT\.PFL rsdb/ntab/entrycount \(stored\): 640000$", text, re.MULTILINE)) == 1


def test_nothing_was_touched(profiles, work_processes, stored, remembered):
    assert profiles() == remembered["profiles"]
    assert stored == remembered["stored"]
    assert [list(row) for row in work_processes()] == remembered["pids"]
