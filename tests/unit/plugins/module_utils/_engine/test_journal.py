# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
import stat

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import SCHEMA, Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import RUNNING, Knob
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from runs import FOLDER, refusal


@pytest.fixture
def host(tmp_path):
    (tmp_path / "var" / "lib").mkdir(parents=True)
    return Host(str(tmp_path))


def intended(host, now="0", wanted="f"):
    made = Knob("/k", RUNNING, "rx-0", "eth0 rps_cpus", now)
    made.wanted = wanted
    journal = opened(host)
    journal.intend([("eth0", made)], ())
    journal.close()


def opened(host):
    journal = Journal(host, "rps", FOLDER)
    journal.lock()
    return journal


def test_the_first_value_stays_first_and_every_set_value_is_kept(host):
    assert Journal(host, "rps", FOLDER).entries == {}
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
    assert os.listdir(host.path("/var/lib")) == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "[" * 100000]
    + [
        json.dumps(dict({"schema": SCHEMA, "tuning": "rps", "knobs": {}}, **changes))
        for changes in (
            {"schema": "other"},
            {"schema": "zpower.sap_tuning/journal/2"},
            {"schema": {}},
            {"tuning": "smc_r"},
            {"tuning": ["rps"]},
            {"machine": 1},
            {"folders": None},
            {"folders": {}},
            {"folders": [1]},
            {"folders": ["etc"]},
            {"knobs": None},
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
