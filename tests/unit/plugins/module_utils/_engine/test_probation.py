# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values on probation: kept by a confirmation, otherwise taken back by the host. Guardians are real processes."""

import json
import os
import shutil

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import checks
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import _unused
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.modules import rps
from guardians import alive, everything, watched
from kernel import QUEUE, masks, rps_params
from modules import caller
from runs import DEFAULTS, FOLDER, PROBATION, SteppedHost, ended, only

# what the module gives the engine, unless asked otherwise
PARAMS = dict(DEFAULTS, **rps_params())


def end_probation(host):
    host.write(PROBATION + "/lease.json", json.dumps({"until": 0.0, "ends": "2026-11-20T10:00:00Z"}))


def entries(host, checkpoint=None):
    return Journal(host, "rps", FOLDER, checkpoint).entries


@pytest.fixture
def host(tmp_path, monkeypatch):
    host = SteppedHost(tmp_path).interface("hsi0", queues=2)
    monkeypatch.setattr(_unused, "Host", lambda: host)
    yield from watched(host, monkeypatch)


@pytest.fixture
def call(host, monkeypatch, capsys):
    return caller(rps.main, monkeypatch, capsys)


@pytest.mark.gate
def test_the_host_goes_back_to_the_values_before_the_probation(host, call):
    call(cpus="0-1")
    found = everything(host)
    result = call(every=2, confirm_within="10m")
    pid = host.guardian()
    assert result["changed"] and masks(host) == ["5", "5"] and alive(pid)
    end_probation(host)
    ended(pid)
    assert everything(host) == found and masks(host) == ["3", "3"]
    # it is gone, and says so however often it is asked
    for _time in range(2):
        late = call(every=2, state="confirmed")
        assert not late["changed"] and only(late)["verdict"] == "drifted" and "wanted CPUs 0,2" in only(late)["reason"]
    assert everything(host) == found


def test_a_time_of_zero_needs_no_process_and_an_empty_text_is_not_a_time(host, call):
    call(confirm_within="0")
    assert host.listdir(PROBATION) == ["rps.json"]
    record = only(call(confirm_within="0", _ansible_check_mode=True))
    assert record["remarks"] == ["on probation: zpower.sap_tuning.confirm keeps it"]
    call(state="restored")
    assert only(call(confirm_within=" "))["remarks"] == []
    assert entries(host) and not host.exists(PROBATION)


def test_records_and_refusals_say_until_when(host, call):
    assert only(call(confirm_within="10m", _ansible_check_mode=True))["remarks"] == []
    result = call(confirm_within="10m")
    ends = json.loads(host.read(PROBATION + "/lease.json"))["ends"]
    remark = "on probation until %s: zpower.sap_tuning.confirm keeps it" % ends
    assert only(result)["verdict"] == "changed" and only(result)["remarks"] == [remark]
    again = only(call(confirm_within="10m", _ansible_check_mode=True))
    assert again["verdict"] == "compliant" and again["remarks"] == [remark]
    for more in ({}, {"checkpoint": "exp1"}):
        message = call(**more)["msg"]
        assert message.startswith("nothing was changed: rps has values on probation since 20")
        assert ", which the host takes back by itself at %s; ansible-playbook zpower" % ends in message
    record = only(call(_ansible_check_mode=True))
    assert record["verdict"] == "drifted" and "zpower.sap_tuning.confirm keeps them" in record["reason"]


def test_a_host_with_only_a_probation_is_not_unused(host, call):
    assert _unused.unused(["rps"]) == ["rps"]
    call(confirm_within="0")
    assert _unused.unused(["rps", "smc_r"]) == ["smc_r"]
    (record,) = checks.orphans(host, "Linux", [])
    assert record["subject"] == "rps" and PROBATION + "/rps.json" in record["reason"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"lease": 60}, "lease: only a checkpoint is taken back by itself; give checkpoint too"),
        ({"lease": -1, "checkpoint": "exp1"}, "lease: -1 is out of range; use 0 to 604800 seconds"),
        ({"lease": "soon", "checkpoint": "exp1"}, "argument 'lease'"),
        ({"confirm_within": "soon"}, "confirm_within is 'soon'; it must be seconds, or a duration such as 90s"),
        ({"confirm_within": "8d"}, "confirm_within: 691200 is out of range; use 0 to 604800 seconds"),
        ({"confirm_within": "1h", "checkpoint": "exp1"}, "confirm_within: values on probation are a checkpoint"),
        ({"confirm_within": "1h", "lease": 60}, "confirm_within: values on probation are a checkpoint"),
        ({"state": "confirmed", "checkpoint": "exp1"}, "state: values on probation are a checkpoint"),
        ({"checkpoint": "probation"}, "checkpoint: 'probation' is kept for values on probation"),
    ],
)
def test_bad_input_gets_one_sentence_and_changes_nothing(host, call, arguments, words):
    result = call(**arguments)
    assert result["failed"] and result["msg"].startswith(words)
    assert masks(host) == ["0", "0"] and not host.exists(FOLDER)


