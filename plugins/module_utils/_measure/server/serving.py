# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The serving side: a token before anything else, then one process per connection, and an end after a lifetime."""

import contextlib
import errno
import ipaddress
import os
import selectors
import signal
import socket
import time

from ..._host import daemon
from .. import processes, replies, transport, wire
from ..cpu import counters, meter
from ..errors import MeasureError
from ..fingerprint import fingerprint
from ..net import pingpong
from . import admission

FIRST_PORT, LAST_PORT = 3298, 3397
MAX_PROCESSES = 1100
ALL_IPV4, ALL = "0.0.0.0", "::"


def bind(family, where, kind=transport.TCP):
    """A socket that listens at a socket address."""
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


def _places(address, port):
    """[(family, socket address)] to bind for an address; MeasureError for a name that only this host reaches."""
    try:
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        reason = "the address %s to listen on cannot be resolved: %s" % (address, error.strerror)
        raise MeasureError(reason) from error
    for _family, _kind, _protocol, _name, where in found:
        is_loopback = ipaddress.ip_address(where[0].partition("%")[0]).is_loopback
        if is_loopback and address not in (where[0], "localhost"):
            raise MeasureError(
                "the name %s means %s on this host, which no other host reaches: set address (measure_address or "
                "measure_listen of this host) to a number" % (address, where[0])
            )
    return list(dict.fromkeys((place[0], place[4]) for place in found))


def _listen_at(address, port, kind):
    # Two sockets instead of one for both, so that an exchange over IPv4 is plain IPv4.
    both = [(socket.AF_INET, (ALL_IPV4, port)), (socket.AF_INET6, (ALL, port))]
    listeners = []
    with contextlib.ExitStack() as stack:
        for family, where in both if address == ALL else _places(address, port):
            try:
                listeners.append(stack.enter_context(bind(family, where, kind)))
            except OSError as error:
                # a host may have no IPv6
                if address != ALL or not listeners or error.errno == errno.EADDRINUSE:
                    raise
        stack.pop_all()
    return listeners


def listen(address, port, avoid=(), kind=transport.TCP):
    """Listening sockets and their port: this port, or for 0 the first free one from 3298 to 3397.

    address: a name or number of this host, 0.0.0.0 for all of IPv4, :: for all. kind: as in transport.py; sockets of
    SMC serve clients of TCP, too.
    MeasureError names the port that is in use or the address that cannot be used.
    """
    candidates = [port] if port else [number for number in range(FIRST_PORT, LAST_PORT + 1) if number not in avoid]
    for number in candidates:
        try:
            return _listen_at(address, number, kind), number
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise MeasureError(
                    "cannot listen on %s, which is not an address of this host: set address (measure_listen of this "
                    "host) to one that it has, or to :: for all" % address
                ) from error
            if error.errno != errno.EADDRINUSE:
                raise MeasureError("cannot listen on %s port %d: %s" % (address, number, error.strerror)) from error
    if port:
        raise MeasureError("port %d is in use on this host: name another one, or 0 for the next free one" % port)
    raise MeasureError("no port from %d to %d is free on this host" % (FIRST_PORT, LAST_PORT))


def number_of(address):
    """An address to listen on as a number; None for all of them."""
    return None if address in (ALL_IPV4, ALL) else _places(address, 0)[0][1][0]


def own_address(address):
    """The address at which this host reaches its own server that listens at address."""
    return "127.0.0.1" if address in (ALL_IPV4, ALL, "") else address


_SIZE = (1, pingpong.MAX_BYTES)
_WORK = {"bytes": _SIZE, "response_bytes": (None, _SIZE), "loops": (1, pingpong.MAX_LOOPS), "timeout": (1.0, 86400.0)}


