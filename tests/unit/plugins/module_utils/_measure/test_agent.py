# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that really run: their start, their connections, and above all their end."""

import contextlib
import fcntl
import functools
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.descriptors import keep_only
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.errors import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.identities import Identity
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.lock import Busy, Lock
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes, wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import clients, niping, request
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import admission, agent, serving
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs, releasing
from measuring import PATIENCE, STANDIN, free_port, listens, per_file, script, server, target, with_a_limit
from waiting import until

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def alive(session):
    return processes.is_same(session["pid"], session["start_time"])


def test_the_life_of_a_server():
    with server(address="127.0.0.1", lifetime=600, port=0) as session:
        assert alive(session)
        assert session["port"] == session["control_port"]
        assert serving.FIRST_PORT <= session["port"] <= serving.LAST_PORT
        assert (session["tool"], session["version"], session["lifetime"]) == ("pingpong", "1", 600)
        assert len(session["token"]) == 32 and session["started"].endswith("Z")
        # it has left its parent, its terminal session, its descriptors and its directory
        assert session["pid"] not in (os.getpid(), os.getppid())
        assert os.getsid(session["pid"]) != os.getsid(0)
        descriptors = os.listdir("/proc/%d/fd" % session["pid"])
        targets = {os.readlink("/proc/%d/fd/%s" % (session["pid"], number)) for number in descriptors}
        assert all(name == "/dev/null" or name.startswith(("socket:", "pipe:")) for name in targets)
        assert os.readlink("/proc/%d/cwd" % session["pid"]) == "/"
        # it is ended once, also where the control channel does not work, and nothing else is
        assert agent.stop(dict(session, token="wrong")) is True
        assert not alive(session) and not listens(session["port"])
        assert agent.stop(session) is False and agent.stop(dict(session, pid=os.getpid())) is False


@pytest.mark.gate
def test_the_lifetime_ends_server_and_connections():
    def attempt(seconds):
        """Whether the connection began before the end."""
        with server(lifetime=seconds) as session:
            try:
                lines = wire.open_lines(target(session))
                wire.ask(lines, "hello")
            except (EOFError, ConnectionError):
                return False
            lines.sock.settimeout(PATIENCE + seconds)
            with pytest.raises((EOFError, ConnectionError)):
                lines.read()
            lines.sock.close()
            until(lambda: not alive(session), "the server has ended")
        return True

    assert with_a_limit(attempt, bool)


def test_hostile_connections():
    with server() as session:
        for token in ("wrong", "", session["token"] + "0"):
            lines = wire.open_lines(target(session, token or " "))
            lines.sock.settimeout(PATIENCE)
            with pytest.raises((EOFError, ConnectionError)):
                wire.ask(lines, "hello")
            lines.sock.close()
        with pytest.raises(MeasureError, match="the session's token is not its own"):
            wire.Channel(target(session, "wrong")).request("hello")
        with socket.create_connection(("127.0.0.1", session["port"]), PATIENCE) as sock:
            sock.sendall(b"x" * 5000)
            with contextlib.suppress(ConnectionResetError):
                assert sock.recv(1) == b""
        with socket.create_connection(("127.0.0.1", session["port"]), PATIENCE):
            assert wire.Channel(target(session)).request("hello")["ok"]


@pytest.fixture(scope=per_file)
def running():
    with server() as session:
        yield session


@pytest.mark.parametrize(
    "operation, details, words",
    [
        ("reboot", {}, "not support a request of that name"),
        ("exchange", {"bytes": 0, "loops": 1, "timeout": 5}, "bytes is 0; it must be a whole number from 1"),
        ("exchange", {"bytes": 1, "loops": "many", "timeout": 5}, "loops is 'many'"),
        ("exchange", {"bytes": 1, "loops": 1, "timeout": True}, "timeout is True"),
    ],
)
def test_a_request_out_of_bounds_is_refused_in_words(running, operation, details, words):
    lines = wire.open_lines(target(running))
    with pytest.raises(MeasureError, match=words):
        wire.ask(lines, operation, **details)
    assert wire.ask(lines, "sample")["ok"]
    lines.sock.close()


