# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP's enqt, played by its stand-in: what can be sent to it, what is read of it, and that its locks always go."""

import functools
import os
import signal
import tempfile
import threading

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enqt
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks.enq_programs import Runner
from enqueueing import ENQT, LOCK, agent_of, asked, record_of, standin
from measuring import PATIENCE, errors, measured
from waiting import until

# The four published figures for one process with SMC-R, in layouts that the output may have: none is documented.
PUBLISHED = {
    "ops_per_min_actual": 412272,
    "ops_per_min_10s": 412944,
    "ops_per_min_1min": 414001,
    "ops_per_min_5min": 385301,
}
TABLE = """
Enqueue statistics of 19:05:40
                     actual     10 sec      1 min      5 min
Enqueue Ops/min      100000     100000     100000     100000
Rejects/min               1          2          3          4
19:05:45
Enqueue Ops/min      412272     412944     414001     385301
Rejects/min               0          0          0          0
"""
UNIT_ABOVE = """
Operations per minute
  Actual    |  10s    |  1min   |  5min
  412,272   | 412,944 | 414,001 | 385,301
"""
ONE_A_LINE = """
Ops/min (actual) : 412272
Ops/min (10 seconds) : 412944
Ops/min (1 minute)   : 414001
Ops/min (5 minutes)  : 385301
Locks in the table : 17
"""
ON_ONE_LINE = "ops/min: actual 412272, 10s 412944, 60s 414001, 300s 385301\n"


@pytest.fixture
def server(tmp_path, monkeypatch):
    with standin(tmp_path, "ENSA1", monkeypatch) as running:
        yield running


@pytest.fixture(scope="module")
def session():
    with agent_of("enqt") as running:
        yield running


def workload(server, load, **options):
    return enqt.Enqt(asked(load, **options), ENQT, server.profile, Runner())


def test_commands():
    assert enqt.command("/exe/enqt", "/p", "sd_benchmark", 900) == ["/exe/enqt", "pf=/p", "10", "900"]
    assert enqt.command("/exe/enqt", "/p", "create_locks", 10, 55000) == ["/exe/enqt", "pf=/p", "11", "10", "55000"]
    assert enqt.command("/exe/enqt", "/p", "live_statistics", 5.0) == ["/exe/enqt", "pf=/p", "8", "5"]
    sent = {enqt.command("e", "p", intent)[2] for intent in enqt._OPCODES}
    assert sent == {"8", "10", "11", "12", "20"}


def test_no_other_operation_can_be_sent():
    for intent in (81, "81", "stall", None, "97 "):
        with pytest.raises(KeyError):
            enqt.command("e", "p", intent)
    with pytest.raises((TypeError, ValueError)):
        enqt.command("e", "p", "create_locks", "10; 81")


@pytest.mark.parametrize("text", [TABLE, UNIT_ABOVE, ONE_A_LINE, ON_ONE_LINE])
def test_rates_by_their_meaning(text):
    assert enqt.parse_rates(text) == PUBLISHED
    text = "Ops/sec  10 s  1 min\n 6871.2 6882\n"
    assert enqt.parse_rates(text) == {"ops_per_min_10s": 6871.2 * 60, "ops_per_min_1min": 6882.0 * 60}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "actual 10 s 1 min 5 min\n1 2 3 4\n",
        "Ops/min actual 10 s 1 min 5 min\n1 2 3\n",
        "Ops/min\nactual 10 s 1 min 5 min\nRejects 1 2 3 4\n",
        "Ops/min 17\n",
        "15 min 25 min\nops/min\n3 4\n",
    ],
)
def test_what_is_no_table_of_rates_is_shown(text):
    with pytest.raises(MeasureError, match="enqt printed no rates that can be read: ") as error:
        enqt.parse_rates(text)
    assert all(line in str(error.value) for line in text.splitlines())


