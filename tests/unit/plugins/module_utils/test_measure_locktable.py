# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The embedded lock table: what it decides, who may ask it, and that no lock outlives the one who has it."""

import contextlib
import os
import signal
import socket
import threading
import time

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import locktable
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks.locktable_load import LockTable, Session
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import admission, agent
from enqueueing import asked, lock_table, record_of
from measuring import PATIENCE, errors, listens, wait_until


def target(session, token=None):
    return wire.Target("127.0.0.1", session["port"], token or session["token"])


@pytest.fixture(scope="module")
def session():
    with lock_table() as running:
        yield running


@pytest.mark.parametrize(
    "requests, outcomes",
    [
        ("E-a E-a", "granted granted"),
        ("E-a E-b S-b O-b X-b", "granted held held held held"),
        ("X-a X-a E-a S-a O-a S-b", "granted held held held held held"),
        ("S-a S-b O-b E-a E-b X-a", "granted granted granted held held held"),
        ("S-a E-a S-b", "granted granted held"),
        ("E-a X-a", "granted held"),
        ("E-a S-a S-b", "granted granted held"),
        ("O-a O-b E-a E-b O-b", "granted granted granted held held"),
        ("O-a S-b E-a", "granted granted held"),
        ("O-a E-b", "granted held"),
    ],
)
def test_who_gets_a_lock(requests, outcomes):
    table = locktable.Table()
    got = [table.lock(*(request.split("-") + ["VBAK"])) for request in requests.split()]
    assert " ".join(got) == outcomes


def test_the_first_who_changes_takes_the_optimistic_locks_of_the_others():
    table = locktable.Table()
    for owner in "abc":
        table.lock("O", owner, "material")
    assert table.count == 3
    assert table.lock("E", "b", "material") == "granted"
    assert table.count == 1 and table.held("b", "material") == ("E", 1)
    assert table.held("a", "material") is None and table.unlock("a", "material") is False


def test_a_lock_is_free_when_it_was_given_back_as_often_as_it_was_taken():
    table = locktable.Table()
    for _time in range(3):
        table.lock("E", "a", "order")
    assert table.held("a", "order") == ("E", 3)
    assert [table.unlock("a", "order") for _time in range(4)] == [True, True, True, False]
    assert table.count == 0 and table.lock("X", "b", "order") == "granted"


def test_a_full_table_says_so_and_keeps_what_it_has():
    table = locktable.Table(2)
    assert [table.lock("S", owner, "x") for owner in "abc"] == ["granted", "granted", "full"]
    assert table.lock("E", "a", "y") == "full" and table.lock("S", "a", "x") == "granted"
    table.drop("a", "x")
    assert table.lock("E", "a", "y") == "granted" and table.count == 2


def test_the_protocol(session):
    one, two = Session(target(session), PATIENCE), Session(target(session), PATIENCE)
    try:
        assert one.ask(b"L E u1 order.1\n") == b"0"
        assert two.ask(b"L S u2 order.1\n") == b"1"
        assert one.ask(b"V u1 order.1\n") == b"0 E 1" and two.ask(b"V u2 order.1\n") == b"4"
        assert two.ask(b"U u1 order.1\n") == b"4", "a lock of another connection was released"
        assert (one.counts(), two.counts()) == ((1, 1), (1, 0))
        assert one.ask(b"U u1 order.1\n") == b"0" and one.counts() == (0, 0)
        for odd in (b"L Z u1 x\n", b"L E u1\n", b"\n", b"REBOOT\n"):
            assert one.ask(odd) == b"9"
    finally:
        one.close()
        two.close()


def test_what_a_client_held_is_free_when_it_is_gone(session):
    one = Session(target(session), PATIENCE)
    for number in range(50):
        one.ask(b"L X u1 x%d\n" % number)
    two = Session(target(session), PATIENCE)
    try:
        assert two.counts()[0] == 50
        one.close()
        assert wait_until(lambda: two.counts()[0] == 0)
        assert two.ask(b"L X u2 x7\n") == b"0"
    finally:
        two.close()


def test_nobody_without_the_token(session):
    with pytest.raises((EOFError, OSError)):
        Session(target(session, "0123456789abcdef"), PATIENCE)
    with socket.create_connection(("127.0.0.1", session["port"]), PATIENCE) as sock:
        sock.sendall(b"L E u1 x\n")
        assert sock.recv(10) == b""
    with socket.create_connection(("127.0.0.1", session["port"]), PATIENCE) as sock:
        sock.sendall(session["token"].encode() + b"\n" + b"x" * 5000)
        sock.settimeout(PATIENCE)
        received = b""
        try:
            while True:
                more = sock.recv(100)
                if not more:
                    break
                received += more
        except ConnectionResetError:
            pass
        assert received in (b"", b"0\n")


