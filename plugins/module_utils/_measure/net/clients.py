# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client side of pingpong: one process per connection, all started together.

Processes instead of threads: a second Python thread would hold the interpreter lock during round trips.
"""

import os
import select
import signal
import socket
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


class Clients:
    """N connected client processes, which end with close() at the latest."""

    def __init__(self, job, connections):
        self._job = job
        self._deadline = time.monotonic() + job.timeout
        self._pids, self._reports = [], {}
        gate, self._gate = os.pipe()
        try:
            for _index in range(connections):
                ours, theirs = socket.socketpair()
                self._reports[ours] = wire.Lines(ours)
                with theirs:
                    self._pids.append(daemon.fork(self._live, gate, wire.Lines(theirs)))
        except OSError as error:
            self.close()
            raise MeasureError(
                "%d client processes could not be started: %s" % (connections, error.strerror)
            ) from error
        finally:
            os.close(gate)

    def _live(self, gate, lines):
        """In the new process: connect, report it, wait for the gate, work, report the end and the Summary."""
        job = self._job
        # Without its parent the process ends by itself.
        signal.alarm(int(job.timeout) + 60)
        for ours in self._reports:
            ours.close()
        os.close(self._gate)
        try:
            sock = open_exchange(job)
            lines.write_object({"link": transport.link_of(job.target.transport, sock)})
            os.read(gate, 1)
            if job.stream is None:
                samples = pingpong.exchange(sock, job.size, job.loops, job.response, job.rate)
                lines.write_object({"state": "done"})
                lines.write_object({"summary": pingpong.summarize(samples)})
            else:
                (pingpong.fetch_stream if job.stream == "in" else pingpong.send_stream)(sock, job.size, job.loops)
                lines.write_object({"state": "done"})
        except Exception as error:
            lines.write_object({"error": explain(error, job.target.address, job.target.port)})

    def _answers(self):
        """The next answer of every process; MeasureError at the first error or missing one, or at the deadline."""
        answers, waiting = [], set(self._reports)
        while waiting:
            left = self._deadline - time.monotonic()
            ready = select.select(waiting, [], [], left)[0] if left > 0 else []
            if not ready:
                raise MeasureError(
                    "no end of the run with %s port %s within the time limit of %g s"
                    % (self._job.target.address, self._job.target.port, self._job.timeout)
                )
            answers += [self._answer(report) for report in ready]
            waiting.difference_update(ready)
        return answers

    def _answer(self, report):
        try:
            answer = self._reports[report].read_object()
        except EOFError:
            raise MeasureError("a client process ended without a result") from None
        if "error" in answer:
            raise MeasureError(answer["error"])
        return answer

    def wait_ready(self):
        """Wait until every process is connected; return the transports that the connections got."""
        return transport.counted(answer["link"] for answer in self._answers())

    def exchange(self):
        """Start all connections together and wait until the last has ended; return the elapsed seconds."""
        begin = time.monotonic()
        os.close(self._gate)
        self._gate = None
        self._answers()
        return time.monotonic() - begin

    def summary(self):
        """The Summary over all connections, after exchange(); a stream has none."""
        # some may have come with the answer before: select() would not see them
        answers = [self._answer(report) for report in self._reports]
        return pingpong.merge([pingpong.Summary(*answer["summary"]) for answer in answers])

    def close(self):
        """End the processes and wait for them."""
        if self._gate is not None:
            os.close(self._gate)
            self._gate = None
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for report in self._reports:
            report.close()
