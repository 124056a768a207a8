# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The measurement server of a host: a daemon that a module starts, and stops by its session."""

import contextlib
import functools
import os
import resource
import secrets
import signal
import socket
import subprocess
import tempfile
import time

from ..._host import commands, daemon
from ..._host.host import Host, HostError
from ..._host.lock import Lock
from .. import processes, transport, wire
from ..errors import MeasureError
from ..net import pingpong
from ..workloads import programs, releasing
from . import serving

READY_TIMEOUT = 30.0
# Also on a busy host.
PROGRAM_READY_TIMEOUT = 15.0
# Together less than READY_TIMEOUT.
TURN_TIMEOUT = 10.0


def _serve(listeners, token, lifetime, start_child, say_ready):
    """The main function of the daemon. start_child(guardian) returns (child process, its port), or is None."""
    child, port = None, None
    server = serving.Server(listeners, token, lifetime)
    with contextlib.ExitStack() as stack:
        if start_child is not None:
            # It holds no listening sockets, so that a killed server refuses its clients at once.
            guardian = stack.enter_context(contextlib.closing(releasing.Guardian()))
            child, port = start_child(guardian)
            stack.callback(commands.end, child)
        say_ready({"pid": os.getpid(), "start_time": processes.start_time(os.getpid()), "port": port})
        server.run(child.pid if child else None)


@contextlib.contextmanager
def _one_at_a_time():
    """Let one server of this user start at a time: another one could take a free port before the program listens there.

    No other user can open the lock file. If the lock cannot be had in time, or the name belongs to somebody else, the
    server starts without it: a program that finds its port taken ends.
    """
    host, path = Host(), os.path.join(tempfile.gettempdir(), "zpower-measure-%d.lock" % os.geteuid())
    lock = Lock(host, path, own=True)
    try:
        with contextlib.suppress(HostError):
            if host.owner(path) is None:
                lock.take("process %d" % os.getpid(), TURN_TIMEOUT)
        yield
    finally:
        lock.release()


@_one_at_a_time()
def _start_program(argv_of, address, port, avoid, guardian):
    """Start a server program on port, or on the first free one; return (Popen, port) once it accepts connections.

    argv_of(address, port): its command line; address is a number, or None for all of them. guardian: ends the program
    if this process cannot.
    """

    def begin():
        """What it prints to a file ends it (SIGXFSZ) if it is too long. No server writes other files."""
        guardian.started()
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        most = commands.MOST if hard == resource.RLIM_INFINITY else min(hard, commands.MOST)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    # The port has to be free on every address: some programs listen on all of them.
    listeners, number = serving.listen(serving.ALL, port, avoid)
    for listener in listeners:
        listener.close()
    argv = argv_of(serving.number_of(address), number)
    with tempfile.TemporaryFile() as output:
        child = programs.start(argv, stdout=output, stderr=subprocess.STDOUT, begin=begin)
        if _accepts(child, address, number):
            return child, number
        commands.end(child)
        output.seek(0)
        said = programs.first_lines(output.read(4096).decode("utf-8", "replace"))
    raise MeasureError("%s did not come up as a server on port %d: %s" % (argv[0], number, said))


def _accepts(child, address, port):
    deadline = time.monotonic() + PROGRAM_READY_TIMEOUT
    while child.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection((serving.own_address(address), port), 1.0).close()
            # somebody else may have taken the port since it was free
            if processes.has_port(child.pid, port):
                return True
        except OSError:
            pass
        time.sleep(0.05)
    return False


def start(
    tool,
    address,
    port=0,
    *,
    version=pingpong.VERSION,
    control_port=0,
    lifetime=3600,
    program=None,
    kind=transport.TCP,
):
    """Start the server of a tool; return the session.

    address: as for serving.listen(). program: a function that returns the command line of a server program for an
    address (None for all) and a port. With it the agent answers at a port of its own, without it at the one port, where
    it serves pingpong, too.
    Ports: 0 is the first free one of 3298 to 3397. The server listens when this returns; HostError otherwise.
    kind: the kind of sockets that pingpong listens with, as in transport.py.
    """
    token = secrets.token_hex(16)
    # The program gets the requested port; the control channel never takes it.
    avoid = {port} if port else {serving.FIRST_PORT}
    with _one_at_a_time():
        if program:
            listeners, own = serving.listen(address, control_port, avoid)
        else:
            listeners, own = serving.listen(address, port, kind=kind)

    def main(say_ready):
        start_child = functools.partial(_start_program, program, address, port, {own}) if program else None
        _serve(listeners, token, lifetime, start_child, say_ready)

    try:
        answer = daemon.spawn(main, [listener.fileno() for listener in listeners], READY_TIMEOUT)
    finally:
        for listener in listeners:
            listener.close()
    return {
        "tool": tool,
        "version": version,
        "address": address,
        "port": answer["port"] or own,
        "control_port": own,
        "token": token,
        "pid": answer["pid"],
        "start_time": answer["start_time"],
        "lifetime": lifetime,
        "started": processes.utc_now(),
    }


def local_target(session):
    """The wire.Target for the server of a session on its own host."""
    return wire.Target(serving.own_address(session.get("address") or ""), session["control_port"], session["token"])


def is_running(session):
    """Whether the server of this session is still the process that was started."""
    return processes.is_same(session["pid"], session["start_time"])


def stop(session):
    """End the server of this session on its own host; False if it had ended already.

    Asks through the control channel, then ends the process by its id after a check of its identity. MeasureError if it
    outlives both.
    """
    if not is_running(session):
        return False
    # a server may hang, or another program answer at its port
    with contextlib.closing(wire.Channel(local_target(session))) as channel, contextlib.suppress(MeasureError):
        if channel.request("stop") and processes.wait_gone(session["pid"], session["start_time"], 8.0):
            return True
    try:
        ended = processes.end(session["pid"], session["start_time"])
    except PermissionError as error:
        raise MeasureError(
            "the measurement server (process %d) belongs to another user: stop it as the user who started it"
            % session["pid"]
        ) from error
    if not ended:
        raise MeasureError("the measurement server (process %d) could not be ended" % session["pid"])
    return True


@contextlib.contextmanager
def local_server(lifetime):
    """The wire.Target of a server on loopback, for the control workload: a child process, not a daemon."""
    listener, token = serving.bind(socket.AF_INET, ("127.0.0.1", 0)), secrets.token_hex(16)
    # Ansible waits for the end of the module's output, which the server holds open.
    with contextlib.closing(releasing.Guardian()) as guardian:

        def serve():
            guardian.started()
            serving.Server([listener], token, lifetime).run()

        pid = daemon.fork(serve)
        target = wire.Target("127.0.0.1", listener.getsockname()[1], token)
        listener.close()
        try:
            yield target
        finally:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
