# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control protocol between the two ends: JSON lines after a token line, each limited in size and time."""

import codecs
import json
import socket
import time
from collections import namedtuple

from . import replies, transport
from .errors import MeasureError, explain

# Sockets load the codec of host names only when they need it; a server outlives the files it was started from.
codecs.lookup("idna")

MAX_LINE = 64 * 1024
CONTROL_TIMEOUT = 10.0

# Address, port and token of a measurement server, and the kind of sockets to it (transport.py).
Target = namedtuple("Target", "address port token transport")
Target.__new__.__defaults__ = (transport.TCP,)


class Lines:
    """Reads and writes the lines of one connected socket.

    pending: bytes that were read already. peer: the other end, in sentences.
    """

    def __init__(self, sock, pending=b"", peer="the other end"):
        self.sock, self.peer = sock, peer
        self._pending = pending

    def read(self, limit=MAX_LINE):
        """The next line as text without its end; EOFError if closed, MeasureError if longer than limit bytes.

        The socket's time limit applies to the whole line.
        """
        seconds = self.sock.gettimeout()
        deadline = None if seconds is None else time.monotonic() + seconds
        try:
            while b"\n" not in self._pending:
                if len(self._pending) > limit:
                    raise MeasureError("%s sent a line of more than %d bytes" % (self.peer, limit))
                if deadline is not None:
                    self.sock.settimeout(max(0.001, deadline - time.monotonic()))
                data = self.sock.recv(4096)
                if not data:
                    raise EOFError("closed")
                self._pending += data
        finally:
            self.sock.settimeout(seconds)
        line, self._pending = self._pending.split(b"\n", 1)
        return line.decode("utf-8", "replace")

    def read_object(self):
        """The next line as a dict; MeasureError for anything else."""
        try:
            value = json.loads(self.read())
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise MeasureError("%s does not speak the control protocol of zpower.sap_tuning.niping" % self.peer)
        return value

    def write(self, text):
        self.sock.sendall(text.encode("utf-8") + b"\n")

    def write_object(self, value):
        """Send an object as one line of JSON."""
        self.write(json.dumps(value))


def open_lines(target, timeout=CONTROL_TIMEOUT):
    """Connect to a Target and send its token. Errors are those of socket."""
    sock = transport.connect(target.transport, target.address, target.port, timeout)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = Lines(sock, peer="the server at %s port %s" % (target.address, target.port))
        lines.write(target.token)
    except Exception:
        sock.close()
        raise
    return lines


def ask(lines, operation, **details):
    """Send one request and return the fields of its reply (replies.heard())."""
    lines.write_object(dict(details, op=operation))
    return replies.heard(lines.read_object(), operation, lines.peer)


class Channel:
    """The client's control connection: kept open during a round, opened once more if it was cut.

    lifetime: the seconds after which the server ends by itself, if known.
    """

    def __init__(self, target, lifetime=None):
        self.target = target
        self._lifetime = lifetime
        self._lines = None

    def request(self, operation, **details):
        """The answer to one request; MeasureError if the server cannot be reached, also with a new connection."""
        fresh = self._lines is None
        try:
            if fresh:
                self._lines = open_lines(self.target)
            return ask(self._lines, operation, **details)
        except (OSError, EOFError) as error:
            self.close()
            if fresh:
                raise MeasureError(self._sentence(error)) from error
        return self.request(operation, **details)

    def _sentence(self, error):
        text = "the server is gone: " + explain(error, self.target.address, self.target.port)
        if isinstance(error, (EOFError, ConnectionResetError, BrokenPipeError)):
            where = "the server at %s port %s" % (self.target.address, self.target.port)
            text = where + " closed the control connection: it has ended, or the session's token is not its own"
        if isinstance(error, (EOFError, ConnectionError)) and self._lifetime:
            return "%s; a server ends by itself %d s after its start (lifetime)" % (text, self._lifetime)
        return text

    def local_address(self):
        """After a request, the address this end uses towards the server, and the server's, as numbers."""
        return self._lines.sock.getsockname()[0], self._lines.sock.getpeername()[0]

    def close(self):
        if self._lines is not None:
            self._lines.sock.close()
            self._lines = None