def test_an_occupied_port_is_named_and_0_goes_round_it():
    with server(port=0) as session:
        with pytest.raises(MeasureError, match="port %d is in use on this host" % session["port"]):
            agent.start("pingpong", "127.0.0.1", port=session["port"])
        with server(port=0) as other:
            assert other["port"] != session["port"] and other["token"] != session["token"]


def test_an_address_that_is_not_here_is_an_error(monkeypatch):
    with pytest.raises(
        MeasureError, match="192.0.2.1, which is not an address of this host: set address .* or to :: for"
    ):
        agent.start("pingpong", address="192.0.2.1")
    with pytest.raises(MeasureError, match="resolved"):
        agent.start("pingpong", address="no.such.invalid")
    # as Debian's /etc/hosts has the own name: a server there would start, and nobody could reach it
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.1.1", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_place, **_how: found)
    with pytest.raises(MeasureError, match="the name app2 means 127.0.1.1 on this host, which no other host reaches"):
        agent.start("pingpong", address="app2")


@pytest.mark.parametrize(
    "tool, address, reached",
    [
        ("niping", "127.0.0.2", ["127.0.0.2"]),
        ("pingpong", "127.0.0.2", ["127.0.0.2"]),
        ("pingpong", "::1", ["::1"]),
        ("pingpong", "0.0.0.0", ["127.0.0.1", "127.0.0.2"]),
        ("pingpong", "::", ["127.0.0.1", "127.0.0.2", "::1"]),
    ],
)
def test_it_listens_where_that_is_asked_for(tool, address, reached):
    how = request.how_to_serve(tool, STANDIN if tool == "niping" else None)
    # what listens at other addresses of this machine may have the first ports
    session = agent.start(tool, address, free_port(), control_port=free_port(), lifetime=600, **how)
    try:
        assert wire.Channel(agent.local_target(session)).request("hello")["ok"]
        for where in ("127.0.0.1", "127.0.0.2", "::1"):
            channel = wire.Channel(target(session)._replace(address=where))
            if where in reached:
                assert channel.request("hello")["ok"]
            else:
                with pytest.raises(MeasureError):
                    channel.request("hello")
            channel.close()
    finally:
        assert agent.stop(session)


