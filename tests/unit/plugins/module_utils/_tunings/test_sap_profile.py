# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters in SAP profiles: stored, running and next start, restarts by name, and the rollback, byte for byte."""

import errno
import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._profiles import files as sap_restarts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from runs import only, runner
from sapsystem import ASCS01, D00, D00_TEXT, DEFAULT, DEFAULT_TEXT, PROFILES, REFUSED, Clock, SapHost

BTC = "rdisp/wp_no_btc"
run = runner(SapProfile, restart=[], restart_timeout=5, sid=None, instance=None, profile=None, change="CHG0042")


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setattr(sap_restarts, "time", Clock())
    return SapHost(tmp_path)


def d00(host, check=False, **changes):
    return run(host, check, sid="PRD", instance="D00", **changes)


def test_a_changed_parameter_is_stored_at_once_and_in_force_after_a_restart(host):
    before = host.profiles()
    predicted = d00(host, check=True, parameters={BTC: 12})
    assert predicted["changed"] and host.profiles() == before
    assert only(predicted)["verdict"] == "drifted"
    assert only(predicted)["reason"] == "%s %s: 8, wanted 12" % (D00, BTC)
    result = d00(host, parameters={BTC: 12})
    assert result["diff"] == predicted["diff"]
    assert result["diff"]["before"] == "%s %s (stored): 8\n" % (D00, BTC)
    assert result["diff"]["after"] == "%s %s (stored): 12\n" % (D00, BTC)
    record = only(result)
    assert record["subject"] == D00 and record["verdict"] == "pending_restart" and record["restart"] == "instance"
    assert record["reason"] == "%s %s: 8 is in force, 12 after a restart of the instance" % (D00, BTC)
    assert record["after"] == {"running": {BTC: "8"}, "stored": {BTC: "12"}, "next_boot": {BTC: "12"}}
    assert host.profiles() == dict(before, PRD_D00_app1=D00_TEXT[:-1] + b"12")
    second = d00(host, parameters={BTC: 12})
    assert not second["changed"] and only(second)["verdict"] == "pending_restart"
    assert only(d00(host, parameters={BTC: 12}, restart=["PRD_01", "QAS_00"]))["verdict"] == "pending_restart"
    assert not [call for call in host.calls if "-nr 00" in call and ("Stop" in call or "Start" in call)]


def test_a_restart_by_name_brings_it_into_force_and_back(host):
    before = host.profiles()
    predicted = d00(host, check=True, parameters={BTC: 12}, restart=["PRD_00"])
    result = d00(host, parameters={BTC: 12}, restart=["PRD_00"])
    assert result["diff"] == predicted["diff"]
    record = only(result)
    assert record["verdict"] == "changed" and record["after"]["running"] == {BTC: "12"}
    done = [call.split()[4] for call in host.calls if call.split()[4] in ("Stop", "RestartService", "Start")]
    assert done == ["Stop", "RestartService", "Start"]
    assert not d00(host, parameters={BTC: 12}, restart=["PRD_00"])["changed"]
    # the rollback goes on until the instance has it
    first = run(host, state="restored")
    assert only(first)["verdict"] == "pending_restart" and host.profiles() == before
    again = run(host, state="restored", restart=["PRD_00"])
    assert only(again)["verdict"] == "changed" and host.running["00"][BTC] == "8"
    assert not host.exists("/var/lib/zpower_sap_tuning")


def test_the_next_start_counts_what_the_same_call_stores_in_the_other_profile(host):
    asked = {"profile": None, "sid": "PRD", "presets": [], "left_to": None, "parameters": {"enque/table_size": 77}}
    entries = [dict(asked, instance="D00", parameters={"enque/table_size": None}), dict(asked, instance="DEFAULT")]
    result = run(host, profiles=entries)
    assert [one["after"]["next_boot"] for one in result["tuning"]] == [
        {"enque/table_size": "77"},
        {"D00 enque/table_size": "77", "ASCS01 enque/table_size": "32000"},
    ]
    again = run(host, profiles=entries)
    assert [one["after"] for one in again["tuning"]] == [one["after"] for one in result["tuning"]]


