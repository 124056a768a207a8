# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round: the idle window, then every workload with its warm-up and its runs, as measurement records.

A run that fails is a failed run with one sentence, and the next one follows. If the server is gone, the rest of the
round fails at once instead of waiting for time limits.
"""

import contextlib
import os
import signal
import socket
import time
from collections import namedtuple

from .. import replies
from ..cpu import counters, meter
from ..errors import MeasureError, sentence
from ..fingerprint import fingerprint
from ..net import engines, histogram
from ..processes import utc_now
from ..server import agent
from ..workloads import programs

SCHEMA = "zpower.sap_tuning/measurement/1"
CONTROL_BYTES = 1000
CONTROL_NAME = "control-" + engines.workload_name(engines.Pingpong.tool, CONTROL_BYTES, 1)
CONTROL_PEER = "loopback"
# The peer of a workload that has no server.
LOCAL_PEER = "local"
_RAW_LIMIT, _RAW_TOTAL = 4096, 12 * 1024

# The options of a round, with the names of the module's options. calibrated: {workload name: loops}.
Plan = namedtuple("Plan", "loops calibrated run_seconds runs warmup timeout idle_seconds control round")
# The controller knows the protocol of a change and replaces this one.
_PROTOCOL = {"name": "custom", "rounds": 1, "design": "blocks"}


class Ends:
    """The counters of both ends: of this host, and of the server through its control channel (None: only this host).

    own_meter: the meter of this host, on systems that need one.
    """

    def __init__(self, channel, own_meter=None):
        self._channel = channel
        self._meter = own_meter
        self._last = None
        self.gone = None

    def sample(self):
        """{"client": snapshot, "server": snapshot or None}; MeasureError if the server does not answer."""
        server = None
        if self._channel:
            server = self._channel.request("sample")["sample"]
            replies.check_order(self._last, server, self._channel.target.address)
            self._last = server
        return {"client": self._snapshot(), "server": server}

    def known(self):
        """As sample(), with None for a server that does not answer, which is gone from then on."""
        if self.gone is None:
            try:
                return self.sample()
            except MeasureError as error:
                self.gone = str(error)
        return {"client": self._snapshot(), "server": None}

    def _snapshot(self):
        return counters.snapshot(meter=self._meter, pids=(os.getpid(),))


class Window:
    """A context that samples both ends at its begin and end."""

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


def _between(function, before, after):
    return {
        end: function(before[end], after[end]) if before[end] and after[end] else None for end in ("client", "server")
    }


def rotated(workloads, number):
    """The workloads in the order of round number (from 1): each has another position in each round."""
    start = (number - 1) % len(workloads) if workloads else 0
    return workloads[start:] + workloads[:start]


def _one_run(workload, plan, ends, problem):
    """(a run's entry of the record without its number, the histogram of its round trips or None).

    problem: why it cannot begin, or None.
    """
    run = {"ok": False, "error": "not begun: %s" % problem, "started": utc_now(), "elapsed_s": None}
    run.update(metrics={}, cpu=None, net=None, links=None, raw="")
    if problem is not None:
        return run, None
    window, begin = Window(ends), time.monotonic()
    try:
        if ends.gone:
            raise MeasureError(ends.gone)
        outcome = workload.run(plan, window)
    except (MeasureError, OSError) as error:
        run.update(error=sentence(error), elapsed_s=round(time.monotonic() - begin, 6))
        ends.known()
        return run, None
    # its beginning and its end, which hold the figures of tools
    raw = programs.Output(min(_RAW_LIMIT, _RAW_TOTAL // (plan.warmup + plan.runs)) // 2 - 16)
    raw.add(outcome.raw.encode("utf-8"))
    run.update(ok=True, error=None, metrics=outcome.metrics, raw=raw.text, elapsed_s=round(outcome.elapsed, 6))
    cpu = dict(window.cpu, client=None) if workload.waits_awake else window.cpu
    run.update(cpu=cpu, net=window.net, links=outcome.links)
    return run, outcome.histogram


def _problem(act, *arguments):
    """None, or one sentence why act() failed."""
    try:
        act(*arguments)
    except (MeasureError, OSError) as error:
        return sentence(error)
    return None


def measure_workload(workload, plan, ends):
    """One workload of a round: a record without idle, fingerprint and ids. It never raises for a failed run."""
    started, runs, counted = utc_now(), [], []
    try:
        problem = ends.gone or _problem(workload.prepare, plan)
        if problem is not None:
            ends.known()
        for number in range(plan.warmup + plan.runs):
            run, round_trips = _one_run(workload, plan, ends, problem)
            run.update(run=number, warmup=number < plan.warmup)
            runs.append(run)
            if round_trips and not run["warmup"]:
                counted.append(round_trips)
    finally:
        left_behind = _problem(workload.finish)
    names = ("name", "tool", "version", "bytes", "loops", "connections", "argv", "unit")
    described = {name: getattr(workload, name) for name in names}
    described.update(control=False, params=dict(workload.params), metric=dict(workload.metric._asdict()))
    described.update({"set": workload.family}, **({"transport": workload.transport} if workload.transport else {}))
    record = {
        "schema": SCHEMA,
        "workload": described,
        "protocol": dict(_PROTOCOL, runs=plan.runs, warmup=plan.warmup, run_seconds=plan.run_seconds),
        "started": started,
        "finished": utc_now(),
        "runs": runs,
    }
    if counted:
        record["histogram_us"] = histogram.merge(counted)
    return dict(record, left_behind=left_behind) if left_behind else record


def measure_control(plan, own_meter=None):
    """The control workload, on loopback, which no tuning of a network interface affects."""
    lifetime = (plan.runs + plan.warmup + 10) * (plan.timeout + 60)
    with agent.local_server(lifetime) as target:
        workload = engines.Pingpong(target, CONTROL_BYTES)
        workload.name = CONTROL_NAME
        record = measure_workload(workload, plan, Ends(None, own_meter))
    record["workload"]["control"] = True
    record["peer"] = CONTROL_PEER
    return record


def _own_address(address):
    """(own address, numeric address) of a connection to another host; nothing is sent."""
    try:
        family, kind, _protocol, _name, where = socket.getaddrinfo(address, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as sock:
            sock.connect(where)
            return sock.getsockname()[0], where[0]
    except OSError:
        return "", ""


def _begin(ends, channel):
    """The fingerprints of both ends and the first sample; those of a missing server are None."""
    addresses, server = ("", ""), None
    if channel is not None:
        try:
            server = channel.request("hello")["fingerprint"]
            addresses = channel.local_address()
        except MeasureError as error:
            ends.gone = str(error)
            addresses = _own_address(channel.target.address)
    first = ends.known()
    return {"client": fingerprint(*addresses), "server": None if ends.gone else server}, first


def _end(number, _frame):
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _ending_in_order():
    """Clean up if a signal ends this module (SIGKILL cannot be caught)."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, _end) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


def measure_round(plan, workloads, channel=None):
    """All records of one round, without ids and collector; failures are failed runs in them.

    channel: a wire.Channel to the server's control port, None for workloads of this host alone.
    """
    with _ending_in_order(), meter.own() as own_meter:
        ends = Ends(channel, own_meter)
        both, first = _begin(ends, channel)
        with_control = plan.control and not ends.gone
        idle = {"client": None, "server": None}
        if plan.idle_seconds and not ends.gone:
            before = ends.known()
            time.sleep(plan.idle_seconds)
            idle = _between(counters.cpu_between, before, ends.known())
        records = [measure_workload(workload, plan, ends) for workload in rotated(workloads, plan.round)]
        if channel is None:
            for record in records:
                record["peer"] = LOCAL_PEER
        if with_control:
            records.append(measure_control(plan, own_meter))
        last = ends.known()
        for end, print_ in both.items():
            if print_ and first[end] and last[end]:
                print_["clock_step_s"] = counters.clock_step(first[end], last[end])
        sources = {end: counter.get("cpu_source") if counter else None for end, counter in first.items()}
        for record in records:
            control = record["workload"]["control"]
            for key, values in (("idle", idle), ("fingerprint", both), ("cpu_source", sources)):
                record[key] = {"client": values["client"], "server": None if control else values["server"]}
        return records
