# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections that have not sent the session's token yet: limited in number, time and bytes.

They get no process of their own. If there are too many, the oldest one of the address that has most of them is closed.
So strangers push out each other, but hardly a client, which sends its token at once.
"""

import hmac
import selectors
import time
from collections import Counter

# One client opens up to 250 connections at once, and a control connection.
MOST_OF_ADDRESS = 300
# Below the default limit of 1024 descriptors per process.
MOST = 600
TOKEN_TIMEOUT = 5.0
LONGEST_TOKEN = 1024


class _Stranger:
    def __init__(self, sock, address):
        self.sock, self.address = sock, address
        self.until = time.monotonic() + TOKEN_TIMEOUT
        self.sent = b""


class Admission:
    """The strangers of a server. Their sockets are non-blocking and registered with its selector."""

    def __init__(self, token, selector):
        self._token = token.encode("utf-8")
        self._selector = selector
        self._strangers = {}  # by socket, the oldest first

    def accept(self, listener):
        """Accept the next connection of a listener, if it still exists."""
        try:
            sock, peer = listener.accept()
        except OSError:
            return  # the client gave up in between
        stranger = _Stranger(sock, peer[0])
        sock.setblocking(False)
        self._strangers[sock] = stranger
        self._selector.register(sock, selectors.EVENT_READ)
        numbers = Counter(one.address for one in self._strangers.values())
        if numbers[stranger.address] > MOST_OF_ADDRESS:
            self._drop_oldest(stranger.address)
        elif len(self._strangers) > MOST:
            self._drop_oldest(max(numbers, key=numbers.get))

    def _drop_oldest(self, address):
        self.drop(next(sock for sock, one in self._strangers.items() if one.address == address))

    def drop(self, sock):
        """Close the connection of a stranger."""
        self._release(sock)
        sock.close()

    def _release(self, sock):
        del self._strangers[sock]
        self._selector.unregister(sock)

    def __contains__(self, sock):
        return sock in self._strangers

    def read(self, sock):
        """The bytes that came after the right token, with which a connection is trusted; else None.

        A connection with another token, or without one in LONGEST_TOKEN bytes, is closed.
        """
        stranger = self._strangers[sock]
        try:
            data = sock.recv(4096)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        stranger.sent += data
        token, newline, rest = stranger.sent.partition(b"\n")
        if newline and hmac.compare_digest(token, self._token):
            self._release(sock)
            return rest
        if newline or not data or len(stranger.sent) > LONGEST_TOKEN:
            self.drop(sock)
        return None

    def expire(self):
        """Close the connections whose time for the token is over; return the seconds until the next one, or None."""
        now = time.monotonic()
        for sock in [sock for sock, one in self._strangers.items() if one.until <= now]:
            self.drop(sock)
        return next((one.until - now for one in self._strangers.values()), None)

    def close(self):
        """Only close the descriptors of all strangers in this process, which may be a fork."""
        for sock in self._strangers:
            sock.close()