def test_a_converged_profile_is_not_written_and_costs_few_calls(host):
    host.pass_time(3600)
    # a later change of something else proves nothing against it
    for path in (D00, DEFAULT):
        host.fill(path, host.data(path) + b"\nzz/other = 1\n")
    result = d00(host, parameters={BTC: 8})
    assert only(result)["verdict"] == "compliant" and not result["changed"] and not host.exists("/var/lib")
    assert sorted(call.split()[0] for call in host.calls) == ["sapcontrol"] * 3 + ["sappfpar"]
    assert "%s stands in lines 6 and 7; the last one counts" % BTC in only(result)["remarks"]
    assert result["instances"] == [{"sid": "PRD", "name": "D00", "number": "00", "user": "prdadm", "unit": None}]


def test_a_new_parameter_comes_under_a_comment_and_goes_without_a_trace(host, monkeypatch):
    before = host.profiles()
    record = only(d00(host, presets=["realtime_scheduler"]))
    lines = host.read(D00).splitlines()
    assert lines[-3].startswith("# zpower.sap_tuning ") and lines[-3].endswith(" change CHG0042")
    assert lines[-2:] == ["rdisp/linux/os_scheduler = SCHED_RR", "rdisp/linux/os_priority = 40"]
    assert not host.read(D00).endswith("\n")
    assert any("loss on 128" in remark for remark in record["remarks"])
    restored = run(host, state="restored")
    assert restored["changed"] and host.profiles() == before
    record = only(d00(host, parameters={BTC: None}))
    assert record["after"]["stored"] is None and b"\n" + BTC.encode() not in host.data(D00)
    run(host, state="restored")
    assert host.profiles() == before
    monkeypatch.setattr("platform.system", lambda: "AIX")
    record = only(d00(host, presets=["realtime_scheduler"]))
    assert record["verdict"] == "not_applicable" and "only SAP kernels for Linux" in record["reason"]


UNPROVED = (
    "PRD_00 started before the last change of its profiles, and its sapstartsrv later than PRD_00: sapcontrol shows "
    "what sapstartsrv has read, which does not prove the values of PRD_00"
)


def restart_service(host, number="00"):
    """As an administrator does it, some time after and before the rest."""
    host.pass_time(3600)
    host.start_service(number)
    host.pass_time(3600)


def test_restart_service_alone_activates_nothing(host):
    d00(host, parameters={BTC: 12})
    restart_service(host)
    assert host.answers["00"][BTC] == "12" and host.running["00"][BTC] == "8"
    result = d00(host, check=True, parameters={BTC: 12})
    record = only(result)
    assert not result["changed"] and record["verdict"] == "pending_restart"
    told = "%s %s: an unproved value is in force, 12 after a restart of the instance" % (D00, BTC)
    assert record["reason"] == UNPROVED + "; " + told
    assert record["before"]["running"] == {BTC: "not proved"}
    # a later change proves nothing either
    host.fill(D00, host.data(D00) + b"\nzz/other = 1\n")
    assert only(d00(host, check=True, parameters={BTC: 12}))["verdict"] == "pending_restart"
    assert only(d00(host, parameters={BTC: 12}, restart=["PRD_00"]))["verdict"] == "changed"
    assert host.running["00"][BTC] == "12"
    assert only(d00(host, check=True, parameters={BTC: 12}))["verdict"] == "compliant"
    # nor is it enough for the rollback
    host.pass_time(3600)
    assert only(run(host, state="restored"))["verdict"] == "pending_restart"
    restart_service(host)
    record = only(run(host, state="restored"))
    assert record["verdict"] == "pending_restart" and UNPROVED in record["remarks"]
    assert host.running["00"][BTC] == "12" and host.exists("/var/lib/zpower_sap_tuning/sap_profile.json")
    assert only(run(host, state="restored", restart=["PRD_00"]))["verdict"] == "changed"
    assert host.running["00"][BTC] == "8" and not host.exists("/var/lib/zpower_sap_tuning")


