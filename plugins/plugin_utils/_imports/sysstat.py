# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON of sysstat as samples of CPU time: ``mpstat -o JSON`` with an interval, and ``sadf -j`` of a file of sar.

Both have percentages of all CPUs. mpstat has guest time beside user time; both count as user time. Its times are local
and without date. sadf has its times in UTC by default, and says so.
"""

# pylint: disable=unidiomatic-typecheck  # JSON's true is not a number, though bool is an int

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from .cpu_window import GAP, About, CpuFileError, Sample, Used

MAGIC = (b"\x96\xd5", b"\xd5\x96")
"""The first bytes of a binary file of sar, for both byte orders."""

_ALL = ("all", "-1")
"""All CPUs together; the latter in JSON of sysstat 12.0.0 to 12.0.3 and 12.1.0 to 12.1.3 (its issue 214)."""
_LOADS = ("cpu-load", "cpu-load-all")
"""Releases before 11 call the load with all its parts (sar -u ALL) cpu-load-all."""
_USER = ("usr", "user", "nice", "guest", "gnice")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(?: ([AP]M))?")
_HALF_A_DAY = timedelta(hours=12)
_NOTHING = 1.0
"""Percent: a CPU that is offline has 0 in every column, and all have it where sysstat could not read them."""


class Reader:
    """One host in a JSON text. cpus: its processors, day: that of the first report of mpstat, both as the user says.

    Raises CpuFileError for anything else.
    """

    def __init__(self, text: str, cpus: float | None = None, day: str | None = None) -> None:
        try:
            hosts = json.loads(text)["sysstat"]["hosts"]
            host = hosts[0]
            reports = host["statistics"]
        except json.JSONDecodeError as error:
            what = f"JSON ({error.msg}, line {error.lineno}, column {error.colno})"
            if not text.rstrip().endswith("}"):
                raise CpuFileError(f"this is not a complete {what}") from error
            raise CpuFileError(
                f"this is not valid {what}: some old versions of sysstat leave out commas, or write decimal commas; "
                "convert the file of sar with a newer sadf and LC_ALL=C"
            ) from error
        # a ValueError: a number of thousands of digits
        except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
            raise CpuFileError("this JSON is not sysstat's: it has no sysstat.hosts[0].statistics") from error
        if len(hosts) > 1 or not isinstance(host, dict) or not isinstance(reports, list):
            raise CpuFileError("this JSON is not sysstat's: sysstat.hosts must hold one host with a list of statistics")
        self._host, self._cpus, self._day = host, cpus, day
        self._reports = [report if isinstance(report, dict) else {} for report in reports]
        # mpstat's timestamps are texts, sadf's are objects
        self._mpstat = any(isinstance(report.get("timestamp"), str) for report in self._reports)
        stamps = [report.get("timestamp") for report in self._reports]
        self._stamps = [stamp if isinstance(stamp, dict) else {} for stamp in stamps]
        # sysstat 12.7 of Debian 13 has "tz": "UTC" where earlier ones have "utc": 1.
        utc = (stamp.get("utc") in (1, True) or stamp.get("tz") == "UTC" for stamp in self._stamps)
        named = (host.get(name) for name in ("nodename", "sysname", "release"))
        name, system, level = (value if isinstance(value, str) else None for value in named)
        self.about = About("mpstat" if self._mpstat else "sadf", name, system, level, utc=bool(reports) and all(utc))

    def samples(self) -> Iterator[Sample]:
        """One sample per report."""
        times = self._mpstat_times() if self._mpstat else self._sadf_times()
        usual = median((end - begin).total_seconds() for begin, end in times) if times else 0.0
        before: datetime | None = None
        for report, (since, end) in zip(self._reports, times, strict=True):
            # An interval can be longer than its spacing: times are whole seconds, and the clock can be set back a
            # little. If it is set back further, it is not known how long the report was: its sample has no length.
            begin = min(max(since, before or since), end)
            loads = _loads(report)
            figures = next((loads[name] for name in _ALL if name in loads), None)
            if figures is None:
                raise CpuFileError(f"the report of {end} has no load of all CPUs together ({', '.join(_LOADS)})")
            empty = "idle" in figures and sum(figures.values()) <= _NOTHING
            shares = {} if empty else _shares(figures)
            # CPUs that did something, if each has a report; sysstat's own number includes offline CPUs
            online = sum(sum(load.values()) > _NOTHING for name, load in loads.items() if name.isdigit())
            cpus = self._cpus or float(online) or _number(self._host.get("number-of-cpus"))
            gap = (end - begin).total_seconds() > GAP * usual
            yield Sample(begin, end, {"cpu-load": _used(shares, cpus)}, shares, gap=gap, empty=empty)
            before = end

    def _sadf_times(self) -> list[tuple[datetime, datetime]]:
        found = []
        for stamp in self._stamps:
            interval = _number(stamp.get("interval"))
            try:
                end = datetime.fromisoformat(f"{stamp['date']} {stamp['time']}")
            except (KeyError, ValueError) as error:
                raise CpuFileError(
                    "a report has no timestamp with date, time and interval: make it with sadf -j"
                ) from error
            if not interval:
                raise CpuFileError(f"the report of {end} has no interval")
            found.append((end - timedelta(seconds=interval), end))
        return found

    def _mpstat_times(self) -> list[tuple[datetime, datetime]]:
        """A report covers the time since the one before; the first one is as long as the others."""
        ends: list[datetime] = []
        today = self._first_day()
        for report in self._reports:
            end = today + _clock(report.get("timestamp"))
            if ends and ends[-1] - end > _HALF_A_DAY:
                today += timedelta(days=1)
                end += timedelta(days=1)
            ends.append(end)
        if len(ends) < 2:
            raise CpuFileError(
                "it has one report, about the time since the system started; give an interval: mpstat 10 -o JSON"
            )
        usual = median((later - earlier).total_seconds() for earlier, later in pairwise(ends))
        return [*pairwise([ends[0] - timedelta(seconds=max(usual, 0.0)), *ends])]

    def _first_day(self) -> datetime:
        said = self._day or self._host.get("date")
        try:
            return datetime.combine(date.fromisoformat(str(said)), time())
        except ValueError as error:
            if self._day:
                raise CpuFileError(f"date is {said!r}; it must be a day such as 2026-11-20") from error
            raise CpuFileError(
                f"its date {said!r} is ambiguous: give date, or record with S_TIME_FORMAT=ISO"
            ) from error


def _used(shares: Mapping[str, float], cpus: float | None) -> Used | None:
    if not cpus or "user" not in shares or "system" not in shares:
        return None
    parts = {name: shares[name] * cpus / 100.0 for name in ("user", "system", "softirq", "steal") if name in shares}
    busy = sum(value for name, value in parts.items() if name != "steal")
    return Used(busy, cpus=cpus, **parts)


def _shares(figures: Mapping[str, float]) -> dict[str, float]:
    """Percentages by the names of samples. Without a column of their own, interrupts are part of system time."""
    found = {}
    users = [figures[name] for name in _USER if name in figures]
    if "usr" in figures or "user" in figures:
        found["user"] = sum(users)
    columns = {"sys": "system", "system": "system", "iowait": "wait", "idle": "idle", "steal": "steal"}
    for column, name in columns.items():
        if column in figures:
            found.setdefault(name, figures[column])
    if "irq" in figures and "soft" in figures:
        found["softirq"] = figures["irq"] + figures["soft"]
    return found


def _loads(report: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The figures of a report by CPU, without those that are not numbers."""
    found = {}
    loads = next((report[name] for name in _LOADS if name in report), None)
    for entry in loads if isinstance(loads, list) else ():
        if isinstance(entry, dict):
            values = {name: _number(value) for name, value in entry.items()}
            found[str(entry.get("cpu"))] = {name: value for name, value in values.items() if value is not None}
    return found


def _clock(text: Any) -> timedelta:
    match = _CLOCK.fullmatch(text.strip()) if isinstance(text, str) else None
    if not match or int(match[1]) > 23 or int(match[2]) > 59 or int(match[3]) > 60:
        raise CpuFileError(f"the timestamp {text!r} is not a time of day such as 16:30:00")
    hour = int(match[1])
    if match[4]:
        hour = hour % 12 + (12 if match[4] == "PM" else 0)
    return timedelta(hours=hour, minutes=int(match[2]), seconds=int(match[3]))


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and 0 <= value < 1e9 else None
