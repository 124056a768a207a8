# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""qperf: tcp_lat, half of a round trip on average, and tcp_bw, a stream from client to server; one connection."""

import re

from ..workloads import programs
from . import network

TOOL = SERVER = "qperf"
VERSION = ("--version", r"qperf (\S+)")
_LINE = re.compile(r"^[ \t]+(\w+)[ \t]+=[ \t]+%s (\S+)[ \t]*$" % programs.FIGURE, re.MULTILINE)


def server_argv(binary, _address, port):
    """qperf has no option for an address: it listens on all."""
    return [binary, "--listen_port", str(port)]


def parse(text, name, unit):
    """The figure of that name if it is above 0.001 and in that unit, else MeasureError."""
    for found, digits, in_unit in _LINE.findall(text):
        if found == name and in_unit == unit and float(digits) > 1e-3:
            return float(digits)
    raise network.unfit(TOOL, "%s in %s" % (name, unit), text)


class Workload(network.Program):
    tool = TOOL
    kinds = ("latency", "strWrite")
    parallel = False

    @property
    def argv(self):
        where = [self.binary, self.address, "--listen_port", str(self.port), "--time", str(self.seconds)]
        shown = ["--msg_size", str(self.bytes), "--precision", "6", "--unify_units"]
        return where + shown + ["tcp_lat" if self.stream is None else "tcp_bw"]

    def read(self, texts):
        """qperf prints no count: it follows from the rate and the requested seconds."""
        if self.stream is None:
            rate = 1e9 / (2 * parse(texts[0], "latency", "ns"))
        else:
            rate = parse(texts[0], "bw", "bytes/sec") / self.bytes
        return network.figures(self, rate * self.seconds, rate), float(self.seconds)
