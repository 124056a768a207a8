# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that adds up CPU time where the kernel shows no counters of it (AIX): it reads a tool's reports.

A sample waits for the end of an interval, so that a window of two samples holds everything that ran in it, and up to
an interval more on each side. What the idle machine uses in that time goes off with the background.

The reader is a process of its own because nobody else reads while a run goes on. It ends, and ends its tool, when the
process that asks closes its socket or dies.
"""

import contextlib
import json
import os
import platform
import secrets
import select
import signal
import socket
import subprocess
import time

from ..._host.descriptors import keep_only
from ..._host.host import Host, HostError
from .. import processes, wire
from ..errors import MeasureError
from .aix_cpu import Reports, Totals, count_processors

INTERVAL = 1
# Together less than what the other end waits for an answer (wire.CONTROL_TIMEOUT).
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
    """The side that asks. Once it has had no answer it gives none any more: there is no CPU time then, not 0."""

    def __init__(self):
        processors = _processors()
        ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _live(theirs, processors)
            finally:
                os._exit(0)
        theirs.close()
        ours.settimeout(SAMPLE_TIMEOUT)
        self._lines = wire.Lines(ours)

    def sample(self):
        """CPU seconds at the end of the interval that runs now (Totals.snapshot), or None."""
        if self._lines is None:
            return None
        try:
            self._lines.write("sample")
            return self._lines.read_object()
        except (OSError, EOFError, MeasureError):
            self.close()
            return None

    def close(self):
        """End the process; it has nothing to do but to end its tool."""
        if self._lines is not None:
            # Processes that were forked meanwhile hold the socket, too: closing it would not reach the other side.
            with contextlib.suppress(OSError):
                self._lines.sock.shutdown(socket.SHUT_RDWR)
            self._lines.sock.close()
            self._lines = None
            os.waitpid(self._pid, 0)


def _processors():
    """How many processors there are, which only lparstat says by itself."""
    try:
        done = Host().run(["lsdev", "-Cc", "processor"], timeout=LSDEV_TIMEOUT)
    except HostError:
        return None
    return count_processors(done.out) if done.rc == 0 else None


def _live(asker, processors):
    """The whole life of the process, right after the fork."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    keep_only({asker.fileno()})
    relay = _Relay(asker)
    for tool in TOOLS:
        # A tool that is not there, or that only complains, leaves the place to the next one.
        with contextlib.suppress(OSError), _reports_of(tool) as source:
            if relay.read(source, Reports(processors), tool):
                return


@contextlib.contextmanager
def _reports_of(tool):
    """The descriptor of what a tool prints with an interval.

    It is a terminal to the tool where this host can make one: whether AIX's tools send each line at once into a pipe is
    not confirmed, and a program's output to a terminal always goes line by line.
    """
    try:
        source, output = os.openpty()
    except (AttributeError, OSError):
        source, output = os.pipe()
    process = None
    try:
        environment = dict(os.environ, LC_ALL="C")
        environment["PATH"] = os.pathsep.join([environment.get("PATH", ""), "/usr/bin", "/usr/sbin"])
        try:
            process = processes.start(
                [tool, str(INTERVAL)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        finally:
            os.close(output)
        yield source
    finally:
        os.close(source)
        if process is not None:
            process.kill()
            process.wait()


class _Relay:
    """Counts what tools report, and answers the one who asks at the end of the interval in which it was asked."""

    def __init__(self, asker):
        self._asker = asker
        self._totals = Totals(secrets.token_hex(8))
        self._asked = False

    def read(self, source, reports, tool):
        """Count until the asker goes (True) or the tool ends (whether there was a report of it)."""
        self._totals.tool = tool
        last, pending, counted = time.monotonic(), b"", False
        while True:
            ready = select.select([source, self._asker], [], [])[0]
            now = time.monotonic()
            if source in ready:
                data = _read(source)
                if not data:
                    return counted
                lines = (pending + data).split(b"\n")
                pending = lines.pop()
                found = [rates for rates in (reports.feed(line.decode("ascii", "replace")) for line in lines) if rates]
                # A report that is there at once is about the time since the system's start (vmstat on old levels).
                if found and (counted or now - last > INTERVAL / 2.0):
                    self._count(found, now - last)
                    last, counted = now, True
            # After the reports: one that was waiting already had ended before the question.
            if self._asker in ready:
                if not self._asker.recv(4096):
                    return True
                self._asked = True

    def _count(self, found, seconds):
        self._totals.add(found, seconds)
        if self._asked:
            self._asker.sendall(json.dumps(self._totals.snapshot()).encode("ascii") + b"\n")
            self._asked = False


def _read(source):
    try:
        return os.read(source, 65536)
    except OSError:  # EIO: the last program that had the terminal open has ended
        return b""
