# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""N bytes there and back, L times: the workload of niping and of pingpong."""

from .. import transport
from ..workloads import programs
from ..workloads.workload import Outcome, Workload, calibrate
from . import niping, pingpong
from .clients import Clients, Job


def workload_name(tool, size, connections):
    """pingpong-1000B, or pingpong-1000B-x8 for 8 parallel connections."""
    return "%s-%dB%s" % (tool, size, "-x%d" % connections if connections > 1 else "")


class _Exchange(Workload):
    family = "niping"

    def __init__(self, size, connections):
        self.bytes, self.connections = size, connections
        self.name = workload_name(self.tool, size, connections)

    def prepare(self, setting, ends):
        calibrate(self, setting, ends)


class Pingpong(_Exchange):
    """The embedded engine against a wire.Target."""

    tool, version = pingpong.TOOL, pingpong.VERSION

    def __init__(self, target, size, connections=1):
        super().__init__(size, connections)
        self.target = target
        self.transport = target.transport

    @property
    def argv(self):
        """The workload in the shape of a command line; the token is no part of it."""
        where = [self.tool, "--connect", self.target.address, "--port", str(self.target.port)]
        where += [] if self.transport == transport.TCP else ["--transport", self.transport]
        what = ["--bytes", str(self.bytes), "--loops", str(self.loops), "--connections", str(self.connections)]
        return where + what

    def run(self, setting, window):
        with Clients(Job(self.target, self.bytes, self.loops, setting.timeout), self.connections) as clients:
            links = clients.wait_ready()
            with window:
                elapsed = clients.exchange()
            figures = pingpong.metrics(clients.summary(), self.bytes)
        return Outcome(figures, pingpong.describe(figures, self.bytes, self.connections), elapsed, links)


class Niping(_Exchange):
    """SAP's niping against a server of its own; several connections are several clients started together."""

    tool, transport = niping.TOOL, transport.TCP

    def __init__(self, binary, version, server, size, connections=1):
        super().__init__(size, connections)
        self.version = version
        self._binary, self._server = binary, server

    @property
    def argv(self):
        return niping.client_argv(self._binary, self._server[0], self._server[1], self.bytes, self.loops)

    def run(self, setting, window):
        """Over several connections avg and av2 are means, tr and tr2 follow from them."""
        ran = programs.run_together([self.argv] * self.connections, setting.timeout, window)
        figures = _together([niping.parse(text, self.bytes) for text in ran.texts], self.bytes, self.loops)
        return Outcome(figures, "\n".join(ran.texts), ran.elapsed, None)


def _together(outputs, size, loops):
    """The metrics of clients that ran together; what one client printed as tr and tr2 stands as it is."""
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
