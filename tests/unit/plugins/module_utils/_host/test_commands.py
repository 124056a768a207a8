# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that are started have no part in the terminal, the time and the memory of the process that starts them.

Each attack was possible once: a sapcontrol of <sid>adm took root's terminal and printed root's answer.
"""

import contextlib
import errno
import fcntl
import json
import os
import pty
import pwd
import resource
import signal
import sys
import termios

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import commands, identities
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from measuring import PATIENCE, script, with_a_limit
from waiting import until

THEM = pwd.getpwnam("nobody")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
MIB = 1 << 20
# much more than the output limit, and than root's process may grow
FLOOD = ["head", "-c", str(600 * MIB), "/dev/zero"]


def ended(pid):
    until(lambda: processes.start_time(pid) is None, "process %d has ended" % pid)


def answer_of(act):
    """What act() returns in a fork, as JSON, so that it can do what a test must not do itself."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(300)
            try:
                found = act()
            except Exception as error:
                found = "%s: %s" % (type(error).__name__, error)
            os.write(write_end, json.dumps(found).encode("ascii"))
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as stream:
        data = stream.read()
    os.waitpid(pid, 0)
    return json.loads(data.decode("ascii"))


# the terminal

# What <sid>adm would put into the place of sapcontrol: it tries every way to a terminal, and prints what it got.
TAKE = """
import fcntl, json, os, sys, termios
got = [] if os.getsid(0) == os.getpid() else ["the session"]
for path in ("/dev/tty", sys.argv[1]):
    try:
        terminal = os.open(path, os.O_RDWR)
    except OSError:
        continue
    for name, attempt in (
        ("the foreground of", lambda: os.tcsetpgrp(terminal, os.getpgrp())),
        ("the group of", lambda: os.tcgetpgrp(terminal)),
        ("the control of", lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 1)),
        ("the input of", lambda: fcntl.ioctl(terminal, termios.TIOCSTI, b"x")),
    ):
        try:
            attempt()
            got.append(name + " " + path)
        except OSError:
            pass
for number in (0, 1, 2):
    if os.isatty(number):
        got.append("file %d" % number)
print(json.dumps(got))
"""


def _in_host(argv):
    return Host().run(argv, user="nobody").out


def _in_deputy(argv):
    return identities.deputy(THEM.pw_uid).call(PATIENCE, _run, argv)


def _run(argv):
    return Host().run(argv).out


def _in_measurement(argv):
    process = processes.start(argv, identities.Identity.of_name("nobody"), stdout=-1)
    return commands.finish(process, PATIENCE)[0].decode("ascii")


@needs_root
@pytest.mark.parametrize("way", [_in_host, _in_deputy, _in_measurement])
def test_a_program_of_another_user_has_no_part_in_roots_terminal(way):
    """As with ssh -tt, or sudo with use_pty. The terminal is open to everybody here: its mode is not a protection."""
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    os.chmod(name, 0o666)

    def root():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for number in (0, 1, 2):
            os.dup2(slave, number)
        got = json.loads(way(["/usr/bin/python3", "-c", TAKE, name]))
        return got, os.tcgetpgrp(slave) == os.getpgrp()

    try:
        assert answer_of(root) == [[], True]
    finally:
        os.close(master)
        os.close(slave)
    assert os.getsid(identities.deputy(THEM.pw_uid).pid) == identities.deputy(THEM.pw_uid).pid


