# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module: the tool it chooses and names, a round with each, check mode, and the messages of wrong calls."""

import json

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.modules import enqt
from enqueueing import ENQ_ADMIN, ENQT, standin
from measuring import QUICK
from modules import caller

ROUND = dict(QUICK, address="127.0.0.1", users=2, locks_per_user=5)
SESSION = {"tool": "enqt", "port": 1, "control_port": 2, "token": "0123456789abcdef"}


@pytest.fixture
def call(monkeypatch, capsys):
    return caller(enqt.main, monkeypatch, capsys)


@pytest.mark.parametrize("options", [{}, {"tool": "enqt"}, {"side": "client", "session": dict(SESSION, tool="enqt")}])
def test_without_an_enqueue_server_the_error_is_one_sentence(call, options):
    """It tells what is missing, where it was looked for, and what would be right."""
    result = call(**dict({"side": "server", "address": "127.0.0.1"}, **options))
    assert result["failed"] and result["msg"] == (
        "no SAP enqueue server was found: neither /usr/sap/<SID>/SYS/profile nor /sapmnt/<SID>/profile of this host "
        "has the profile of an ASCS or SCS instance that starts one; name its profile, or use a host of the SAP system"
    )


@pytest.mark.gate
@pytest.mark.parametrize("kind, tool, program", [("ENSA1", "enqt", ENQT), ("ENSA2", "enq_admin", ENQ_ADMIN)])
def test_it_finds_out_which_server_is_there_and_says_so(call, tmp_path, monkeypatch, kind, tool, program):
    control = tmp_path / "sapcontrol"
    control.write_text("#!/bin/sh\necho 'FAIL: NIECONN_REFUSED (Connection refused)'\n")
    control.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with standin(tmp_path, kind, monkeypatch) as server:
        started = call(side="server", address="127.0.0.1", lifetime=60, profile=server.profile)
        session = started["session"]
        try:
            assert (session["tool"], started["enqueue"]["kind"]) == (tool, kind)
            assert started["enqueue"]["how"] == "profile " + server.profile
            assert started["changed"] and processes.is_same(session["pid"], session["start_time"])
            for load in ("verify_entries", "create_locks"):
                measured = call(session=session, profile=server.profile, path=program, load=load, **ROUND)
                assert measured["changed"] is False and measured["enqueue"]["tool"] == tool
                assert "NIECONN_REFUSED" in measured["enqueue"]["statistics"]
        finally:
            stopped = call(side="server", state="stopped", session=session)
        assert stopped["changed"] and not processes.is_same(session["pid"], session["start_time"])
        (record,) = measured["records"]
        assert session["token"] not in json.dumps(record)
        assert record["workload"]["name"] == tool + "-create_locks" and record["runs"][0]["ok"]
        assert record["fingerprint"]["server"]["hostname"]
        assert measured["enqueue"]["instance"] == "ASCS01"
        assert server.count() == 0


def test_check_mode_predicts_and_does_nothing(call, tmp_path, monkeypatch):
    with standin(tmp_path, "ENSA2", monkeypatch) as server:
        predicted = call(side="server", address="127.0.0.1", profile=server.profile, _ansible_check_mode=True)
        assert predicted["changed"] and predicted["session"]["tool"] == "enq_admin"
        assert predicted["session"]["token"] == "" and predicted["session"]["pid"] is None
        given = dict(ROUND, session=dict(SESSION, tool="enq_admin"), profile=server.profile, path=ENQ_ADMIN)
        assert "processes is 3 and users 2" in call(processes=3, **given)["msg"]
        nothing = call(_ansible_check_mode=True, **given)
        assert nothing["records"] == [] and nothing["enqueue"]["kind"] == "ENSA2"
        assert server.ask("statistics")["values"]["enqueue_requests"] == 0


@pytest.mark.parametrize(
    "options, words",
    [
        ({"users": 0}, "users is 0; it must be from 1 to 1000"),
        ({"processes": 251}, "processes is 251"),
        ({"locks_per_user": 10000000}, "locks_per_user is 10000000"),
        ({"tool": "enq_admin"}, "tool is enq_admin, but the server of the session serves enqt"),
        ({"session": dict(SESSION, tool="niping")}, "the session belongs to niping, which does not measure locks"),
        ({"tool": "locktable"}, "value of tool must be one of: auto, enqt, enq_admin"),
        ({"load": "stall"}, "value of load must be one of"),
        ({"session": SESSION, "profile": "/nowhere"}, "profile /nowhere does not exist"),
        ({"run_seconds": 200.0}, "timeout is shorter than run_seconds"),
    ],
)
def test_a_wrong_call_gets_one_sentence(call, options, words):
    result = call(**dict(dict(ROUND, session=SESSION), **options))
    assert result["failed"] and words in result["msg"]


def test_a_program_that_is_not_there(call, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with standin(tmp_path, "ENSA1", monkeypatch) as server:
        session = dict(SESSION, tool="enqt")
        result = call(session=session, profile=server.profile, **ROUND)
        assert "SAP's enqt was not found in /usr/sap/PRD/ASCS01/exe, " in result["msg"]
        result = call(session=session, profile=server.profile, path="/nowhere/enqt", **ROUND)
        assert "/nowhere/enqt is not an executable file" in result["msg"]
        result = call(session=dict(SESSION, tool="enq_admin"), profile=server.profile, **ROUND)
        assert "whose tool is enqt" in result["msg"]