@pytest.mark.gate
def test_confirmed_values_are_normal_ones(host, call):
    untouched = everything(host)
    call(cpus="0-1")
    call(every=2, confirm_within="10m")
    pid = host.guardian()
    predicted = call(every=2, state="confirmed", _ansible_check_mode=True)
    assert predicted["changed"] and host.exists(PROBATION) and alive(pid)
    result = call(every=2, state="confirmed")
    for one in (predicted, result):
        assert one["changed"] and only(one)["verdict"] == "compliant" and one["diff"] == {"before": "", "after": ""}
    ended(pid)
    assert not host.exists(PROBATION) and masks(host) == ["5", "5"]
    assert not call(every=2, state="confirmed")["changed"] and not call(every=2)["changed"]
    # back to the first of all values, not to those before the probation
    call(state="restored")
    assert everything(host) == untouched and not host.exists(FOLDER)


def test_confirming_without_a_tuning_before_it_keeps_the_folders_that_it_made(host, call):
    shutil.rmtree(host.path("/etc/udev"))
    os.makedirs(host.path("/etc/udev"))
    call(confirm_within="1h")
    call(state="confirmed")
    call(state="restored")
    assert host.listdir("/etc/udev") == [] and not host.exists(FOLDER)


def test_values_that_someone_changed_are_kept_all_the_same_and_reported(host, call):
    call(confirm_within="1h")
    host.fill(QUEUE % 1, "8")
    result = call(state="confirmed")
    record = only(result)
    assert result["changed"] and record["verdict"] == "drifted" and "rx-1" in record["reason"]
    # nothing was set, and nothing is predicted
    assert record["after"]["running"] == record["before"]["running"] == {"rx-0": "f", "rx-1": "8"}
    assert masks(host) == ["f", "8"] and not host.exists(PROBATION)


def test_the_values_may_be_meant_to_have_another_state(host, call):
    call(cpus="0-1")
    call(state="off", confirm_within="1h")
    result = call(state="confirmed", confirmed_state="off")
    assert result["changed"] and only(result)["verdict"] == "compliant" and masks(host) == ["0", "0"]
    assert only(call(state="confirmed"))["verdict"] == "drifted"
    call(state="restored")
    gone = only(call(state="confirmed", confirmed_state="restored"))
    assert gone["reason"] == "nothing to take back: the journal is empty"


def test_without_a_probation_confirming_only_looks(host, call):
    before = everything(host)
    result = call(state="confirmed")
    assert not result["changed"] and only(result)["verdict"] == "drifted"
    assert everything(host) == before and not host.exists(FOLDER)
    call(checkpoint="exp1")
    result = call(state="confirmed")
    assert not result["changed"] and "the checkpoint exp1, which began" in only(result)["reason"]
    assert entries(host, "exp1")


def test_a_probation_of_another_machine_is_not_kept_and_nothing_is_promised(host, call):
    host.fill("/etc/machine-id", "a" * 32)
    call(confirm_within="1h")
    host.fill("/etc/machine-id", "b" * 32)
    for state in ("confirmed", "present"):
        for check in (True, False):
            result = call(state=state, _ansible_check_mode=check)
            text = result["msg"] + str(result.get("tuning"))
            assert "was written on another machine" in text and "by itself" not in text
    assert entries(host, "probation")
    assert call(state="confirmed", force=True)["changed"]


def test_without_room_for_the_journal_the_probation_goes_on(host, call):
    call(cpus="0-1")
    call(confirm_within="1h")
    before = everything(host)
    result = host.without_room(lambda: call(state="confirmed"))
    assert result["failed"] and result["msg"].startswith("nothing was changed: the journal could not be written")
    assert everything(host) == before and alive(host.guardian())


@pytest.mark.parametrize("tuned", [True, pytest.param(False, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("then", ["confirmed", "restored", "deadline"])
def test_killed_at_any_step_a_confirmation_loses_nothing(tmp_path, monkeypatch, tuned, then):
    def machine(name):
        host = SteppedHost(tmp_path / name).interface("hsi0", queues=2)
        untouched = everything(host)
        if tuned:
            outcome(host, cpus="0-1")
        before = everything(host)
        outcome(host, every=2, confirm_within="0")
        # its guardian would be killed with the tests
        host.fill(PROBATION + "/lease.json", "{}")
        host.fill(PROBATION + "/rps.guardian", "1")
        return host, untouched, before

    def outcome(host, **changes):
        params = dict(PARAMS, **changes)
        monkeypatch.setattr(entry_point, "Host", lambda: host)
        return entry_point.outcome(Rps, params, False)

    host = machine("whole")[0]
    steps = host.steps(lambda: outcome(host, every=2, state="confirmed"))
    names = [os.path.basename(path) for _step, path in steps]
    assert names == ["rps.json", "rps.json", "rps.guardian", "lease.json"]
    for number in range(len(steps)):
        host, untouched, before = machine("killed-%d" % number)
        assert host.killed(number, lambda host=host: outcome(host, every=2, state="confirmed"))
        assert masks(host) == ["5", "5"]
        if then == "confirmed":
            result = outcome(host, every=2, state="confirmed")
            assert not result["failed"] and only(result)["verdict"] == "compliant"
            assert masks(host) == ["5", "5"] and not host.exists(PROBATION) and entries(host)
        elif then == "deadline":
            result = entry_point.take_back(host, dict(PARAMS), Rps, "probation", lambda: True)
            assert not result["failed"] and not host.exists(PROBATION)
            # what was confirmed stays; what was not is back
            assert masks(host) == (["5", "5"] if number > 1 else ["3", "3"] if tuned else ["0", "0"])
        result = outcome(host, state="restored")
        assert not result["failed"]
        assert everything(host) == untouched and not host.exists(FOLDER)
