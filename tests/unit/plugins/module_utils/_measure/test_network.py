# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published network workloads by the embedded engine and by the network tools, from options to records."""

import contextlib
import json
import shutil

import pytest
from action_options import names_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes, wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import (
    netperf,
    network,
    qperf,
    request,
    sockperf,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent
from measuring import OPTIONS, PATIENCE, SEARCH_PATH, errors, free_port, measured, per_file, script, server, target
from places import FIXTURES

SESSION = {"tool": "pingpong", "port": 3298, "control_port": 3298, "token": "t"}
ROUND_TRIPS = {"avg_us", "max_us", "min_us", "av2_us", "tr_kib_per_s", "tr2_kib_per_s", "round_trips"}


def chosen(**given):
    values = {"tool": None, "kinds": list(network.KINDS), "connections": [1], "transport": "tcp"}
    return dict(values, **given)


def round_of(session, options=None, **changed):
    params = dict(OPTIONS, session=session, path=None, **changed)
    made = request.workloads(chosen(**options or {}), params, "/nowhere")
    return entry_point.measure(params, made)


@pytest.fixture(scope=per_file)
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
            assert run["cpu"]["client"] and run["cpu"]["server"] and run["raw"] == ""


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
        ("stream", {"direction": "in", "bytes": 0, "loops": 1}, "bytes is 0; it must be a whole number from 1"),
        ("exchange", {"bytes": 10, "loops": 1, "response_bytes": 0}, "response_bytes is 0; it must be a whole"),
    ],
)
def test_the_server_refuses_what_makes_no_sense(session, operation, details, words):
    lines = wire.open_lines(target(session))
    with contextlib.closing(lines.sock):
        with pytest.raises(MeasureError, match=words):
            wire.ask(lines, operation, timeout=PATIENCE, **details)
        assert wire.ask(lines, "sample")["ok"]


@pytest.mark.parametrize(
    "tool, options, words",
    [
        ("pingpong", {"kinds": []}, "network.kinds is .*; name at least one, and each only once"),
        ("pingpong", {"kinds": ["latency", "latency"]}, "each only once"),
        ("pingpong", {"connections": [251]}, r"network.connections has 251; it must be from 1 to 250"),
        ("pingpong", {"connections": [0]}, r"network.connections has 0"),
        ("pingpong", {"tool": "netperf"}, "tool is netperf, but the server of the session serves pingpong"),
        ("niping", {}, "serves niping, which runs no network workloads"),
        ("netperf", {"transport": "smc"}, "netperf opens TCP sockets only: transport smc needs tool pingpong"),
        ("netperf", {}, "netperf was not found in /nowhere: install it, or set path, or use pingpong"),
        ("sockperf", {}, "sockperf cannot do onlTrans: use kinds of latency, strWrite, or another tool"),
        ("qperf", {"kinds": ["strRead"]}, "qperf cannot do strRead"),
        ("qperf", {"kinds": ["latency"], "connections": [1, 10]}, r"qperf serves one connection at a time: set conn"),
    ],
)
def test_impossible_options_are_refused_before_anything_is_measured(session, tool, options, words):
    with pytest.raises(MeasureError, match=words):
        round_of(dict(session, tool=tool), options)


def test_which_server(tmp_path):
    tool, how, _result = request.server(chosen(transport="smc"), {"path": None}, "/nowhere")
    assert (tool, how) == ("pingpong", {"version": "1", "kind": "smc"})
    with pytest.raises(MeasureError, match="netserver was not found in /nowhere, /nor/here: install it"):
        request.server(chosen(tool="netperf"), {"path": None}, "/nowhere:/nor/here")
    with pytest.raises(MeasureError, match="transport smc needs tool pingpong"):
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


def text_of(name):
    return (FIXTURES / "network" / name).read_text("utf-8")


def workload(tool, kind, connections=1):
    """A workload of a tool as it would run against 10.0.0.2."""
    where = ("10.0.0.2", 3298)
    return tool.Workload("/opt/" + tool.TOOL, "1.0", where, network.KINDS[kind], connections)


def figures(tool, kind, *names):
    return workload(tool, kind, len(names)).read([text_of(name) for name in names])


def test_netperf_transactions():
    metrics, elapsed = figures(netperf, "onlTrans", "netperf_rr.txt")
    assert metrics == {
        "avg_us": pytest.approx(1e6 / 43385.969, abs=1e-3),
        "transactions_per_s": 43385.969,
        "units": 43392,
        "max_us": 1511,
        "min_us": 11,
        "p50_us": 12,
    }
    assert elapsed == pytest.approx(43392 / 43385.969)
    metrics, _elapsed = figures(netperf, "onlTrans", "netperf_rr.txt", "netperf_rr.txt")
    # each of two clients takes as long as alone, and both together do twice as much
    assert metrics["avg_us"] == pytest.approx(1e6 / 43385.969, abs=1e-3)
    assert metrics["transactions_per_s"] == pytest.approx(2 * 43385.969)
    assert metrics["units"] == 2 * 43392 and "p50_us" not in metrics


