# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""netperf, sockperf and qperf: their output, their command lines, and runs of the programs themselves.

The fixtures were printed by netperf 2.7.0, sockperf 3.7 and qperf 0.4.11 of Debian 12, over loopback.
"""

import contextlib
import shutil
import time

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
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
from measuring import OPTIONS, SEARCH_PATH, errors, free_port, listens, measured
from places import FIXTURES


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
        (netperf, "strRead", text_of("netperf_maerts.txt").replace("109017", "9" * 5000), "no REMOTE_SEND_CALLS"),
        (sockperf, "latency", text_of("sockperf_ping_pong.txt").replace("82233", "9" * 5000), "no total run"),
        (sockperf, "latency", text_of("sockperf_ping_pong.txt").replace("4239.135", "9" * 400), "no max_us"),
        (sockperf, "strWrite", text_of("sockperf_throughput.txt").replace("60571", "9" * 5000), "no number of"),
        (sockperf, "strWrite", "Total of 7 messages sent in 0.%s1 sec" % ("0" * 330), "no number of"),
    ],
)
def test_output_that_does_not_fit_is_an_error_and_never_a_figure(tool, kind, text, words):
    with pytest.raises(MeasureError, match=words):
        workload(tool, kind).read([text])


@pytest.mark.gate
def test_empty_lines_take_no_long_time():
    """A server of qperf has its part in what the client prints. 130,000 lines took minutes."""
    seconds = []
    for lines in (2000, 32000):
        begin = time.process_time()
        with pytest.raises(MeasureError, match="qperf printed no latency"):
            workload(qperf, "latency").read(["\n" * lines])
        seconds.append(time.process_time() - begin)
    # linear: 16 times as much; it was 256 times as much
    assert seconds[1] < 100 * (seconds[0] + 0.01)


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
    # names are resolved
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


@pytest.mark.gate
@pytest.mark.parametrize("address", ["127.0.0.2", "localhost", "0.0.0.0"])
def test_sockperf_listens_where_it_is_told(address):
    if shutil.which("sockperf") is None:
        pytest.skip("no sockperf on this machine")
    with real_server("sockperf", address) as running:
        assert listens(running["port"]) is (address != "127.0.0.2")
