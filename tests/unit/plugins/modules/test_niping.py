# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module: a server and a client as Ansible calls them, check mode, and the messages of wrong calls."""

import json

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent
from ansible_collections.zpower.sap_tuning.plugins.modules import niping
from measuring import QUICK, STANDIN, free_port, listens, server
from modules import caller

ROUND = dict(QUICK, address="127.0.0.1", bytes=[500], loops=50)
SESSION = {"tool": "pingpong", "port": 1, "control_port": 1, "token": "0123456789abcdef"}


@pytest.fixture
def call(monkeypatch, capsys):
    return caller(niping.main, monkeypatch, capsys)


@pytest.mark.parametrize("start, more", [({"tool": "pingpong"}, {}), ({"path": STANDIN}, {"path": STANDIN})])
def test_start_measure_stop(call, warned, start, more):
    tool = start.get("tool", "niping")
    started = call(side="server", address="127.0.0.1", lifetime=30, **start)
    session = started["session"]
    try:
        assert session["tool"] == tool and warned == []
        assert started["changed"] and processes.is_same(session["pid"], session["start_time"])
        # one server serves many rounds
        for number, connections in ((1, 1), (2, 3)):
            measured = call(session=session, round=number, connections=connections, **dict(ROUND, **more))
            assert measured["changed"] is False and agent.is_running(session)
            (record,) = measured["records"]
            assert record["workload"]["tool"] == tool and record["runs"][0]["error"] is None
            assert session["token"] not in json.dumps(record)
    finally:
        stopped = call(side="server", state="stopped", session=session)
    assert stopped["changed"] and not processes.is_same(session["pid"], session["start_time"])
    assert call(side="server", state="stopped", session=session)["changed"] is False


def test_check_mode_predicts_and_does_nothing(call):
    port = free_port()
    predicted = call(side="server", address="127.0.0.1", tool="pingpong", port=port, _ansible_check_mode=True)
    assert predicted["changed"] and predicted["session"]["port"] == port
    assert predicted["session"]["pid"] is None and not listens(port)
    measured = call(session=predicted["session"], _ansible_check_mode=True, **ROUND)
    assert measured["records"] == [] and measured["changed"] is False
    assert measured["msg"] == "check mode: nothing was measured"
    assert call(side="server", state="stopped", session=predicted["session"])["changed"] is False
    with server() as session:
        stop = dict(side="server", state="stopped", session=session)
        assert call(_ansible_check_mode=True, **stop)["changed"]
        assert agent.is_running(session)
        result = call(side="server", address="127.0.0.1", tool="pingpong", port=session["port"])
        assert result["failed"] and "port %d is in use on this host" % session["port"] in result["msg"]


def test_without_saps_niping_the_engine_is_never_chosen_silently(call, warned, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    result = call(side="server", address="127.0.0.1", _ansible_check_mode=True)
    assert result["session"]["tool"] == "pingpong"
    assert warned == ["SAP's niping was not found on this host: pingpong of this collection measures"]
    result = call(side="server", tool="niping")
    assert result["failed"] and "/usr/sap/hostctrl/exe, /nowhere" in result["msg"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"side": "client", "session": SESSION}, "address"),
        ({"side": "client", "address": "x"}, "session"),
        ({"side": "server", "state": "stopped"}, "session"),
        ({"side": "server"}, "needs the address of this host to listen on, or 0.0.0.0 or :: for all"),
        ({"side": "server", "port": 70000}, "port is 70000; it must be from 0 to 65535"),
        ({"side": "client", "address": "x", "session": SESSION, "change": "c"}, "phase"),
        ({"side": "client", "address": "x", "session": SESSION, "tool": "niping"}, "the server of the session serves"),
        ({"side": "client", "address": "x", "session": SESSION, "bytes": [0]}, "bytes has 0; it must be from 1 to"),
        ({"side": "server", "tool": "niping", "transport": "smc"}, "transport smc needs tool pingpong"),
    ],
)
def test_a_wrong_call_is_told_what_would_be_right(call, arguments, words):
    result = call(**arguments)
    assert result["failed"] and words in result["msg"]