def test_a_service_restarted_since_matters_only_if_a_deciding_profile_was_changed(host):
    def looked_at(name, value):
        return only(d00(host, check=True, parameters={name: value}))

    host.fill(D00, host.data(D00) + b"\nrdisp/vbname = $(rdisp/myname)\n")
    host.pass_time(3600)
    host.start("00")
    restart_service(host)
    assert looked_at(BTC, 8)["verdict"] == "compliant"
    host.fill(DEFAULT, DEFAULT_TEXT + b"zz/other = 1\n")
    assert looked_at(BTC, 8)["verdict"] == "compliant"
    # the default profile may have said otherwise when the instance started, also what a parameter stands for
    assert looked_at("rdisp/vbname", "$(rdisp/myname)")["before"]["running"] == {"rdisp/vbname": "not proved"}
    assert looked_at("enque/table_size", None)["verdict"] == "pending_restart"
    default = only(run(host, check=True, sid="PRD", instance="DEFAULT", parameters={"enque/table_size": 64000}))
    assert UNPROVED in default["reason"] and "PRD_01" not in default["reason"]
    assert default["before"]["running"] == {"D00 enque/table_size": "not proved", "ASCS01 enque/table_size": "32000"}


def test_an_instance_restarted_without_its_service_runs_with_its_profile(host):
    d00(host, parameters={BTC: 12})
    host.pass_time(3600)
    host.start_instance("00")
    assert host.answers["00"][BTC] == "8"
    record = only(d00(host, check=True, parameters={BTC: 12}, restart=["PRD_00"]))
    assert record["verdict"] == "compliant" and record["before"]["running"] == {BTC: "12"}
    assert any("its sapstartsrv has not" in remark for remark in record["remarks"])


def test_what_a_run_has_restarted_itself_needs_no_clock(host, monkeypatch):
    start = host.start_instance

    def served_by_the_old_service(number):
        start(number)
        host.started[number] -= 60

    changed = host.changed
    ahead = {path: 3600 for path in (D00, DEFAULT)}
    monkeypatch.setattr(host, "start_instance", served_by_the_old_service)
    monkeypatch.setattr(host, "changed", lambda path: changed(path) + ahead.get(path, 0))
    record = only(d00(host, parameters={BTC: 12}, restart=["PRD_00"]))
    assert record["verdict"] == "changed" and record["after"]["running"] == {BTC: "12"}


def test_an_instance_that_is_stopped_stays_so_whatever_its_service_answers(host):
    host.running["00"] = None
    record = only(d00(host, parameters={BTC: 12}, restart=["PRD_00"]))
    assert record["verdict"] == "changed" and record["after"]["running"] is None and host.running["00"] is None
    assert "PRD_00 is stopped, and reads its profiles when it starts" in record["remarks"]
    assert host.answers["00"][BTC] == "8"
    assert not d00(host, parameters={BTC: 12}, restart=["PRD_00"])["changed"] and host.running["00"] is None


def no_sap_kernel(argv, **_more):
    raise HostError("cannot run %s" % argv[0], errno.ENOENT)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda host: host.remove("/tmp/.sapstream50013"), "the start time of its sapstartsrv is unknown"),
        (lambda host: host.refuses.add("00"), REFUSED[6:]),
        (lambda host: setattr(host, "run", no_sap_kernel), "what PRD_00 runs with is not known"),
    ],
)
def test_what_an_instance_runs_with_may_be_unknown(host, change, words):
    d00(host, parameters={BTC: 12})
    change(host)
    record = only(d00(host, parameters={BTC: 12}, restart=["PRD_00"]))
    assert record["verdict"] == "compliant" and record["after"]["running"] is None
    assert record["after"]["next_boot"] == {BTC: "12"}
    assert any(words in remark for remark in record["remarks"])


