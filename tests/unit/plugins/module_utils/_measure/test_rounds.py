# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole rounds: order, calibration, failures, and the shape of the records."""

import errno
import json
import os
import signal
import time

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import histogram, niping_request
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import entry_point, rounds
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import workload
from measuring import ALONE, OPTIONS, STANDIN, Quiet, errors, free_port, kill, per_file, plan, round_of, server
from waiting import until

CPU = {"user_s", "system_s", "softirq_s", "steal_s", "idle_s", "ncpu", "elapsed_s", "process_s"}
METRICS = {"avg_us", "max_us", "min_us", "av2_us", "tr_kib_per_s", "tr2_kib_per_s", "round_trips"}
PRINT = {
    "hostname", "system", "arch", "kernel", "machine", "cpus_online", "python",
    "boot_id", "interface", "mtu", "address", "clock_step_s", "rps_cpus",
}  # fmt: skip


@pytest.fixture(scope=per_file)
def session():
    with server() as running:
        yield running


class Careless(Quiet):
    def __init__(self, fails=None, leaves=None):
        super().__init__()
        self.fails, self.leaves, self.finished = fails, leaves, 0

    def run(self, setting, window):
        if self.fails is not None:
            raise self.fails
        return super().run(setting, window)

    def finish(self):
        self.finished += 1
        if self.leaves:
            raise MeasureError(self.leaves)


FULL = OSError(errno.ENOSPC, "No space left on device", "/tmp/x")


@pytest.mark.parametrize(
    "fails, words", [(None, None), (MeasureError("refused"), "refused"), (FULL, "/tmp/x: No space left on device")]
)
@pytest.mark.parametrize("leaves", [None, "20 locks could not be released"])
def test_what_runs_leave_behind_is_rolled_back_or_recorded(fails, words, leaves):
    careless = Careless(fails, leaves)
    record = rounds.measure_workload(careless, plan(), ALONE)
    assert careless.finished == 1 and record.get("left_behind") == leaves
    assert errors(record) == [words] * 3 and all(run["ok"] for run in record["runs"]) is (fails is None)


def test_a_workload_that_cannot_begin():
    class Refused(Careless):
        def prepare(self, setting):
            raise FULL

        def finish(self):
            raise OSError(errno.EMFILE, "Too many open files")

    record = rounds.measure_workload(Refused(), plan(), ALONE)
    assert errors(record) == ["not begun: /tmp/x: No space left on device"] * 3
    assert record["left_behind"] == "Too many open files"
    ended = Careless(SystemExit(143))
    with pytest.raises(SystemExit):
        rounds.measure_workload(ended, plan(), ALONE)
    assert ended.finished == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_round_in_order(number):
    class Killed(Careless):
        def run(self, setting, window):
            os.kill(os.getpid(), number)
            pytest.fail("the signal did not end the run")

    mine = signal.signal(number, signal.SIG_IGN)  # so that a round that leaves it alone does not end the tests
    killed, before = Killed(), signal.getsignal(number)
    try:
        with pytest.raises(SystemExit) as ended:
            rounds.measure_round(plan(), [killed])
        assert ended.value.code == 128 + number and killed.finished == 1
        assert signal.getsignal(number) is before
    finally:
        signal.signal(number, mine)


