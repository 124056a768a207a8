# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which enqueue server there is, what its own counters say, and the guardian of what a measurement owes."""

import contextlib
import os
import signal
import stat
import sys
import tempfile

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import (
    enq_request,
    enq_statistics,
    enqueue,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks.enq_programs import Runner
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks.enqt import Enqt
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import releasing
from enqueueing import ENQT, STARTS, agent_of, asked, record_of, standin
from measuring import PATIENCE, errors, script
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
        ((None, "D00"), "instance is D00; it takes the name of central services"),
        ((None, None, "/nowhere"), "profile /nowhere does not exist"),
        ((), "no SAP enqueue server was found"),
    ],
)
def test_what_is_named_has_to_be_there(tmp_path, named, words):
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
    # a profile of any name
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
def test_counters_that_cannot_be_had_are_no_metric_and_fail_no_run(tmp_path, monkeypatch):
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
    # very much text keeps its beginning and its end
    text = runner.ask([sys.executable, "-c", "print('begin' + 'x' * 2000000 + 'end')"], PATIENCE)
    assert text.startswith("begin") and text.rstrip().endswith("end") and len(text) < 600000
    # a watched program is read while it runs
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
