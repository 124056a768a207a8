# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The serving side: one process a connection, a token before anything else, an end after a lifetime."""

import errno
import hmac
import os
import select
import signal
import socket
import time

from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import (
    counters,
    meter,
    pingpong,
    transport,
    wire,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.fingerprint import fingerprint

FIRST_PORT, LAST_PORT = 3298, 3397
MAX_PROCESSES = 1100
TOKEN_TIMEOUT = 5.0


def _bind(family, where, kind=transport.TCP):
    listener = transport.new_socket(kind, family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(where)
        listener.listen(socket.SOMAXCONN)
    except Exception:
        listener.close()
        raise
    return listener


def _listen_at(address, port, kind):
    if address:
        family, _type, _protocol, _name, where = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return [_bind(family, where, kind)]
    # Two sockets instead of one for both: an IPv4 exchange shall be a plain IPv4 exchange.
    listeners = [_bind(socket.AF_INET, ("0.0.0.0", port), kind)]
    try:
        listeners.append(_bind(socket.AF_INET6, ("::", port), kind))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            listeners[0].close()
            raise
    return listeners


def bind_loopback():
    """A listening socket at 127.0.0.1 and any free port."""
    return _bind(socket.AF_INET, ("127.0.0.1", 0))


def listen(address, port, avoid=(), kind=transport.TCP):
    """Listening sockets and their port: this port, or for 0 the first free one of 3298 to 3397.

    address "" is every address. kind: as in transport.py; sockets of SMC serve clients of TCP, too.
    MeasureError names the port that is taken or the address that cannot be used.
    """
    candidates = [port] if port else [number for number in range(FIRST_PORT, LAST_PORT + 1) if number not in avoid]
    for number in candidates:
        try:
            return _listen_at(address, number, kind), number
        except socket.gaierror as error:
            reason = "the address %s to listen on cannot be resolved: %s" % (address, error.strerror)
            raise MeasureError(reason) from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                where = "%s port %d" % (address or "any address", number)
                raise MeasureError("cannot listen on %s: %s" % (where, error.strerror)) from error
    if port:
        raise MeasureError("port %d is in use on this host: name another one, or 0 for the next free one" % port)
    raise MeasureError("no port from %d to %d is free on this host" % (FIRST_PORT, LAST_PORT))


def _whole(request, name, low, high):
    value = request.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
        raise MeasureError("%s must be a number from %d to %d" % (name, low, high))
    return value


class Connection:
    """One accepted connection, in a process of its own."""

    def __init__(self, sock, token, lifetime):
        self._sock = sock
        self._token = token
        self._lifetime = lifetime
        self._lines = wire.Lines(sock)
        self._meter = None

    def serve(self):
        """Check the token, then answer requests until the other end closes. Socket errors end the connection."""
        self._sock.settimeout(TOKEN_TIMEOUT)
        if not hmac.compare_digest(self._lines.read(1024).encode("utf-8"), self._token.encode("utf-8")):
            return
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        while True:
            self._sock.settimeout(self._lifetime)
            request = self._lines.read_object()
            handler = getattr(self, "_answer_" + str(request.get("op")), None)
            try:
                if handler is None:
                    raise MeasureError("this server knows no request of that name")
                handler(request)
            except MeasureError as error:
                self._lines.write_object({"ok": False, "error": str(error)})

    def _answer_hello(self, _request):
        here, there = self._sock.getsockname()[0], self._sock.getpeername()[0]
        self._lines.write_object(
            {
                "ok": True,
                "protocol": wire.PROTOCOL,
                "version": pingpong.VERSION,
                "fingerprint": fingerprint(here, there),
            }
        )

    def _answer_sample(self, _request):
        # A meter ends with this process, which ends with the connection.
        self._meter = self._meter or meter.start()
        # The process that accepted this connection: everything that serves descends from it.
        sample = counters.snapshot(meter=self._meter, pids=(os.getppid(),))
        self._lines.write_object({"ok": True, "sample": sample})

    def _answer_exchange(self, request):
        """response_bytes: what is sent back, as much as came where it is not there."""
        response = None
        if "response_bytes" in request:
            response = int(_whole(request, "response_bytes", 1, pingpong.MAX_BYTES))
        size, loops = self._accept_work(request)
        pingpong.echo(self._sock, size, loops, response)

    def _answer_stream(self, request):
        """direction: in or out, as the client sees it."""
        directions = {"in": pingpong.give_stream, "out": pingpong.take_stream}
        work = directions.get(str(request.get("direction")))
        if work is None:
            raise MeasureError("direction must be in or out")
        size, loops = self._accept_work(request)
        work(self._sock, size, loops)

    def _accept_work(self, request):
        """Say yes to what is asked for; (bytes, loops)."""
        size = int(_whole(request, "bytes", 1, pingpong.MAX_BYTES))
        loops = int(_whole(request, "loops", 1, pingpong.MAX_LOOPS))
        timeout = _whole(request, "timeout", 1, 86400)
        pingpong.tune_socket(self._sock, timeout)
        self._lines.write_object({"ok": True})
        return size, loops

    def _answer_stop(self, _request):
        self._lines.write_object({"ok": True})
        os.kill(os.getppid(), signal.SIGTERM)


class Server:
    """Accepts connections until stop, SIGTERM, the end of a watched child, or the end of its lifetime."""

    def __init__(self, listeners, token, lifetime):
        self._listeners = listeners
        self._token = token
        self._ends = time.monotonic() + lifetime
        self._children = set()
        self._private = []
        self._wake, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        os.set_blocking(self._wake, False)
        self._stopping = False
        signal.set_wakeup_fd(self._wake_write)
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGCHLD, lambda *_details: None)

    def keep_private(self, descriptor):
        """Name a descriptor that the processes of the connections must not hold open."""
        self._private.append(descriptor)

    def _on_term(self, *_details):
        self._stopping = True

    def run(self, watched=None):
        """Serve; return when it is time to end. watched: pid of a child whose end is the server's, too."""
        try:
            while not self._stopping:
                left = self._ends - time.monotonic()
                if left <= 0:
                    break
                ready = select.select(self._listeners + [self._wake], [], [], min(left, 60.0))[0]
                if self._wake in ready:
                    os.read(self._wake, 4096)
                if watched in self._reap():
                    break
                for listener in self._listeners:
                    if listener in ready and not self._stopping:
                        self._accept(listener)
        finally:
            for listener in self._listeners:
                listener.close()
            self._end_children()

    def _reap(self):
        ended = set()
        while True:
            try:
                pid = os.waitpid(-1, os.WNOHANG)[0]
            except ChildProcessError:
                break
            if pid == 0:
                break
            ended.add(pid)
        self._children -= ended
        return ended

    def _accept(self, listener):
        try:
            sock, _peer = listener.accept()
        except OSError:
            return  # the client gave up between its connect and this accept
        with sock:
            if len(self._children) >= MAX_PROCESSES:
                return
            try:
                pid = os.fork()
            except OSError:
                return  # no process left: the client sees its connection closed
            if pid == 0:
                self._child(sock)
            self._children.add(pid)

    def _child(self, sock):
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            # Otherwise a client would still be connected, and wait, after the server was killed.
            for listener in self._listeners:
                listener.close()
            for descriptor in self._private:
                os.close(descriptor)
            left = max(1.0, self._ends - time.monotonic())
            # Ends this process with the server's lifetime, even where the server itself was killed.
            signal.alarm(int(left) + 1)
            sock.setblocking(True)
            Connection(sock, self._token, left).serve()
        except (OSError, EOFError, MeasureError):
            pass  # a client that went away, was too slow, or sent something else: it hears nothing more
        finally:
            os._exit(0)

    def _end_children(self):
        deadline = time.monotonic() + 2.0
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in list(self._children):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    self._children.discard(pid)
            while self._children and time.monotonic() < deadline:
                if not self._reap():
                    time.sleep(0.01)
