# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
import stat

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import SCHEMA, Journal, folder_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import RUNNING, Knob
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError

FOLDER = "/var/lib/zpower_sap_tuning"


@pytest.fixture
def host(tmp_path):
    (tmp_path / "var" / "lib").mkdir(parents=True)
    return Host(str(tmp_path))


def knob(key, now, wanted):
    made = Knob(key, RUNNING, "rx-0", "eth0 rps_cpus", now)
    made.wanted = wanted
    return made


def opened(host):
    journal = Journal(host, "rps", FOLDER)
    journal.lock()
    return journal


def test_folder_of_each_system():
    assert folder_of("AIX") == "/var/adm/zpower_sap_tuning"
    assert folder_of("Linux") == FOLDER


def test_the_first_value_stays_first_and_every_set_value_is_kept(host):
    journal = opened(host)
    journal.intend([("eth0", knob("/k", "0", "f"))])
    journal.intend([("eth0", knob("/k", "f", "5"))])
    journal.close()
    entry = Journal(host, "rps", FOLDER).entries["/k"]
    assert entry["first"] == "0"
    assert entry["ours"] == ["f", "5"]
    assert entry["subject"] == "eth0"


def test_folder_and_file_are_for_root_only(host):
    journal = opened(host)
    journal.intend([("eth0", knob("/k", "0", "f"))])
    journal.close()
    assert stat.S_IMODE(os.stat(host.path(FOLDER)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(host.path(FOLDER + "/rps.json")).st_mode) == 0o600


def test_an_empty_journal_leaves_nothing_behind(host):
    journal = opened(host)
    journal.intend([("eth0", knob("/k", "0", "f"))])
    journal.forget(["/k"])
    journal.close()
    assert os.listdir(host.path("/var/lib")) == []


def test_reading_makes_no_folder(host):
    assert Journal(host, "rps", FOLDER).entries == {}
    assert os.listdir(host.path("/var/lib")) == []


def test_a_second_run_is_told_who_holds_the_lock(host):
    first = opened(host)
    with pytest.raises(HostError) as error:
        opened(host)
    first.close()
    assert "another run (process %d) is changing this tuning now" % os.getpid() in str(error.value)
    opened(host).close()


def test_the_lock_shows_what_another_run_wrote_meanwhile(host):
    early = Journal(host, "rps", FOLDER)
    other = opened(host)
    other.intend([("eth0", knob("/k", "0", "f"))])
    other.close()
    early.lock()
    assert early.entries["/k"]["first"] == "0"
    early.close()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        json.dumps({"schema": "other", "tuning": "rps", "knobs": {}}),
        json.dumps({"schema": "zpower.sap_tuning/journal/2", "tuning": "rps", "knobs": {}}),
        json.dumps({"schema": SCHEMA, "tuning": "smc_r", "knobs": {}}),
        json.dumps({"schema": SCHEMA, "tuning": "rps", "knobs": {"/k": {"ours": []}}}),
        json.dumps({"schema": SCHEMA, "tuning": "rps", "knobs": {"/k": 1}}),
    ],
)
def test_a_journal_that_cannot_be_understood_is_never_overwritten(host, text):
    host.write(FOLDER + "/rps.json", text)
    with pytest.raises(HostError) as error:
        Journal(host, "rps", FOLDER)
    assert "/rps.json cannot be understood" in str(error.value)
    assert "nothing was changed" in str(error.value)
    assert host.read(FOLDER + "/rps.json") == text


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "var").write_text("a file where a folder should be")
    with pytest.raises(HostError) as error:
        opened(Host(str(tmp_path)))
    assert str(error.value).startswith("nothing was changed: cannot keep a journal in " + FOLDER)


@pytest.mark.parametrize("meanwhile", ["makes", "removes"])
def test_a_folder_that_another_tuning_makes_or_removes_during_the_look_is_noted(host, monkeypatch, meanwhile):
    """Each of them notes it, so the last one that is taken back removes it."""
    drop_ins, other, real = "/etc/sysctl.d", Journal(host, "other", FOLDER), Journal._folders

    def begin():
        other.intend([("other", knob("/o", "0", "1"))], [drop_ins])
        os.makedirs(host.path(drop_ins))

    def folders(self):
        # what the other one writes comes after this look into the journals, or was there only before it
        found = real(self) if meanwhile == "removes" else []
        monkeypatch.setattr(Journal, "_folders", real)
        if meanwhile == "makes":
            begin()
        else:
            other.forget(["/o"])
        return found

    if meanwhile == "removes":
        begin()
    journal = opened(host)
    monkeypatch.setattr(Journal, "_folders", folders)
    journal.intend([("eth0", knob("/k", "0", "f"))], [drop_ins])
    assert journal.made == [drop_ins]
