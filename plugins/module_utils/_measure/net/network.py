# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published network workloads, and what the tools that run them have in common."""

import math
from collections import namedtuple

from .. import transport
from ..errors import MeasureError
from ..workloads import programs
from ..workloads.workload import Metric, Outcome, Workload, calibrate
from . import pingpong
from .clients import Clients, Job

# request bytes there and response bytes back; or with stream "in" or "out", as the client sees it, messages of request
# bytes in one direction only.
Kind = namedtuple("Kind", "name request response stream")

KINDS = (
    Kind("latency", 1, 1, None),
    Kind("onlTrans", 200, 1000, None),
    Kind("database", 200, 30 * 1024, None),
    Kind("strRead", 30 * 1024, None, "in"),
    Kind("strWrite", 30 * 1024, None, "out"),
)
KIND_NAMES = tuple(kind.name for kind in KINDS)
CONNECTIONS = (1, 10, 50, 250)

_MEAN = Metric("avg_us", "\u00b5s", "lower")
_STREAM = Metric("kib_per_s", "KiB/s", "higher")


def kind_named(name):
    return KINDS[KIND_NAMES.index(name)]


def workload_name(tool, kind, connections):
    """pingpong-onlTrans, or pingpong-onlTrans-x10 for 10 connections."""
    return "%s-%s%s" % (tool, kind, "-x%d" % connections if connections > 1 else "")


class Network(Workload):
    """One of the published workloads over a number of connections."""

    family = "network"
    # the decisive metric of a request/response workload
    response_metric = _MEAN

    def __init__(self, kind, connections):
        self.kind, self.connections, self.bytes = kind, connections, kind.request
        self.name = workload_name(self.tool, kind.name, connections)
        self.params = {"kind": kind.name}
        if kind.stream is None:
            self.metric, self.unit = self.response_metric, "transaction"
            self.params.update(request_bytes=kind.request, response_bytes=kind.response)
        else:
            self.metric, self.unit = _STREAM, "message"
            self.params.update(message_bytes=kind.request, direction=kind.stream)


def transactions(count, rate, connections):
    """The metrics of a number of transactions, from their rate over all connections (a second)."""
    times = {"avg_us": round(connections * 1e6 / rate, 4), "transactions_per_s": round(rate, 4)}
    return dict(times, units=int(round(count)))


def messages(count, rate, size, connections):
    """The metrics of a stream of messages of size bytes, from their rate over all connections (a second)."""
    speed = {"kib_per_s": round(rate * size / 1024.0, 4), "avg_us": round(connections * 1e6 / rate, 4)}
    return dict(speed, units=int(round(count)))


class Pingpong(Network):
    """The embedded engine against a wire.Target."""

    tool, version = pingpong.TOOL, pingpong.VERSION
    response_metric = Workload.metric

    def __init__(self, target, kind, connections):
        super().__init__(kind, connections)
        self.target, self.transport = target, target.transport

    @property
    def argv(self):
        """The workload in the shape of a command line; the token is no part of it."""
        kind = self.kind
        what = [self.tool, "--connect", self.target.address, "--port", str(self.target.port)]
        what += [] if self.transport == transport.TCP else ["--transport", self.transport]
        what += ["--bytes", str(kind.request)]
        what += ["--stream", kind.stream] if kind.stream else ["--response-bytes", str(kind.response)]
        return what + ["--loops", str(self.loops), "--connections", str(self.connections)]

    def prepare(self, setting, ends):
        calibrate(self, setting, ends)

    def run(self, setting, window):
        kind = self.kind
        response = None if kind.response == kind.request else kind.response
        job = Job(self.target, kind.request, self.loops, setting.timeout, response, kind.stream)
        with Clients(job, self.connections) as clients:
            links = clients.wait_ready()
            with window:
                elapsed = clients.exchange()
            figures = self._stream(elapsed) if kind.stream else self._transactions(clients.summary(), elapsed)
        lines = ["%s over %d connection(s)" % (kind.name, self.connections)]
        lines += ["%s %s" % (name, figures[name]) for name in sorted(figures)]
        return Outcome(figures, "\n".join(lines), elapsed, links)

    def _stream(self, elapsed):
        count = self.loops * self.connections
        return messages(count, count / elapsed, self.kind.request, self.connections)

    def _transactions(self, summary, elapsed):
        figures = pingpong.metrics(summary, (self.kind.request + self.kind.response) / 2.0)
        rate = round(summary.count / elapsed, 4)
        return dict(figures, transactions_per_s=rate, units=summary.count)


class Program(Network):
    """A workload that a program does for whole seconds against a server of its own.

    A subclass has tool, kinds (what it is able to do, by name), argv, and read(texts).
    """

    transport = transport.TCP
    kinds = KIND_NAMES
    # whether several of its clients can be run at once
    parallel = True

    def __init__(self, binary, version, server, kind, connections):
        super().__init__(kind, connections)
        self.binary, self.version = binary, version
        self.address, self.port = server
        self.seconds = 1

    def prepare(self, setting, ends):
        self.seconds = int(math.ceil(setting.run_seconds))

    def argvs(self):
        """The command lines of the clients that make the connections together."""
        return [self.argv] * self.connections

    def read(self, texts):
        """(metrics, seconds that the work took) from what the clients printed; MeasureError where it does not fit."""
        raise NotImplementedError

    def run(self, setting, window):
        ran = programs.run_together(self.argvs(), setting.timeout, window)
        texts = [programs.plain(text) for text in ran.texts]
        for text, code in zip(texts, ran.codes):
            if code:
                said = programs.first_lines(text)
                raise MeasureError("%s failed with exit code %d: %s" % (self.tool, code, said))
        metrics, elapsed = self.read(texts)
        return Outcome(metrics, "\n".join(texts), elapsed, None)


def check(program, names, connections):
    """MeasureError where a Program's class cannot do one of the kinds, or that many connections."""
    unable = [name for name in names if name not in program.kinds]
    if unable:
        able = ", ".join(program.kinds)
        raise MeasureError("%s cannot do %s: take kinds of %s, or another tool" % (program.tool, unable[0], able))
    if not program.parallel and max(connections) > 1:
        raise MeasureError(
            "%s serves one connection at a time: set connections to [1], or take another tool" % program.tool
        )


def unfit(tool, missing, text):
    """The MeasureError of an output in which something is missing."""
    return MeasureError("%s printed no %s, its output began: %s" % (tool, missing, programs.first_lines(text)))
