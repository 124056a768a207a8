# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
import stat

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import SCHEMA, Journal, folder_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import RUNNING, Knob
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from runs import FOLDER, refusal

DROP_INS = "/etc/sysctl.d"


@pytest.fixture
def host(tmp_path):
    (tmp_path / "var" / "lib").mkdir(parents=True)
    return Host(str(tmp_path))


def intended(host, key="/k", now="0", wanted="f", folders=()):
    """The journal after a run that has noted one value."""
    made = Knob(key, RUNNING, "rx-0", "eth0 rps_cpus", now)
    made.wanted = wanted
    journal = opened(host)
    journal.intend([("eth0", made)], folders)
    journal.close()
    return journal


def opened(host):
    journal = Journal(host, "rps", FOLDER)
    journal.lock()
    return journal


def test_folder_of_each_system():
    assert folder_of("AIX") == "/var/adm/zpower_sap_tuning"
    assert folder_of("Linux") == FOLDER


def test_the_first_value_stays_first_and_every_set_value_is_kept(host):
    assert Journal(host, "rps", FOLDER).entries == {}
    # reading makes no folder
    assert os.listdir(host.path("/var/lib")) == []
    intended(host, now="0", wanted="f")
    intended(host, now="f", wanted="5")
    entry = Journal(host, "rps", FOLDER).entries["/k"]
    assert (entry["first"], entry["ours"], entry["subject"]) == ("0", ["f", "5"], "eth0")
    assert stat.S_IMODE(os.stat(host.path(FOLDER)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(host.path(FOLDER + "/rps.json")).st_mode) == 0o600
    journal = opened(host)
    journal.forget(["/k"])
    journal.close()
    # an empty journal leaves nothing behind
    assert os.listdir(host.path("/var/lib")) == []


def test_a_second_run_is_told_who_holds_the_lock(host):
    first = opened(host)
    assert "another run (process %d) is changing this tuning now" % os.getpid() in refusal(opened, host)
    first.close()
    opened(host).close()


def test_the_lock_shows_what_another_run_wrote_meanwhile(host):
    early = Journal(host, "rps", FOLDER)
    intended(host)
    early.lock()
    assert early.entries["/k"]["first"] == "0"
    early.close()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "[" * 100000]
    + [
        json.dumps(dict({"schema": SCHEMA, "tuning": "rps", "knobs": {}}, **changes))
        for changes in (
            {"schema": "other"},
            {"schema": "zpower.sap_tuning/journal/2"},
            {"tuning": "smc_r"},
            {"knobs": {"/k": {"ours": []}}},
            {"knobs": {"/k": 1}},
        )
    ],
    ids=len,
)
def test_a_journal_that_cannot_be_understood_is_never_overwritten(host, text):
    host.write(FOLDER + "/rps.json", text)
    sentence = refusal(Journal, host, "rps", FOLDER)
    assert "/rps.json cannot be understood" in sentence and "nothing was changed" in sentence
    assert host.read(FOLDER + "/rps.json") == text


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "var").write_text("a file where a folder should be")
    sentence = refusal(opened, Host(str(tmp_path)))
    assert sentence.startswith("nothing was changed: cannot keep a journal in " + FOLDER)


def begin(host, other):
    """Let another tuning note a folder and make it."""
    other.intend([("other", Knob("/o", RUNNING, "o", "o", "0"))], [DROP_INS])
    os.makedirs(host.path(DROP_INS))


def test_a_folder_that_another_tuning_has_made_is_noted_too(host):
    begin(host, Journal(host, "other", FOLDER))
    assert intended(host, folders=[DROP_INS, "/var/lib"]).made == [DROP_INS]


@pytest.mark.parametrize("meanwhile", ["makes", "removes"])
def test_a_folder_that_another_tuning_makes_or_removes_during_the_look_is_noted(host, monkeypatch, meanwhile):
    """Each of them notes it, so the last one that is taken back removes it."""
    other, real = Journal(host, "other", FOLDER), Journal._folders

    def folders(self):
        # what the other one writes comes after this look into the journals, or was there only before it
        found = real(self) if meanwhile == "removes" else []
        monkeypatch.setattr(Journal, "_folders", real)
        if meanwhile == "makes":
            begin(host, other)
        else:
            other.forget(["/o"])
        return found

    if meanwhile == "removes":
        begin(host, other)
    monkeypatch.setattr(Journal, "_folders", folders)
    assert intended(host, folders=[DROP_INS]).made == [DROP_INS]