@pytest.mark.parametrize("earlier", [False, True])
def test_an_instance_that_does_not_come_back_gets_its_old_profile_and_runs(host, earlier):
    before = host.profiles()
    host.hangs = True
    # what takes its time to end is waited for beyond that
    for soft, seconds, stop in ((0, 5, "Stop"), (480, 485, "Stop 480")):
        result = d00(host, parameters={BTC: 12}, restart=["PRD_00"], restart_soft_timeout=soft)
        assert result["failed"] and "PRD_00 did not stop within %d s" % seconds in result["msg"]
        assert "put back" in result["msg"] and host.profiles() == before
        assert stop in [call.partition("-function ")[2] for call in host.calls]
    host.hangs = False
    if earlier:
        d00(host, parameters={BTC: 12})
    host.dies_of = "12"
    result = d00(host, parameters={BTC: 12}, restart=["PRD_00"])
    assert result["failed"] and only(result)["verdict"] == "failed"
    assert "PRD_00 did not come back within 5 s: disp+work is YELLOW (Starting)" in result["msg"]
    assert result["msg"].endswith("the values before are back and in force")
    assert host.profiles() == before and host.running["00"][BTC] == "8" and not result["changed"]
    assert run(host, state="restored")["failed"] is False and host.profiles() == before


def test_after_one_failure_no_other_instance_is_restarted(host):
    host.dies_of = "640000"
    host.fill(ASCS01, host.data(ASCS01).replace(b"enque/table_size = 32000\n", b""))
    host.start("01")
    before = host.profiles()
    asked = dict(sid="PRD", instance="DEFAULT", presets=["enqueue_table"])
    result = run(host, restart=["PRD_00", "PRD_01"], **asked)
    # ASCS01 comes first in the order of names
    assert result["failed"] and "PRD_01 did not come back" in result["msg"]
    assert host.profiles() == before
    assert not [call for call in host.calls if "-nr 00" in call and "Stop" in call]


BOTH = [
    {"sid": "PRD", "instance": "D00", "parameters": {BTC: 12}},
    {"sid": "PRD", "instance": "DEFAULT", "parameters": {"rdisp/mshost": "ascs"}},
]


def test_one_restart_serves_both_profiles_of_an_instance(host):
    before = host.profiles()
    host.dies_of = "ascs"
    result = run(host, profiles=BOTH, restart=["PRD_00"])
    assert result["failed"] and [record["verdict"] for record in result["tuning"]] == ["failed", "failed"]
    assert host.profiles() == before and host.running["00"][BTC] == "8"
    host.dies_of = None
    host.calls.clear()
    result = run(host, profiles=BOTH, restart=["PRD_00"])
    assert [record["verdict"] for record in result["tuning"]] == ["changed", "pending_restart"]
    assert "ASCS01 rdisp/mshost" in result["tuning"][1]["reason"] and "D00" not in result["tuning"][1]["reason"][40:]
    assert len([call for call in host.calls if call.endswith("Stop")]) == 1


@pytest.mark.parametrize("values", [(11, 12), (12, 11, 12), (12, -11), (12, 11, 12, -11)])
def test_a_failed_restart_on_the_rollback_puts_back_what_was_set_last(host, values):
    first = host.profiles()
    for value in values:
        # the instance does not start with a negative one, so its profile is put back
        host.dies_of = str(-value)
        assert d00(host, parameters={BTC: abs(value)}, restart=["PRD_00"])["failed"] is (value < 0)
    last = host.profiles()
    # the first value is stored again, and the instance does not start with it any more
    assert only(run(host, state="restored"))["verdict"] == "pending_restart" and host.profiles() == first
    host.dies_of = "8"
    result = run(host, state="restored", restart=["PRD_00"])
    assert result["failed"] and result["msg"].endswith("the values before are back and in force")
    assert host.profiles() == last and host.running["00"][BTC] == "12"
    host.dies_of = None
    assert only(run(host, state="restored", restart=["PRD_00"]))["verdict"] == "changed"
    assert host.profiles() == first and host.running["00"][BTC] == "8"