def test_netperf_streams():
    metrics, elapsed = figures(netperf, "strWrite", "netperf_stream.txt")
    assert metrics["kib_per_s"] == pytest.approx(24586.93e6 / 8 / 1024) and elapsed == 1.0
    assert metrics["units"] == 100064
    # the count and the rate were printed independently of each other
    assert metrics["units"] * 30 / elapsed == pytest.approx(metrics["kib_per_s"], rel=5e-3)
    metrics, elapsed = figures(netperf, "strRead", "netperf_maerts.txt")
    assert metrics["kib_per_s"] == pytest.approx(26738.89e6 / 8 / 1024) and metrics["units"] == 109017


def test_sockperf():
    metrics, elapsed = figures(sockperf, "latency", "sockperf_ping_pong.txt")
    assert metrics == {"avg_us": 12.197, "p50_us": 11.947, "max_us": 4239.135, "min_us": 11.126, "units": 82233}
    assert elapsed == 1.0
    metrics, elapsed = figures(sockperf, "strWrite", "sockperf_throughput.txt")
    assert (metrics["units"], elapsed) == (60571, 1.0)
    # sockperf's own figure of the bandwidth, in units of 1,048,576 bytes
    assert metrics["kib_per_s"] == pytest.approx(1773.691 * 1024, rel=1e-3)


def test_qperf():
    metrics, elapsed = figures(qperf, "latency", "qperf_tcp_lat.txt")
    # what qperf calls latency is one way
    assert metrics["avg_us"] == pytest.approx(2 * 7.44613, abs=1e-4) and elapsed == 1.0
    assert metrics["units"] == round(1e6 / (2 * 7.44613))
    metrics, elapsed = figures(qperf, "strWrite", "qperf_tcp_bw.txt")
    assert metrics["kib_per_s"] == pytest.approx(2897879040 / 1024.0)
    assert metrics["units"] == round(2897879040 / 30720.0)


@pytest.mark.parametrize(
    "tool, kind, text, words",
    [
        (netperf, "latency", "", "netperf printed no TRANSACTION_RATE, its output began: nothing was printed"),
        (netperf, "latency", "TRANSACTION_RATE=nan\n", "no TRANSACTION_RATE"),
        (netperf, "latency", text_of("netperf_rr.txt").replace("43385.969", "0.000"), "no transactions"),
        (netperf, "strWrite", text_of("netperf_stream.txt").replace("10^6bits/s", "Trans/s"), "in 10.6bits/s"),
        (netperf, "strRead", text_of("netperf_stream.txt"), "no REMOTE_SEND_CALLS"),
        (netperf, "strWrite", text_of("netperf_stream.txt").replace("24586.93", "0.00"), "no throughput"),
        (sockperf, "latency", text_of("sockperf_refused.txt"), "sockperf: Can`t connect socket .*Connection refused"),
        (sockperf, "latency", text_of("sockperf_no_answer.txt"), "sockperf: No messages were received from the server"),
        (sockperf, "latency", text_of("sockperf_no_observation.txt"), "counted no round trip .*or run_seconds"),
        (sockperf, "latency", "sockperf: Summary: Round trip is 1.2.3 usec", "sockperf printed no"),
        (sockperf, "latency", text_of("sockperf_half_rtt.txt"), "printed half of each round trip .*without --full-rtt"),
        (sockperf, "latency", text_of("sockperf_usage.txt"), "may not know --full-rtt, which 3.7 has"),
        (sockperf, "strWrite", text_of("sockperf_ping_pong.txt"), "no number of messages"),
        (sockperf, "strWrite", "sockperf: Total of 0 messages sent in 1.000 sec", "no number of messages"),
        (qperf, "latency", "tcp_lat:\n    latency  =  0 ns\n", "qperf printed no latency in ns"),
        (qperf, "latency", "tcp_lat:\n    latency  =  26.3 us\n", "no latency in ns"),
        (qperf, "strWrite", text_of("qperf_tcp_lat.txt"), "no bw in bytes/sec"),
        # what a hostile peer has a part in: no infinity, no division by 0, no number that Python refuses to read
        (qperf, "latency", "tcp_lat:\n    latency  =  %s ns\n" % ("9" * 400), "no latency in ns"),
        (qperf, "latency", "tcp_lat:\n    latency  =  0.%s1 ns\n" % ("0" * 330), "no latency in ns"),
        (qperf, "strWrite", "tcp_bw:\n    bw  =  0.000001 bytes/sec\n", "no bw in bytes/sec"),
        (netperf, "latency", text_of("netperf_rr.txt").replace("43385.969", "9" * 400), "no TRANSACTION_RATE"),
        (sockperf, "latency", text_of("sockperf_ping_pong.txt").replace("82233", "9" * 5000), "no total run"),
        (sockperf, "strWrite", text_of("sockperf_throughput.txt").replace("60571", "9" * 5000), "no number of"),
        (sockperf, "strWrite", "Total of 7 messages sent in 0.%s1 sec" % ("0" * 330), "no number of"),
    ],
)
def test_output_that_does_not_fit_is_an_error_and_never_a_figure(tool, kind, text, words):
    with pytest.raises(MeasureError, match=words):
        workload(tool, kind).read([text])


