# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measurement servers and rounds for tests: short, on loopback, always ended."""

import contextlib
import os
import random
import signal
import socket
import sys

from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes, wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import niping_request, request, sockperf
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round.rounds import Ends
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads.workload import (
    Outcome,
    Workload,
    calibrate,
)
from waiting import until

# The stand-in is a Python script: starting a version manager's python3 from PATH takes longer than the measurement.
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
UNIT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Seconds after which a test that waits for something fails: enough for a slow and busy machine.
PATIENCE = 60.0
# Where the measuring programs are: in PATH, and netperf where tests/setup.sh unpacks it.
SEARCH_PATH = os.pathsep.join(
    [os.environ["PATH"], "/usr/sbin", "/sbin", os.path.join(UNIT, "..", "..", ".cache", "netperf", "usr", "bin")]
)
STANDIN = os.path.join(os.path.dirname(UNIT), "standins", "niping")
OPTIONS = {
    "address": "127.0.0.1",
    "bytes": [1000],
    "loops": 100,
    "calibrated": {},
    "run_seconds": 0.02,
    "runs": 2,
    "warmup": 1,
    "connections": 1,
    "rate": 0,
    "timeout": PATIENCE,
    "idle_seconds": 0,
    "control": False,
    "round": 1,
    "protocol": {},
    "transport": "tcp",
    "port": 0,
    "control_port": 0,
    "lifetime": 600,
}
# The options of a measuring module for one short round, as a playbook gives them.
QUICK = {"side": "client", "runs": 1, "warmup": 0, "idle_seconds": 0, "control": False, "run_seconds": 0.1}


def per_file(fixture_name, config):
    """The scope of a server for all tests of a file; ansible-test forks for each test, and would leave it behind."""
    return "function" if config.of_ansible_test else "module"


@contextlib.contextmanager
def server(tool="pingpong", **options):
    """Run the session of a server and end it afterwards, whatever the test did to it."""
    how = request.how_to_serve(tool, options.pop("binary", None), options.pop("kind", "tcp"))
    # Other tests that run here at the same time would at once take a port of the default range that becomes free.
    options = dict({"address": "127.0.0.1", "port": free_port(), "control_port": free_port()}, **options)
    session = agent.start(tool, **options, **how)
    try:
        yield session
    finally:
        processes.end(session["pid"], session["start_time"])


def target(session, token=None):
    return wire.Target("127.0.0.1", session["control_port"], token or session["token"])


def round_of(session, binary=None, **options):
    params = dict(OPTIONS, session=session, tool="auto", path=binary, **options)
    return entry_point.measure(params, niping_request.workloads(params, params, "/nowhere"))


def plan(**options):
    return entry_point.plan(dict(OPTIONS, **options))


def kill(session):
    """Kill a server in a way that lets it run no code, and wait until it is gone."""
    os.kill(session["pid"], signal.SIGKILL)
    assert processes.wait_gone(session["pid"], session["start_time"], PATIENCE)


def with_a_limit(attempt, begun):
    """Return what attempt(seconds) returns with the first time limit before which the process that it starts had begun.

    The limit has to pass, so it begins short; a busy machine may need longer than that to start a program.
    """
    for seconds in (2, 20, 200):
        found = attempt(seconds)
        if begun(found):
            return found
    raise AssertionError("nothing had begun after %d s" % seconds)


# What is said about a run in which nothing was counted.
NOTHING = (sockperf.NO_ANSWER, sockperf.NO_OBSERVATION, "no rates that can be read", "a rate of 0")


def measured(measure):
    """Return the records of measure() once sockperf or enqt has counted something.

    They run for a time, not for a number of messages: nothing is left of a short run on a machine so busy that one end
    had to pause. From a server that does not answer, they never count anything.
    """

    def counted():
        records = measure()
        found = [error for record in records for error in errors(record) if error]
        return None if any(nothing in error for error in found for nothing in NOTHING) else records

    return until(counted, "the measurement has counted something")


def listens(port):
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex(("127.0.0.1", port)) == 0


def script(path, text=""):
    """Write a shell program (a pathlib.Path) and return its path as text."""
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def free_port():
    """Return a port that is free now, and that no connection gets by itself as its local port meanwhile."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as sock, contextlib.suppress(OSError):
            sock.bind(("0.0.0.0", port))
            return port


def errors(record):
    return [run["error"] for run in record["runs"]]


class Quiet(Workload):
    """Exact round trips without a network, for the order of events in a round."""

    tool, version = "pingpong", "1"
    transport = "tcp"
    bytes = 1000

    def __init__(self, name="pingpong-1000B", round_trip_us=50.0, raw="text"):
        self.name = name
        self.round_trip_us = round_trip_us
        self.raw = raw
        self.calls = []

    def prepare(self, setting):
        calibrate(self, setting)

    def run(self, setting, window):
        with window:
            self.calls.append(self.loops)
        metrics = {"avg_us": self.round_trip_us, "av2_us": self.round_trip_us, "round_trips": self.loops}
        return Outcome(metrics, self.raw, 0.1, None)


ALONE = Ends(channel=None)