def test_a_program_has_no_input_and_no_open_file(tmp_path):
    with open(str(tmp_path / "secret"), "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        text = "import os, sys; print(sys.stdin.read(), [os.readlink('/proc/self/fd/%d' % n) for n in range(3, 64)"
        text += " if os.path.exists('/proc/self/fd/%d' % n) and 'secret' in os.readlink('/proc/self/fd/%d' % n)])"
        assert Host().run([sys.executable, "-c", text]).out == " []\n"
    # nor does it use the working directory of this process, which may belong to another user
    assert [Host().run(["pwd"]).out, programs.ask(["/bin/pwd"])] == ["/\n"] * 2


@pytest.mark.parametrize("path", ["", ":", ".", "bin:..:", None])
def test_no_program_is_taken_from_the_working_directory(tmp_path, monkeypatch, path):
    """An empty or relative folder in PATH is one of whoever owns the working directory."""
    for name in ("id", "bin/id", "only-here", "bin/only-here"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        script(tmp_path / name, "echo theirs\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PATH") if path is None else monkeypatch.setenv("PATH", path)
    assert Host().run(["id", "-u"]).out == programs.ask(["id", "-u"]) == "%d\n" % os.getuid()
    for run in (Host().run, programs.ask):
        with pytest.raises(HostError, match="only-here"):
            run(["only-here"])
    assert programs.find("id", None, path or "") is None
    with pytest.raises(MeasureError, match="absolute path"):
        programs.find("id", "bin/id", "")


@pytest.mark.parametrize("to", ["", " >&2"])
def test_output_without_end_is_one_sentence_and_costs_little_memory(to):
    def flooded():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            Host().run(["sh", "-c", "echo $$; exec " + " ".join(FLOOD) + to], timeout=PATIENCE)
            said = None
        except HostError as error:
            said = [str(error), error.errno, int(error.printed[0].split(b"\n")[0])]
        return said, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024

    said, grown = answer_of(flooded)
    assert said[:2] == ["sh printed more than 16 MiB and was ended", errno.EFBIG]
    ended(said[2])
    assert grown < 200


def test_output_without_end_of_a_tool_that_measures(tmp_path):
    with pytest.raises(MeasureError, match="^head printed more than 16 MiB and was ended$"):
        programs.ask(FLOOD, PATIENCE)
    assert len(Host().run(["head", "-c", str(15 * MIB), "/dev/zero"], timeout=PATIENCE).out) == 15 * MIB
    # into a file, which must not fill the disk
    endless = ["sh", "-c", 'echo $$ > "$0"; exec cat /dev/zero', str(tmp_path / "pid")]
    with pytest.raises(MeasureError, match="^sh printed more than 16 MiB and was ended$"):
        programs.run_together([["sleep", "600"], endless], 600.0)
    ended(int((tmp_path / "pid").read_text()))


# the time

# A grandchild that holds the outputs open for 600 s, in a session of its own or not.
STAYS = "import subprocess, time; print(subprocess.Popen(['sleep', '600'], start_new_session=%s).pid, flush=True)"


def stopped(text):
    """The error of a program that prints an id and then runs over its time."""

    def attempt(seconds):
        with pytest.raises(HostError, match="did not answer within %d s" % seconds) as caught:
            Host().run([sys.executable, "-c", text], timeout=seconds)
        return caught.value

    return with_a_limit(attempt, lambda error: error.printed[0])


CLOSES = "import os, time; print(os.getpid(), flush=True); os.close(1); os.close(2)"


@pytest.mark.parametrize("text", [STAYS % False, CLOSES])
def test_the_time_limit_ends_the_group(text):
    error = stopped(text + "; time.sleep(600)")
    assert error.errno == errno.ETIMEDOUT
    ended(int(error.printed[0]))


@pytest.mark.parametrize(
    "ask, error", [(lambda argv, seconds: Host().run(argv, timeout=seconds), HostError), (programs.ask, None)]
)
def test_after_the_time_limit_nothing_waits_for_a_grandchild_that_has_left_the_group(tmp_path, ask, error):
    mark = tmp_path / "pid"
    text = STAYS % True + "; time.sleep(600)"
    text = text.replace("print(", "open(%r, 'w').write(str(" % str(mark)).replace(", flush=True)", "))")

    def attempt(seconds):
        with pytest.raises(error, match="did not answer") if error else contextlib.ExitStack():
            ask([sys.executable, "-c", text], seconds)

    with_a_limit(attempt, lambda _nothing: mark.exists() and mark.read_text())
    grandchild = int(mark.read_text())
    try:
        assert processes.start_time(grandchild) is not None
    finally:
        os.kill(grandchild, signal.SIGKILL)


# It goes on when nobody reads it any more.
WRITES_ON = "trap '' PIPE; while true; do echo x; done 2>&-"


@pytest.mark.parametrize("writes_on", [False, True])
def test_a_program_has_ended_whatever_it_leaves_behind(writes_on):
    """The result of the program counts, although its outputs are still open, even if they are written to."""
    text = STAYS % True
    if writes_on:
        text = text.replace("['sleep', '600']", "['sh', '-c', %r]" % WRITES_ON)
    done = Host().run([sys.executable, "-c", text + "; raise SystemExit(3)"], timeout=PATIENCE)
    grandchild = int(done.out.replace("x", "").split()[0])
    assert processes.start_time(grandchild) is not None
    os.kill(grandchild, signal.SIGKILL)
    assert done.rc == 3


# how it is ended

# It says when it can be ended, and notes whether it was asked to.
POLITE = (
    "import os, signal, sys, time\n"
    "def leave(*_details):\n"
    "    open(sys.argv[1] + '/asked', 'w').close()\n"
    "    sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, %s)\n"
    "with open(sys.argv[1] + '/new', 'w') as stream:\n"
    "    stream.write(str(os.getpid()))\n"
    "os.rename(sys.argv[1] + '/new', sys.argv[1] + '/pid')\n"
    "time.sleep(600)\n"
)


def started(folder, handler):
    process = commands.start([sys.executable, "-c", POLITE % handler, str(folder)])
    until((folder / "pid").exists, "the program waits")
    return process, int((folder / "pid").read_text())


def _end_at_limit(process):
    with pytest.raises(commands.Stopped):
        commands.finish(process, 0)


def _end_by_id(process):
    # as in another process, so that it does not stay a zombie
    pid, began = process.pid, processes.start_time(process.pid)
    assert answer_of(lambda: processes.end(pid, began, commands._GRACE_S)) or process.wait(PATIENCE) is not None


@pytest.mark.parametrize("handler, grace, code", [("leave", PATIENCE, 0), ("signal.SIG_IGN", 0.5, -signal.SIGKILL)])
@pytest.mark.parametrize("way", [commands.end, _end_at_limit, _end_by_id])
def test_a_program_is_asked_to_end_before_it_is_killed(tmp_path, monkeypatch, way, handler, grace, code):
    monkeypatch.setattr(commands, "_GRACE_S", grace)
    process, pid = started(tmp_path, handler)
    way(process)
    ended(pid)
    assert process.wait(PATIENCE) == code and (tmp_path / "asked").exists() == (handler == "leave")


@needs_root
def test_a_program_of_a_deputy_is_asked_to_end_too():
    """The deputy itself ignores SIGTERM, which its programs must not inherit."""
    assert identities.deputy(THEM.pw_uid).call(PATIENCE, _started_and_ended) == -signal.SIGTERM


def _started_and_ended():
    process = commands.start(["sleep", "600"])
    commands.end(process)
    return process.returncode


@needs_root
def test_a_deputy_that_reads_nothing_is_abandoned():
    """Its user may stop it; then the pipe to it is full."""
    one = identities.deputy(THEM.pw_uid)
    os.kill(one.pid, signal.SIGSTOP)
    with pytest.raises(HostError, match="the work as nobody was not finished within 1 s") as caught:
        one.call(1, len, b"x" * 4 * MIB)
    assert caught.value.errno == errno.ETIMEDOUT
    ended(one.pid)
    assert identities.deputy(THEM.pw_uid).call(PATIENCE, len, b"x" * 4 * MIB) == 4 * MIB


@needs_root
@pytest.mark.parametrize(
    "answer",
    [b"\x7f" + b"\xff" * 7, b"\0" * 7 + b"\x02[]", b"\0" * 7 + b"\x0d" + b'{"refused":7}', b"\0" * 7 + b"\x01{"],
)
def test_an_answer_that_no_deputy_gives_is_one_sentence(answer):
    one = identities.deputy(THEM.pw_uid)
    read_end, write_end = os.pipe()
    os.write(write_end, answer)
    os.close(write_end)
    os.dup2(read_end, one._answers)
    os.close(read_end)
    with pytest.raises(HostError, match="the process that worked as nobody ended"):
        one.call(PATIENCE, os.getuid)
