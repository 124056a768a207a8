# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Enqueue servers, their counters, the guardian of locks, and SAP's enq_admin and enqt played by their stand-ins."""

import contextlib
import functools
import os
import signal
import stat
import sys
import tempfile
import threading

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import (
    enq_admin,
    enq_request,
    enq_statistics,
    enqt,
    enqueue,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks.enq_programs import Runner
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks.enqt import Enqt
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs, releasing
from enqueueing import ENQ_ADMIN, ENQT, LOCK, STARTS, agent_of, asked, record_of, standin
from measuring import PATIENCE, errors, measured, per_file, plan, script
from waiting import until

OK = "\n20.11.2026 10:00:00\nEnqGetStatistic\nOK\n"


def profile(root, kind, name="ASCS01", sid="PRD"):
    captured.grow(root, {"/usr/sap/%s/SYS/profile/%s_%s_prdascs" % (sid, sid, name): STARTS[kind]})


def find(root, *named):
    return enqueue.find_server(Host(str(root)), *named)


@pytest.mark.parametrize("kind, tool, other", [("ENSA1", "enqt", "enq_admin"), ("ENSA2", "enq_admin", "enqt")])
def test_the_server_of_the_profile(tmp_path, kind, tool, other):
    path = "/usr/sap/PRD/SYS/profile/PRD_ASCS01_prdascs"
    profile(tmp_path, kind)
    server = find(tmp_path)
    assert server == enqueue.Server(kind, "PRD", "ASCS01", "01", "prdascs", path, False, "profile " + path)
    assert enq_request.choose_tool("auto", server) == tool
    with pytest.raises(
        MeasureError, match="tool is %s, but the enqueue server is %s .*, whose tool is" % (other, kind)
    ):
        enq_request.choose_tool(other, server)
    (tmp_path / "usr/sap/PRD/ASCS01").mkdir()
    assert find(tmp_path, "PRD", "ASCS01").local


@pytest.mark.parametrize(
    "program, kind", [("en.sapPRD_ASCS01", "ENSA1"), ("enq.sapPRD_ASCS01", "ENSA2"), ("enq.sapQAS_ASCS01", None)]
)
def test_the_server_that_runs_where_the_profile_does_not_tell(tmp_path, program, kind):
    profile(tmp_path, "none")
    stat = "4711 (x) S 1 " + " ".join(["0"] * 48)
    captured.grow(tmp_path, {"/proc/4711/cmdline": program + "\0pf=/x\0", "/proc/4711/stat": stat})
    if kind is None:
        with pytest.raises(MeasureError, match="no SAP enqueue server was found"):
            find(tmp_path)
    else:
        server = find(tmp_path)
        assert (server.kind, server.how) == (kind, "process 4711 (%s)" % program)


@pytest.mark.parametrize(
    "named, words",
    [
        (("PRD", "ASCS01"), "PRD_ASCS01_prdascs starts no lock server, neither enserver nor enq_server"),
        (("QAS",), "this host has no profile of an ASCS or SCS instance of QAS"),
        ((None, "D00"), "instance is D00; it must be the name of central services"),
        ((None, None, "/nowhere"), "profile /nowhere does not exist"),
        ((), "no SAP enqueue server was found"),
    ],
)
def test_what_is_named_must_exist(tmp_path, named, words):
    profile(tmp_path, "none")
    with pytest.raises(MeasureError, match=words):
        find(tmp_path, *named)


def test_several_servers(tmp_path):
    profile(tmp_path, "ENSA1")
    profile(tmp_path, "ENSA2", "SCS02")
    with pytest.raises(MeasureError, match="several enqueue servers fit .*: name one with sid and instance"):
        find(tmp_path)
    assert find(tmp_path, "PRD", "SCS02").kind == "ENSA2"
    profile(tmp_path, "ENSA2", "ASCS01", "QAS")
    assert find(tmp_path, "QAS").sid == "QAS"
    text = "SAPSYSTEMNAME = C11\nSAPSYSTEM = 03\nINSTANCE_NAME = SCS03\n" + STARTS["ENSA2"]
    captured.grow(tmp_path, {"/etc/own": text})
    server = find(tmp_path, None, None, "/etc/own")
    assert (server.kind, server.sid, server.instance, server.number) == ("ENSA2", "C11", "SCS03", "03")


@pytest.mark.parametrize(
    "rows",
    [
        "locks_now: 3\nenqueue_requests: 1000\nlock_time: 174.574351\nreplication_state: SAPControl-GRAY\n",
        "locks-now: 3\nenqueue-requests: 1000\nlock-time: 174.574351\n",
        "0 locks_now: 3\n0 enqueue_requests: 1000\n0 lock_time: 174.574351\n",
        "locks_now, enqueue_requests, lock_time, replication_state\n3, 1000, 174.574351, SAPControl-GRAY\n",
        "locks_now = 3\nenqueue_requests = 1000\nlock_time = 174.574351\n",
    ],
)
def test_counters_in_any_layout(rows):
    assert enq_statistics.parse(OK + rows) == {"enqueue_requests": 1000, "lock_time": 174.574351}


@pytest.mark.parametrize(
    "text, words",
    [
        (OK.replace("OK", "FAIL: NIECONN_REFUSED (Connection refused)"), "failed: NIECONN_REFUSED"),
        (OK + "everything is fine\n", "printed no known counter: 20.11.2026"),
        ("sapcontrol: not found\n", "printed no answer: sapcontrol: not found"),
        # neither infinity nor a number that Python refuses to read
        (OK + "enqueue_requests: %s\nlock_time: %s.0\n" % ("9" * 5000, "9" * 400), "printed no known counter"),
    ],
)
def test_no_counters(text, words):
    with pytest.raises(MeasureError, match=words):
        enq_statistics.parse(text)


def test_a_difference_needs_a_server_that_went_on():
    between = enq_statistics.Source.between
    first = {"enqueue_requests": 10, "lock_time": 1.5}
    then = {"enqueue_requests": 25, "lock_time": 1.75, "dequeue_requests": 3}
    assert between(first, then) == {"enqueue_requests": 15, "lock_time_s": 0.25}
    assert between(then, first) == {}


def test_how_sapcontrol_is_asked():
    server = enqueue.Server("ENSA1", "PRD", "ASCS01", "01", "prdascs", "/p", True, "profile /p")
    command = enq_statistics.command("/exe/sapcontrol", server, "10.0.0.9")
    assert command == ["/exe/sapcontrol", "-nr", "01", "-function", "EnqGetStatistic"]
    command = enq_statistics.command("/exe/sapcontrol", server._replace(local=False), "10.0.0.9")
    assert command[1:] == ["-nr", "01", "-host", "10.0.0.9", "-function", "EnqGetStatistic"]


def with_counters(tmp_path, monkeypatch, text, **options):
    """(the record of a round of enqt, the Source whose sapcontrol prints what the text of a shell says)."""
    counters = enq_statistics.Source([script(tmp_path / "sapcontrol", text)], Runner())
    with standin(tmp_path, "ENSA1", monkeypatch) as server, agent_of("enqt") as session:
        one = Enqt(asked("create_locks"), ENQT, server.profile, Runner(), counters)
        return record_of(one, session, warmup=0, **options), counters


@pytest.mark.gate
def test_the_counters_become_metrics_of_each_run(tmp_path, monkeypatch):
    number = tmp_path / "number"
    number.write_text("100")
    text = "n=$(cat {0}); echo $((n + 30)) > {0}\nprintf '{1}\\nenqueue_requests: %s\\n' $n\n"
    text = text.format(number, OK.replace("\n", "\\n"))
    record, counters = with_counters(tmp_path, monkeypatch, text, runs=2)
    assert errors(record) == [None] * 2
    assert [run["metrics"]["enqueue_requests"] for run in record["runs"]] == [30, 30]
    assert counters.problem is None


@pytest.mark.gate
def test_missing_counters_are_not_a_metric_and_fail_no_run(tmp_path, monkeypatch):
    text = "echo 'FAIL: HTTP error, HTTP/1.1 401 Unauthorized'\nexit 1\n"
    record, counters = with_counters(tmp_path, monkeypatch, text, runs=1)
    assert errors(record) == [None] and set(record["runs"][0]["metrics"]) == {"units", "lock_us"}
    assert "401 Unauthorized" in counters.problem


@pytest.fixture
def runner():
    with contextlib.closing(Runner()) as made:
        yield made


def test_what_programs_print(runner):
    with pytest.raises(MeasureError, match="/nowhere/enqt cannot be run"):
        runner.ask(["/nowhere/enqt"], PATIENCE)
    with pytest.raises(MeasureError, match="sh was ended by signal 9"):
        runner.ask(["sh", "-c", "kill -9 $$"], PATIENCE)
    text = runner.ask([sys.executable, "-c", "print('begin' + 'x' * 2000000 + 'end')"], PATIENCE)
    assert text.startswith("begin") and text.rstrip().endswith("end") and len(text) < 600000
    with runner.watched(["sh", "-c", "echo one; echo $$; sleep 600"]) as seen:
        until(lambda: seen.text.count("\n") == 2, "two lines were printed")
    pid = int(seen.text.split()[1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs programs as another user")
def test_a_program_of_another_user_works_in_a_folder_of_its_own_and_nothing_stays(monkeypatch):
    with tempfile.TemporaryDirectory() as temporary, contextlib.closing(Runner("nobody")) as runner:
        os.chmod(temporary, 0o1777)
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        said = runner.ask(["sh", "-c", "id -un; pwd; touch dev_eq_1; ls; touch ../dev_eq_2"], PATIENCE).splitlines()
        assert said[0] == "nobody" and said[2] == "dev_eq_1" and "Permission denied" in said[3]
        assert said[1].startswith(os.path.join(temporary, "zpower-enqueue-"))
        folder = os.path.dirname(said[1])
        assert os.listdir(folder) == [] and stat.S_IMODE(os.stat(folder).st_mode) == 0o711
        runner.close()
        assert os.listdir(temporary) == []


@pytest.mark.gate
@pytest.mark.parametrize("owes", [True, False])
def test_the_guardian_gives_back_what_is_owed_when_its_measurement_was_killed(tmp_path, owes):
    mark = tmp_path / "given back"
    pid = os.fork()
    if pid == 0:
        guardian = releasing.Guardian(lambda: mark.write_text("yes"))
        guardian.owes(True)
        guardian.owes(owes)
        (tmp_path / "pid").write_text(str(guardian._pid))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    guardian = int((tmp_path / "pid").read_text())
    until(lambda: processes.start_time(guardian) is None, "the guardian has ended")
    assert mark.exists() is owes


@pytest.mark.gate
def test_the_guardian_sees_the_end_though_another_process_holds_its_line(tmp_path):
    mark = tmp_path / "given back"
    pid = os.fork()
    if pid == 0:
        guardian = releasing.Guardian(lambda: mark.write_text("yes"))
        guardian.owes(True)
        holder = os.fork()
        if holder == 0:
            signal.pause()
        (tmp_path / "holder").write_text(str(holder))
        os._exit(0)
    os.waitpid(pid, 0)
    try:
        until(mark.exists, "the locks are given back")
    finally:
        os.kill(int((tmp_path / "holder").read_text()), signal.SIGKILL)


def test_the_guardian_tries_again_and_ends_at_once_if_it_is_not_needed(monkeypatch):
    monkeypatch.setattr(releasing, "_BETWEEN_TRIES_S", 0.1)
    tried = []

    def release():
        tried.append(1)
        if len(tried) != 3:
            raise MeasureError("not yet")

    releasing._give_back(release)
    assert len(tried) == 3
    guardian = releasing.Guardian(lambda: None)
    pid = guardian._pid
    guardian.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


LOADS = ("sd_benchmark", "create_locks", "verify_entries", "live_statistics")
# In the documented layout, with other hosts and values.
INFO = """\
Enqueue Server 2
Start Time    : 2026-11-18 06:00:07
Release       : 793
Patch Level   : 250

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


@pytest.fixture(scope=per_file)
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
def test_invalid_answers(text, words):
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
class Clock:
    """A clock that a window advances by 2 s, as it does where a meter counts whole intervals, and each call by 1 s."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        for module in (enq_admin, enqt):
            monkeypatch.setattr(module, "time", self)
        self.owed, self.guardian = False, self

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds

    def owes(self, owed):
        self.owed = False

    @contextlib.contextmanager
    def window(self):
        self.sleep(2)
        yield
        self.sleep(2)

    def together(self, argvs, _timeout):
        self.sleep(1)
        return programs.Ran([INFO] * len(argvs), [0] * len(argvs), 1)

    @contextlib.contextmanager
    def watched(self, _argv):
        output = programs.Output()
        output.add(ON_ONE_LINE.encode())
        yield output


@pytest.mark.parametrize("load", ["sd_benchmark", "live_statistics"])
def test_the_samples_at_its_ends_are_no_part_of_a_run(monkeypatch, load):
    clock = Clock(monkeypatch)
    one = enq_admin.EnqAdmin(asked(load, run_seconds=4), ENQ_ADMIN, "/profile", clock)
    outcome = one.run(plan(), clock.window())
    assert (outcome.elapsed, outcome.metrics["units"]) == (4, 4)


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
def ensa1(tmp_path, monkeypatch):
    with standin(tmp_path, "ENSA1", monkeypatch) as running:
        yield running


@pytest.fixture(scope=per_file)
def agent():
    with agent_of("enqt") as running:
        yield running


def enqt_load(ensa1, load, **options):
    return enqt.Enqt(asked(load, **options), ENQT, ensa1.profile, Runner())


def test_commands_of_enqt():
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
def test_what_is_not_a_table_of_rates_is_shown(text):
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
def test_the_benchmarks_load(ensa1, agent):
    load = {"processes": 2, "run_seconds": 3}
    (record,) = measured(lambda: [record_of(enqt_load(ensa1, "sd_benchmark", **load), agent, runs=1, warmup=0)])
    assert errors(record) == [None] and "left_behind" not in record
    assert record["workload"]["name"] == "enqt-sd_benchmark-x2" and record["workload"]["connections"] == 2
    assert record["workload"]["argv"] == [ENQT, "pf=" + ensa1.profile, "10", "3"]
    assert record["workload"]["metric"] == {"name": "ops_per_min_actual", "unit": "operations/min", "better": "higher"}
    (run,) = record["runs"]
    assert set(run["metrics"]) == set(PUBLISHED) | {"units"}
    rate = run["metrics"]["ops_per_min_actual"]
    assert rate > 0 and run["elapsed_s"] >= 3
    assert run["metrics"]["units"] == pytest.approx(rate * run["elapsed_s"] / 60, rel=1e-3)
    assert "Enqueue Ops/min" in run["raw"] and "orders" in run["raw"]
    assert ensa1.count() == 0


@pytest.mark.gate
@pytest.mark.parametrize("load, metric", [("create_locks", "lock_us"), ("verify_entries", "verify_us")])
def test_a_number_of_locks(ensa1, agent, load, metric):
    begun = set(os.listdir("."))
    record = record_of(enqt_load(ensa1, load), agent)
    assert errors(record) == [None] * 3
    for run in record["runs"]:
        assert run["metrics"]["units"] == 30
        assert run["metrics"][metric] == pytest.approx(run["elapsed_s"] * 1e6 / 30, rel=1e-3)
    assert ensa1.count() == 0
    assert set(os.listdir(".")) == begun, "a trace file was left"


def test_the_work_that_is_watched_is_that_of_the_run(monkeypatch):
    clock = Clock(monkeypatch)
    one = enqt.Enqt(asked("live_statistics", run_seconds=15), ENQT, "/profile", clock)
    outcome = one.run(plan(), clock.window())
    assert (outcome.elapsed, outcome.metrics["units"]) == (15, round(412944 * 15 / 60))


@pytest.mark.gate
def test_watching_makes_no_locks_and_ignores_others(ensa1, agent):
    """It needs others at work, though: what nobody does has no rate."""
    ensa1.lock_of_another()
    over = threading.Event()

    def work():
        while not over.is_set():
            ensa1.ask("set", **dict(LOCK, argument="2"))
            ensa1.ask("release", **dict(LOCK, argument="2"))

    others = threading.Thread(target=work)
    others.start()
    try:
        watched = functools.partial(enqt_load, ensa1, "live_statistics", run_seconds=3)
        (record,) = measured(lambda: [record_of(watched(), agent, runs=1, warmup=0)])
    finally:
        over.set()
        others.join()
    assert errors(record) == [None]
    assert set(PUBLISHED) < set(record["runs"][0]["metrics"])
    assert ensa1.count() == 1


def test_an_empty_rate_is_not_a_figure():
    one = enqt.Enqt(asked("live_statistics", run_seconds=3), ENQT, "/profile", Runner())
    with pytest.raises(MeasureError, match="a rate of 0: nobody worked with the enqueue server"):
        one._rated(enqt.parse_rates("Ops/min actual 10 s\n 0 17\n"), "", 3.0)
    with pytest.raises(MeasureError, match="enqt printed no ops_per_min_actual: Ops/min"):
        one._rated(enqt.parse_rates("Ops/min 1 min 10 s\n 0 17\n"), "Ops/min", 3.0)


@pytest.mark.gate
def test_locks_of_others_are_respected(ensa1, agent):
    ensa1.lock_of_another()
    record = record_of(enqt_load(ensa1, "create_locks"), agent)
    assert all("the lock table holds 1 locks that this measurement has not made" in one for one in errors(record))
    assert ensa1.count() == 1
    allowed = enqt_load(ensa1, "create_locks", allow_foreign_locks=True)
    assert errors(record_of(allowed, agent)) == [None] * 3
    assert ensa1.count() == 1


@pytest.mark.gate
@pytest.mark.parametrize(
    "order, load, timeout, words, left",
    [
        ("no_rates", "sd_benchmark", PATIENCE, ["no rates that can be read", "everything is fine"], 0),
        ("hang", "create_locks", 1.0, ["did not end within the time limit of 1 s"], 0),
        ("destroys_nothing", "create_locks", PATIENCE, ["30 locks more than before the measurement stay"], 30),
    ],
)
def test_a_run_that_fails_and_its_locks(ensa1, agent, order, load, timeout, words, left):
    ensa1.order(**{order: True})
    record = record_of(enqt_load(ensa1, load, run_seconds=3), agent, runs=1, warmup=0, timeout=timeout)
    assert all(word in errors(record)[0] for word in words) and record["runs"][0]["metrics"] == {}
    assert ensa1.count() == left
    assert ("release them in SM12" in record.get("left_behind", "")) is bool(left)


@pytest.mark.gate
def test_a_table_that_is_too_small_fails_the_run_and_is_emptied(tmp_path, monkeypatch, agent):
    with standin(tmp_path, "ENSA1", monkeypatch, maximum=20) as ensa1:
        record = record_of(enqt_load(ensa1, "create_locks"), agent, runs=1)
        assert all("enqt made 20 locks instead of 30" in one for one in errors(record))
        assert all("lock table overflow" in one for one in errors(record))
        assert ensa1.count() == 0 and "left_behind" not in record


@pytest.mark.gate
@pytest.mark.parametrize(
    "program, words", [(ENQT, "connection to enqueue server failed"), ("/nowhere/enqt", "enqt cannot be run: No such")]
)
def test_no_server(tmp_path, agent, program, words):
    profile = tmp_path / "PRD_ASCS01_prdascs"
    profile.write_text("SAPSYSTEM = 01\nenque/serverhost = 127.0.0.1\nstandin/enqueue_port = 1\n")
    one = enqt.Enqt(asked("create_locks"), program, str(profile), Runner())
    assert words in errors(record_of(one, agent))[0]


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGKILL, marks=pytest.mark.gate),
        pytest.param(signal.SIGTERM, marks=pytest.mark.nightly),
        pytest.param(signal.SIGHUP, marks=pytest.mark.nightly),
    ],
)
def test_a_measurement_that_is_ended_leaves_nothing(ensa1, agent, number, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    ensa1.order(hang=True)
    pid = os.fork()
    if pid == 0:
        try:
            record_of(enqt_load(ensa1, "create_locks"), agent, timeout=600.0)
        finally:
            os._exit(0)
    until(lambda: ensa1.count() == 10, "the program has made its first locks")
    assert [name for _folder, _folders, names in os.walk(str(temporary)) for name in names if "dev_eq_" in name]
    os.kill(pid, number)
    os.waitpid(pid, 0)
    until(lambda: ensa1.count() == 0, "no lock is left")
    until(lambda: not programs_of(ensa1.profile), "no program is left")
    until(lambda: not os.listdir(str(temporary)), "no file is left")
    assert ensa1.count() == 0


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
