# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round: the idle window, then every workload with its warm-up and its runs, as measurement records.

A run that fails is a failed run with one sentence, and the next one goes on; when the server itself is gone the rest of
the round fails at once instead of waiting for a time limit each.
"""

import math
import socket
import time
from collections import namedtuple

from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import (
    agent,
    counters,
    engines,
    meter,
    pingpong,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.fingerprint import fingerprint
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.processes import utc_now

SCHEMA = "zpower.sap_tuning/measurement/1"
# The sizes of the published measurements.
DEFAULT_BYTES = (1, 500, 1000, 1400, 1500, 4000, 10000)
CONTROL_BYTES = 1000
MIN_LOOPS = 10
_FIRST_LOOPS = 50
_RAW_LIMIT, _RAW_TOTAL = 4096, 12 * 1024

# What one round does; the names are those of the module's options. calibrated: {workload name: loops}.
Plan = namedtuple(
    "Plan",
    "bytes loops calibrated run_seconds runs warmup connections timeout idle_seconds control round protocol",
)


def workload_name(tool, size, connections):
    """pingpong-1000B, or pingpong-1000B-x8 for 8 parallel connections."""
    return "%s-%dB%s" % (tool, size, "-x%d" % connections if connections > 1 else "")


CONTROL_NAME = "control-" + workload_name(pingpong.TOOL, CONTROL_BYTES, 1)
CONTROL_PEER = "loopback"


def rotated(sizes, number):
    """The sizes in the order of round number (from 1), so that no size always meets the same state of the machine."""
    start = (number - 1) % len(sizes)
    return sizes[start:] + sizes[:start]


def rounded_loops(loops):
    """A number of loops rounded to two significant digits, from 10 to 10,000,000."""
    loops = min(max(float(loops), MIN_LOOPS), pingpong.MAX_LOOPS)
    step = 10 ** (int(math.floor(math.log10(loops))) - 1)
    return int(round(loops / step) * step)


def clip(text, limit):
    """A text of at most limit bytes: its beginning and its end, where tools print their figures."""
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    half = limit // 2 - 8
    return data[:half].decode("utf-8", "ignore") + "\n[...]\n" + data[-half:].decode("utf-8", "ignore")


class Ends:
    """The counters of both ends: this one, and the server's through its control channel (None: only this one).

    own_meter: the meter of this end, on systems where one is needed.
    """

    def __init__(self, channel, own_meter=None):
        self._channel = channel
        self._meter = own_meter
        self.gone = None

    def sample(self):
        """{"client": snapshot, "server": snapshot or None}; ServerGone when the server does not answer."""
        server = self._channel.request("sample")["sample"] if self._channel else None
        return dict(self.sample_alone(), server=server)

    def sample_alone(self):
        """As sample(), without asking the server."""
        return {"client": counters.snapshot(meter=self._meter), "server": None}

    def check(self):
        """After a failed run: remember whether the server is gone altogether."""
        if self._channel and self.gone is None:
            try:
                self._channel.request("sample")
            except MeasureError as error:
                self.gone = str(error)


def _between(function, before, after):
    return {
        end: function(before[end], after[end]) if before[end] and after[end] else None for end in ("client", "server")
    }


class Window:
    """A context that samples both ends right before and right after what runs in it."""

    def __init__(self, ends):
        self._ends = ends
        self.cpu = self.net = None

    def __enter__(self):
        self._before = self._ends.sample()
        return self

    def __exit__(self, kind, *_details):
        if kind is None:
            after = self._ends.sample()
            self.cpu = _between(counters.cpu_between, self._before, after)
            self.net = _between(counters.net_between, self._before, after)


def calibrate(engine, size, plan, ends):
    """Loops for a run of about plan.run_seconds: longer and longer trials until one lasts a tenth of that."""
    loops = _FIRST_LOOPS
    while True:
        window = Window(ends)
        metrics = engine.run(size, loops, plan.connections, plan.timeout, window)[0]
        wanted = plan.run_seconds * 1e6 / metrics["avg_us"]
        if loops * 10 >= wanted or loops >= pingpong.MAX_LOOPS:
            return rounded_loops(wanted)
        # At most ten times more at once: the first round trips of a connection are slower than the others.
        loops = rounded_loops(min(wanted / 5.0, loops * 10))


def _no_result(error=None):
    """A run's entry of the record that has brought nothing yet."""
    run = {"ok": False, "error": error, "started": utc_now(), "elapsed_s": None}
    run.update(metrics={}, cpu=None, net=None, links=None, raw="")
    return run