@contextlib.contextmanager
def strangers(port, number, source="127.0.0.1"):
    """Connections that send nothing."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE, (source, 0)))
            for _each in range(number)
        ]


@pytest.mark.gate
@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.9"])
def test_strangers_shut_nobody_out(source, monkeypatch):
    # a busy machine starts a hundred processes at each end
    monkeypatch.setattr(clients, "CONNECT_TIMEOUT", PATIENCE)
    with server() as session, strangers(session["port"], 400, source):
        with open("/proc/%d/task/%d/children" % (session["pid"], session["pid"])) as stream:
            assert stream.read() == ""  # no process for any of them
        assert wire.Channel(target(session)).request("sample")["ok"]
        with contextlib.closing(clients.Clients(clients.Job(target(session), 100, 20, PATIENCE), 100)) as group:
            group.wait_ready()
            group.exchange()
            assert group.summary().count == 100 * 20


def test_a_silent_connection_is_closed(monkeypatch):
    monkeypatch.setattr(admission, "TOKEN_TIMEOUT", 0.2)
    with server() as session, strangers(session["port"], 2) as silent:
        for sock in silent:
            sock.settimeout(PATIENCE)
            assert sock.recv(1) == b""

        def answers():
            # it, too, has only a moment for its token
            with contextlib.suppress(MeasureError):
                return wire.Channel(target(session)).request("sample")["ok"]

        until(answers, "the server answers")


def test_no_client_process_is_left_behind(running):
    job = clients.Job(target(running), 1, 10 * 1000 * 1000, 1)
    with contextlib.closing(clients.Clients(job, 2)) as group:
        pids = list(group._pids)
        group.wait_ready()
        with pytest.raises(MeasureError, match="within the time limit of 1 s"):
            group.exchange()
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGKILL])
def test_niping_never_outlives_its_server(number):
    with server("niping", binary=STANDIN) as session:
        assert session["port"] != session["control_port"]
        assert listens(session["port"]) and session["version"] == "1"
        assert wire.Channel(target(session)).request("hello")["ok"]
        if number is None:
            assert agent.stop(session)
        else:
            os.kill(session["pid"], number)
        ports = (session["port"], session["control_port"])
        until(lambda: not any(listens(port) for port in ports), "the server and its agent no longer listen")
        until(lambda: not alive(session), "the agent has ended")


@pytest.mark.parametrize("tool", ["pingpong", "niping"])
def test_no_server_takes_a_port_while_another_one_chooses(monkeypatch, tool):
    """Several hosts with one peer: Ansible starts their servers within a fraction of a second."""
    listen, alone = serving.listen, []

    def checked(*arguments, **options):
        path = os.path.join(tempfile.gettempdir(), "zpower-measure-%d.lock" % os.geteuid())
        try:
            Lock(Host(), path, own=True).take("another server")
            alone.append(False)
        except Busy:
            alone.append(True)
        return listen(*arguments, **options)

    monkeypatch.setattr(serving, "listen", checked)
    with server(tool, binary=STANDIN if tool == "niping" else None):
        assert alone == [True]


@contextlib.contextmanager
def stranger(act):
    """Another user of this host, who does act(), keeps what it returns, and waits."""
    ready, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            Identity.of_name("nobody").take()
            _kept = act()
            os.write(write_end, b"x")
            time.sleep(600)
        finally:
            os._exit(1)
    os.close(write_end)
    try:
        with os.fdopen(ready, "rb") as stream:
            assert stream.read(1) == b"x"
            yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@needs_root
@pytest.mark.parametrize("named", [False, True])
def test_nobody_else_makes_a_server_wait(reachable, monkeypatch, named):
    """Neither with a lock on the folder nor with one on a file of this name."""
    os.chmod(str(reachable), 0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(reachable))
    monkeypatch.setattr(agent, "TURN_TIMEOUT", 3600)
    name = "zpower-measure-%d.lock" % os.geteuid()

    def lock():
        where = (str(reachable / name), os.O_RDWR | os.O_CREAT) if named else (str(reachable), os.O_RDONLY)
        descriptor = os.open(*where)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor

    with stranger(lock), server() as session:
        assert alive(session)
    assert os.listdir(str(reachable)) == [name] * named


@needs_root
def test_a_stranger_at_the_port_is_not_taken_for_the_program(tmp_path):
    program = script(tmp_path / "niping", "echo the port is taken; sleep 1\n")
    with contextlib.closing(releasing.Guardian()) as guardian, contextlib.ExitStack() as stack:

        def argv_of(_address, port):
            # the port was free a moment ago
            stack.enter_context(stranger(lambda: serving.bind(socket.AF_INET, ("0.0.0.0", port))))
            return [program]

        with pytest.raises(MeasureError, match="did not come up as a server on port .*the port is taken"):
            agent._start_program(argv_of, "127.0.0.1", free_port(), set(), guardian)


def test_the_server_ends_with_niping(tmp_path):
    end = tmp_path / "end"
    work = '"%s" "$@" &\nwhile [ ! -e "%s" ]; do sleep 0.1; done\nkill $!\n' % (STANDIN, end)
    with server("niping", binary=script(tmp_path / "niping", "[ $1 = -t ] && exit\n" + work)) as session:
        assert alive(session)
        end.touch()
        until(lambda: not alive(session), "the server has ended")


def test_niping_that_does_not_come_up_says_why(running, tmp_path):
    program = script(tmp_path / "niping", "echo 'libsapcrypto.so: cannot open shared object file'\n")
    with pytest.raises(HostError, match="did not come up as a server on port .*libsapcrypto.so: cannot open"):
        agent.start("niping", "127.0.0.1", program=lambda _address, port: [program, str(port)])
    argv = functools.partial(niping.server_argv, STANDIN)
    with pytest.raises(HostError, match="port %d is in use" % running["port"]):
        agent.start("niping", "127.0.0.1", port=running["port"], program=argv)


@pytest.mark.parametrize("root", ["/", "/nowhere"])
def test_process_identity(root):
    began = processes.start_time(os.getpid(), root)
    if root == "/nowhere":
        assert began.startswith("epoch ") and abs(time.time() - int(began[6:])) < 86400
    assert processes.is_same(os.getpid(), began, root)
    assert not processes.is_same(os.getpid(), "ticks 1", root)
    assert not processes.is_same(os.getpid(), "epoch 1000", root)
    assert not processes.is_same(None, began, root) and not processes.is_same(os.getpid(), None, root)


@pytest.mark.parametrize(
    "text, seconds", [("00:05", 5), ("12:00:01", 43201), ("2-00:00:10", 172810), ("<defunct>", None), ("", None)]
)
def test_elapsed_time_of_ps(text, seconds):
    assert processes.parse_etime(text) == seconds


STARTED_FROM_A_COPY = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import fingerprint
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent

fingerprint.is_aix = lambda: True
print(json.dumps(agent.start("pingpong", "127.0.0.1", int(sys.argv[2]), lifetime=600)))
"""


