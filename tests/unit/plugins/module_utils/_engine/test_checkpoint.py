# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A checkpoint: values for a while, taken back to what stood when it began, whatever the main journal says."""

import os
import stat

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._rps.stored import RULES
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from kernel import QUEUE, KernelHost, masks, rps_params
from runs import FOLDER, everything, only, refusal, runner
from sapsystem import SapHost

MAIN = FOLDER + "/rps.json"
CHECKPOINT = FOLDER + "/checkpoint-exp1/rps.json"

run = runner(Rps, **rps_params())


@pytest.fixture
def host(tmp_path):
    return KernelHost(tmp_path).interface("hsi0", queues=2)


def test_it_restores_the_values_of_its_beginning_and_not_those_found_first(host):
    run(host, cpus="0-1")
    # also a value that was set by hand over the tuning
    host.fill(QUEUE % 1, "8")
    found = everything(host)
    run(host, every=2, checkpoint="exp1")
    assert masks(host) == ["5", "5"] and host.read(MAIN) == found[MAIN]
    assert stat.S_IMODE(os.stat(host.path(os.path.dirname(CHECKPOINT))).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(host.path(CHECKPOINT)).st_mode) == 0o600
    run(host, state="off", checkpoint="exp1")
    result = run(host, state="restored", checkpoint="exp1")
    assert result["changed"] and only(result)["verdict"] == "changed"
    assert masks(host) == ["3", "8"] and everything(host) == found
    again = run(host, state="restored", checkpoint="exp1")
    assert not again["changed"] and only(again)["reason"] == "nothing to take back: the journal is empty"
    assert run(host, checkpoint="exp2")["changed"]


def test_what_someone_else_changed_meanwhile_is_left_alone_and_the_checkpoint_stays(host):
    run(host, checkpoint="exp1")
    host.fill(QUEUE % 1, "8")
    record = only(run(host, state="restored", checkpoint="exp1"))
    assert masks(host) == ["0", "8"] and record["verdict"] == "drifted"
    assert "hsi0 rx-1 was changed by someone else and is left alone" in record["reason"]
    assert host.exists(CHECKPOINT)
    run(host, state="restored", checkpoint="exp1", force=True)
    assert masks(host) == ["0", "0"] and not host.exists(FOLDER)


@pytest.mark.parametrize("name", ["..", "../main", "a b", "-x", "x" * 65, "exp1\n", ".hidden"])
def test_an_invalid_name_is_one_sentence(host, name):
    with pytest.raises(InputError) as error:
        run(host, checkpoint=name)
    assert str(error.value).startswith("checkpoint: '%s' is not a name" % name)
    assert not host.exists(FOLDER)


def test_others_are_refused_and_see_drift_and_nothing_is_changed(host):
    run(host, cpus="0-1")
    run(host, checkpoint="exp1")
    before = everything(host)
    for changes in ({}, {"cpus": "0-1"}, {"checkpoint": "exp2"}):
        sentence = refusal(run, host, **changes)
        start = "nothing was changed: rps has temporary values of the checkpoint exp1, which began at "
        assert sentence.startswith(start)
        assert "rollback -e zpower_checkpoint=exp1 takes back only those" in sentence
    for changes in ({}, {"cpus": "0-1"}):
        result = run(host, check=True, **changes)
        assert not result["changed"] and not result["failed"] and result["diff"] == {"before": "", "after": ""}
        assert only(result)["verdict"] == "drifted" and "the checkpoint exp1, which began" in only(result)["reason"]
    assert run(host, check=True, checkpoint="exp1")["tuning"][0]["verdict"] == "compliant"
    assert everything(host) == before
    # also where nothing of the request is there: auto takes no interface that is down
    host.fill("/sys/class/net/hsi0/operstate", "down")
    records = run(host, check=True)["tuning"]
    assert [record["verdict"] for record in records] == ["not_applicable", "drifted"]
    assert "the checkpoint exp1, which began" in records[1]["reason"]


@pytest.mark.parametrize("one, another", [(None, "exp1"), ("exp1", None)])
def test_two_runs_at_once_keep_each_other_out(host, one, another):
    other = Journal(host, "rps", FOLDER, one)
    other.lock()
    sentence = refusal(run, host, checkpoint=another)
    assert "another run (process %d) is changing this tuning now" % os.getpid() in sentence
    other.close()
    assert masks(host) == ["0", "0"] and not host.exists(FOLDER)


def test_a_checkpoint_that_began_between_look_and_lock_is_seen(host, monkeypatch):
    real = Journal.lock

    def lock(self):
        if not self.checkpoint:
            run(host, checkpoint="exp1")
        real(self)

    monkeypatch.setattr(Journal, "lock", lock)
    assert "the checkpoint exp1, which began" in refusal(run, host, cpus="0-1")
    assert masks(host) == ["f", "f"]


