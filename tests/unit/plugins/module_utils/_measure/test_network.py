# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published network workloads over the embedded engine, from the options to the records."""

import contextlib
import json
import socket

import pytest
from action_options import names_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import network, request
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import entry_point
from measuring import OPTIONS, PATIENCE, errors, script, server, target

SESSION = {"tool": "pingpong", "port": 3298, "control_port": 3298, "token": "t"}
ROUND_TRIPS = {"avg_us", "max_us", "min_us", "av2_us", "tr_kib_per_s", "tr2_kib_per_s", "round_trips"}


def chosen(**given):
    values = {"tool": None, "kinds": list(network.KINDS), "connections": [1], "transport": "tcp"}
    return dict(values, **given)


def round_of(session, options=None, **changed):
    params = dict(OPTIONS, session=session, path=None, **changed)
    made = request.workloads(chosen(**options or {}), params, "/nowhere")
    return entry_point.measure(params, made)


@pytest.fixture(scope="module")
def session():
    with server() as running:
        yield running


def test_the_matrix_is_the_published_one():
    assert tuple(network.KINDS.values()) == (
        ("latency", 1, 1, None),
        ("onlTrans", 200, 1000, None),
        ("database", 200, 30720, None),
        ("strRead", 30720, None, "in"),
        ("strWrite", 30720, None, "out"),
    )
    assert network.CONNECTIONS == (1, 10, 50, 250)
    names = names_of("measure_workload", workload="network", session=SESSION)
    assert len(names) == len(set(names)) == 20
    assert {"pingpong-latency", "pingpong-onlTrans-x10", "pingpong-strWrite-x250"} <= set(names)
    given = {"kinds": "strRead,latency", "connections": "1,10"}
    names = names_of("measure_workload", workload="network", session=dict(SESSION, tool="netperf"), network=given)
    assert names == ["netperf-strRead", "netperf-latency", "netperf-strRead-x10", "netperf-latency-x10"]
    with pytest.raises(ValueError):
        names_of("measure_workload", workload="network", session=SESSION, network={"connections": "many"})


def test_records_of_a_round(session):
    records = round_of(session, {"connections": [1, 3]}, loops=40)
    assert [record["workload"]["name"] for record in records] == request.names(chosen(connections=[1, 3]), "pingpong")
    for record in records:
        workload = record["workload"]
        assert errors(record) == [None] * 3 and session["token"] not in json.dumps(record)
        assert workload["set"] == "network" and workload["loops"] == 40
        kind = network.KINDS[workload["params"]["kind"]]
        for run in record["runs"]:
            check = _check_stream if kind.stream else _check_transactions
            check(kind, workload, run)
            assert run["cpu"]["client"] and run["cpu"]["server"] and kind.name in run["raw"]


def _check_transactions(kind, workload, run):
    figures = run["metrics"]
    assert workload["metric"]["name"] == "av2_us" and workload["unit"] == "transaction"
    assert workload["params"] == {
        "kind": kind.name, "request_bytes": kind.request, "response_bytes": kind.response
    }  # fmt: skip
    assert set(figures) == ROUND_TRIPS | {"transactions_per_s", "units"}
    assert figures["units"] == figures["round_trips"] == 40 * workload["connections"]
    both = kind.request + kind.response
    assert figures["tr2_kib_per_s"] == pytest.approx(both / (figures["av2_us"] / 1e6) / 1024, rel=1e-3)
    assert figures["transactions_per_s"] == pytest.approx(figures["units"] / run["elapsed_s"], rel=1e-2)


def _check_stream(kind, workload, run):
    figures = run["metrics"]
    assert workload["metric"] == {"name": "kib_per_s", "unit": "KiB/s", "better": "higher"}
    assert workload["params"] == {"kind": kind.name, "message_bytes": 30720, "direction": kind.stream}
    assert workload["unit"] == "message" and set(figures) == {"kib_per_s", "avg_us", "units"}
    assert figures["units"] == 40 * workload["connections"]
    assert figures["kib_per_s"] == pytest.approx(figures["units"] * 30 / run["elapsed_s"], rel=1e-2)


def test_the_command_line_says_what_was_done_and_no_secret(session):
    database, stream = round_of(session, {"kinds": ["database", "strRead"]}, runs=1, warmup=0)
    where = ["pingpong", "--connect", "127.0.0.1", "--port", str(session["port"])]
    end = ["--loops", "100", "--connections", "1"]
    assert database["workload"]["argv"] == where + ["--bytes", "200", "--response-bytes", "30720"] + end
    assert stream["workload"]["argv"] == where + ["--bytes", "30720", "--stream", "in"] + end