def test_number_of_entries():
    text = "Number of selected entries: 20\n\nNumber of selected entries: 17\n"
    assert enqt.parse_entries(text) == 17
    with pytest.raises(MeasureError, match="enqt printed no number of locks: \\*\\*\\* ERROR"):
        enqt.parse_entries("*** ERROR => no connection\n")
    with pytest.raises(MeasureError, match="enqt printed no number of locks"):
        enqt.parse_entries("Number of selected entries: %s\n" % ("9" * 5000))
    with pytest.raises(MeasureError, match="enqt printed no rates that can be read"):
        enqt.parse_rates("Ops/min actual\n%s\n" % ("9" * 400))


def test_the_longest_average_that_lies_in_a_run_decides():
    found = [enqt.longest_average(seconds) for seconds in (3, 10, 11, 64, 65, 305, 900)]
    assert found == ["ops_per_min_" + name for name in ["actual", "actual", "10s", "10s", "1min", "5min", "5min"]]


@pytest.mark.gate
def test_the_benchmarks_load(server, session):
    load = {"processes": 2, "run_seconds": 3}
    (record,) = measured(lambda: [record_of(workload(server, "sd_benchmark", **load), session, runs=1, warmup=0)])
    assert errors(record) == [None] and "left_behind" not in record
    assert record["workload"]["name"] == "enqt-sd_benchmark-x2" and record["workload"]["connections"] == 2
    assert record["workload"]["argv"] == [ENQT, "pf=" + server.profile, "10", "3"]
    assert record["workload"]["metric"] == {"name": "ops_per_min_actual", "unit": "operations/min", "better": "higher"}
    (run,) = record["runs"]
    assert set(run["metrics"]) == set(PUBLISHED) | {"units"}
    rate = run["metrics"]["ops_per_min_actual"]
    assert rate > 0 and run["elapsed_s"] >= 3
    assert run["metrics"]["units"] == pytest.approx(rate * run["elapsed_s"] / 60, rel=1e-3)
    assert "Enqueue Ops/min" in run["raw"] and "orders" in run["raw"]
    assert server.count() == 0


@pytest.mark.gate
@pytest.mark.parametrize("load, metric", [("create_locks", "lock_us"), ("verify_entries", "verify_us")])
def test_a_number_of_locks(server, session, load, metric):
    begun = set(os.listdir("."))
    record = record_of(workload(server, load), session)
    assert errors(record) == [None] * 3
    for run in record["runs"]:
        assert run["metrics"]["units"] == 30
        assert run["metrics"][metric] == pytest.approx(run["elapsed_s"] * 1e6 / 30, rel=1e-3)
    assert server.count() == 0
    assert set(os.listdir(".")) == begun, "a trace file was left"


@pytest.mark.gate
def test_watching_makes_no_locks_and_minds_none(server, session):
    """It needs others at work, though: what nobody does has no rate."""
    server.lock_of_another()
    over = threading.Event()

    def work():
        while not over.is_set():
            server.ask("set", **dict(LOCK, argument="2"))
            server.ask("release", **dict(LOCK, argument="2"))

    others = threading.Thread(target=work)
    others.start()
    try:
        watched = functools.partial(workload, server, "live_statistics", run_seconds=3)
        (record,) = measured(lambda: [record_of(watched(), session, runs=1, warmup=0)])
    finally:
        over.set()
        others.join()
    assert errors(record) == [None]
    assert set(PUBLISHED) < set(record["runs"][0]["metrics"])
    assert server.count() == 1


def test_a_rate_of_nothing_is_no_figure():
    one = enqt.Enqt(asked("live_statistics", run_seconds=3), ENQT, "/profile", Runner())
    with pytest.raises(MeasureError, match="a rate of 0: nobody worked with the enqueue server"):
        one._rated(enqt.parse_rates("Ops/min actual 10 s\n 0 17\n"), "", 3.0)
    with pytest.raises(MeasureError, match="enqt printed no ops_per_min_actual: Ops/min"):
        one._rated(enqt.parse_rates("Ops/min 1 min 10 s\n 0 17\n"), "Ops/min", 3.0)