class Connection:
    """One connection that has sent the token, in a process of its own. pending: the bytes that came after the token."""

    def __init__(self, sock, pending, lifetime):
        self._sock = sock
        self._lifetime = lifetime
        self._lines = wire.Lines(sock, pending)
        self._meter = None

    def serve(self):
        """Answer requests until the other end closes. Socket errors end the connection."""
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        while True:
            self._sock.settimeout(self._lifetime)
            request = self._lines.read_object()
            handler = getattr(self, "_answer_" + str(request.get("op")), None)
            try:
                if handler is None:
                    raise MeasureError("this server does not support a request of that name")
                handler(request)
            except MeasureError as error:
                self._lines.write_object({"ok": False, "error": str(error)})

    def _answer_hello(self, _request):
        here, there = self._sock.getsockname()[0], self._sock.getpeername()[0]
        self._lines.write_object({"ok": True, "fingerprint": fingerprint(here, there)})

    def _answer_sample(self, _request):
        # The meter ends with this process, which ends with the connection.
        self._meter = self._meter or meter.start()
        # The parent accepted this connection; all processes that serve descend from it.
        sample = counters.snapshot(meter=self._meter, pids=(os.getppid(),))
        self._lines.write_object({"ok": True, "sample": sample})

    def _answer_exchange(self, request):
        """response_bytes: the size of the response, by default that of the request."""
        work = self._accept_work(request)
        pingpong.echo(self._sock, work["bytes"], work["loops"], work["response_bytes"])

    def _answer_stream(self, request):
        """direction: in or out, from the client's side."""
        directions = {"in": pingpong.give_stream, "out": pingpong.take_stream}
        stream = directions.get(str(request.get("direction")))
        if stream is None:
            raise MeasureError("direction must be in or out")
        work = self._accept_work(request)
        stream(self._sock, work["bytes"], work["loops"])

    def _accept_work(self, request):
        """Check and accept the requested work: its fields."""
        work = replies.read(request, _WORK, "")
        pingpong.tune_socket(self._sock, work["timeout"])
        self._lines.write_object({"ok": True})
        return work

    def _answer_stop(self, _request):
        self._lines.write_object({"ok": True})
        os.kill(os.getppid(), signal.SIGTERM)


class Server:
    """Accepts connections until stop, SIGTERM, the end of a watched child, or the end of its lifetime."""

    def __init__(self, listeners, token, lifetime):
        self._listeners = listeners
        # poll, because forks would share an epoll object
        self._selector = selectors.PollSelector()
        self._strangers = admission.Admission(token, self._selector)
        self._ends = time.monotonic() + lifetime
        self._children = set()
        self._stopping = False
        signal.signal(signal.SIGTERM, self._on_term)

    def _on_term(self, *_details):
        self._stopping = True

    def run(self, watched=None):
        """Serve; return when it is time to end. watched: pid of a child with whose end the server ends."""
        try:
            with processes.woken() as wake:
                for readable in self._listeners + [wake]:
                    self._selector.register(readable, selectors.EVENT_READ)
                while not self._stopping and watched not in self._reap():
                    left = self._ends - time.monotonic()
                    if left <= 0:
                        break
                    expiry = self._strangers.expire()
                    ready = {key.fileobj for key, _events in self._selector.select(min(left, 60.0, expiry or 60.0))}
                    if wake in ready:
                        os.read(wake, 4096)
                    self._attend(ready)
        finally:
            for listener in self._listeners:
                listener.close()
            self._strangers.close()
            for pid in self._children:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _attend(self, ready):
        # Admit those who have sent the token before new strangers are accepted.
        for sock in ready:
            if sock in self._strangers and not self._stopping:
                self._admit(sock)
        for listener in self._listeners:
            if listener in ready and not self._stopping:
                self._strangers.accept(listener)

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

    def _admit(self, sock):
        pending = self._strangers.read(sock)
        if pending is None:
            return
        with sock:
            if len(self._children) >= MAX_PROCESSES:
                return
            with contextlib.suppress(OSError):  # no process left: the connection is closed
                self._children.add(daemon.fork(self._child, sock, pending))

    def _child(self, sock, pending):
        try:
            # Otherwise a client would stay connected and wait after the server was killed.
            for listener in self._listeners:
                listener.close()
            self._strangers.close()
            left = max(1.0, self._ends - time.monotonic())
            # Ends this process with the server's lifetime, even if the server itself was killed.
            signal.alarm(int(left) + 1)
            sock.setblocking(True)
            Connection(sock, pending, left).serve()
        except (OSError, EOFError, MeasureError):
            pass  # the client went away, was too slow, or sent something else