def test_streams_calibrate_themselves(session):
    for record in round_of(session, {"kinds": ["strRead", "strWrite"]}, loops=0, run_seconds=0.05, runs=1):
        assert record["workload"]["loops"] >= 10 and errors(record) == [None, None]
    (record,) = round_of(session, {"kinds": ["strRead"]}, loops=10000000, runs=1, warmup=0, timeout=1.0)
    assert "within the time limit of 1 s" in errors(record)[0]


@pytest.mark.parametrize(
    "operation, details, words",
    [
        ("stream", {"direction": "sideways", "bytes": 10, "loops": 1}, "direction must be in or out"),
        ("stream", {"direction": "in", "bytes": 0, "loops": 1}, "bytes must be a number from 1"),
        ("stream", {"direction": "out", "bytes": 10, "loops": 0}, "loops must be a number from 1"),
        ("exchange", {"bytes": 10, "loops": 1, "response_bytes": 0}, "response_bytes must be a number from 1"),
    ],
)
def test_the_server_refuses_what_makes_no_sense(session, operation, details, words):
    lines = wire.open_lines(target(session))
    with contextlib.closing(lines.sock):
        with pytest.raises(MeasureError, match=words):
            wire.ask(lines, operation, timeout=PATIENCE, **details)
        # it is still of use
        assert wire.ask(lines, "sample")["ok"]


@pytest.mark.parametrize(
    "tool, options, words",
    [
        ("pingpong", {"kinds": []}, "network.kinds is .*; name at least one, and each only once"),
        ("pingpong", {"kinds": ["latency", "latency"]}, "each only once"),
        ("pingpong", {"connections": [251]}, r"network.connections has 251; it has to be from 1 to 250"),
        ("pingpong", {"connections": [0]}, r"network.connections has 0"),
        ("pingpong", {"tool": "netperf"}, "tool is netperf, but the server of the session serves pingpong"),
        ("niping", {}, "serves niping, which runs no network workloads"),
        ("netperf", {"transport": "smc"}, "netperf opens TCP sockets only: transport smc takes tool pingpong"),
        ("netperf", {}, "netperf was not found in /nowhere: install it, or set path, or take pingpong"),
        ("sockperf", {}, "sockperf cannot do onlTrans: take kinds of latency, strWrite, or another tool"),
        ("qperf", {"kinds": ["strRead"]}, "qperf cannot do strRead"),
        ("qperf", {"kinds": ["latency"], "connections": [1, 10]}, r"qperf serves one connection at a time: set conn"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_measured(session, tool, options, words):
    with pytest.raises(MeasureError, match=words):
        round_of(dict(session, tool=tool), options)


def test_smc_sockets_are_opened_and_what_became_of_them_is_recorded(monkeypatch):
    """Plain sockets stand for those of SMC; the real ones are in molecule/smc."""
    monkeypatch.setattr(smc_sockets, "stream", lambda family: socket.socket(family, socket.SOCK_STREAM))
    monkeypatch.setattr(smc_sockets, "of_socket", lambda sock: None)
    with server(kind="smc") as running:
        options = {"kinds": ["onlTrans", "strRead"], "connections": [2], "transport": "smc"}
        records = round_of(running, options, runs=1, warmup=0)
    for record in records:
        assert record["workload"]["transport"] == "smc" and " --transport smc " in " ".join(record["workload"]["argv"])
        assert record["runs"][0]["links"] == [{"mode": None, "fallback": None, "connections": 2}]


def test_which_server(tmp_path):
    tool, how, _result = request.server(chosen(transport="smc"), {"path": None}, "/nowhere")
    assert (tool, how) == ("pingpong", {"version": "1", "kind": "smc"})
    with pytest.raises(MeasureError, match="netserver was not found in /nowhere, /nor/here: install it"):
        request.server(chosen(tool="netperf"), {"path": None}, "/nowhere:/nor/here")
    with pytest.raises(MeasureError, match="transport smc takes tool pingpong"):
        request.server(chosen(tool="qperf", transport="smc"), {"path": None}, "/nowhere")
    # it lies beside the client that was named
    client, server_ = tmp_path / "netperf", tmp_path / "netserver"
    for program in (client, server_):
        script(program, "echo Netperf version 9.9\n")
    _tool, how, _result = request.server(chosen(tool="netperf"), {"path": str(client)}, "/nowhere")
    assert how["version"] == "9.9" and how["program"](None, 1) == [str(server_), "-D", "-p", "1"]
    server_.unlink()
    with pytest.raises(
        MeasureError, match="netserver is not an executable file with an absolute path: set path to netserver"
    ):
        request.server(chosen(tool="netperf"), {"path": str(client)}, "/nowhere")


def test_every_tool_has_what_the_set_needs():
    for name, tool in request.NETWORK_TOOLS.items():
        assert tool.TOOL == tool.Workload.tool == name and tool.SERVER
        assert str(4711) in tool.server_argv("/opt/" + tool.SERVER, None, 4711)
        assert set(tool.Workload.kinds) <= set(network.KINDS)
