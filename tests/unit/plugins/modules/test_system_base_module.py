# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The face of system_base: its states, its options, its documentation."""

import re

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base.values import ROWS
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.system_base import SystemBase
from ansible_collections.zpower.sap_tuning.plugins.modules import system_base
from basekernel import BaseHost, path_of
from modules import caller

MAPS = path_of("vm.max_map_count")


@pytest.fixture
def module(monkeypatch, capsys):
    return caller(system_base.main, monkeypatch, capsys)


@pytest.fixture
def host(tmp_path, monkeypatch):
    found = BaseHost(tmp_path)
    monkeypatch.setattr(entry_point, "Host", lambda: found)
    return found


def test_it_observes_applies_and_restores(host, module):
    assert module()["changed"] is False and host.log == []
    predicted = module(state="present", _ansible_check_mode=True)
    assert predicted["changed"] and predicted["tuning"][0]["verdict"] == "drifted"
    assert module(state="present")["diff"] == predicted["diff"]
    assert module(state="present")["changed"] is False and host.value(MAPS) == "2147483647"
    assert module(state="restored")["changed"] and host.value(MAPS) == "65530"


@pytest.mark.parametrize("then", ["observe", "present"])
def test_values_on_probation_can_be_confirmed(host, module, then):
    assert module(state="present", confirm_within="0")["changed"]
    found = module(state="confirmed", confirmed_state=then)
    assert found["changed"] and host.value(MAPS) == "2147483647"
    assert found["tuning"][0]["verdict"] == "compliant"
    assert module(state="restored")["changed"] and host.value(MAPS) == "65530"


def test_values_of_an_earlier_call_are_no_longer_asked_for(host, module):
    module(state="present")
    found = {one["subject"]: one for one in module(complete=True)["tuning"]}
    for name, words in (
        ("vm.max_map_count", "vm.max_map_count: 2147483647, wanted 65530"),
        ("vm.dirty", "vm.dirty_bytes: 629145600, wanted ratio 20"),
        ("/dev/shm", "size=40894464k 0 0, wanted absent"),
    ):
        assert found[name]["verdict"] == "drifted" and words in found[name]["reason"]
        assert "set by this collection and no longer asked for; ansible-playbook" in found[name]["reason"]
        # what the host has is shown
        assert found[name]["before"]["stored"]
    assert found["transparent_hugepage"]["verdict"] == "compliant"
    module(state="restored")
    again = module(complete=True)["tuning"]
    assert {one["verdict"] for one in again} == {"compliant", "observed", "not_applicable"}


def test_what_was_set_on_request_is_no_longer_asked_for(host, module):
    host.socket = ["disabled", "inactive"]
    host.disk("sda", "none [mq-deadline]")
    assert module(state="present", items=["nofile", "uuidd.socket", "io_scheduler"], complete=True)["changed"]
    found = {
        one["subject"]: one for one in module(state="present", items=["vm.max_map_count"], complete=True)["tuning"]
    }
    for name, words in (
        ("nofile", "@sapsys - nofile 1048576, wanted absent"),
        ("uuidd.socket", "uuidd.socket: active, wanted inactive"),
        ("io_scheduler", "sda: none, wanted mq-deadline"),
    ):
        assert found[name]["verdict"] == "drifted" and words in found[name]["reason"]
        assert "no longer asked for" in found[name]["reason"]
    assert module(state="restored")["changed"] and host.socket == ["disabled", "inactive"]


def test_what_was_set_on_request_can_be_on_probation(host, module):
    host.socket = ["disabled", "inactive"]
    host.disk("sda", "none [mq-deadline]")
    assert module(state="present", items=["uuidd.socket", "io_scheduler"], confirm_within="0")["changed"]
    assert module(state="restored")["changed"] and host.socket == ["disabled", "inactive"]
    assert host.value("/sys/block/sda/queue/scheduler") == "none [mq-deadline]"


def test_a_value_that_a_tool_takes_over_later_is_to_be_taken_back(host, module):
    module(state="present", complete=True)
    host.sapconf()
    found = {one["subject"]: one for one in module(state="present", complete=True)["tuning"]}
    maps = found["vm.max_map_count"]
    assert maps["verdict"] == "drifted" and "no longer asked for" in maps["reason"]
    assert "left to sapconf" in maps["remarks"][0]
    assert found["kernel.pid_max"]["verdict"] == "compliant"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"state": "off"}, "value of state must be one of: observe, present, restored, confirmed, got: off"),
        ({"items": ["kernel.numa_balancing"]}, "value of items must be one or more of"),
        ({"settings": {}}, "Unsupported parameters"),
    ],
)
def test_bad_input_fails_with_one_sentence_and_changes_nothing(host, module, arguments, words):
    result = module(**arguments)
    assert result["failed"] and words in result["msg"] and host.log == []


def test_every_value_is_documented(module):
    yaml = pytest.importorskip("yaml")
    options = yaml.safe_load(system_base.DOCUMENTATION)["options"]
    for name in ("choices", "default"):
        assert options["items"][name] == SystemBase.options["items"][name]
    text = " ".join(options["items"]["description"])
    for row in ROWS:
        assert "C(%s)" % row.subject in text
        for asked in row.asked:
            assert asked.value in text or asked.name in ("kernel.shmmax", "kernel.shmall"), asked
        for note in re.findall(r"[0-9]{6,7}", row.source):
            assert note in text