def test_a_silent_guest_is_sent_away_and_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr(admission, "TOKEN_TIMEOUT", 2.0)
    with lock_table() as running, socket.create_connection(("127.0.0.1", running["port"]), PATIENCE) as silent:
        own = Session(target(running), PATIENCE)
        assert own.counts() == (0, 0)
        silent.settimeout(PATIENCE)
        assert silent.recv(1) == b"" and own.counts() == (0, 0)
        own.close()


def test_strangers_shut_nobody_out():
    """More of them than the table serves clients."""
    with lock_table() as running, contextlib.ExitStack() as stack:
        where = ("127.0.0.1", running["port"])
        for _stranger in range(400):
            stack.enter_context(socket.create_connection(where, 5))
        own = Session(target(running), 30)
        assert own.counts() == (0, 0)
        own.close()


@pytest.mark.parametrize("processes", [1, 3])
def test_the_benchmark_has_real_conflicts_and_leaves_nothing(session, processes):
    workload = LockTable(asked(users=6, processes=processes, seconds=0.2), target(session))
    record = record_of(workload, session)
    assert errors(record) == [None] * 3 and "left_behind" not in record
    assert record["workload"]["name"] == "locktable-sd_benchmark" + ("-x3" if processes == 3 else "")
    assert record["workload"]["metric"] == {"name": "ops_per_min", "unit": "operations/min", "better": "higher"}
    assert record["workload"]["params"] == {"load": "sd_benchmark", "users": 6, "locks_per_user": 10}
    assert session["token"] not in " ".join(record["workload"]["argv"])
    for run in record["runs"]:
        figures = run["metrics"]
        assert 0 < figures["rejects"] < figures["units"]
        assert figures["ops_per_min"] == pytest.approx(figures["units"] * 60 / run["elapsed_s"], rel=1e-3)
        assert run["cpu"]["server"]["ncpu"] >= 1 and run["elapsed_s"] >= 0.2
    own = Session(target(session), PATIENCE)
    assert own.counts() == (0, 0)
    own.close()


@pytest.mark.parametrize(
    "load, metric, units", [("create_locks", "lock_us", 40), ("verify_entries", "verify_us", None)]
)
def test_a_number_of_locks(session, load, metric, units):
    workload = LockTable(asked(load, users=4, locks_per_user=10, processes=2, seconds=0.05), target(session))
    record = record_of(workload, session)
    assert errors(record) == [None] * 3
    assert record["workload"]["metric"] == {"name": metric, "unit": "\u00b5s", "better": "lower"}
    for run in record["runs"]:
        assert run["metrics"][metric] > 0
        assert run["metrics"]["units"] == units or (units is None and run["metrics"]["units"] >= 40)


def test_locks_of_others_are_respected(session):
    other = Session(target(session), PATIENCE)
    try:
        other.ask(b"L S someone customer.1\n")
        record = record_of(LockTable(asked(seconds=0.05), target(session)), session)
        assert all("the lock table holds 1 locks that this measurement has not made" in one for one in errors(record))
        allowed = LockTable(asked(seconds=0.05, allow_foreign_locks=True), target(session))
        assert errors(record_of(allowed, session)) == [None] * 3
        assert other.counts() == (1, 1)
    finally:
        other.close()


def test_a_run_over_its_time_fails_and_its_locks_go(session):
    workload = LockTable(asked("verify_entries", seconds=600), target(session))
    record = record_of(workload, session, runs=1, warmup=0, timeout=1.0)
    assert "within the time limit of 1 s" in errors(record)[0]
    own = Session(target(session), PATIENCE)
    assert wait_until(lambda: own.counts()[0] == 0)
    own.close()


def test_more_than_the_table_holds_is_refused_before(session):
    with pytest.raises(MeasureError, match="users x locks_per_user is more than the 1000000 locks"):
        LockTable(asked("create_locks", users=1000, locks_per_user=1001), target(session))
    with pytest.raises(MeasureError, match="processes is 4 and users 3"):
        LockTable(asked(processes=4), target(session))
    with pytest.raises(MeasureError, match="locktable has no load live_statistics; it has create_locks"):
        LockTable(asked("live_statistics"), target(session))


def test_what_answers_is_no_lock_table():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        mail = threading.Thread(target=lambda: listener.accept()[0].sendall(b"220 mail\n"))
        mail.start()
        where = wire.Target("127.0.0.1", listener.getsockname()[1], "token")
        with pytest.raises(MeasureError, match="what answers at 127.0.0.1 port .* is no lock table"):
            Session(where, PATIENCE)
        mail.join()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_table_never_outlives_its_agent(number):
    with lock_table() as running:
        assert listens(running["port"]) and running["port"] != running["control_port"]
        os.kill(running["pid"], number)
        assert wait_until(lambda: not listens(running["port"]) and not listens(running["control_port"]))


def test_stop_ends_the_table():
    with lock_table() as running:
        assert agent.stop(running) is True
        assert wait_until(lambda: not listens(running["port"]))


def test_the_lifetime_ends_it():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(5)
        begin = time.monotonic()
        locktable.serve([listener], "token", 0.1)
        assert time.monotonic() - begin >= 0.1
