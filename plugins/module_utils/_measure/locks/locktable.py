# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The embedded lock table: what an enqueue server decides, and a server that decides it for clients over TCP.

One process holds the table and answers one line a request, as an enqueue server does; clients are processes of their
own. It speaks no protocol of SAP's, and its figures are compared with no other tool's.

Modes: E exclusive, which its owner may ask for again; X exclusive, once; S shared; O optimistic, which turns into E for
the first of its owners who asks, and is then lost to the others.

Requests and answers, as lines of words:
    L mode owner name   ->  0 granted | 1 held by another | 2 the table is full
    U owner name        ->  0 released once | 4 not held
    V owner name        ->  0 mode count | 4 not held
    N                   ->  0 locks of all clients, locks of this client
Anything else is answered with 9. What a client holds is released when its connection ends, however it ends.
"""

import selectors
import socket
import time

from ..server import admission

TOOL = "locktable"
VERSION = "1"
MODES = ("X", "E", "S", "O")
# A lock takes about 600 bytes of the memory of the process that serves.
MAX_LOCKS = 1000 * 1000
MAX_CLIENTS = 256
_MAX_LINE = 512
_GRANTED, _HELD, _FULL, _NOT_HELD, _NOT_UNDERSTOOD = b"0\n", b"1\n", b"2\n", b"4\n", b"9\n"


class Table:
    """Locks by name and owner. Names and owners are bytes or text, whatever the caller has."""

    def __init__(self, most=MAX_LOCKS):
        self._most = most
        self._holders = {}  # {name: {owner: [mode, count]}}
        self.count = 0

    def lock(self, mode, owner, name):
        """Ask for a lock: "granted", "held" by another (or by the same one, where that does not add up), or "full"."""
        holders = self._holders.get(name)
        if holders is None:
            if self.count >= self._most:
                return "full"
            self._holders[name] = {owner: [mode, 1]}
            self.count += 1
            return "granted"
        if mode == "X" or any(held[0] == "X" for held in holders.values()):
            return "held"
        others = [held[0] for who, held in holders.items() if who != owner]
        mine = holders.get(owner)
        if "E" in others:
            return "held"
        if mode == "E" and others and (mine is None or mine[0] != "O" or set(others) != {"O"}):
            return "held"
        return self._add(holders, mine, mode, owner)

    def _add(self, holders, mine, mode, owner):
        if mode == "E" and mine is not None and mine[0] == "O":
            # the first who changes what several have optimistically: the others have to read it again
            self.count -= len(holders) - 1
            holders.clear()
            holders[owner] = ["E", mine[1]]
            return "granted"
        if mine is None:
            if self.count >= self._most:
                return "full"
            holders[owner] = [mode, 1]
            self.count += 1
            return "granted"
        mine[0] = "E" if "E" in (mine[0], mode) else mine[0]
        mine[1] += 1
        return "granted"

    def unlock(self, owner, name):
        """Give a lock back once; False if the owner does not hold it."""
        holders = self._holders.get(name)
        mine = holders.get(owner) if holders else None
        if mine is None:
            return False
        mine[1] -= 1
        if mine[1] == 0:
            self.drop(owner, name)
        return True

    def drop(self, owner, name):
        """Take a lock away, however often it was asked for."""
        holders = self._holders.get(name)
        if holders and owner in holders:
            del holders[owner]
            self.count -= 1
            if not holders:
                del self._holders[name]

    def held(self, owner, name):
        """(mode, count) of what an owner holds, or None."""
        mine = self._holders.get(name, {}).get(owner)
        return tuple(mine) if mine else None


class _Client:
    """One connection that has shown the token: what it has sent so far, and what it holds."""

    def __init__(self, sock):
        self.sock = sock
        self.pending = b""
        self.holds = set()


class Server:
    """The one process with the table."""

    def __init__(self, listeners, token, most=MAX_LOCKS):
        self.table = Table(most)
        self._clients = {}
        self._listeners = set(listeners)
        self._selector = selectors.DefaultSelector()
        self._strangers = admission.Admission(token, self._selector)
        for listener in listeners:
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ)

    def run(self, lifetime):
        """Answer until the lifetime is over."""
        ends = time.monotonic() + lifetime
        while time.monotonic() < ends:
            for key, _events in self._selector.select(1.0):
                client = self._clients.get(key.fileobj)
                if client is not None:
                    if not self._serve(client):
                        self._leave(client)
                elif key.fileobj in self._strangers:
                    self._admit(key.fileobj)
                elif key.fileobj in self._listeners:
                    self._strangers.accept(key.fileobj)
            self._strangers.expire()

    def _admit(self, sock):
        """Take in a stranger that has shown the token."""
        pending = self._strangers.read(sock)
        if pending is None:
            return
        if len(self._clients) >= MAX_CLIENTS:
            sock.close()
            return
        self._clients[sock] = client = _Client(sock)
        self._selector.register(sock, selectors.EVENT_READ)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.send(_GRANTED)
            well = self._take(client, pending)
        except OSError:
            well = False
        if not well:
            self._leave(client)

    def _serve(self, client):
        """Answer what a client has sent; False if it goes, or has to go."""
        try:
            data = client.sock.recv(65536)
        except OSError:
            return False
        return bool(data) and self._take(client, data)

    def _take(self, client, data):
        lines = (client.pending + data).split(b"\n")
        client.pending = lines.pop()
        # It waits for each answer, so that they always find room; one that does not is none of ours.
        message = b"".join([self._answer(client, line) for line in lines])
        try:
            return len(client.pending) <= _MAX_LINE and client.sock.send(message) == len(message)
        except OSError:
            return False

    def _answer(self, client, line):
        words = line.split()
        if len(words) == 4 and words[0] == b"L":
            return self._lock(client, *words[1:])
        if len(words) == 3 and words[0] == b"U":
            return self._unlock(client, words[1], words[2])
        if len(words) == 3 and words[0] == b"V":
            found = self.table.held(words[1], words[2])
            return b"0 %s %d\n" % (found[0].encode("ascii"), found[1]) if found else _NOT_HELD
        if words == [b"N"]:
            return b"0 %d %d\n" % (self.table.count, len(client.holds))
        return _NOT_UNDERSTOOD

    def _lock(self, client, mode, owner, name):
        mode = mode.decode("ascii", "replace")
        if mode not in MODES:
            return _NOT_UNDERSTOOD
        outcome = self.table.lock(mode, owner, name)
        if outcome == "granted":
            client.holds.add((owner, name))
            return _GRANTED
        return _HELD if outcome == "held" else _FULL

    def _unlock(self, client, owner, name):
        if (owner, name) not in client.holds:
            return _NOT_HELD
        released = self.table.unlock(owner, name)
        # also where another owner's change has taken an optimistic lock away
        if self.table.held(owner, name) is None:
            client.holds.discard((owner, name))
        return _GRANTED if released else _NOT_HELD

    def _leave(self, client):
        """A client has gone: what it held is free."""
        self._selector.unregister(client.sock)
        client.sock.close()
        del self._clients[client.sock]
        for owner, name in client.holds:
            self.table.drop(owner, name)


def serve(listeners, token, lifetime):
    """The engine that agent.start() runs in a process of its own."""
    Server(listeners, token).run(lifetime)
