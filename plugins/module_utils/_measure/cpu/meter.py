# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that adds up CPU time if the kernel has no counters of it (AIX): it reads the reports of a tool.

A sample waits for the end of an interval, so that a window of two samples holds everything that ran in it, and up to
one interval more on each side. The CPU time of the idle machine in that time is subtracted as background.

The reader is a process of its own, because it has to read during a run. It ends, with its tool, when the process that
asks closes its socket or dies.
"""

import contextlib
import functools
import os
import platform
import secrets
import select
import socket
import time

from ..._host import commands, daemon
from ..._host.descriptors import keep_only
from ..._host.host import Host, HostError
from .. import processes, wire
from ..errors import MeasureError
from .aix_cpu import Reports, Totals, count_processors

INTERVAL = 1
# Together less than the time that the other end waits for an answer (wire.CONTROL_TIMEOUT).
SAMPLE_TIMEOUT, LSDEV_TIMEOUT = 5.0, 3.0
TOOLS = ("lparstat", "vmstat")


@contextlib.contextmanager
def own():
    """The Meter of this host as a context; None if the kernel has counters."""
    meter = start()
    try:
        yield meter
    finally:
        if meter is not None:
            meter.close()


def start():
    """A running Meter on AIX, None elsewhere."""
    return Meter() if platform.system() == "AIX" else None


class Meter:
    """The side that asks. After a missing answer it returns None from then on: an unknown CPU time, not 0."""

    def __init__(self):
        processors = None
        with contextlib.suppress(HostError):  # only lparstat prints their number by itself
            done = Host().run(["lsdev", "-Cc", "processor"], timeout=LSDEV_TIMEOUT)
            processors = count_processors(done.out) if done.rc == 0 else None
        ours, theirs = socket.socketpair()
        self._pid = daemon.fork(_live, theirs, processors)
        theirs.close()
        ours.settimeout(SAMPLE_TIMEOUT)
        self._lines = wire.Lines(ours)

    def sample(self):
        """CPU seconds at the end of the current interval (Totals.snapshot), or None."""
        if self._lines is None:
            return None
        try:
            self._lines.write("sample")
            return self._lines.read_object()
        except (OSError, EOFError, MeasureError):
            self.close()
            return None

    def close(self):
        """End the process, which ends its tool."""
        if self._lines is not None:
            # Forked processes hold the socket, too, so that a close alone would not reach the other side.
            with contextlib.suppress(OSError):
                self._lines.sock.shutdown(socket.SHUT_RDWR)
            self._lines.sock.close()
            self._lines = None
            os.waitpid(self._pid, 0)


def _live(asker, processors):
    """The main function of the process, right after the fork."""
    keep_only({asker.fileno()})
    relay = _Relay(asker)
    for tool in TOOLS:
        # If a tool is missing or reports nothing, the next one is tried.
        with contextlib.suppress(OSError), processes.printing(functools.partial(_start, tool)) as (process, source):
            try:
                if relay.read(source, Reports(processors), tool):
                    return
            finally:
                commands.end(process)


def _start(tool, output):
    environment = dict(os.environ, LC_ALL="C")
    environment["PATH"] = os.pathsep.join([environment.get("PATH", ""), "/usr/bin", "/usr/sbin"])
    return processes.start([tool, str(INTERVAL)], stdout=output, env=environment)


class _Relay:
    """Counts the reports of tools, and answers a request at the end of its interval."""

    def __init__(self, asker):
        self._asker = asker
        self._totals = Totals(secrets.token_hex(8))
        self._asked = False

    def read(self, source, reports, tool):
        """Count until the asker ends (True) or the tool ends (whether it had printed a report)."""
        self._totals.tool = tool
        last, pending, counted = time.monotonic(), b"", False
        while True:
            ready = select.select([source, self._asker], [], [])[0]
            now = time.monotonic()
            if source in ready:
                data = processes.read(source)
                if not data:
                    return counted
                lines = (pending + data).split(b"\n")
                pending = lines.pop()
                found = [rates for rates in (reports.feed(line.decode("ascii", "replace")) for line in lines) if rates]
                # An immediate report covers the time since the start of the system (vmstat on old levels).
                if found and (counted or now - last > INTERVAL / 2.0):
                    self._totals.add(found, now - last)
                    if self._asked:
                        wire.Lines(self._asker).write_object(self._totals.snapshot())
                        self._asked = False
                    last, counted = now, True
            # After the reports: a waiting one had ended before the request.
            if self._asker in ready:
                if not self._asker.recv(4096):
                    return True
                self._asked = True
