# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for SAP's enqueue servers, for tests on machines without an SAP kernel. It is not SAP's program.

    enqueue_server.py <port>      serve in the foreground, on every address

It decides about locks as SAP documents it (lock_table.py), for clients over TCP: the stand-ins enqt and enq_admin.
Locks stay until they are released, whoever made them, as in an SAP system. The protocol is JSON lines of its own.
ENQ_STANDIN_MAXIMUM is the number of locks that it has room for.
"""

import collections
import json
import os
import socketserver
import sys
import threading
import time

import lock_table

MAXIMUM = 250000
FIELDS = ("type", "owner1", "owner2", "name", "argument")
Lock = collections.namedtuple("Lock", FIELDS)


class Enqueue:
    """The lock table, and what was ever counted."""

    def __init__(self, maximum):
        self.table = lock_table.Table(maximum)
        self.maximum = maximum
        self.peak = 0
        self.counted = collections.Counter()
        self.lock_time = 0.0
        self.tenths = collections.Counter()  # {tenths of a second: operations}
        self.started = time.monotonic()
        self.guard = threading.Lock()

    def set(self, lock):
        """Set one lock; None, or why not."""
        begin = time.monotonic()
        self._count("enqueue_requests")
        outcome = self.table.lock(lock.type, (lock.owner1, lock.owner2), (lock.name, lock.argument))
        if outcome == "held":
            self._count("enqueue_rejects")
            return "held by another"
        if outcome == "full":
            self._count("enqueue_errors")
            return "lock table overflow"
        self.peak = max(self.peak, self.table.count)
        self.lock_time += time.monotonic() - begin
        return None

    def release(self, lock):
        """Release a lock once, if its owner holds it in this mode."""
        self._count("dequeue_requests")
        owner, name = (lock.owner1, lock.owner2), (lock.name, lock.argument)
        held = self.table.held(owner, name)
        if held and held[0] == lock.type:
            self.table.unlock(owner, name)

    def _count(self, name):
        self.counted[name] += 1
        self.tenths[int(time.monotonic() * 10)] += 1

    def per_minute(self, seconds):
        """Operations a minute over the last seconds, or since the start."""
        now = time.monotonic()
        span = min(float(seconds), max(0.1, now - self.started))
        return int(round(sum(self.tenths[int(now * 10) - back] for back in range(int(span * 10))) * 60.0 / span))

    def statistics(self):
        values = {"locks_now": self.table.count, "locks_high": self.peak, "locks_max": self.maximum}
        values.update((name, self.counted[name]) for name in ("enqueue_requests", "enqueue_rejects", "enqueue_errors"))
        values.update(dequeue_requests=self.counted["dequeue_requests"], dequeue_errors=0)
        values.update(lock_time="%.6f" % self.lock_time, lock_wait_time="0.000000", server_time="%.6f" % self.lock_time)
        return values

    def rates(self):
        return [self.per_minute(seconds) for seconds in (1, 10, 60, 300)]


class Client(socketserver.StreamRequestHandler):
    def handle(self):
        enqueue = self.server.enqueue
        for line in self.rfile:
            asked = json.loads(line.decode())
            with enqueue.guard:
                answer = getattr(self, "do_" + asked["op"])(enqueue, asked)
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    def do_set(self, enqueue, asked):
        """count locks of one pattern, in which %u is a running number; all or as many as fit."""
        done = 0
        for lock in self._locks(asked):
            problem = enqueue.set(lock)
            if problem:
                return {"done": done, "problem": problem}
            done += 1
        return {"done": done, "problem": None}

    def do_release(self, enqueue, asked):
        for lock in self._locks(asked):
            enqueue.release(lock)
        return {}

    @staticmethod
    def _locks(asked):
        for number in range(asked.get("count", 1)):
            yield Lock(*(asked[field].replace("%u", str(number)) for field in FIELDS))

    def do_list(self, enqueue, _asked):
        locks = [[mode, *owner, *name, count] for mode, owner, name, count in enqueue.table.entries()]
        return {"locks": locks, "peak": enqueue.peak, "maximum": enqueue.maximum}

    def do_count(self, enqueue, _asked):
        return {"locks": enqueue.table.count}

    def do_statistics(self, enqueue, _asked):
        return {"values": enqueue.statistics(), "rates": enqueue.rates()}


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port):
        super().__init__(("0.0.0.0", port), Client)
        self.enqueue = Enqueue(int(os.environ.get("ENQ_STANDIN_MAXIMUM", MAXIMUM)))


def start(port):
    """Serve in the background of this process."""
    threading.Thread(target=Server(port).serve_forever, daemon=True).start()


if __name__ == "__main__":
    Server(int(sys.argv[1])).serve_forever()
