# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""N bytes there and back, L times: the workload of niping, and of pingpong of this collection."""

import contextlib

from .. import transport
from ..workloads import programs, workload
from ..workloads.workload import Outcome, Workload, calibrate
from . import niping, pingpong
from .clients import Clients, Job


def workload_name(tool, size, connections, rate=0):
    """pingpong-1000B, pingpong-1000B-x8 for 8 parallel connections, pingpong-1000B-rate500 for an open loop."""
    return workload.workload_name(tool, "%dB%s" % (size, "-rate%d" % rate if rate else ""), connections)


class Pingpong(Workload):
    """The ping-pong of this collection against a wire.Target. response, stream: as in clients.Job.

    rate: round trips a second on each connection, 0 for one after the other.
    """

    tool, version, family = pingpong.TOOL, pingpong.VERSION, "niping"
    response = stream = None

    def __init__(self, target, size, connections=1, rate=0):
        self.bytes, self.connections, self.rate = size, connections, rate
        self.name = workload_name(self.tool, size, connections, rate)
        self.params, self.waits_awake = ({"rate_per_s": rate} if rate else {}), bool(rate)
        self.target, self.transport = target, target.transport

    @property
    def argv(self):
        """The workload in the form of a command line, without the token."""
        argv = [self.tool, "--connect", self.target.address, "--port", str(self.target.port)]
        argv += [] if self.transport == transport.TCP else ["--transport", self.transport]
        argv += ["--bytes", str(self.bytes)]
        argv += ["--stream", self.stream] if self.stream else []
        argv += ["--response-bytes", str(self.response)] if self.response else []
        argv += ["--rate", str(self.rate)] if self.rate else []
        return argv + ["--loops", str(self.loops), "--connections", str(self.connections)]

    def prepare(self, setting):
        if self.rate:
            self.loops = setting.loops or max(1, int(self.rate * setting.run_seconds))
        else:
            calibrate(self, setting)

    def run(self, setting, window):
        job = Job(self.target, self.bytes, self.loops, setting.timeout, self.response, self.stream, self.rate)
        with contextlib.closing(Clients(job, self.connections)) as clients:
            links = clients.wait_ready()
            with window:
                elapsed = clients.exchange()
            summary = None if self.stream else clients.summary()
        return Outcome(self.figures(summary, elapsed), "", elapsed, links, summary and summary.histogram)

    def figures(self, summary, elapsed):
        """The metrics of a run that took elapsed seconds; a stream has no Summary."""
        return pingpong.metrics(summary, self.bytes)


class Niping(Workload):
    """SAP's niping against a server of its own; several connections are several clients started together."""

    tool, family, transport = niping.TOOL, "niping", transport.TCP

    def __init__(self, binary, version, server, size, connections=1):
        self.bytes, self.connections = size, connections
        self.name = workload_name(self.tool, size, connections)
        self.version = version
        self._binary, self._server = binary, server

    @property
    def argv(self):
        return niping.client_argv(self._binary, self._server[0], self._server[1], self.bytes, self.loops)

    def prepare(self, setting):
        calibrate(self, setting)

    def run(self, setting, window):
        """Over several connections avg and av2 are means, tr and tr2 follow from them."""
        ran = programs.run_together([self.argv] * self.connections, setting.timeout, window)
        figures = _together([niping.parse(text, self.bytes) for text in ran.texts], self.bytes, self.loops)
        return Outcome(figures, "\n".join(ran.texts), ran.elapsed, None)


def _together(outputs, size, loops):
    """The metrics of clients that ran together; of one client alone, tr and tr2 are as printed."""
    count = float(len(outputs))
    times = (
        sum(output.avg_us for output in outputs) / count,
        max(output.max_us for output in outputs),
        min(output.min_us for output in outputs),
        sum(output.av2_us for output in outputs) / count,
    )
    metrics = pingpong.figures(times, loops * len(outputs), size)
    if len(outputs) == 1:
        metrics.update(tr_kib_per_s=outputs[0].tr_kib_per_s, tr2_kib_per_s=outputs[0].tr2_kib_per_s)
    return metrics