def test_a_default_profile_tells_where_an_instance_profile_overrules_it(host):
    result = run(host, sid="PRD", instance="DEFAULT", presets=["enqueue_table"])
    record = only(result)
    assert record["subject"] == DEFAULT and record["verdict"] == "drifted"
    assert "PRD_ASCS01_app1, line 4, sets enque/table_size to 32000 and wins over %s" % DEFAULT in record["reason"]
    assert record["after"]["next_boot"] == {"D00 enque/table_size": "640000", "ASCS01 enque/table_size": "32000"}
    assert record["after"]["running"] == {"D00 enque/table_size": "64000", "ASCS01 enque/table_size": "32000"}
    assert [one["name"] for one in result["instances"]] == ["D00", "ASCS01"]
    record = only(run(host, sid="PRD", instance="ASCS01", parameters={"enque/table_size": 640001}, restart=["PRD_01"]))
    assert record["verdict"] == "changed"
    assert [(one["file"], one["wins"]) for one in record["conflicts"]] == [(DEFAULT, "no")]
    # a substitution is compared as the kernel expands it
    record = only(d00(host, presets=["update_local"], restart=["PRD_00"]))
    assert record["verdict"] == "changed" and record["after"]["stored"]["rdisp/vbname"] == "$(rdisp/myname)"
    assert record["after"]["running"]["rdisp/vbname"] == "app1_PRD_00" == record["after"]["next_boot"]["rdisp/vbname"]
    assert not d00(host, presets=["update_local"])["changed"]


def test_several_profiles_in_one_call(host):
    entries = [
        {"sid": "PRD", "instance": "D*", "parameters": {BTC: 12}},
        {"profile": "/usr/sap/PRD/SYS/profile/DEFAULT.PFL", "parameters": {"rdisp/mshost": "ascs"}},
        {"sid": "PRD", "instance": "J*", "parameters": {BTC: 12}},
    ]
    result = run(host, profiles=entries)
    assert [record["subject"] for record in result["tuning"][:2]] == [D00, DEFAULT]
    assert result["changed"] and host.read(DEFAULT).endswith("rdisp/mshost = ascs\n")
    (record,) = result["tuning"][2:]
    assert record["verdict"] == "not_applicable" and "no instance of PRD on this host" in record["reason"]


def test_a_shared_profile_that_another_host_changes_is_only_looked_at(host):
    before = host.profiles()
    entry = {"sid": "PRD", "instance": "DEFAULT", "parameters": {"rdisp/mshost": "ascs"}, "left_to": "app2"}
    result = run(host, profiles=[entry])
    record = only(result)
    assert not result["changed"] and record["verdict"] == "drifted" and "is left to app2" in record["reason"]
    assert host.profiles() == before
    host.fill(DEFAULT, host.data(DEFAULT) + b"rdisp/mshost = ascs\n")
    assert only(run(host, profiles=[entry]))["verdict"] in ("compliant", "pending_restart")
    # a restart for another host's change leaves no rollback here
    record = only(run(host, profiles=[entry], restart=["PRD_00", "PRD_01"]))
    assert record["verdict"] == "changed" and record["after"]["running"]["D00 rdisp/mshost"] == "ascs"
    assert "journal is empty" in only(run(host, state="restored"))["reason"]


