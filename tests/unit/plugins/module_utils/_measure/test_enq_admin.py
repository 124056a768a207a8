# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP's enq_admin, played by its stand-in: its documented formats, latencies, and that locks of a measurement go."""

import os
import signal

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enq_admin
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks.enq_programs import Runner
from enqueueing import ENQ_ADMIN, agent_of, asked, record_of, standin
from measuring import errors
from waiting import until

LOADS = ("sd_benchmark", "create_locks", "verify_entries", "live_statistics")
# In the documented layout, with other hosts and values.
INFO = """\
Enqueue Server 2
Server Status : STATUS_RUNNING
Repl.State    : REPLICATION_ON
Process ID    : 20481
Start Time    : 2026-11-18 06:00:07
Release       : 793
Patch Level   : 250
Compiled On   : Linux GNU SLES-15 s390x  cc10.3.0
Number Clients: 12

2026-11-20 10:00:01; OK; 'Process Information'; Response=281 usec
===================================================================================================
"""
LOCKS = """\
Enqueue Server 2
LID=(20481/1795000007); RN=(41); Current=3; Peak=30; Maximum=250000

Locks:
Type;Count 1;Count 2;BCK;Object;User;Client;TCODE;Owner 1;Owner 2;Name;Argument;
Exclusive;1;0;false;E_VBAK;MILLER;100;VA02;20261120095911001;20261120095911002;VBAK;1000000042;

Write;0;1;true;E_FILL;FILL_USER;000;SFILL;ZP77.0;;ZPOWER_SAP_TUNING;ZP77.0.3;

2026-11-20 10:00:02; OK; 'Lock List'; Response=578 usec
===================================================================================================
"""


@pytest.fixture
def server(tmp_path, monkeypatch):
    with standin(tmp_path, "ENSA2", monkeypatch) as running:
        yield running


@pytest.fixture(scope="module")
def session():
    with agent_of("enq_admin") as running:
        yield running


def workload(server, load, **options):
    return enq_admin.EnqAdmin(asked(load, **options), ENQ_ADMIN, server.profile, Runner())


def test_info():
    answer = enq_admin.parse(INFO)
    assert (answer.title, answer.response_us, answer.current, answer.rows) == ("Process Information", 281, None, [])
    assert enq_admin.release_of(INFO) == "793.250"
    assert enq_admin.parse_info(INFO)["Start Time"] == "2026-11-18 06:00:07"
    assert enq_admin.release_of("nothing\n") == "unknown"
    # lines without a colon: the time grows with their number, not with its square, which would be minutes
    for line in ("a\n", " ", "a "):
        assert enq_admin.parse_info("x" + line * 200000) == {}


def test_the_list_of_locks_with_any_blank_lines():
    """A blank line in the table ends it for those who split the output at blank lines."""
    answer = enq_admin.parse(LOCKS.replace("\n\nWrite", "\nWrite"))
    assert (answer.current, answer.response_us) == (3, 578)
    assert [row["Name"] for row in answer.rows] == ["VBAK", "ZPOWER_SAP_TUNING"]
    assert answer.rows[0]["Owner 1"] == "20261120095911001" and answer.rows[1]["Argument"] == "ZP77.0.3"
    assert "" not in answer.rows[0]
    assert enq_admin.parse(LOCKS).response_us == 578


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "no answer that ends with a time: nothing was printed"),
        (INFO.replace("Response=281 usec", ""), "no answer that ends with a time: Enqueue Server 2"),
        (INFO.replace("=281 usec", "=%s usec" % ("9" * 5000)), "no answer that ends with a time: Enqueue Server 2"),
        (INFO.replace("; OK;", "; ERROR (timeout);"), "Process Information: ERROR \\(timeout\\): Enqueue Server 2"),
    ],
)
def test_what_is_no_good_answer(text, words):
    with pytest.raises(MeasureError, match=words):
        enq_admin.parse(text)


