# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two tools behind one call: run a workload between two samples of the counters, return metrics and text."""

import contextlib
import os
import subprocess
import tempfile
import time

from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import niping, pingpong, processes, transport
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.clients import Clients, Job
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError

_CONTENT_BYTES = 64 * 1024


class Pingpong:
    """The embedded engine against a wire.Target. links: what the connections of the last run became."""

    tool, version = pingpong.TOOL, pingpong.VERSION

    def __init__(self, target):
        self.target = target
        self.transport = target.transport
        self.links = None

    def argv(self, size, loops, connections):
        """The workload in the shape of a command line, for the record; the token is no part of it."""
        where = [self.tool, "--connect", self.target.address, "--port", str(self.target.port)]
        where += [] if self.transport == transport.TCP else ["--transport", self.transport]
        return where + ["--bytes", str(size), "--loops", str(loops), "--connections", str(connections)]

    def run(self, size, loops, connections, timeout, window):
        """One run inside window (a context); returns (metrics, raw text, elapsed seconds)."""
        self.links = None
        with Clients(Job(self.target, size, loops, timeout), connections) as clients:
            self.links = clients.wait_ready()
            with window:
                elapsed = clients.exchange()
            figures = pingpong.metrics(clients.summary(), size)
        return figures, pingpong.describe(figures, size, connections), elapsed


class Niping:
    """SAP's niping against a server of its own; several connections are several clients started together."""

    tool, transport, links = niping.TOOL, transport.TCP, None

    def __init__(self, binary, version, address, port):
        self.version = version
        self._binary, self._address, self._port = binary, address, port

    def argv(self, size, loops, _connections):
        return niping.client_argv(self._binary, self._address, self._port, size, loops)

    def run(self, size, loops, connections, timeout, window):
        """As Pingpong.run(). Over several connections avg and av2 are means, tr and tr2 follow from them."""
        with contextlib.ExitStack() as stack:
            outputs = [stack.enter_context(tempfile.TemporaryFile()) for _index in range(connections)]
            with window:
                begin = time.monotonic()
                self._run_all(self.argv(size, loops, connections), outputs, timeout)
                elapsed = time.monotonic() - begin
            texts = [_content(output) for output in outputs]
        return _together([niping.parse(text, size) for text in texts], size, loops), "\n".join(texts), elapsed

    def _run_all(self, argv, outputs, timeout):
        deadline, running = time.monotonic() + timeout, []
        environment = niping.environment(self._binary, os.environ)
        try:
            for output in outputs:
                running.append(
                    processes.start(
                        argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
                    )
                )
            for process in running:
                process.wait(max(0.001, deadline - time.monotonic()))
                if process.returncode < 0:
                    raise MeasureError("%s was ended by signal %d" % (argv[0], -process.returncode))
        except subprocess.TimeoutExpired as error:
            raise MeasureError("%s did not end within the time limit of %g s" % (argv[0], timeout)) from error
        except OSError as error:
            raise MeasureError("%s cannot be run: %s" % (argv[0], error.strerror)) from error
        finally:
            for process in running:
                if process.poll() is None:
                    process.kill()
                    process.wait()


def _content(output):
    """What was printed; of very much (one line a message) the beginning and the end, where the figures stand."""
    length = output.seek(0, os.SEEK_END)
    output.seek(0)
    text = output.read(_CONTENT_BYTES)
    if length > 2 * _CONTENT_BYTES:
        output.seek(length - _CONTENT_BYTES)
        text += b"\n"
    return (text + output.read()).decode("utf-8", "replace")


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