def test_hana_and_the_diagnostics_agent_are_in_no_pattern_and_hana_is_refused(host):
    for name in ("HDB10", "SMDA98"):
        host.fill("/usr/sap/PRD/%s/exe/sapstart" % name, b"")
        host.fill(PROFILES + "PRD_%s_app1" % name, b"SAPSYSTEMNAME = PRD\n")
    before = host.profiles()
    found = {record["subject"] for record in run(host, sid="PRD", instance="*", parameters={BTC: 12})["tuning"]}
    assert found == {D00, ASCS01}
    for name in ("PRD_HDB10_app1", "PRD_SMDA98_app1"):
        assert host.data(PROFILES + name) == before[name]
    with pytest.raises(InputError, match="PRD HDB10 is SAP HANA, .* leaves it alone"):
        run(host, sid="PRD", instance="HDB10", parameters={BTC: 12})
    run(host, profile=PROFILES + "PRD_SMDA98_app1", parameters={BTC: 12})
    assert b"\n%s = 12" % BTC.encode() in host.data(PROFILES + "PRD_SMDA98_app1")


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"sid": "PRD"}, "both sid and instance"),
        ({"sid": "PRD", "instance": "D00", "parameters": None}, "nothing to set"),
        ({"sid": "QAS", "instance": "D00"}, "QAS"),
        ({"sid": "PRD", "instance": "D07"}, "no instance D07 on this host; it has ASCS01, D00"),
        ({"profile": "PRD_D00_app1"}, "not an absolute path"),
        ({"profile": "/sapmnt/PRD/profile/PRD_D05_app1"}, "this host has no file "),
        ({"sid": "PRD", "instance": "D00", "restart": ["PRD_D00"]}, "write system and number"),
        ({"sid": "PRD", "instance": "D00", "change": "CHG\nenque/table_size = 1"}, "give printable text"),
        ({"sid": "PRD", "instance": "D00", "restart_timeout": 0}, "restart_timeout: 0 is out of range"),
        ({"sid": "PRD", "instance": "D00", "profiles": [{"sid": "PRD", "instance": "D00"}]}, "into profiles"),
        ({"profiles": [dict(BOTH[0], instance=name) for name in ("D00", "D*")], "parameters": None}, "requested twice"),
        ({"profile": D00, "sid": "PRD"}, "give either profile"),
        ({"profile": D00, "parameters": {"rdisp/vb_dispatching": True}}, "write it in quotes"),
    ],
)
def test_an_impossible_request_is_one_sentence_and_nothing_is_changed(host, wrong, words):
    before = host.profiles()
    with pytest.raises(InputError, match=words):
        run(host, **dict({"parameters": {BTC: 12}}, **wrong))
    assert host.profiles() == before and not host.exists("/var/lib")


def test_a_kernel_that_refuses_the_new_profile_keeps_the_old_one(host, monkeypatch):
    before = host.profiles()
    host.complains = ["wp_no_btc = 12"]
    result = d00(host, parameters={BTC: 12})
    assert result["failed"] and "sappfpar refuses the new %s, so the old one stays" % D00 in result["msg"]
    assert host.profiles() == before
    # nor is it changed unchecked
    with monkeypatch.context() as patch:
        patch.setattr(host, "_sappfpar", lambda arguments: Result(0, "== Checking profile: <no_profile>\n", ""))
        result = d00(host, parameters={BTC: 12})
    assert result["failed"] and "sappfpar did not read the profile" in result["msg"]
    assert host.profiles() == before
    # an old mistake of the profile does not keep a change away
    host.complains = ["wp_no_dia"]
    assert not d00(host, parameters={BTC: 12})["failed"]


SIZE = "***ERROR: Size of shared memory pool 40: %d is too small\n"
COUNT = "Total: %d\nErrors detected...: %d\n"


@pytest.mark.parametrize(
    "old, new, refused",
    [
        (SIZE % 8000, SIZE % 12000, False),
        # one more of a kind is a new one, and so is another kind
        (SIZE % 8000, SIZE % 12000 + "***ERROR: Size of shared memory pool 10: 700 is too small\n", True),
        (SIZE % 8000, SIZE % 12000 + "***ERROR: Parameter rdisp/wp_no_btc: invalid value 12\n", True),
        # without lines of errors their number is all there is
        (COUNT % (8000, 1), COUNT % (12000, 1), False),
        (COUNT % (8000, 1), COUNT % (12000, 2), True),
    ],
)
def test_an_old_complaint_may_name_another_size(host, monkeypatch, old, new, refused):
    answer = host._sappfpar

    def complaining(arguments):
        # the new profile is checked beside the old one
        here = any(one.endswith("PRD_D00_app1") for one in arguments)
        return Result(0, old if here else new, "") if "check" in arguments else answer(arguments)

    monkeypatch.setattr(host, "_sappfpar", complaining)
    result = d00(host, parameters={BTC: 12})
    assert result["failed"] is refused, result["msg"]
    assert (host.data(D00) == D00_TEXT) is refused