def test_commands():
    command = enq_admin.Command("/exe/enq_admin", "/profile")
    assert command.info() == ["/exe/enq_admin", "pf=/profile", "--no_color", "--info"]
    assert command.locks("1", "N", "A*")[-1] == "--locks=1:*:*:N:A*"
    assert command.lock("set_locks", 5, "ZP1.2")[-1] == "--set_locks=5:E:ZP1.2::ZPOWER_SAP_TUNING:ZP1.2.%u"
    assert command.lock("release_locks", 5, "ZP1.2")[-1] == "--release_locks=5:E:ZP1.2::ZPOWER_SAP_TUNING:ZP1.2.%u"


@pytest.mark.gate
@pytest.mark.parametrize("load", LOADS)
def test_every_load_brings_the_response_time_and_leaves_nothing(server, session, load):
    record = record_of(workload(server, load, processes=2, run_seconds=0.2), session, runs=1)
    assert errors(record) == [None] * 2 and "left_behind" not in record
    assert record["workload"]["name"] == "enq_admin-%s-x2" % load and record["workload"]["version"] == "789.100"
    assert record["workload"]["metric"] == {"name": "response_us", "unit": "\u00b5s", "better": "lower"}
    for run in record["runs"]:
        figures = run["metrics"]
        assert 0 < figures["response_us"] <= figures["response_max_us"]
        assert figures["units"] == 30 if load == "create_locks" else figures["units"] >= 2
        assert "Response=" in run["raw"]
    assert server.count() == 0


def test_the_response_is_the_median_of_the_footers():
    texts = [INFO.replace("281", figure) for figure in ("100", "9000", "300", "200")]
    assert enq_admin._outcome(texts, 2.0).metrics == {"response_us": 250.0, "response_max_us": 9000, "units": 4}
    assert enq_admin._outcome(texts[:3], 2.0).metrics["response_us"] == 300
    with pytest.raises(MeasureError, match="a response time of 0"):
        enq_admin._outcome([INFO.replace("281", "0")], 2.0)


@pytest.mark.gate
def test_locks_of_others_are_respected_and_never_released(server, session):
    server.lock_of_another()
    record = record_of(workload(server, "sd_benchmark", run_seconds=0.1), session)
    assert all("the lock table holds 1 locks that this measurement has not made" in one for one in errors(record))
    for load in LOADS[:3]:
        allowed = workload(server, load, run_seconds=0.1, allow_foreign_locks=True)
        assert errors(record_of(allowed, session, runs=1)) == [None] * 2
        assert server.count() == 1
    assert errors(record_of(workload(server, "live_statistics", run_seconds=0.1), session)) == [None] * 3


@pytest.mark.gate
@pytest.mark.parametrize(
    "hang, timeout, words", [(False, 60.0, "lock table overflow"), (True, 1.0, "within the time limit of 1 s")]
)
def test_the_locks_of_a_run_that_fails_go(tmp_path, monkeypatch, session, hang, timeout, words):
    with standin(tmp_path, "ENSA2", monkeypatch, maximum=25) as server:
        server.order(hang=hang)
        record = record_of(workload(server, "create_locks"), session, runs=1, warmup=0, timeout=timeout)
        assert words in errors(record)[0]
        assert server.count() == 0 and "left_behind" not in record


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGKILL, marks=pytest.mark.gate), pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)],
)
def test_a_measurement_that_is_ended_leaves_no_lock(server, session, number):
    server.order(hang=True)
    pid = os.fork()
    if pid == 0:
        try:
            record_of(workload(server, "create_locks", users=2), session, timeout=600.0)
        finally:
            os._exit(0)
    until(lambda: server.count() == 10, "the program has made its first locks")
    os.kill(pid, number)
    os.waitpid(pid, 0)
    until(lambda: server.count() == 0, "no lock is left")


def test_more_processes_than_users(server):
    with pytest.raises(MeasureError, match="processes is 4 and users 3; every process needs a user"):
        workload(server, "sd_benchmark", processes=4)
