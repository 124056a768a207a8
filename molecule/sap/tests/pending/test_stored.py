# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converged hosts: the profiles have the new values and are otherwise unchanged; the instances still run with the old
ones.
"""

import difflib
import re

import pytest

WANTED = {
    "rdisp/linux/os_scheduler": "SCHED_RR",
    "rdisp/linux/os_priority": "99",
    "rdisp/wp_no_btc": "3",
    "icm/server_port_0": None,
}


def changes(before, after):
    """Return the removed and the added lines, with their line ends."""
    lines = list(difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True)))
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]


@pytest.fixture
def own(name, profiles, remembered, effective):
    """Return this host's instance profile: (before, after)."""
    profile = f"PRD_D00_{name}"
    return remembered["profiles"][profile][0], profiles()[profile][0]


def test_the_profile_has_the_requested_values(own, effective):
    assert {parameter: effective(own[1], parameter) for parameter in WANTED} == WANTED


def test_every_predicted_change_was_made(profiles, remembered, effective):
    found = profiles()
    assert len(remembered["predicted"]) == 9
    for profile, parameter, value in remembered["predicted"]:
        assert (effective(found[profile][0], parameter) or "absent") == value


def test_nothing_else_in_it_has_changed(own):
    went, came = changes(*own)
    end = "\r\n" if "\r\n" in own[0] else "\n"
    assert {line.partition("=")[0].strip() for line in went} == {"icm/server_port_0", *in_place(own[0])}
    (comment,) = [line for line in came if line.startswith("#") and line.strip() != "# last line"]
    assert "CHG0042" in comment
    assert all(line.endswith(end) for line in own[1].splitlines(keepends=True)[:-1])
    assert own[1].endswith("\n") == own[0].endswith("\n")


def in_place(before):
    """Return which old lines are changed: those of a parameter that was set, and a last line without a line end."""
    known = ["rdisp/wp_no_btc"]
    known += ["rdisp/linux/os_scheduler"] if "\nrdisp/linux/os_scheduler" in before else []
    return known if before.endswith("\n") else [*known, "# last line"]


def test_the_shared_profile_was_changed_once(profiles, remembered):
    before, after = remembered["profiles"]["DEFAULT.PFL"][0], profiles()["DEFAULT.PFL"][0]
    assert changes(before, after) == (["rsdb/ntab/entrycount	= 128000\n"], ["rsdb/ntab/entrycount	= 640000\n"])


def test_every_other_file_is_unchanged(profiles, remembered):
    def others(found):
        return {name: file for name, file in found.items() if not re.match(r"PRD_D00_app\d$|DEFAULT\.PFL$", name)}

    assert others(profiles()) == others(remembered["profiles"])
    rights = {name: file[1:] for name, file in profiles().items()}
    assert rights == {name: file[1:] for name, file in remembered["profiles"].items()}


def test_the_instances_still_run_with_the_old_values(work_processes, parameter, remembered):
    assert [list(row) for row in work_processes()] == remembered["pids"]
    assert parameter("D00", "rdisp/linux/os_scheduler") == "SCHED_OTHER"
    assert parameter("D00", "rsdb/ntab/entrycount") == "128000"


def test_real_time_priorities_are_allowed_from_the_next_start(host, stored):
    assert re.search(r"^/etc/systemd/system/SAPPRD_00\.service\.d/\S+\.conf:LimitRTPRIO=99$", stored, re.MULTILINE)
    assert re.search(r"^/etc/security/limits\.d/\S+\.conf:prdadm\s+-\s+rtprio\s+99$", stored, re.MULTILINE)
    assert "SAPPRD_01.service.d" not in stored, "the central services are not asked to run under another scheduler"


@pytest.fixture
def pending(name):
    """Return the verdicts on the profiles of this host while a restart is pending."""
    return {
        ("sap_profile", f"/sapmnt/PRD/profile/{file}"): "pending_restart" for file in ("DEFAULT.PFL", f"PRD_D00_{name}")
    }


def test_verify_reports_that_a_restart_is_pending(told, verdicts, pending):
    status, text, _changed = told("verify")
    assert status != 0
    assert pending.items() <= verdicts(text).items()
    assert "an unproved value is in force" not in text


def test_restart_service_alone_activates_nothing(eventually, control, parameter, work_processes, remembered):
    assert control("D00", "RestartService")[0] == 0
    # Until the service answers again, sapcontrol ends with an error and prints nothing.
    came_back = eventually(lambda: control("D00", "ParameterValue", "rdisp/wp_no_btc")[1].splitlines()[-1:] == ["3"])
    assert came_back, "the start service does not return with the new profile"
    assert parameter("D00", "rsdb/ntab/entrycount") == "640000"
    assert [list(row) for row in work_processes()] == remembered["pids"]


def test_verify_does_not_take_a_new_start_service_for_a_restart(name, play, verdicts, pending):
    status, text, _changed = play("verify", "--limit", name)
    assert status != 0
    assert pending.items() <= verdicts(text).items()
    assert "PRD_00 started before the last change of its profiles, and its sapstartsrv later than PRD_00" in text