def test_rolling_back_restarts_also_for_a_parameter_that_was_not_there_before(host):
    before = host.profiles()
    # the kernel does not know the second one
    asked = {"enque/table_size": 1, "zz/site": "x"}
    assert only(d00(host, parameters=asked, restart=["PRD_00"]))["verdict"] == "changed"
    host.fill(DEFAULT, b"SAPSYSTEMNAME = PRD\n")
    result = run(host, state="restored", restart=["PRD_00"])
    assert not result["failed"], result["msg"]
    assert only(result)["after"]["running"]["enque/table_size"] == "4096"
    assert host.data(D00) == before["PRD_D00_app1"]


def test_a_profile_that_is_gone_or_that_someone_else_changed_is_left_alone(host):
    d00(host, parameters={BTC: 12})
    os.rename(host.path(D00), host.path(D00) + ".away")
    result = run(host, state="restored")
    assert result["failed"] and not result["changed"]
    assert only(result)["verdict"] == "failed" and "is its file system mounted?" in only(result)["reason"]
    os.rename(host.path(D00) + ".away", host.path(D00))
    host.fill(D00, host.data(D00)[:-2] + b"15")
    record = only(run(host, state="restored"))
    assert record["verdict"] == "drifted"
    assert "it is 15, this collection set 12, before that it was 8" in record["reason"]
    run(host, state="restored", force=True)
    assert host.data(D00) == D00_TEXT


REALTIME = {"presets": ["realtime_scheduler"]}


def test_real_time_scheduling_without_the_right_to_it_is_not_a_success(host):
    record = only(d00(host, restart=["PRD_00"], **REALTIME))
    assert record["verdict"] == "pending_restart" and "may not use real-time priority 40" in record["reason"]
    # a restart that cannot help is not made
    host.work_process(41, 0, 0, 1)
    host.work_process(42, 0, 0)
    host.calls.clear()
    record = only(d00(host, restart=["PRD_00"], **REALTIME))
    assert record["verdict"] == "pending_restart" and "may not use real-time priority 40" in record["reason"]
    assert "work processes: SCHED_OTHER is in force, SCHED_RR 40 after a restart" in record["reason"]
    assert not [call for call in host.calls if "Stop" in call]
    for pid in (41, 42):
        host.remove("/proc/%d/cmdline" % pid)
    host.fill("/etc/security/limits.d/sap.conf", b"prdadm - rtprio 99\n")
    assert only(d00(host, **REALTIME))["verdict"] == "compliant"


def test_real_time_scheduling_is_proved_by_the_work_processes(host):
    host.fill("/etc/security/limits.d/sap.conf", b"prdadm - rtprio 99\n")
    for pid, parent in ((41, 1), (42, 41), (43, 41)):
        host.work_process(pid, 0, 0, parent, capable=True)
    assert "work processes: SCHED_OTHER is in force" in only(d00(host, **REALTIME))["reason"]
    result = d00(host, restart=["PRD_00"], **REALTIME)
    assert result["failed"] and "work processes is SCHED_OTHER, although SCHED_RR 40 was written" in result["msg"]
    assert only(d00(host, check=True, **REALTIME))["verdict"] == "pending_restart"
    start = host.start_instance

    def as_it_should(number):
        start(number)
        host.work_process(43, 40, 2)

    host.start_instance = as_it_should
    record = only(d00(host, restart=["PRD_00"], **REALTIME))
    assert record["verdict"] == "changed"
    assert record["after"]["running"]["work processes"] == "1 of 2 SCHED_RR 40, the others SCHED_OTHER"
    assert not d00(host, restart=["PRD_00"], **REALTIME)["changed"]
    # /proc proves a scheduler that start times do not
    d00(host, parameters={BTC: 12}, **REALTIME)
    restart_service(host)
    running = only(d00(host, check=True, parameters={BTC: 12}, **REALTIME))["before"]["running"]
    assert (running["rdisp/linux/os_scheduler"], running[BTC]) == ("SCHED_RR", "not proved")