def test_records_of_a_round(session):
    records = round_of(session, bytes=[1, 1000], control=True, idle_seconds=0.05)
    names = [record["workload"]["name"] for record in records]
    assert names == ["pingpong-1B", "pingpong-1000B", "control-pingpong-1000B"]
    for record in records:
        control, prints = record["workload"]["control"], record["fingerprint"]
        assert record["schema"] == "zpower.sap_tuning/measurement/1" and record["started"] < record["finished"]
        assert record["protocol"] == {
            "name": "custom", "rounds": 1, "design": "blocks", "runs": 2, "warmup": 1, "run_seconds": 0.02,
        }  # fmt: skip
        assert [(run["run"], run["warmup"]) for run in record["runs"]] == [(0, True), (1, False), (2, False)]
        for run in record["runs"]:
            assert run["ok"] and run["error"] is None and run["elapsed_s"] > 0
            figures = run["metrics"]
            assert set(figures) == METRICS and figures["round_trips"] == 100
            assert figures["min_us"] <= figures["av2_us"] <= figures["max_us"]
            expected = 2 * record["workload"]["bytes"] / (figures["av2_us"] / 1e6) / 1024
            assert figures["tr2_kib_per_s"] == pytest.approx(expected, rel=1e-4)
            assert set(run["cpu"]["client"]) == CPU and run["net"]["client"]["retransmits"] >= 0
            assert (run["cpu"]["server"] is None) is control and (run["net"]["server"] is None) is control
        for end in ("client",) if control else ("client", "server"):
            assert set(prints[end]) == PRINT and set(record["idle"][end]) == CPU
            assert abs(prints[end]["clock_step_s"]) < 1
        if control:
            assert prints["server"] is None and record["idle"]["server"] is None and record["peer"] == "loopback"
        else:
            assert record["workload"]["argv"][:3] == ["pingpong", "--connect", "127.0.0.1"]
            assert session["token"] not in json.dumps(record)
    record = rounds.measure_round(plan(), [Quiet()])[0]
    assert record["peer"] == "local" and errors(record) == [None] * 3
    assert record["fingerprint"]["server"] is None and set(record["fingerprint"]["client"]) == PRINT
    assert record["runs"][0]["cpu"]["server"] is None


def test_parallel_connections_and_a_rate_are_workloads_of_their_own(session):
    record = round_of(session, connections=3, runs=2)[0]
    assert record["workload"]["name"] == "pingpong-1000B-x3" and record["workload"]["params"] == {}
    assert record["workload"]["connections"] == 3 and record["workload"]["loops"] == 100
    assert [run["metrics"]["round_trips"] for run in record["runs"]] == [300, 300, 300]
    assert sum(histogram.bins([record["histogram_us"]]).values()) == 2 * 3 * 100
    assert not any("histogram" in run for run in record["runs"])

    def with_a_rate():
        """The record, once this machine could keep the rate."""
        record = round_of(session, bytes=[100], loops=0, run_seconds=0.2, rate=200, connections=2)[0]
        return all(run["ok"] for run in record["runs"]) and record

    record = until(with_a_rate, "200 round trips a second")
    workload = record["workload"]
    assert workload["name"] == "pingpong-100B-rate200-x2" and workload["params"] == {"rate_per_s": 200}
    assert workload["argv"][-6:] == ["--rate", "200", "--loops", "40", "--connections", "2"]
    assert [run["metrics"]["round_trips"] for run in record["runs"]] == [80, 80, 80]
    # between its round trips the client waits awake, which is not their cost
    assert all(run["cpu"]["client"] is None and run["cpu"]["server"]["elapsed_s"] > 0 for run in record["runs"])


@pytest.mark.gate
@pytest.mark.parametrize("tool, binary", [("pingpong", None), ("niping", STANDIN)])
def test_both_ends_say_what_their_own_processes_used(tool, binary):
    with server(tool, binary=binary) as running:

        def counted():
            """The records, once each end has used a tick of the kernel's."""
            records = round_of(running, binary, loops=20000, runs=1, timeout=600, control=True)
            cpus = [cpu for record in records for cpu in record["runs"][-1]["cpu"].values() if cpu]
            return all(0 < cpu["process_s"] <= cpu["ncpu"] * cpu["elapsed_s"] for cpu in cpus) and records

        measured, control = until(counted, "both ends have used CPU time")
    assert errors(measured) == errors(control) == [None, None]
    assert measured["cpu_source"] == {"client": "procfs", "server": "procfs"}
    assert control["cpu_source"] == {"client": "procfs", "server": None}
    assert measured["runs"][-1]["cpu"]["server"] and control["runs"][-1]["cpu"]["server"] is None


