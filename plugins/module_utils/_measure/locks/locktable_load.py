# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clients of the embedded lock table: what they lock, and what it took.

sd_benchmark: each user goes through orders as a dialog would, step by step with the other users of its process, so that
locks of several users stand at the same time and really get in each other's way.
create_locks: each user sets its locks; they are given back after the clock has stopped.
verify_entries: locks that stand are asked for, one after another.
"""

import json
import os
import socket
import time
from collections import namedtuple

from .. import wire
from ..errors import MeasureError, explain
from ..net import clients
from ..transport import TCP, keep_time, link_of
from ..workloads.workload import Outcome
from . import enqueue, locktable

# What the client processes do: asked is an enqueue.Asked.
Job = namedtuple("Job", "target timeout asked")

_CUSTOMERS, _MATERIALS, _RANGES = 50, 20, 4
# Looking at the clock after so many entries keeps it out of the figure.
_ENTRIES_AT_ONCE = 50


class Session:
    """One connection to a lock table."""

    def __init__(self, target, timeout):
        lines = wire.open_lines(target, min(timeout, clients.CONNECT_TIMEOUT))
        self.sock = lines.sock
        try:
            if lines.read(64) != "0":
                raise MeasureError("what answers at %s port %d is no lock table" % (target.address, target.port))
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            keep_time(self.sock, timeout)
        except Exception:
            self.sock.close()
            raise

    def ask(self, request):
        """The answer to one request, without its line end; bytes as they are sent, because this is measured."""
        self.sock.send(request)
        answer = self.sock.recv(256)
        while not answer.endswith(b"\n"):
            more = self.sock.recv(256)
            if not more:
                raise EOFError("closed")
            answer += more
        return answer[:-1]

    def counts(self):
        """(locks of all clients, locks of this connection)."""
        words = self.ask(b"N\n").split()
        return int(words[1]), int(words[2])

    def close(self):
        self.sock.close()


class _Users:
    """The users of one process: what they do is counted here."""

    def __init__(self, session, numbers, asked):
        self._ask = session.ask
        self._session = session
        self._asked = asked
        # A name of its own for each run: two measurements at once never share an owner.
        self._owners = [b"%d.%d" % (os.getpid(), number) for number in numbers]
        self.operations = self.rejects = 0

    def names(self):
        """[(owner, name)] of the locks of create_locks and verify_entries."""
        return [(who, b"%s.%d" % (who, lock)) for who in self._owners for lock in range(self._asked.locks_per_user)]

    def create(self):
        for owner, name in self.names():
            self._expect(self._ask(b"L E %s %s\n" % (owner, name)), b"0")
            self.operations += 1

    def verify(self, seconds):
        """Ask for what stands until the time is over, at least once for everything."""
        requests = [(b"V %s %s\n" % pair) for pair in self.names()]
        ends = time.monotonic() + seconds
        while True:
            for begin in range(0, len(requests), _ENTRIES_AT_ONCE):
                some = requests[begin : begin + _ENTRIES_AT_ONCE]
                for request in some:
                    self._expect(self._ask(request), b"0 E 1")
                self.operations += len(some)
                if self.operations >= len(requests) and time.monotonic() >= ends:
                    return

    def destroy(self):
        """Give back what create() set."""
        for owner, name in self.names():
            self._expect(self._ask(b"U %s %s\n" % (owner, name)), b"0")

    def check_released(self):
        """MeasureError where something stays; the end of the connection releases that, too."""
        left = self._session.counts()[1]
        if left:
            raise MeasureError("%d locks of this run were not released" % left)

    def work(self, seconds):
        """Orders until the time is over."""
        ends, order = time.monotonic() + seconds, 0
        while time.monotonic() < ends:
            self._orders(order)
            order += 1

    def _orders(self, number):
        """One order of every user, step by step."""
        held = [[] for _owner in self._owners]
        for step in range(6):
            for user, owner in enumerate(self._owners):
                mode, name = self._step(step, user, owner, number)
                self._try(mode, owner, name, held[user])
        for owner, names in zip(self._owners, held):
            self._expect(self._ask(b"V %s order.%s.%d\n" % (owner, owner, number)), b"0 E 2")
            for name in reversed(names):
                # what a material lock was is gone where another user was the first to change it
                if self._ask(b"U %s %s\n" % (owner, name)) not in (b"0", b"4"):
                    raise MeasureError("the lock table did not understand a request: its version is another one")
            self.operations += 1 + len(names)

    @staticmethod
    def _step(step, user, owner, number):
        """(mode, name): the customer is read, the order is written twice, its number taken, a material changed."""
        material = b"material.%d" % ((user // 2 + number) % _MATERIALS)
        return (
            (b"S", b"customer.%d" % ((user + number) % _CUSTOMERS)),
            (b"E", b"order.%s.%d" % (owner, number)),
            (b"E", b"order.%s.%d" % (owner, number)),
            (b"X", b"range.%d" % ((user + number) % _RANGES)),
            (b"O", material),
            (b"E", material),
        )[step]

    def _try(self, mode, owner, name, held):
        answer = self._ask(b"L %s %s %s\n" % (mode, owner, name))
        self.operations += 1
        if answer == b"0":
            held.append(name)
        elif answer == b"1":
            self.rejects += 1
        else:
            self._expect(answer, b"0")

    @staticmethod
    def _expect(answer, wanted):
        if answer == b"2":
            raise MeasureError("the lock table is full (%d locks): lower users or locks_per_user" % locktable.MAX_LOCKS)
        if answer != wanted:
            told = answer.decode("ascii", "replace")
            raise MeasureError("the lock table answered %s instead of %s" % (told, wanted.decode("ascii")))


def _tell(descriptor, value):
    os.write(descriptor, json.dumps(value).encode("ascii") + b"\n")


class LockClients(clients.Clients):
    """The processes of one run, each with its share of the users."""

    def _work(self, gate, report):
        job, number = self._job, len(self._pids)
        try:
            session = Session(job.target, job.timeout)
            users = _Users(session, range(number, job.asked.users, job.asked.processes), job.asked)
            if job.asked.load == "verify_entries":
                users.create()
                users.operations = 0
            _tell(report, {"state": "ready", "link": link_of(TCP, session.sock)})
            os.read(gate, 1)
            begin = time.perf_counter()
            self._measured(users, job.asked)
            seconds = time.perf_counter() - begin
            _tell(report, {"state": "done"})
            if job.asked.load != "sd_benchmark":
                users.destroy()
            users.check_released()
            result = {"operations": users.operations, "rejects": users.rejects, "seconds": seconds}
            _tell(report, {"result": result})
        except Exception as error:
            _tell(report, {"error": explain(error, job.target.address, job.target.port)})

    @staticmethod
    def _measured(users, asked):
        if asked.load == "create_locks":
            users.create()
        elif asked.load == "verify_entries":
            users.verify(asked.seconds)
        else:
            users.work(asked.seconds)

    def results(self):
        """What each process counted, after exchange(); all locks are given back then."""
        return [answer["result"] for answer in self._lines()]


class LockTable(enqueue.LockWorkload):
    """The embedded lock table at a wire.Target."""

    tool, version = locktable.TOOL, locktable.VERSION
    transport = TCP
    METRICS = {
        "sd_benchmark": enqueue.rate("ops_per_min"),
        "create_locks": enqueue.time_of("lock_us"),
        "verify_entries": enqueue.time_of("verify_us"),
    }

    def __init__(self, asked, target):
        super().__init__(asked)
        self._target = target
        if asked.processes > asked.users:
            raise MeasureError(
                "processes is %d and users %d; every process needs a user" % (asked.processes, asked.users)
            )
        if asked.load != "sd_benchmark" and asked.users * asked.locks_per_user > locktable.MAX_LOCKS:
            most = locktable.MAX_LOCKS
            raise MeasureError("users x locks_per_user is more than the %d locks that locktable holds" % most)

    @property
    def argv(self):
        """The workload in the shape of a command line; the token is no part of it."""
        asked = self.asked
        where = [self.tool, "--connect", self._target.address, "--port", str(self._target.port), "--load", asked.load]
        what = ["--users", str(asked.users), "--locks-per-user", str(asked.locks_per_user)]
        return where + what + ["--processes", str(asked.processes)]

    def prepare(self, setting, ends):
        try:
            session = Session(self._target, setting.timeout)
            try:
                self.refuse_foreign(session.counts()[0])
            finally:
                session.close()
        except (OSError, EOFError) as error:
            raise MeasureError(explain(error, self._target.address, self._target.port)) from error

    def measure(self, setting, window):
        with LockClients(Job(self._target, setting.timeout, self.asked), self.asked.processes) as group:
            group.wait_ready()
            with window:
                elapsed = group.exchange()
            results = group.results()
        metrics = figures(self.asked.load, results, elapsed)
        return Outcome(metrics, describe(metrics), elapsed, None)


def figures(load, results, elapsed):
    """A run's metrics from what its processes counted."""
    units = sum(result["operations"] for result in results)
    metrics = {"units": units, "ops_per_min": round(units * 60.0 / elapsed, 1)}
    mean = {"sd_benchmark": "op_us", "create_locks": "lock_us", "verify_entries": "verify_us"}[load]
    metrics[mean] = round(sum(result["seconds"] for result in results) * 1e6 / units, 4)
    if load == "sd_benchmark":
        metrics["rejects"] = sum(result["rejects"] for result in results)
    return metrics


def describe(metrics):
    return "".join("%s %s\n" % (name, metrics[name]) for name in sorted(metrics))
