# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The face of sap_profile: what it takes, and how it ends."""

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.parameters import PRESETS
from ansible_collections.zpower.sap_tuning.plugins.modules import sap_profile
from modules import caller
from sapsystem import D00, SapHost


@pytest.fixture
def call(monkeypatch, capsys):
    return caller(sap_profile.main, monkeypatch, capsys)


@pytest.fixture
def host(tmp_path, monkeypatch):
    made = SapHost(tmp_path)
    monkeypatch.setattr(entry_point, "Host", lambda: made)
    return made


def test_it_applies_predicts_and_restores(host, call):
    before = host.profiles()
    wanted = {"sid": "PRD", "instance": "D00", "parameters": {"rdisp/wp_no_btc": 12}}
    predicted = call(_ansible_check_mode=True, **wanted)
    assert predicted["changed"] and host.profiles() == before
    done = call(**wanted)
    assert done["changed"] and done["diff"] == predicted["diff"]
    assert done["instances"] == [{"sid": "PRD", "name": "D00", "number": "00", "user": "prdadm", "unit": None}]
    assert call(**wanted)["changed"] is False
    assert call(state="restored")["changed"] and host.profiles() == before


def test_entries_of_a_list_have_defaults_too(host, call):
    result = call(profiles=[{"profile": D00, "parameters": {"rdisp/wp_no_btc": "8"}}])
    assert not result["changed"] and result["tuning"][0]["verdict"] == "compliant"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({}, "give either profile, a path, or both sid and instance"),
        ({"profile": D00, "sid": "PRD", "parameters": {"a/b": "1"}}, "give either profile"),
        ({"profile": D00, "presets": ["realtime"]}, "value of presets must be one or more of"),
        ({"profile": D00, "parameters": {"rdisp/linux/os_priority": 100}}, "a number from 1 to 99"),
        ({"profile": D00, "parameters": {"enqueue/table_size": 640000}}, "enque/table_size"),
        ({"profile": D00, "parameters": {"rdisp/vb_dispatching": True}}, "write it in quotes"),
        ({"profile": D00, "presets": ["memory_std", "memory_map"]}, "set es/implementation differently"),
        ({"profile": D00, "parameters": {"a/b": "1"}, "restart_timeout": "soon"}, "restart_timeout"),
        ({"profile": D00, "parameter": {"a/b": "1"}}, "Unsupported parameters"),
    ],
)
def test_bad_input_fails_with_one_sentence_and_changes_nothing(host, call, arguments, words):
    before = host.profiles()
    result = call(**arguments)
    assert result["failed"] and words in result["msg"]
    assert host.profiles() == before and not host.exists("/var/lib")


def test_the_presets_are_those_that_the_target_knows():
    options = pytest.importorskip("yaml").safe_load(sap_profile.DOCUMENTATION)["options"]
    assert options["presets"]["choices"] == options["profiles"]["suboptions"]["presets"]["choices"] == list(PRESETS)