def test_how_many_loops_a_run_needs_is_found_out_and_kept(session):
    record = round_of(session, loops=0, run_seconds=0.1, runs=3)[0]
    loops = record["workload"]["loops"]
    assert loops == workload.rounded_loops(loops) >= 10
    assert [run["metrics"]["round_trips"] for run in record["runs"]] == [loops] * 4
    given = (1, 10, 11.6, 99.6, 123456, 1e9, 19999)
    assert [workload.rounded_loops(one) for one in given] == [10, 10, 12, 100, 120000, 10000000, 20000]


@pytest.mark.parametrize("round_trip_us, loops", [(50.0, 20000), (7.3, 140000), (3e5, 10), (0.01, 10000000)])
def test_calibration_in_exact_numbers(round_trip_us, loops):
    quiet = Quiet(round_trip_us=round_trip_us)
    workload.calibrate(quiet, plan(run_seconds=1.0, loops=0))
    assert quiet.loops == loops
    tried = quiet.calls
    assert tried == sorted(set(tried)) and all(tried[i + 1] <= 10 * tried[i] for i in range(len(tried) - 1))
    assert tried[-1] * round_trip_us <= max(1e6, 50 * round_trip_us)


def test_loops_known_from_another_round_are_taken():
    quiet = Quiet()
    for options, loops in (({"loops": 0}, 777), ({"loops": 33}, 33)):
        wanted = plan(calibrated={"pingpong-1000B": 777}, **options)
        record = rounds.measure_workload(quiet, wanted, ALONE)
        assert record["workload"]["loops"] == loops
    assert quiet.calls == [777] * 3 + [33] * 3
    orders = [rounds.rotated([1, 500, 1000], number) for number in range(1, 5)]
    assert orders == [[1, 500, 1000], [500, 1000, 1], [1000, 1, 500], [1, 500, 1000]]


def test_without_a_listener_there_is_a_record_of_failed_runs_without_waiting(monkeypatch):
    waited = []
    monkeypatch.setattr(time, "sleep", waited.append)
    session = {"tool": "pingpong", "port": free_port(), "control_port": free_port(), "token": "x"}
    records = round_of(session, bytes=[1, 500, 1000], control=True, idle_seconds=1, runs=5)
    assert waited == []
    assert [record["workload"]["control"] for record in records] == [False] * 3
    for record in records:
        assert len(record["runs"]) == 6 and not any(run["ok"] for run in record["runs"])
        assert all("connection refused" in error for error in errors(record))
        assert all(run["metrics"] == {} and run["cpu"] is None for run in record["runs"])
        assert record["fingerprint"]["server"] is None and record["fingerprint"]["client"]["interface"] == "lo"


@pytest.mark.parametrize(
    "changed, options, words",
    [
        ({"token": "wrong"}, {}, "the session's token is not its own"),
        ({}, {"address": "no.such.invalid"}, "no.such.invalid cannot be resolved"),
        ({}, {"loops": 2}, "raise loops"),
    ],
)
def test_a_round_whose_runs_fail(session, changed, options, words):
    record = round_of(dict(session, **changed), **options)[0]
    assert all(words in error for error in errors(record))


def at_the_fourth_run(monkeypatch, act):
    real, begun = rounds._one_run, []

    def one_run(*arguments):
        begun.append(arguments)
        if len(begun) == 4:
            act()
        return real(*arguments)

    monkeypatch.setattr(rounds, "_one_run", one_run)


@pytest.mark.gate
def test_a_server_that_is_killed_or_stopped_fails_the_rest_at_once(monkeypatch):
    # the time limits are such that nobody waits for them
    with server() as running, monkeypatch.context() as patches:
        at_the_fourth_run(patches, lambda: kill(running))
        record = round_of(running, loops=100, runs=9, timeout=3600)[0]
    assert [run["ok"] for run in record["runs"]] == [True] * 3 + [False] * 7
    assert "connection refused" in record["runs"][-1]["error"]
    with server() as running:
        at_the_fourth_run(monkeypatch, lambda: os.kill(running["pid"], signal.SIGTERM))
        records = round_of(running, loops=5000, runs=20, bytes=[1, 500], timeout=3600)
    last = records[-1]["runs"][-1]
    assert not last["ok"] and "the server is gone" in last["error"] and last["elapsed_s"] is None
    # hosts that wait for their turn need it for longer
    assert "a server ends by itself 3600 s after its start (lifetime)" in last["error"]