@pytest.mark.gate
def test_locks_of_others_are_respected(server, session):
    server.lock_of_another()
    record = record_of(workload(server, "create_locks"), session)
    assert all("the lock table holds 1 locks that this measurement has not made" in one for one in errors(record))
    assert server.count() == 1
    allowed = workload(server, "create_locks", allow_foreign_locks=True)
    assert errors(record_of(allowed, session)) == [None] * 3
    assert server.count() == 1


@pytest.mark.gate
@pytest.mark.parametrize(
    "order, load, timeout, words, left",
    [
        ("no_rates", "sd_benchmark", PATIENCE, ["no rates that can be read", "everything is fine"], 0),
        ("hang", "create_locks", 1.0, ["did not end within the time limit of 1 s"], 0),
        ("destroys_nothing", "create_locks", PATIENCE, ["30 locks more than before the measurement stay"], 30),
    ],
)
def test_a_run_that_fails_and_its_locks(server, session, order, load, timeout, words, left):
    server.order(**{order: True})
    record = record_of(workload(server, load, run_seconds=3), session, runs=1, warmup=0, timeout=timeout)
    assert all(word in errors(record)[0] for word in words) and record["runs"][0]["metrics"] == {}
    assert server.count() == left
    assert ("release them in SM12" in record.get("left_behind", "")) is bool(left)


@pytest.mark.gate
def test_a_table_that_is_too_small_fails_the_run_and_is_emptied(tmp_path, monkeypatch, session):
    with standin(tmp_path, "ENSA1", monkeypatch, maximum=20) as server:
        record = record_of(workload(server, "create_locks"), session, runs=1)
        assert all("enqt made 20 locks instead of 30" in one for one in errors(record))
        assert all("lock table overflow" in one for one in errors(record))
        assert server.count() == 0 and "left_behind" not in record


@pytest.mark.gate
@pytest.mark.parametrize(
    "program, words", [(ENQT, "connection to enqueue server failed"), ("/nowhere/enqt", "enqt cannot be run: No such")]
)
def test_no_server(tmp_path, session, program, words):
    profile = tmp_path / "PRD_ASCS01_prdascs"
    profile.write_text("SAPSYSTEM = 01\nenque/serverhost = 127.0.0.1\nstandin/enqueue_port = 1\n")
    one = enqt.Enqt(asked("create_locks"), program, str(profile), Runner())
    assert words in errors(record_of(one, session))[0]


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGKILL, marks=pytest.mark.gate),
        pytest.param(signal.SIGTERM, marks=pytest.mark.nightly),
        pytest.param(signal.SIGHUP, marks=pytest.mark.nightly),
    ],
)
def test_a_measurement_that_is_ended_leaves_nothing(server, session, number, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    server.order(hang=True)
    pid = os.fork()
    if pid == 0:
        try:
            record_of(workload(server, "create_locks"), session, timeout=600.0)
        finally:
            os._exit(0)
    until(lambda: server.count() == 10, "the program has made its first locks")
    assert [name for _folder, _folders, names in os.walk(str(temporary)) for name in names if "dev_eq_" in name]
    os.kill(pid, number)
    os.waitpid(pid, 0)
    until(lambda: server.count() == 0, "no lock is left")
    until(lambda: not programs_of(server.profile), "no program is left")
    until(lambda: not os.listdir(str(temporary)), "no file is left")
    assert server.count() == 0


def programs_of(profile):
    commands = {name: Host().read("/proc/%s/cmdline" % name) for name in os.listdir("/proc") if name.isdigit()}
    return [name for name, command in commands.items() if profile in (command or "")]


@pytest.mark.parametrize(
    "load, options, words",
    [
        ("create_locks", {"processes": 2}, "enqt supports create_locks only with one process"),
        ("sd_benchmark", {"run_seconds": 2}, "run_seconds is 2; enqt needs whole seconds, .* at least 3"),
        ("live_statistics", {"run_seconds": 3.5}, "run_seconds is 3.5; enqt needs whole seconds"),
    ],
)
def test_what_enqt_does_not_take(load, options, words):
    with pytest.raises(MeasureError, match=words):
        enqt.Enqt(asked(load, **options), ENQT, "/profile", Runner())
