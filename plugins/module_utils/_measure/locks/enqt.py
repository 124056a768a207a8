# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP's enqt, the test program of the standalone enqueue server (ENSA1): its command lines and what it prints.

Only the operations in _OPCODES can be sent: SAP warns that others can bring an enqueue server to a standstill. The
output of 8, 10 and 12 is not documented. Rates are recognized as numbers beside the words for 10 seconds, 1 minute and
5 minutes; any other output is an error that shows it.
"""

import re
import time

from ..errors import MeasureError
from ..workloads import programs
from ..workloads.workload import Outcome
from . import enqueue

TOOL = "enqt"
VERSION = "unknown"  # no way to ask it is documented
_OPCODES = {"live_statistics": 8, "sd_benchmark": 10, "create_locks": 11, "destroy_locks": 12, "verify_entries": 20}
# Time limit of calls that are not measured: counting and releasing the entries.
_ASK_SECONDS = 60.0
# By then a program that prints every second has printed.
_LEAST_SECONDS = 3

_WINDOWS = (
    ("ops_per_min_10s", re.compile(r"\b10\s*s(?:ec(?:ond)?s?)?\b", re.I)),
    ("ops_per_min_1min", re.compile(r"\b(?:1\s*m(?:in(?:ute)?)?|60\s*s(?:ec(?:ond)?s?)?)\b", re.I)),
    ("ops_per_min_5min", re.compile(r"\b(?:5\s*m(?:in(?:ute)?s?)?|300\s*s(?:ec(?:ond)?s?)?)\b", re.I)),
    ("ops_per_min_actual", re.compile(r"\b(?:actual|current|now)\b", re.I)),
)
_UNITS = (
    (re.compile(r"\bop(?:eration)?s?\s*(?:/|per\s)\s*min(?:ute)?\b", re.I), 1),
    (re.compile(r"\bop(?:eration)?s?\s*(?:/|per\s)\s*s(?:ec(?:ond)?)?\b", re.I), 60),
)
_TIME_OF_DAY = re.compile(r"\b(?:\d{4}-\d\d-\d\d|\d\d\.\d\d\.\d{4}|\d\d:\d\d:\d\d)\b")
_NUMBER = re.compile(r"(?<![\w.])\d{1,15}(?:,\d{3}){0,5}(?:\.\d{1,9})?(?![\w.])")
_ENTRIES = re.compile(r"Number of selected entries\s*:\s*(\d{1,15})(?!\d)", re.I)


def command(binary, profile, intent, *numbers):
    """The command line of one of the operations in _OPCODES."""
    return [binary, "pf=" + profile, "%d" % _OPCODES[intent]] + ["%d" % number for number in numbers]


def parse_rates(text):
    """{ops_per_min_actual, _10s, _1min, _5min} of the last table of rates in a text, as far as it has them.

    A table is a line that names windows above lines of as many numbers, or a window and its number on one line, with
    operations per minute (or second) as the unit above or beside them. MeasureError shows a text without one.
    """
    found, header, factor = {}, [], None
    for line in text.splitlines():
        factor, rest = _unit(_TIME_OF_DAY.sub(" ", line), factor)
        windows, rest = _windows(rest)
        numbers = [float(digits.replace(",", "")) for digits in _NUMBER.findall(rest)]
        if windows and not numbers:
            header = windows
        # Below a header, a line with other words is about something else.
        other = not windows and re.search(r"[A-Za-z]", _NUMBER.sub(" ", rest))
        names = windows or header
        if factor and numbers and len(numbers) == len(names) and not other:
            found.update(zip(names, (number * factor for number in numbers)))
    if not found:
        raise MeasureError("enqt printed no rates that can be read: %s" % programs.first_lines(text))
    return found


def _unit(line, factor):
    """(operations per minute for one unit of the line, the line without the unit)."""
    for pattern, value in _UNITS:
        if pattern.search(line):
            # The words around it, such as Enqueue, do not matter.
            return value, re.sub(r"(?i)\b(?:enqueue|total|average|avg|rate)\b", " ", pattern.sub(" ", line))
    return factor, line


def _windows(line):
    """([metric of each window in the order of the line], the line without them)."""
    places = []
    for name, pattern in _WINDOWS:
        for match in pattern.finditer(line):
            places.append((match.start(), name))
        line = pattern.sub(lambda match: " " * len(match.group(0)), line)
    return [name for _place, name in sorted(places)], line


def parse_entries(text):
    """The last number of selected entries in the output of verify_entries; MeasureError if there is none."""
    found = _ENTRIES.findall(text)
    if not found:
        raise MeasureError("enqt printed no number of locks: %s" % programs.first_lines(text))
    return int(found[-1])


def interval(seconds):
    """The interval of the statistics in a run of this many seconds: 5 s as published, 1 s in short runs."""
    return 5 if seconds >= 15 else 1


def longest_average(seconds):
    """The decisive metric: the longest average that fits into a run of this many seconds, whenever it is printed."""
    windows = ((300, "ops_per_min_5min"), (60, "ops_per_min_1min"), (10, "ops_per_min_10s"))
    fitting = [name for window, name in windows if seconds >= window + interval(seconds)]
    return fitting[0] if fitting else "ops_per_min_actual"


class Enqt(enqueue.LockWorkload):
    """A workload of enqt against the server of a profile.

    sd_benchmark runs the statistics of the server beside the load, whose rates are its figures, as in the published
    measurements.
    """

    tool, version = TOOL, VERSION
    METRICS = {
        "sd_benchmark": enqueue.rate("ops_per_min_actual"),
        "create_locks": enqueue.time_of("lock_us"),
        "verify_entries": enqueue.time_of("verify_us"),
        "live_statistics": enqueue.rate("ops_per_min_actual"),
    }

    def __init__(self, asked, binary, profile, runner, statistics=None):
        super().__init__(asked, runner, statistics)
        if asked.load in ("create_locks", "verify_entries") and asked.processes > 1:
            raise MeasureError(
                "enqt supports %s only with one process: several would ask for the same locks; raise users" % asked.load
            )
        if asked.load in ("sd_benchmark", "live_statistics"):
            if asked.run_seconds < _LEAST_SECONDS or asked.run_seconds != int(asked.run_seconds):
                raise MeasureError(
                    "run_seconds is %g; enqt needs whole seconds, and prints its rates every second: at least %d"
                    % (asked.run_seconds, _LEAST_SECONDS)
                )
            self.metric = enqueue.rate(longest_average(asked.run_seconds))
            self.params["interval"] = interval(asked.run_seconds)
        self._binary, self._profile = binary, profile
        self._interval = interval(asked.run_seconds)

    def _command(self, intent, *numbers):
        return command(self._binary, self._profile, intent, *numbers)

    @property
    def argv(self):
        load, asked = self.asked.load, self.asked
        if load == "sd_benchmark":
            return self._command(load, asked.run_seconds)
        if load == "create_locks":
            return self._command(load, asked.users, asked.locks_per_user)
        return self._command(load, self._interval) if load == "live_statistics" else self._verify(1)

    def _verify(self, times):
        return self._command("verify_entries", 1, 1, times)

    def count(self):
        return parse_entries(self._runner.ask(self._verify(1), _ASK_SECONDS))

    def sd_benchmark(self, setting, window):
        # The load releases its locks by itself. With locks of others in the table, those that stay could be theirs.
        self._runner.guardian.owes(not self.asked.allow_foreign_locks)
        with self._runner.watched(self._command("live_statistics", self._interval)) as watched:
            ran = self._runner.together([self.argv] * self.asked.processes, setting.timeout, window)
        seen = watched.text
        raw = "\n".join(["statistics of the server:", seen, "load:"] + ran.texts)
        try:
            metrics = parse_rates(seen)
        except MeasureError:
            # The load itself may print the rates; the error shows both outputs.
            metrics = parse_rates(raw)
        return self._rated(metrics, raw, ran.elapsed)

    def live_statistics(self, setting, window):
        with window, self._runner.watched(self.argv) as watched:
            begin = time.monotonic()
            time.sleep(self.asked.run_seconds)
            elapsed = time.monotonic() - begin
        raw = watched.text
        return self._rated(parse_rates(raw), raw, elapsed)

    def _rated(self, metrics, raw, elapsed):
        """The Outcome of a table of rates; the operations of the run follow from the decisive rate."""
        rate = metrics.get(self.metric.name)
        if rate is None:
            raise MeasureError("enqt printed no %s: %s" % (self.metric.name, programs.first_lines(raw)))
        if rate <= 0:
            raise MeasureError("enqt printed a rate of 0: nobody worked with the enqueue server")
        return Outcome(dict(metrics, units=int(round(rate * elapsed / 60.0))), raw, elapsed, None)

    def _requested(self):
        return self.asked.users * self.asked.locks_per_user

    def create_locks(self, setting, window):
        with self.setting_locks():
            ran = self._create(setting.timeout, window)
        metrics = {"units": self._requested(), "lock_us": round(ran.elapsed * 1e6 / self._requested(), 4)}
        return Outcome(metrics, ran.texts[0], ran.elapsed, None)

    def verify_entries(self, setting, window):
        with self.setting_locks():
            self._create(setting.timeout)
            ran = self._runner.together([self.argv], setting.timeout, window)
            read = parse_entries(ran.texts[0])
        metrics = {"units": read, "verify_us": round(ran.elapsed * 1e6 / read, 4)}
        return Outcome(metrics, ran.texts[0], ran.elapsed, None)

    def _create(self, timeout, window=None):
        """Set all locks; MeasureError if some are missing afterwards."""
        argv = self._command("create_locks", self.asked.users, self.asked.locks_per_user)
        ran = self._runner.together([argv], timeout, window)
        made = self.count() - self._before
        # While others work with the table, the number is only roughly right.
        if made != self._requested() and not (self.asked.allow_foreign_locks and made > 0):
            raise MeasureError(
                "enqt made %d locks instead of %d (is enque/table_size large enough?): %s"
                % (made, self._requested(), programs.first_lines(ran.texts[0]))
            )
        return ran

    def destroy(self):
        if self.count() <= self._before:
            return
        destroy = self._command("destroy_locks", self.asked.users, self.asked.locks_per_user)
        said = self._runner.ask(destroy, _ASK_SECONDS)
        left = self.count() - self._before
        if left >= (self._requested() if self.asked.allow_foreign_locks else 1):
            raise MeasureError(
                "%d locks more than before the measurement stay in the lock table, release them in SM12: %s"
                % (left, programs.first_lines(said))
            )
