# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import json

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import record_tunings

TUNING = {
    "name": "rps",
    "subject": "hsi0",
    "wanted": {"state": "present", "rps_cpus": "f"},
    "before": {"running": {"rx-0": "0"}, "stored": None, "next_boot": {"rps_cpus": "0"}},
    "after": {"running": {"rx-0": "f"}, "stored": {"udev rule": "rps_cpus=f"}, "next_boot": {"rps_cpus": "f"}},
    "verdict": "changed",
    "reason": "2 values set and read back",
    "restart": "none",
    "conflicts": [],
    "sources": ["x"],
    "undo": "y",
}


def run(check_mode=False, **arguments):
    return run_action(record_tunings, arguments, check_mode)


def test_the_records_are_kept_where_the_report_looks_and_never_overwritten(tmp_path):
    given = {"change": "c1", "phase": "after", "round": 2, "results": str(tmp_path)}
    assert run(check_mode=True, **given, tunings=[TUNING])["changed"]
    assert list(tmp_path.iterdir()) == []
    path = tmp_path / "c1" / "app1" / "tunings-after-2.json"
    assert run(**given, tunings=[TUNING])["path"] == str(path)
    text = path.read_text()
    kept = json.loads(text)
    assert kept["tunings"] == [TUNING]
    assert (kept["host"], kept["phase"], kept["round"]) == ("app1", "after", 2)
    with pytest.raises(AnsibleActionFail, match="tunings-after-2.json exists already"):
        run(**given, tunings=[])
    assert path.read_text() == text


def test_what_check_mode_found_is_kept_as_the_state_that_was_left(tmp_path):
    predicted = {**TUNING, "subject": "hsi1", "verdict": "drifted", "reason": "rx-0 is 0, wanted f"}
    run(change="c1", phase="found", results=str(tmp_path), tunings=[TUNING], found=[predicted])
    kept = json.loads((tmp_path / "c1" / "app1" / "tunings-found-1.json").read_text())["tunings"]
    assert kept[0] == TUNING
    assert kept[1]["subject"] == "hsi1"
    assert kept[1]["after"] == kept[1]["before"] == TUNING["before"]
    assert (kept[1]["verdict"], kept[1]["wanted"]) == ("compliant", {"state": "as found"})


@pytest.mark.parametrize("change", ["../x", "a/b", "", "."])
def test_no_name_of_a_change_leads_out_of_the_results(tmp_path, change):
    with pytest.raises(AnsibleActionFail, match="the record cannot be stored: change is"):
        run(change=change, phase="after", results=str(tmp_path / "r"), tunings=[TUNING])
    assert list(tmp_path.iterdir()) == []
