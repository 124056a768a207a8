# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP's enq_admin, the administration program of the standalone enqueue server 2 (ENSA2).

Every answer holds the time that the server took (Response=281 usec). That is the latency here, without the start of the
program. Locks that it sets for a measurement have a name of their own, by which they are released.
"""

import os
import re
import statistics
import time
from collections import namedtuple

from ..errors import MeasureError
from ..workloads import programs
from ..workloads.workload import Outcome
from . import enqueue

TOOL = "enq_admin"
# The name of every lock that a measurement sets.
LOCK_NAME = "ZPOWER_SAP_TUNING"
_ASK_SECONDS = 60.0

# A reply of enq_admin: title and time in its footer, number of locks in the table or None, rows of its table.
Reply = namedtuple("Reply", "title response_us current rows")

_FOOTER = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d;([^;]*);\s*'([^']*)';\s*Response=(\d{1,15})\s*usec\s*$", re.M)
_CURRENT = re.compile(r"\bCurrent=(\d{1,15});")
_KEY = re.compile(r"^([A-Za-z][^:;=\n]*):(.*)$", re.M)


def parse(text):
    """The Reply in the output of enq_admin; MeasureError without a footer, or with one that does not say OK."""
    footers = list(_FOOTER.finditer(text))
    if not footers:
        raise MeasureError("enq_admin printed no answer that ends with a time: %s" % programs.first_lines(text))
    status, title, response = footers[-1].groups()
    if status.strip() != "OK":
        raise MeasureError("enq_admin: %s: %s: %s" % (title, status.strip(), programs.first_lines(text)))
    current = _CURRENT.search(text)
    return Reply(title, int(response), int(current.group(1)) if current else None, parse_table(text))


def parse_table(text):
    """[{column: text}] of the CSV table in an answer, whose lines end with a semicolon; empty without a table."""
    rows, names = [], None
    for line in text.splitlines():
        cells = line.split(";")
        if names is None:
            names = cells if line.startswith("Type;") else None
        elif len(cells) != len(names):
            break
        else:
            rows.append({name: cell for name, cell in zip(names, cells) if name})
    return rows


def parse_info(text):
    """{key: value} of --info."""
    return {match.group(1).strip(): match.group(2).strip() for match in _KEY.finditer(_FOOTER.sub("", text))}


def release_of(text):
    """The release of the server in the output of --info, such as 789.100, or unknown."""
    found = parse_info(text)
    parts = [found[key] for key in ("Release", "Patch Level") if found.get(key)]
    return ".".join(parts) or "unknown"


class Command:
    """The command lines of one enq_admin for one server."""

    def __init__(self, binary, profile):
        self._begin = [binary, "pf=" + profile]

    def info(self):
        return self._begin + ["--no_color", "--info"]

    def locks(self, most="*", name="*", argument="*"):
        return self._begin + ["--csv", "--no_color", "--locks=%s:*:*:%s:%s" % (most, name, argument)]

    def lock(self, what, count, owner):
        """what: set_locks or release_locks."""
        # %u is a running number, so that all locks of an owner differ
        argument = "--%s=%d:E:%s::%s:%s.%%u" % (what, count, owner, LOCK_NAME, owner)
        return self._begin + ["--csv", "--no_color", argument]


class EnqAdmin(enqueue.LockWorkload):
    """A workload of enq_admin: calls one after another, in the requested number of processes."""

    tool = TOOL
    METRICS = {load: enqueue.time_of("response_us") for load in enqueue.LOADS}
    UNITS = dict(dict.fromkeys(enqueue.LOADS, "request"), create_locks="lock")

    def __init__(self, asked, binary, profile, runner, statistics=None):
        super().__init__(asked, runner, statistics)
        if asked.processes > asked.users:
            raise MeasureError(
                "processes is %d and users %d; every process needs a user" % (asked.processes, asked.users)
            )
        self._command = Command(binary, profile)
        self.version = "unknown"
        # Names of this measurement alone, by which its locks are recognized.
        self._prefix = "ZP%d." % os.getpid()
        self._owners = ["%s%d" % (self._prefix, number) for number in range(asked.users)]

    @property
    def argv(self):
        load, owner = self.asked.load, "<owner>"
        if load == "live_statistics":
            return self._command.info()
        if load == "verify_entries":
            return self._command.locks("*", LOCK_NAME)
        return self._command.lock("set_locks", 1 if load == "sd_benchmark" else self.asked.locks_per_user, owner)

    def _ask(self, argv):
        return parse(self._runner.ask(argv, _ASK_SECONDS))

    def count(self):
        """From the header of the list, else the rows of the whole list."""
        answer = self._ask(self._command.locks("1"))
        return len(self._ask(self._command.locks()).rows) if answer.current is None else answer.current

    def prepare(self, setting):
        self.version = release_of(self._runner.ask(self._command.info(), _ASK_SECONDS))
        super().prepare(setting)

    def live_statistics(self, setting, window):
        return self._repeated([[self._command.info()]], setting, window)

    def create_locks(self, setting, window):
        calls = [self._command.lock("set_locks", self.asked.locks_per_user, owner) for owner in self._owners]
        with self.setting_locks():
            outcome = self._once(calls, setting, window)
        outcome.metrics["units"] = self.asked.users * self.asked.locks_per_user
        return outcome

    def verify_entries(self, setting, window):
        with self.setting_locks():
            for owner in self._owners:
                self._ask(self._command.lock("set_locks", self.asked.locks_per_user, owner))
            return self._repeated([[self._command.locks("*", LOCK_NAME)]], setting, window)

    def sd_benchmark(self, setting, window):
        """Each process sets a lock of its user and releases it, repeatedly."""
        pairs = [
            [self._command.lock("set_locks", 1, owner) for owner in self._owners],
            [self._command.lock("release_locks", 1, owner) for owner in self._owners],
        ]
        with self.setting_locks():
            return self._repeated(pairs, setting, window)

    def _once(self, calls, setting, window):
        """All calls once, at most one per process at a time."""
        texts = []
        with window:
            begin = time.monotonic()
            for first in range(0, len(calls), self.asked.processes):
                some = calls[first : first + self.asked.processes]
                texts += self._runner.together(some, setting.timeout, since=begin).texts
            elapsed = time.monotonic() - begin
        return _outcome(texts, elapsed)

    def _repeated(self, steps, setting, window):
        """Repeat the steps of calls until the run is over, in each turn with the next owners."""
        texts, turn, count = [], 0, self.asked.processes
        with window:
            # entering the window takes whole intervals of a meter (AIX)
            begin = time.monotonic()
            while not texts or time.monotonic() - begin < self.asked.run_seconds:
                for calls in steps:
                    some = [calls[(turn * count + number) % len(calls)] for number in range(count)]
                    texts += self._runner.together(some, setting.timeout).texts
                turn += 1
            elapsed = time.monotonic() - begin
        return _outcome(texts, elapsed)

    def destroy(self):
        for _owner in range(len(self._owners) + 1):
            # a lock of this measurement
            rows = self._ask(self._command.locks("1", LOCK_NAME, self._prefix + "*")).rows
            row = next((row for row in rows if row.get("Owner 1") in self._owners), None)
            if row is None:
                return
            self._ask(self._command.lock("release_locks", self.asked.locks_per_user, row["Owner 1"]))
        raise MeasureError(
            "locks of the name %s stay in the lock table, for example of owner %s: release them with enq_admin "
            "--release_locks, or in SMENQ" % (LOCK_NAME, row["Owner 1"])
        )


def _outcome(texts, elapsed):
    times = [parse(text).response_us for text in texts]
    median = statistics.median(times)
    if median <= 0:
        raise MeasureError("enq_admin printed a response time of 0: raise locks_per_user")
    metrics = {"response_us": median, "response_max_us": max(times), "units": len(texts)}
    return Outcome(metrics, "\n".join(texts[:2] + texts[-1:]), elapsed, None)