def test_a_server_needs_nothing_of_its_module_once_that_has_ended(tmp_path):
    """As Ansible does: the files that the module was imported from are gone when somebody measures."""
    collection = Path(agent.__file__).parents[4]
    copy = tmp_path / "ansible_collections/zpower/sap_tuning/plugins/module_utils"
    shutil.copytree(str(collection / "plugins/module_utils"), str(copy), ignore=shutil.ignore_patterns("__pycache__"))
    argv = [sys.executable, "-B", "-c", STARTED_FROM_A_COPY, str(tmp_path), str(free_port())]
    session = json.loads(subprocess.check_output(argv, cwd=str(tmp_path)).decode())
    try:
        shutil.rmtree(str(tmp_path / "ansible_collections"))
        channel = wire.Channel(wire.Target("127.0.0.1", session["control_port"], session["token"]))
        with contextlib.closing(channel):
            assert channel.request("hello")["fingerprint"]["entitlement"] is None
    finally:
        agent.stop(session)


# Nothing goes on for ever: programs behind a script, the server of the control, an end that only drips.


class Sleeper:
    def __init__(self, folder):
        self._pid, self._over = folder / "pid", folder / "over"
        text = 'sleep 600 & echo $! > "%s"\nwait $! && touch "%s"\n' % (self._pid, self._over)
        self.program = script(folder / "tool", text)

    def begun(self, *_nothing):
        return self._pid.exists() and self._pid.read_text()

    def is_ended(self):
        until(lambda: processes.start_time(int(self._pid.read_text())) is None, "the program has ended")
        assert not self._over.exists()


@pytest.fixture
def sleeper(tmp_path):
    return Sleeper(tmp_path)


@pytest.mark.gate
@pytest.mark.parametrize("together", [True, False])
def test_the_client_behind_a_script_ends_at_the_time_limit(sleeper, together):
    def attempt(seconds):
        if together:
            with pytest.raises(MeasureError, match="did not end within the time limit of %d s" % seconds):
                programs.run_together([[sleeper.program]], seconds)
        else:
            assert programs.ask([sleeper.program], seconds) == ""

    with_a_limit(attempt, sleeper.begun)
    sleeper.is_ended()


@pytest.mark.parametrize("kill", [False, True])
def test_the_server_behind_a_script_ends_with_its_agent(tmp_path, kill):
    program = script(tmp_path / "niping", '"%s" "$@"\nexit $?\n' % STANDIN)
    with server("niping", binary=program) as session:
        if kill:
            os.kill(session["pid"], signal.SIGKILL)
        else:
            assert agent.stop(session)
        until(lambda: not listens(session["port"]), "the server no longer listens")