@pytest.mark.parametrize("layout", ["ms", "usecs"])
def test_niping_end_to_end(layout, monkeypatch):
    monkeypatch.setenv("NIPING_STANDIN_LAYOUT", layout)
    monkeypatch.setenv("NIPING_STANDIN_VERBOSE", "1")
    with server("niping", binary=STANDIN) as running:
        records = round_of(running, STANDIN, bytes=[1, 1000], runs=1, loops=50, connections=2)
        assert [record["workload"]["name"] for record in records] == ["niping-1B-x2", "niping-1000B-x2"]
        for record in records:
            assert errors(record) == [None, None]
            figures = record["runs"][1]["metrics"]
            assert set(figures) == METRICS and figures["round_trips"] == 100
            assert 1 < figures["av2_us"] < 1e6
            assert record["runs"][1]["cpu"]["server"]["ncpu"] >= 1
            assert record["workload"]["argv"][:4] == [STANDIN, "-c", "-H", "127.0.0.1"]
            assert len(record["runs"][1]["raw"]) <= 4096


def test_niping_calibrates_itself_and_is_refused_with_its_code():
    with server("niping", binary=STANDIN) as running:

        def calibrated():
            """A busy machine may stop the first loops for longer than the run is to last."""
            record = round_of(running, STANDIN, loops=0, run_seconds=0.05, runs=1, warmup=0)[0]
            assert errors(record) == [None]
            return record["workload"]["loops"] > 50

        until(calibrated, "more than 50 loops")
        record = round_of(dict(running, port=free_port()), STANDIN, runs=1)[0]
    assert all("RC -10" in error for error in errors(record))


class Told(Quiet):
    def run(self, setting, window):
        outcome = super().run(setting, window)
        if len(self.calls) == 2:
            raise MeasureError("out of memory")
        return outcome._replace(histogram="%d:1" % len(self.calls))


def test_the_distribution_covers_the_counted_runs_that_succeeded():
    record = rounds.measure_workload(Told(), plan(loops=100, runs=3, warmup=1), ALONE)
    assert [run["ok"] for run in record["runs"]] == [True, False, True, True]
    assert record["histogram_us"] == "3:1,1"
    assert "histogram_us" not in rounds.measure_workload(Quiet(), plan(loops=100), ALONE)


@pytest.mark.parametrize(
    "option, value, words",
    [
        ("runs", 0, "runs is 0; it must be from 1 to 50"),
        ("bytes", [], "name at least one"),
        ("bytes", [5, 5], "each only once"),
        ("connections", 251, "connections is 251"),
        ("port", 70000, "port is 70000"),
        ("timeout", 1.0, "timeout is shorter than run_seconds"),
        ("calibrated", {"pingpong-1B": 0}, "calibrated has pingpong-1B: 0"),
        ("lifetime", 0, "lifetime is 0"),
    ],
)
def test_options_out_of_bounds(option, value, words):
    params = dict(OPTIONS, **dict({"run_seconds": 2.0 if option == "timeout" else 0.02}, **{option: value}))
    with pytest.raises(MeasureError, match=words):
        entry_point.check(params)
        niping_request.workloads(params, params, "/nowhere")


def test_which_tool():
    assert niping_request.choose("pingpong", None, "") == ("pingpong", None, [])
    assert niping_request.choose("auto", STANDIN, "") == ("niping", STANDIN, [])
    tool, binary, warnings = niping_request.choose("auto", None, "/nowhere")
    assert (tool, binary) == ("pingpong", None) and "niping was not found" in warnings[0]
    with pytest.raises(MeasureError, match="not found in /usr/sap/<SID>/.*, /nowhere: set path"):
        niping_request.choose("niping", None, "/nowhere")
