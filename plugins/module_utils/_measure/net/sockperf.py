# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""sockperf: ping-pong and throughput over one TCP connection; its smallest message has 14 bytes."""

import re
import socket

from ..errors import MeasureError
from ..workloads import programs
from . import network

TOOL = SERVER = "sockperf"
VERSION = ("--version", r"version ([^\s,]+)")
SMALLEST = 14
_NUMBER = r"\s*=?\s*" + programs.FIGURE
_PING = {
    "avg_us": re.compile(r"Summary: Round trip is" + _NUMBER + " usec"),
    "p50_us": re.compile(r"percentile 50\.000" + _NUMBER),
    "max_us": re.compile(r"<MAX> observation" + _NUMBER),
    "min_us": re.compile(r"<MIN> observation" + _NUMBER),
}
_HALF = "Summary: Latency is"
_USAGE = "Usage: sockperf ping-pong"
# It counts no message of the first 400 ms and of the last 50 ms: src/defs.h and src/client.cpp of 3.7. Nothing is
# left of a short run if one of both hosts pauses meanwhile.
_NO_OBSERVATION = "No valid observations found"
NO_ANSWER = "No messages were received"
NO_OBSERVATION = "sockperf counted no round trip between its warm-up of 400 ms and the end of the run"
_TOTAL = re.compile(r"\[Total Run\] RunTime=%s sec;[^\[\n]*ReceivedMessages=([0-9]{1,12})\b" % programs.FIGURE)
_SENT = re.compile(r"Total of ([0-9]{1,12}) messages sent in %s sec" % programs.FIGURE)


def server_argv(binary, address, port):
    # Without the option a port stays in use for a minute after the last connection.
    argv = [binary, "server", "--tcp", "--uc-reuseaddr", "-p", str(port)]
    return argv + (["-i", address] if address else [])


def _failed(text):
    """sockperf ends with exit code 0 in every case."""
    for line in text.splitlines():
        if _NO_OBSERVATION in line:
            raise MeasureError("%s: the server or this host paused, or run_seconds is too short" % NO_OBSERVATION)
        if "ERROR:" in line or NO_ANSWER in line:
            raise MeasureError("sockperf: " + line.replace("sockperf:", "").replace("ERROR:", "").strip())


def parse_ping_pong(text):
    """(times in microseconds, number of round trips, seconds) of ping-pong --full-rtt.

    Without the option sockperf prints half of each time and calls it latency. If it does not know an option, it prints
    its usage and ends with exit code 0.
    """
    _failed(text)
    if _USAGE in text:
        raise MeasureError("sockperf printed its usage: this version may not know --full-rtt, which 3.7 has")
    if _HALF in text:
        raise MeasureError("sockperf printed half of each round trip (%s): it ran without --full-rtt" % _HALF)
    total = _TOTAL.search(text)
    found = {name: pattern.search(text) for name, pattern in _PING.items()}
    missing = [name for name in sorted(found) if found[name] is None]
    if missing or not total or not int(total.group(2)) or not float(total.group(1)):
        raise network.unfit(TOOL, missing[0] if missing else "total run", text)
    return {name: float(match.group(1)) for name, match in found.items()}, int(total.group(2)), float(total.group(1))


class Workload(network.Program):
    tool = TOOL
    kinds = ("latency", "strWrite")
    parallel = False

    def __init__(self, binary, version, server, kind, connections):
        if kind.stream is None:
            kind = kind._replace(request=SMALLEST, response=SMALLEST)
        super().__init__(binary, version, server, kind, connections)

    @property
    def argv(self):
        how = ["ping-pong", "--full-rtt"] if self.stream is None else ["throughput"]
        where = ["--tcp", "-i", numeric(self.address), "-p", str(self.port)]
        return [self.binary] + how + where + ["-m", str(self.bytes), "-t", str(self.seconds)]

    def read(self, texts):
        if self.stream is None:
            # The count includes sockperf's own warm-up, the times do not.
            metrics, count, seconds = parse_ping_pong(texts[0])
            return dict(metrics, units=count), seconds
        _failed(texts[0])
        sent = _SENT.search(texts[0])
        count, seconds = (int(sent.group(1)), float(sent.group(2))) if sent else (0, 0.0)
        if not count or not seconds:
            raise network.unfit(TOOL, "number of messages", texts[0])
        return network.figures(self, count, count / seconds), seconds


def numeric(address):
    """The address as a number: sockperf does not resolve names."""
    try:
        return socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][4][0]
    except OSError:
        return address  # sockperf prints an error
