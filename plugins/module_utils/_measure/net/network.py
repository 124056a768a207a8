# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published network workloads, run by pingpong or by programs."""

import math
from collections import namedtuple

from .. import transport
from ..errors import MeasureError
from ..workloads import programs
from ..workloads.workload import Metric, Outcome, Workload, workload_name
from . import engines, pingpong

# request bytes there and response bytes back; or with stream "in" or "out", from the client's side, messages of request
# bytes in one direction only.
Kind = namedtuple("Kind", "name request response stream")

_KINDS = (
    Kind("latency", 1, 1, None),
    Kind("onlTrans", 200, 1000, None),
    Kind("database", 200, 30 * 1024, None),
    Kind("strRead", 30 * 1024, None, "in"),
    Kind("strWrite", 30 * 1024, None, "out"),
)
KINDS = {kind.name: kind for kind in _KINDS}
CONNECTIONS = (1, 10, 50, 250)

_MEAN = Metric("avg_us", "\u00b5s", "lower")
_STREAM = Metric("kib_per_s", "KiB/s", "higher")


def _describe(workload, kind, connections, response_metric):
    """Fill in what the record says about a workload. response_metric: what decides if there are responses."""
    workload.family, workload.connections = "network", connections
    workload.bytes, workload.response, workload.stream = kind.request, kind.response, kind.stream
    workload.name = workload_name(workload.tool, kind.name, connections)
    workload.params = {"kind": kind.name}
    if kind.stream is None:
        workload.metric, workload.unit = response_metric, "transaction"
        workload.params.update(request_bytes=kind.request, response_bytes=kind.response)
    else:
        workload.metric, workload.unit = _STREAM, "message"
        workload.params.update(message_bytes=kind.request, direction=kind.stream)


def figures(workload, count, rate):
    """The metrics of a number of transactions or messages, from their rate per second over all connections."""
    found = {"avg_us": round(workload.connections * 1e6 / rate, 4), "units": int(round(count))}
    if workload.stream is None:
        return dict(found, transactions_per_s=round(rate, 4))
    return dict(found, kib_per_s=round(rate * workload.bytes / 1024.0, 4))


class Pingpong(engines.Pingpong):
    """The ping-pong of this collection against a wire.Target."""

    def __init__(self, target, kind, connections):
        super().__init__(target, kind.request, connections)
        _describe(self, kind, connections, self.metric)

    def figures(self, summary, elapsed):
        if self.stream:
            count = self.loops * self.connections
            return figures(self, count, count / elapsed)
        metrics = pingpong.metrics(summary, (self.bytes + self.response) / 2.0)
        return dict(metrics, transactions_per_s=round(summary.count / elapsed, 4), units=summary.count)


class Program(Workload):
    """A workload that a program runs for whole seconds against a server of its own.

    A subclass has tool, kinds (the names of those that it can do), argv, and read(texts).
    """

    transport = transport.TCP
    kinds = tuple(KINDS)
    # whether several of its clients can be run at once
    parallel = True

    def __init__(self, binary, version, server, kind, connections):
        _describe(self, kind, connections, _MEAN)
        self.binary, self.version = binary, version
        self.address, self.port = server
        self.seconds = 1

    def prepare(self, setting):
        self.seconds = int(math.ceil(setting.run_seconds))

    def read(self, texts):
        """(metrics, seconds of the work) from the output of the clients; MeasureError if it cannot be read."""
        raise NotImplementedError

    def run(self, setting, window):
        ran = programs.run_together([self.argv] * self.connections, setting.timeout, window)
        texts = [programs.plain(text) for text in ran.texts]
        for text, code in zip(texts, ran.codes):
            if code:
                said = programs.first_lines(text)
                raise MeasureError("%s failed with exit code %d: %s" % (self.tool, code, said))
        metrics, elapsed = self.read(texts)
        return Outcome(metrics, "\n".join(texts), elapsed, None)


def check(program, names, connections):
    """MeasureError if a Program's class cannot do one of the kinds, or that many connections."""
    unable = [name for name in names if name not in program.kinds]
    if unable:
        able = ", ".join(program.kinds)
        raise MeasureError("%s cannot do %s: use kinds of %s, or another tool" % (program.tool, unable[0], able))
    if not program.parallel and max(connections) > 1:
        raise MeasureError(
            "%s serves one connection at a time: set connections to [1], or use another tool" % program.tool
        )


def unfit(tool, missing, text):
    """The MeasureError for an output in which something is missing."""
    return MeasureError("%s printed no %s, its output began: %s" % (tool, missing, programs.first_lines(text)))
