# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The face of the workloads: network as Ansible calls it, check mode, and what a wrong call hears."""

import json

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.modules import measure_workload
from measuring import QUICK, free_port, listens
from modules import caller

ROUND = dict(
    QUICK,
    workload="network",
    address="127.0.0.1",
    network={"kinds": ["onlTrans", "strWrite"], "connections": [2]},
    run_seconds=0.05,
)
SESSION = {"tool": "pingpong", "port": 1, "control_port": 1, "token": "0123456789abcdef"}


@pytest.fixture
def call(monkeypatch, capsys):
    return caller(measure_workload.main, monkeypatch, capsys)


def test_start_measure_stop(call):
    started = call(workload="network", side="server", address="127.0.0.1", lifetime=30)
    session = started["session"]
    stop = dict(workload="network", side="server", state="stopped", session=session)
    try:
        assert started["changed"] and processes.is_same(session["pid"], session["start_time"])
        expected = ["pingpong-onlTrans-x2", "pingpong-strWrite-x2"]
        # each round rotates the workloads
        for number, names in ((1, expected), (2, expected[::-1])):
            measured = call(session=session, round=number, **ROUND)
            assert measured["changed"] is False and session["token"] not in json.dumps(measured["records"])
            assert [record["workload"]["name"] for record in measured["records"]] == names
            assert all(record["runs"][0]["ok"] for record in measured["records"])
    finally:
        stopped = call(**stop)
    assert stopped["changed"] and not processes.is_same(session["pid"], session["start_time"])
    assert call(**stop)["changed"] is False


def test_check_mode_predicts_and_does_nothing(call):
    port = free_port()
    predicted = call(workload="network", side="server", address="127.0.0.1", port=port, _ansible_check_mode=True)
    assert predicted["changed"] and predicted["session"]["port"] == port and not listens(port)
    measured = call(session=predicted["session"], _ansible_check_mode=True, **ROUND)
    assert measured["records"] == [] and measured["msg"] == "check mode: nothing was measured"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(ROUND), "workload network takes the session of a started server and its address"),
        (dict(ROUND, session=SESSION, address=None), "takes the session of a started server and its address"),
        (dict(ROUND, session=SESSION, network={"kinds": ["fast"]}), "value of kinds must be one or more of: latency,"),
        (dict(ROUND, session=SESSION, network={"connections": [300]}), "network.connections has 300"),
        (dict(ROUND, session=SESSION, network={"tool": "niping"}), "value of tool must be one of: pingpong, netperf"),
        (dict(ROUND, session=SESSION, run_seconds=601), "run_seconds is 601.0; it has to be from"),
        (dict(workload="network", side="server", state="stopped"), "session"),
        (dict(workload="network", side="server", path="/no/such/program", network={"tool": "netperf"}),
         "/no/such/program is no executable file: set path to netserver, or leave it out"),
        (dict(workload="openssl", side="server"), "workload openssl has no server: take side client"),
        (dict(workload="disk", side="client"), "value of workload must be one of: network, fio, openssl, command"),
    ],
)  # fmt: skip
def test_a_wrong_call_hears_why(call, arguments, words):
    result = call(**{name: value for name, value in arguments.items() if value is not None})
    assert result["failed"] and words in result["msg"]