def _one_run(engine, work, plan, ends):
    """work: (bytes, loops). A run's entry of the record without its number."""
    window = Window(ends)
    run = _no_result()
    begin = time.monotonic()
    try:
        if ends.gone:
            raise MeasureError(ends.gone)
        metrics, raw, elapsed = engine.run(*work, plan.connections, plan.timeout, window)
        raw = clip(raw, min(_RAW_LIMIT, _RAW_TOTAL // (plan.warmup + plan.runs)))
        run.update(ok=True, metrics=metrics, raw=raw, elapsed_s=round(elapsed, 6))
        run.update(cpu=window.cpu, net=window.net, links=engine.links)
    except MeasureError as error:
        run.update(error=str(error), elapsed_s=round(time.monotonic() - begin, 6))
        ends.check()
    return run


def _loops(engine, name, size, plan, ends):
    """(loops, None), or (0, one sentence) when they could not be calibrated."""
    if plan.loops or name in plan.calibrated:
        return plan.loops or plan.calibrated[name], None
    try:
        if ends.gone:
            raise MeasureError(ends.gone)
        return calibrate(engine, size, plan, ends), None
    except MeasureError as error:
        ends.check()
        return 0, str(error)


def measure_workload(engine, name, size, plan, ends):
    """One workload of a round: a record without idle, fingerprint and ids. It never raises for a failed run."""
    started = utc_now()
    loops, problem = _loops(engine, name, size, plan, ends)
    runs = []
    for number in range(plan.warmup + plan.runs):
        if problem is None:
            run = _one_run(engine, (size, loops), plan, ends)
        else:
            run = _no_result("calibration failed: " + problem)
        run.update(run=number, warmup=number < plan.warmup)
        runs.append(run)
    workload = {"name": name, "tool": engine.tool, "version": engine.version, "bytes": size, "loops": loops}
    workload.update(connections=plan.connections, control=False, argv=engine.argv(size, loops, plan.connections))
    workload.update(transport=engine.transport)
    return {
        "schema": SCHEMA,
        "workload": workload,
        "protocol": dict(plan.protocol, runs=plan.runs, warmup=plan.warmup, run_seconds=plan.run_seconds),
        "started": started,
        "finished": utc_now(),
        "runs": runs,
    }


def measure_control(plan, own_meter=None):
    """The workload on loopback that no tuning of a network interface touches, against a server of its own."""
    lifetime = (plan.runs + plan.warmup + 10) * (plan.timeout + 60)
    with agent.LocalServer(lifetime) as server:
        alone = plan._replace(connections=1)
        record = measure_workload(
            engines.Pingpong(server.target), CONTROL_NAME, CONTROL_BYTES, alone, Ends(None, own_meter)
        )
    record["workload"]["control"] = True
    record["peer"] = CONTROL_PEER
    return record


def _idle(ends, seconds):
    if not seconds or ends.gone:
        return {"client": None, "server": None}
    window = Window(ends)
    try:
        with window:
            time.sleep(seconds)
    except MeasureError as error:
        ends.gone = str(error)
        return {"client": None, "server": None}
    return window.cpu


def _own_address(address):
    """The address this host would use towards another one; nothing is sent."""
    try:
        family, kind, _protocol, _name, where = socket.getaddrinfo(address, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as sock:
            sock.connect(where)
            return sock.getsockname()[0], where[0]
    except OSError:
        return "", ""


def _begin(ends, channel):
    """The fingerprints of both ends and the first sample. A server that is not there leaves its half None."""
    try:
        hello = channel.request("hello")
        here, there = channel.local_address()
        return {"client": fingerprint(here, there), "server": hello["fingerprint"]}, ends.sample()
    except MeasureError as error:
        ends.gone = str(error)
        both = {"client": fingerprint(*_own_address(channel.target.address)), "server": None}
        return both, ends.sample_alone()


def measure_round(plan, engine, channel):
    """All records of one round, without ids and collector; failures are failed runs in them.

    engine: an engine of engines.py; channel: a wire.Channel to the server's control port.
    """
    with meter.own() as own_meter:
        return _measured(plan, engine, channel, own_meter)


def _measured(plan, engine, channel, own_meter):
    ends = Ends(channel, own_meter)
    both, first = _begin(ends, channel)
    with_control = plan.control and not ends.gone
    idle = _idle(ends, plan.idle_seconds)
    records = [
        measure_workload(engine, workload_name(engine.tool, size, plan.connections), size, plan, ends)
        for size in rotated(plan.bytes, plan.round)
    ]
    if with_control:
        records.append(measure_control(plan, own_meter))
    _note_clock_steps(both, first, ends)
    for record in records:
        control = record["workload"]["control"]
        for key, values in (("idle", idle), ("fingerprint", both)):
            record[key] = {"client": values["client"], "server": None if control else values["server"]}
    return records


def _note_clock_steps(both, first, ends):
    last = ends.sample_alone()
    if not ends.gone:
        try:
            last = ends.sample()
        except MeasureError as error:
            ends.gone = str(error)
    for end, print_ in both.items():
        if print_ and first[end] and last[end]:
            print_["clock_step_s"] = counters.clock_step(first[end], last[end])