@pytest.mark.gate
@pytest.mark.parametrize("at_once", [False, True])
def test_the_client_behind_a_script_ends_with_a_module_that_was_killed(sleeper, monkeypatch, at_once):
    start = processes.start

    def killed(argv, **options):
        start(argv, **options)
        until(sleeper.begun, "the script has started its program")
        os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if pid == 0:
        try:
            if at_once:
                monkeypatch.setattr(processes, "start", killed)
            programs.run_together([[sleeper.program]], 600)
        finally:
            os._exit(0)
    if not at_once:
        until(sleeper.begun, "the script has started its program")
        os.kill(pid, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    sleeper.is_ended()


def test_ending_a_process_that_leads_no_group_leaves_its_group_alone():
    child = os.fork()
    if child == 0:
        try:
            signal.pause()
        finally:
            os._exit(0)
    assert processes.end(child, processes.start_time(child))
    os.waitpid(child, 0)


@pytest.mark.gate
def test_the_server_of_the_control_ends_with_a_module_that_was_killed():
    """It would hold the output of the module open, and Ansible waits for the end of that."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            keep_only({write_end})
            with agent.local_server(600) as local:
                os.write(write_end, b"%d\n" % local.port)
                signal.pause()
        finally:
            os._exit(0)
    os.close(write_end)
    port = int(os.read(read_end, 100))
    assert listens(port)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    until(lambda: not listens(port), "the server no longer listens")
    assert os.read(read_end, 1) == b""
    os.close(read_end)


class Visitors:
    """A listener in whose place connections come from any address, and the far ends of them."""

    def __init__(self, guests):
        self._strangers = guests
        self._next = None
        self.ends = []

    def accept(self):
        return self._next

    def come(self, address):
        near, far = socket.socketpair()
        far.settimeout(5)
        self._next = (near, (address, 1))
        self._strangers.accept(self)
        self.ends.append(far)
        return near

    def open(self):
        """The numbers of the connections that are not closed."""
        found = []
        for number, far in enumerate(self.ends):
            far.setblocking(False)
            try:
                assert far.recv(1) == b""
            except BlockingIOError:
                found.append(number)
        return found


@pytest.fixture
def guests(monkeypatch):
    monkeypatch.setattr(admission, "MOST_OF_ADDRESS", 3)
    monkeypatch.setattr(admission, "MOST", 5)
    found = admission.Admission("secret", selectors.PollSelector())
    yield found
    found.close()


@pytest.fixture
def visitors(guests):
    found = Visitors(guests)
    yield found
    for far in found.ends:
        far.close()


@pytest.mark.parametrize(
    "addresses, stay",
    [("11111", [2, 3, 4]), ("211134", [0, 2, 3, 4, 5])],
    ids=["of one address the oldest", "of all the oldest of the busiest address"],
)
def test_which_processes_are_ended(visitors, addresses, stay):
    for number in addresses:
        visitors.come("10.0.0." + number)
    assert visitors.open() == stay


@pytest.mark.parametrize(
    "sent, rest, stays",
    [
        ([b"secret\n"], b"", False),
        ([b"secret\n{}\n"], b"{}\n", False),
        ([b"sec", b"ret\n"], b"", False),
        ([b"sec"], None, True),
        ([b"Secret\n"], None, False),
        ([b"x" * 2000], None, False),
        ([b""], None, False),
    ],
)
def test_the_token(guests, visitors, sent, rest, stays):
    near = visitors.come("10.0.0.1")
    for part in sent:
        if part:
            visitors.ends[0].sendall(part)
        else:
            visitors.ends[0].shutdown(socket.SHUT_WR)
        found = guests.read(near)
    assert found == rest
    assert (near in guests) is stays
    if rest is not None:
        near.close()
    elif not stays:
        assert near.fileno() == -1


def test_their_time_limit(guests, visitors, monkeypatch):
    assert guests.expire() is None
    assert guests.read(visitors.come("10.0.0.1")) is None and visitors.open() == [0]
    assert 0 < guests.expire() <= admission.TOKEN_TIMEOUT
    monkeypatch.setattr(admission, "TOKEN_TIMEOUT", 0.0)
    visitors.come("10.0.0.2")
    assert guests.expire() is not None
    assert visitors.open() == [0]
