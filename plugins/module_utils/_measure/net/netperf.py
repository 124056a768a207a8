# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""netperf and its netserver: transactions and streams, one client per connection."""

import re

from ..workloads import programs
from . import network

TOOL, SERVER = "netperf", "netserver"
VERSION = ("-V", r"version (\S+)")
_LINE = re.compile(r"^([A-Z0-9_]+)=(.*)$", re.MULTILINE)
_NUMBER = re.compile(programs.FIGURE + r"\Z")
# Test and output selectors by the direction of the data; each sending call is a whole message.
_TESTS = {
    None: ("TCP_RR", "TRANSACTION_RATE,LOCAL_SEND_CALLS,MIN_LATENCY,P50_LATENCY,MAX_LATENCY"),
    "out": ("TCP_STREAM", "ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS,LOCAL_SEND_CALLS"),
    "in": ("TCP_MAERTS", "ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS,REMOTE_SEND_CALLS"),
}


def server_argv(binary, address, port):
    """Listen for control connections at one address, or at all (None). netserver opens further ports for the data."""
    family = "6" if address and ":" in address else "4"
    return [binary, "-D", "-p", str(port)] + (["-L", "%s,%s" % (address, family)] if address else [])


def parse(text, names):
    """{name: number} of the names in the output of -k; MeasureError if one is missing or no number."""
    found = dict(_LINE.findall(text))
    if found.get("THROUGHPUT_UNITS", "10^6bits/s") != "10^6bits/s":
        raise network.unfit(TOOL, "throughput in 10^6bits/s", text)
    for name in names:
        if not _NUMBER.match(found.get(name, "")):
            raise network.unfit(TOOL, name, text)
    return {name: float(found[name]) for name in names}


class Workload(network.Program):
    tool = TOOL

    @property
    def argv(self):
        test, selectors = _TESTS[self.stream]
        size = str(self.bytes)
        sizes = {
            None: ["-r", "%s,%s" % (size, self.response), "-D"],
            "out": ["-m", size],
            "in": ["-M", size, "-m", "," + size],
        }[self.stream]
        where = [self.binary, "-P", "0", "-H", self.address, "-p", str(self.port), "-t", test, "-l", str(self.seconds)]
        return where + ["--"] + sizes + ["-k", selectors]

    def read(self, texts):
        names = [name for name in _TESTS[self.stream][1].split(",") if name != "THROUGHPUT_UNITS"]
        found = [parse(text, names) for text in texts]
        total = {name: sum(one[name] for one in found) for name in names}
        if self.stream is not None:
            if not total["THROUGHPUT"]:
                raise network.unfit(TOOL, "throughput", texts[0])
            rate = total["THROUGHPUT"] * 1e6 / 8 / self.bytes
            count = total["LOCAL_SEND_CALLS" if self.stream == "out" else "REMOTE_SEND_CALLS"]
            return network.figures(self, count, rate), max(one["ELAPSED_TIME"] for one in found)
        count, rate = total["LOCAL_SEND_CALLS"], total["TRANSACTION_RATE"]
        if not rate:
            raise network.unfit(TOOL, "transactions", texts[0])
        metrics = network.figures(self, count, rate)
        metrics.update(max_us=max(one["MAX_LATENCY"] for one in found), min_us=min(one["MIN_LATENCY"] for one in found))
        if len(found) == 1:
            metrics.update(p50_us=found[0]["P50_LATENCY"])
        return metrics, count / rate