UPDATERS = "rdisp/wp_no_vb"
LOCAL = {"presets": ["update_local"]}


@pytest.mark.parametrize(
    "own, default, asked, outcome",
    [
        ("", "", {}, "remark"),
        ("0", "", {}, "refused"),
        ("2", "0", {}, "done"),
        ("", "0", {}, "refused"),
        ("", "3", {}, "done"),
        ("0", "", {UPDATERS: 4}, "done"),
        ("2", "", {UPDATERS: 0}, "refused"),
        ("2", "0", {UPDATERS: None}, "refused"),
        # another instance does them
        ("0", "", {"rdisp/vbname": "app2_PRD_00"}, "done"),
    ],
)
def test_updates_need_a_work_process_that_does_them(host, own, default, asked, outcome):
    for path, value in ((D00, own), (DEFAULT, default)):
        host.fill(path, host.data(path) + (b"\n%s = %s\n" % (UPDATERS.encode(), value.encode()) if value else b""))
    before = host.profiles()
    for check in (True, False):
        record = only(d00(host, check, parameters=asked, **LOCAL))
        assert (record["verdict"] == "failed") is (outcome == "refused")
        assert ("work process" in record["reason"] and UPDATERS in record["reason"]) is (outcome == "refused")
        assert any("no profile of PRD_00 sets" in one for one in record["remarks"]) is (outcome == "remark")
    assert (host.profiles() == before) is (outcome == "refused")
    # all that read a default profile
    result = run(host, True, sid="PRD", instance="DEFAULT", parameters=asked, **LOCAL)
    assert result["failed"] is (outcome == "refused" and UPDATERS not in asked)
    # the kernel's own number, if no profile has one
    if outcome == "remark":
        host.kernel_has = {UPDATERS: "0"}
        assert only(d00(host, parameters={"rdisp/vbname": "$(rdisp/myname)"}))["verdict"] == "failed"


ENSA2 = b"Start_Program_01 = local enq.sapPRD_ASCS01 pf=$(_PF)\n"


@pytest.mark.parametrize(
    "more, instance, verdict",
    [
        (b"", "ASCS01", "changed"),
        (b"Start_Program_01 = local $(_EN) pf=$(_PF)\n", "ASCS01", "changed"),
        (ENSA2, "ASCS01", "not_applicable"),
        # by the profile of the ASCS beside it
        (ENSA2, "DEFAULT", "not_applicable"),
        (ENSA2, "D00", "not_applicable"),
    ],
)
def test_a_lock_table_is_for_enqueue_1(host, more, instance, verdict):
    host.fill(ASCS01, host.data(ASCS01) + more)
    host.fill(ASCS01 + ".old", b"Start_Program_01 = local en.sapPRD pf=$(_PF)\n")
    before = host.profiles()
    asked = dict(sid="PRD", instance=instance, presets=["enqueue_table"])
    record = only(run(host, restart=["PRD_01"], **asked))
    assert record["verdict"] == verdict
    if verdict == "not_applicable":
        assert "acts on ENSA1 only" in record["reason"] and host.profiles() == before
        record = only(run(host, parameters={"zz/new": "1"}, **asked))
        assert record["wanted"]["parameters"] == {"zz/new": "1"} and "acts on ENSA1 only" in record["remarks"][0]
    else:
        assert any("ipc/shm_psize_34 = 0" in remark for remark in record["remarks"])
        record = only(run(host, True, parameters={"ipc/shm_psize_34": 0}, **asked))
        assert not any("ipc/shm_psize_34" in remark for remark in record["remarks"])
