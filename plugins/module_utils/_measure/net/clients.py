# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client side of pingpong: one process per connection, all started together.

Processes instead of threads: a second Python thread would hold the interpreter lock during round trips.
"""

import json
import os
import select
import signal
import time
from collections import namedtuple

from ..._host import daemon
from .. import transport, wire
from ..errors import MeasureError, explain
from . import pingpong

CONNECT_TIMEOUT = 10.0

# What one client process does with a wire.Target within timeout seconds: loops round trips of size bytes there and
# response bytes back (None: size), rate of them a second (0: one after the other), or with stream "in" or "out" loops
# messages of size bytes in one direction.
Job = namedtuple("Job", "target size loops timeout response stream rate")
Job.__new__.__defaults__ = (None, None, 0)


def open_exchange(job):
    """Connect, tell the server the work, and return the socket, ready for it."""
    lines = wire.open_lines(job.target, min(job.timeout, CONNECT_TIMEOUT))
    what = {"bytes": job.size, "loops": job.loops, "timeout": job.timeout}
    if job.stream is not None:
        what["direction"] = job.stream
    elif job.response is not None:
        what["response_bytes"] = job.response
    try:
        wire.ask(lines, "exchange" if job.stream is None else "stream", **what)
        pingpong.tune_socket(lines.sock, job.timeout)
    except Exception:
        lines.sock.close()
        raise
    return lines.sock


def _tell(descriptor, value):
    os.write(descriptor, json.dumps(value).encode("utf-8") + b"\n")


def _measure(job, sock):
    """The work of one connection: the round trips, or None for a stream."""
    if job.stream is None:
        return pingpong.exchange(sock, job.size, job.loops, job.response, job.rate)
    (pingpong.fetch_stream if job.stream == "in" else pingpong.send_stream)(sock, job.size, job.loops)
    return None


def _work(job, gate, report):
    """The life of one client process: connect, report it, wait for the gate, work, report the end and the Summary."""
    try:
        sock = open_exchange(job)
        _tell(report, {"state": "ready", "link": transport.link_of(job.target.transport, sock)})
        os.read(gate, 1)
        samples = _measure(job, sock)
        _tell(report, {"state": "done"})
        if samples is not None:
            _tell(report, {"summary": pingpong.summarize(samples)})
    except Exception as error:
        _tell(report, {"error": explain(error, job.target.address, job.target.port)})


class Clients:
    """N connected client processes. Use as a context: the processes never outlive it."""

    def __init__(self, job, connections):
        self._job = job
        self._deadline = time.monotonic() + job.timeout
        self._pids, self._reports, self._pending = [], [], {}
        gate, self._gate = os.pipe()
        try:
            for _index in range(connections):
                self._spawn(gate)
        except OSError as error:
            self.close()
            raise MeasureError(
                "%d client processes could not be started: %s" % (connections, error.strerror)
            ) from error
        finally:
            os.close(gate)

    def _spawn(self, gate):
        report, write_end = os.pipe()
        self._reports.append(report)
        self._pending[report] = b""
        try:
            self._pids.append(daemon.fork(self._live, gate, write_end))
        finally:
            os.close(write_end)

    def _live(self, gate, report):
        """In the new process."""
        # Without its parent the process ends by itself.
        signal.alarm(int(self._job.timeout) + 60)
        for descriptor in self._reports + [self._gate]:
            os.close(descriptor)
        _work(self._job, gate, report)

    def _lines(self):
        """The next line of every process; MeasureError at the first error or missing line, or at the deadline."""
        answers = {}
        while True:
            for report in self._reports:
                if report not in answers and b"\n" in self._pending[report]:
                    line, self._pending[report] = self._pending[report].split(b"\n", 1)
                    answers[report] = json.loads(line.decode("utf-8"))
                    if "error" in answers[report]:
                        raise MeasureError(answers[report]["error"])
            waiting = [report for report in self._reports if report not in answers]
            if not waiting:
                return list(answers.values())
            self._read(waiting)

    def _read(self, waiting):
        left = self._deadline - time.monotonic()
        ready = select.select(waiting, [], [], left)[0] if left > 0 else []
        if not ready:
            raise MeasureError(
                "no end of the run with %s port %s within the time limit of %g s"
                % (self._job.target.address, self._job.target.port, self._job.timeout)
            )
        for report in ready:
            data = os.read(report, 65536)
            if not data:
                raise MeasureError("a client process ended without a result")
            self._pending[report] += data

    def wait_ready(self):
        """Wait until every process is connected; return the transports that the connections got."""
        return transport.counted(answer["link"] for answer in self._lines())

    def exchange(self):
        """Start all connections together and wait until the last has ended; return the elapsed seconds."""
        begin = time.monotonic()
        os.close(self._gate)
        self._gate = None
        self._lines()
        return time.monotonic() - begin

    def summary(self):
        """The Summary over all connections, after exchange(); a stream has none."""
        return pingpong.merge([pingpong.Summary(*answer["summary"]) for answer in self._lines()])

    def close(self):
        """End the processes and wait for them."""
        if self._gate is not None:
            os.close(self._gate)
            self._gate = None
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for report in self._reports:
            os.close(report)
        self._pids, self._reports = [], []

    def __enter__(self):
        return self

    def __exit__(self, *_details):
        self.close()