def test_rollback_takes_back_the_checkpoint_and_then_the_rest(host):
    host.fill(QUEUE % 1, "2")
    untouched = everything(host)
    run(host, cpus="0-1")
    run(host, checkpoint="exp1")
    host.log = []
    predicted = run(host, check=True, state="restored")
    done = run(host, state="restored")
    assert predicted["diff"] == done["diff"] and done["changed"]
    assert only(done)["verdict"] == "changed" and only(done)["remarks"] == ["the checkpoint exp1 is taken back too"]
    # at once, without the values in between
    assert [value for _path, value in host.log] == ["0", "2"]
    assert everything(host) == untouched and not host.exists(FOLDER)


def test_rollback_where_only_the_tuning_touched_one_knob_and_the_checkpoint_another(host):
    untouched = everything(host)
    host.interface("hsi1")
    host.fill("/sys/class/net/hsi1/queues/rx-0/rps_cpus", "1")
    found = everything(host)
    run(host, interfaces=["hsi0"])
    run(host, interfaces=["hsi1"], checkpoint="exp1")
    result = run(host, state="restored")
    assert [record["verdict"] for record in result["tuning"]] == ["changed", "changed"]
    assert everything(host) == found and set(found) > set(untouched)


def test_rollback_stops_where_someone_changed_the_value_before_the_checkpoint(host):
    run(host, cpus="0-1")
    host.fill(QUEUE % 1, "8")
    run(host, checkpoint="exp1")
    record = only(run(host, state="restored"))
    assert masks(host) == ["0", "8"] and record["verdict"] == "drifted"
    assert "it is CPUs 3 (mask 8), this collection set CPUs 0-1 (mask 3)" in record["reason"]
    # the checkpoint is taken back; the entries of the tuning itself stay, as they would without one
    assert not host.exists(CHECKPOINT)
    assert list(Journal(host, "rps", FOLDER).entries) == [QUEUE % 0, QUEUE % 1]


def test_rollback_of_what_someone_set_back_by_hand_only_forgets_it(host):
    untouched = everything(host)
    run(host, cpus="0-1")
    run(host, checkpoint="exp1")
    for number in range(2):
        host.fill(QUEUE % number, "0")
    host.remove(RULES)
    result = run(host, state="restored")
    assert not result["changed"] and only(result)["verdict"] == "compliant"
    assert everything(host) == untouched and not host.exists(FOLDER)


def test_a_failed_rollback_leaves_the_checkpoint_and_its_values(host):
    run(host, cpus="0-1")
    run(host, checkpoint="exp1")
    before = everything(host)
    host.errors[QUEUE % 1] = 30
    result = run(host, state="restored")
    assert result["failed"] and masks(host) == ["f", "f"]
    assert host.read(CHECKPOINT) == before[CHECKPOINT] and host.read(MAIN) == before[MAIN]
    host.errors.clear()
    assert not run(host, state="restored")["failed"]
    assert masks(host) == ["0", "0"] and not host.exists(FOLDER)


def test_a_journal_of_a_checkpoint_that_cannot_be_understood_stops_every_run(host):
    run(host, checkpoint="exp1")
    host.write(CHECKPOINT, "{")
    before = everything(host)
    for changes in ({}, {"state": "restored"}, {"checkpoint": "exp1"}, {"state": "restored", "checkpoint": "exp1"}):
        assert "checkpoint-exp1/rps.json cannot be understood" in refusal(run, host, **changes)
    assert everything(host) == before


BTC = "rdisp/wp_no_btc"
profile = runner(SapProfile, restart=[], restart_timeout=5, sid=None, instance=None, profile=None, change="")


def d00(host, **changes):
    return profile(host, sid="PRD", instance="D00", **changes)


def test_a_profile_comes_back_byte_for_byte_and_waits_for_its_restart(tmp_path):
    host = SapHost(tmp_path)
    untouched = host.profiles()
    d00(host, parameters={BTC: 12, "rdisp/max_wprun_time": 900}, restart=["PRD_00"])
    tuned = host.profiles()
    d00(host, parameters={BTC: 14, "rdisp/vbname": "x", "rdisp/wp_no_dia": None}, checkpoint="exp1")
    d00(host, parameters={BTC: 16}, checkpoint="exp1", restart=["PRD_00"])
    assert host.running["00"][BTC] == "16"
    first = only(profile(host, state="restored", checkpoint="exp1"))
    assert first["verdict"] == "pending_restart" and host.profiles() == tuned
    # in the profile it is back, and in the instance it is not
    assert host.exists(FOLDER + "/checkpoint-exp1/sap_profile.json")
    last = only(profile(host, state="restored", checkpoint="exp1", restart=["PRD_00"]))
    assert last["verdict"] == "changed" and host.running["00"][BTC] == "12"
    assert not host.exists(FOLDER + "/checkpoint-exp1")
    # without the checkpoint, one restart takes everything back
    d00(host, parameters={BTC: 14}, restart=["PRD_00"], checkpoint="exp1")
    host.calls.clear()
    record = only(profile(host, state="restored", restart=["PRD_00"]))
    assert record["verdict"] == "changed" and host.profiles() == untouched and host.running["00"][BTC] == "8"
    assert len([call for call in host.calls if call.endswith("Stop")]) == 1
    assert not host.exists(FOLDER)
