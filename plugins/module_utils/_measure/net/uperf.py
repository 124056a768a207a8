# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""uperf, the tool of the published network workloads: a profile says what its threads do for how long.

What is read is the table "Txn" of the option -t: how often the transaction was done, and its average, longest and
shortest time. Its layout is that of published output; uperf itself has not been run here.
"""

import contextlib
import os
import re
import tempfile
from collections import namedtuple
from xml.sax.saxutils import quoteattr

from ..errors import MeasureError
from ..workloads import programs
from . import network

TOOL = SERVER = "uperf"
_TIME = r"\s+([0-9]+\.[0-9]+)(ns|us|ms|s)"
_HEADER = re.compile(r"^Txn\s+Count\s+avg\s+cpu\s+max\s+min\s*$", re.MULTILINE)
# Transaction 0 connects, 1 is what is measured, 2 disconnects.
_MEASURED = re.compile(r"^Txn1\s+([0-9]+)" + 4 * _TIME + r"\s*$", re.MULTILINE)
_ERROR = re.compile(r"^.*(?:Slave aborted|Errors detected during run|Error connecting).*$", re.MULTILINE)
_UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}

Figures = namedtuple("Figures", "count avg_us max_us min_us")


def version(binary):
    """The version that uperf tells, or "unknown"."""
    match = re.search(r"Version (\S+)", programs.ask([binary, "-V"]))
    return match.group(1) if match else "unknown"


def server_argv(binary, _address, port):
    """uperf cannot be told an address: it listens on all."""
    return [binary, "-s", "-P", str(port)]


def profile(kind, connections, address, seconds):
    """The profile of a workload as text; MeasureError for an address that a profile cannot hold."""
    if not address or re.search(r"[\s$=]", address):
        raise MeasureError("the address %r cannot stand in a profile of uperf" % address)
    if kind.stream is None:
        flow = [("write", "size=%d" % kind.request), ("read", "size=%d" % kind.response)]
    else:
        flow = [("read" if kind.stream == "in" else "write", "size=%d" % kind.request)]
    steps = [
        ('iterations="1"', [("connect", "remotehost=%s protocol=tcp tcp_nodelay" % address)]),
        ('duration="%ds"' % seconds, flow),
        ('iterations="1"', [("disconnect", "")]),
    ]
    lines = ['<?xml version="1.0"?>', '<profile name="%s">' % kind.name, ' <group nthreads="%d">' % connections]
    for how, operations in steps:
        lines.append("  <transaction %s>" % how)
        for name, options in operations:
            given = " options=" + quoteattr(options) if options else ""
            lines.append('   <flowop type="%s"%s/>' % (name, given))
        lines.append("  </transaction>")
    return "\n".join(lines + [" </group>", "</profile>", ""])


def parse(text):
    """The Figures of the measured transaction; MeasureError where uperf reports an error or the table is not there."""
    error = _ERROR.search(text)
    if error:
        raise MeasureError("uperf: " + error.group(0).strip(" *"))
    header = _HEADER.search(text)
    found = _MEASURED.search(text, header.end()) if header else None
    if not found or not int(found.group(1)):
        raise network.unfit(TOOL, "table of transactions", text)
    times = [float(found.group(place)) * _UNITS[found.group(place + 1)] for place in (2, 6, 8)]
    if not times[0]:
        raise network.unfit(TOOL, "average time", text)
    return Figures(int(found.group(1)), *times)


class Workload(network.Program):
    tool = TOOL
    _profile = "<profile>"

    @property
    def argv(self):
        return [self.binary, "-m", self._profile, "-P", str(self.port), "-t"]

    def argvs(self):
        """One client: its threads are the connections."""
        return [self.argv]

    def run(self, setting, window):
        content = profile(self.kind, self.connections, self.address, self.seconds)
        descriptor, self._profile = tempfile.mkstemp(suffix=".xml", prefix="uperf-")
        try:
            with os.fdopen(descriptor, "w") as stream:
                stream.write(content)
            return super().run(setting, window)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(self._profile)
            del self._profile

    def read(self, texts):
        found = parse(texts[0])
        rate = self.connections * 1e6 / found.avg_us
        if self.kind.stream is not None:
            return network.messages(found.count, rate, self.kind.request, self.connections), found.count / rate
        metrics = network.transactions(found.count, rate, self.connections)
        return dict(metrics, max_us=found.max_us, min_us=found.min_us), found.count / rate