def test_command_lines():
    assert workload(netperf, "database").argv == [
        "/opt/netperf", "-P", "0", "-H", "10.0.0.2", "-p", "3298", "-t", "TCP_RR", "-l", "1", "--",
        "-r", "200,30720", "-D", "-k", "TRANSACTION_RATE,LOCAL_SEND_CALLS,MIN_LATENCY,P50_LATENCY,MAX_LATENCY",
    ]  # fmt: skip
    assert workload(netperf, "strRead").argv[8:16] == ["TCP_MAERTS", "-l", "1", "--", "-M", "30720", "-m", ",30720"]
    assert workload(netperf, "strWrite").argv[8:14] == ["TCP_STREAM", "-l", "1", "--", "-m", "30720"]
    assert netperf.server_argv("/opt/netserver", None, 12865) == ["/opt/netserver", "-D", "-p", "12865"]
    assert netperf.server_argv("/opt/netserver", "10.0.0.2", 1)[2:] == ["-p", "1", "-L", "10.0.0.2,4"]
    assert netperf.server_argv("/opt/netserver", "fd00::2", 1)[-1] == "fd00::2,6"
    assert sockperf.server_argv("/opt/sockperf", "10.0.0.2", 1)[-2:] == ["-i", "10.0.0.2"]
    assert "-i" not in sockperf.server_argv("/opt/sockperf", None, 1)
    assert qperf.server_argv("/opt/qperf", "10.0.0.2", 1) == ["/opt/qperf", "--listen_port", "1"]
    assert workload(sockperf, "latency").argv == [
        "/opt/sockperf", "ping-pong", "--full-rtt", "--tcp", "-i", "10.0.0.2", "-p", "3298", "-m", "14", "-t", "1"
    ]  # fmt: skip
    assert workload(sockperf, "latency").params == {"kind": "latency", "request_bytes": 14, "response_bytes": 14}
    assert workload(sockperf, "strWrite").argv[1] == "throughput"
    assert workload(qperf, "latency").argv == [
        "/opt/qperf", "10.0.0.2", "--listen_port", "3298", "--time", "1", "--msg_size", "1", "--precision", "6",
        "--unify_units", "tcp_lat",
    ]  # fmt: skip
    assert workload(qperf, "strWrite").argv[-1] == "tcp_bw"
    assert sockperf.numeric("localhost") in ("127.0.0.1", "::1")
    assert sockperf.numeric("no.such.invalid") == "no.such.invalid"


@contextlib.contextmanager
def real_server(tool, address="127.0.0.1"):
    """A server of a program of this machine, ended in every case."""
    options = {"tool": tool, "transport": "tcp"}
    _tool, how, _result = request.server(options, {"path": None}, SEARCH_PATH)
    assert how["version"] != "unknown"
    running = agent.start(tool, address, port=free_port(), lifetime=600, **how)
    try:
        yield running
    finally:
        agent.stop(running)
        assert not processes.is_same(running["pid"], running["start_time"])


@pytest.mark.gate
@pytest.mark.parametrize("tool", [netperf, qperf, sockperf])
def test_the_programs_themselves(tool):
    if shutil.which(tool.SERVER, path=SEARCH_PATH) is None:
        pytest.skip("no %s on this machine" % tool.SERVER)
    chosen = {"tool": tool.TOOL, "kinds": list(tool.Workload.kinds), "connections": [1], "transport": "tcp"}
    with real_server(tool.TOOL) as running:
        params = dict(OPTIONS, session=running, path=None, runs=1, warmup=0)
        made = request.workloads(chosen, params, SEARCH_PATH)
        records = measured(lambda: entry_point.measure(params, made))
    assert [record["workload"]["params"]["kind"] for record in records] == chosen["kinds"]
    for record in records:
        workload_, run = record["workload"], record["runs"][0]
        assert errors(record) == [None]
        assert run["metrics"][workload_["metric"]["name"]] > 0 and run["metrics"]["units"] > 0
        assert run["elapsed_s"] > 0.5 and "\x1b" not in run["raw"]
        assert workload_["version"] == workload_["params"]["server_version"] != "unknown"
