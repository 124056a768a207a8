# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start processes, recognize them later and end them. A process id alone does not identify it: it is used again."""

import contextlib
import functools
import os
import re
import signal
import subprocess
import time
from datetime import datetime, timezone

from .._host import commands
from .._host.host import Host, HostError
from .._host.identities import Identity, owner_of_program
from .errors import MeasureError

_PS_SLACK_S = 3
_LIBRARIES = ("LC_ALL", "LD_LIBRARY_PATH", "LIBPATH")


def start(argv, identity=None, variables=None, directory=None, begin=None, **options):
    """A Popen of argv as of commands.start(): it runs beside the code that starts it.

    identity: the Identity that it runs with, by default that of this process. As root, a program that another user may
    replace (SAP's kernel belongs to <sid>adm) runs as that user, who gets PATH, TZ and the folders of libraries of
    root's environment. variables: environment variables that the program gets in any case. directory: where it works,
    entered with its own rights; if that fails, it says so on its standard error and ends with 126. begin: called first
    in the new process, with the rights of this one.
    MeasureError if the identity cannot be found out or taken, OSError as Popen.
    """
    try:
        uid = None if identity else owner_of_program(argv[0])
        identity = identity if uid is None else Identity.of_uid(uid)
        if identity is not None and identity.uid == os.geteuid():
            identity = None
        if identity is not None:
            given = options.pop("env", os.environ)
            kept = {name: given[name] for name in _LIBRARIES if name in given}
            options["env"] = dict(identity.environment(given), **kept)
        if variables:
            options["env"] = dict(options.get("env", os.environ), **variables)
        if identity is not None or directory is not None:
            begin = functools.partial(_begin, begin, identity, directory)
        return commands.start(argv, begin, **options)
    except HostError as error:
        raise MeasureError(str(error)) from error
    except subprocess.SubprocessError as error:
        raise MeasureError(
            "%s cannot be run as %s: this process may not become another user"
            % (argv[0], identity.name if identity else "this user")
        ) from error


def _begin(begin, identity, directory):
    """In the child, before the program: call begin as root, become the user, enter the directory."""
    if begin is not None:
        begin()
    if identity is not None:
        identity.take()
    if directory is not None:
        try:
            os.chdir(directory)
        except OSError as error:
            os.write(2, ("the directory %s cannot be entered: %s" % (directory, error.strerror)).encode("utf-8"))
            os._exit(126)


def utc_now():
    """The time of day in the format of records: UTC, microseconds, Z."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _linux_start(pid, root):
    try:
        with open(os.path.join(root, "proc", str(pid), "stat"), "rb") as stream:
            # The name in parentheses may hold blanks and parentheses itself.
            fields = stream.read().rsplit(b")", 1)[1].split()
    except (OSError, IndexError):
        return None
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return "ticks %d" % int(fields[19])


def parse_etime(text):
    """Seconds of POSIX ps's elapsed time, [[dd-]hh:]mm:ss; None for anything else."""
    match = re.match(r"\s*(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)\s*\Z", text)
    if not match:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _ps_start(pid):
    try:
        words = Host().run(["ps", "-o", "etime=", "-o", "args=", "-p", str(pid)], timeout=10).out.split()
    except HostError:
        return None
    elapsed = parse_etime(words[0]) if words else None
    # POSIX marks a process that has ended and was not waited for.
    if elapsed is None or words[-1] == "<defunct>":
        return None
    return "epoch %d" % (time.time() - elapsed)


def start_time(pid, root="/"):
    """When a process began, as an opaque text ("ticks N" on Linux, "epoch N" from ps elsewhere); None: not running.

    Source: field 22 of /proc/PID/stat; without /proc/self/stat (AIX), ps -o etime=.
    """
    if os.path.exists(os.path.join(root, "proc", "self", "stat")):
        return _linux_start(pid, root)
    return _ps_start(pid)


def is_same(pid, began, root="/"):
    """True if process pid is running and began at that start_time()."""
    now = start_time(pid, root) if pid and pid > 0 and began else None
    if now is None:
        return False
    if now.startswith("epoch ") and began.startswith("epoch "):
        return abs(int(now[6:]) - int(began[6:])) <= _PS_SLACK_S
    return now == began


def has_port(pid, port):
    """Whether all sockets that listen at a port of TCP are of the user of a process; True on AIX, which does not tell.

    Source: /proc/net/tcp, state 0A (LISTEN) and uid. With SMC the kernel listens in the place of the process, as its
    user, and no file of the process is the socket.
    """
    rows = []
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as stream:
            rows += [line.split() for line in stream]
    users = {int(row[7]) for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port}
    with contextlib.suppress(OSError):
        return not rows or users == {os.stat("/proc/%d" % pid).st_uid}
    return False  # it has ended


def wait_gone(pid, began, seconds):
    """Wait until the process has ended; False if it has not within that time."""
    deadline = time.monotonic() + seconds
    while is_same(pid, began):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextlib.contextmanager
def printing(start_to):
    """(the process that start_to(output) starts, a descriptor to read what it prints, with read()).

    It is a terminal if this host can make one: programs print to a terminal line by line, and lose what they have not
    written yet to anything else when they are ended.
    """
    try:
        source, output = os.openpty()
    except (AttributeError, OSError):
        source, output = os.pipe()
    try:
        try:
            process = start_to(output)
        finally:
            os.close(output)
        yield process, source
    finally:
        os.close(source)


def read(source):
    """Some bytes of what programs print; b"" after the last one that has the terminal open has ended."""
    try:
        return os.read(source, 65536)
    except OSError:  # EIO
        return b""


@contextlib.contextmanager
def woken():
    """A descriptor that can be read as soon as a signal has come or a child has ended: waiting for a child with a time
    limit polls in Python."""
    read_end, write_end = os.pipe()
    for descriptor in (read_end, write_end):
        os.set_blocking(descriptor, False)
    handler = signal.signal(signal.SIGCHLD, lambda *_details: None)
    before = signal.set_wakeup_fd(write_end)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGCHLD, handler or signal.SIG_DFL)
        os.close(read_end)
        os.close(write_end)


def end(pid, began, seconds=5.0):
    """End a process after a check of its identity: SIGTERM, then SIGKILL. False if it outlives both.

    So ends its whole group if it leads one: a program may be a script that started another.
    """
    with contextlib.suppress(ProcessLookupError):
        leads = is_same(pid, began) and os.getpgid(pid) == pid
        for number in (signal.SIGTERM, signal.SIGKILL):
            # a group also if the script has ended, because it does not wait for the program
            if leads or is_same(pid, began):
                (os.killpg if leads else os.kill)(pid, number)
                wait_gone(pid, began, seconds)
    return not is_same(pid, began)
