# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of nmon, of AIX (topas_nmon) and of Linux, as a stream of snapshots, and their CPU time as samples.

Comma-separated lines whose first field is a section. AAA describes the run, ZZZZ begins a snapshot, BBBP holds the
output of commands. A section has a header line with the names of its columns, then one line per snapshot, which can
be shorter or longer; a later header replaces it, anywhere in the file.

Sources of the utilization of a sample, the best one first:

- ``PCPU_ALL`` (AIX): processors in use, as they are;
- ``LPAR`` (AIX, shared partition): percentages of the virtual processors, VP_User% and VP_Sys%. EC_User% and EC_Sys%
  are not used: above the entitlement they add up to more than 100 in older files, and are shares of what was consumed
  in those of AIX 7.1 and later. Over 187 snapshots of a real file this differs from PCPU_ALL by at most 0.0093;
- ``CPU_ALL``: percentages of all CPUs. On AIX its last column, PhysicalCPUs, can count threads and is not used;
- ``PhysicalCPU`` of LPAR: processors consumed, including idle time.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import NamedTuple

from .._records import cpu_window
from .._records.cpu_window import GAP, CpuFileError, Sample, Used

SECTIONS = frozenset({"CPU_ALL", "PCPU_ALL", "LPAR", "NET"})
"""The sections that are read; a file has about thirty others, some with one line per process."""

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DATE = re.compile(r"(\d{1,2})-([A-Za-z]{3})-(\d{4})")
# Linux writes AAA,time with a point before the seconds.
_TIME = re.compile(r"(\d{1,2}):(\d{2})[:.](\d{2})")
_NUMBER = re.compile(r"-?\d+(\.\d*)?")
_SNAPSHOT = re.compile(r"T\d+")
# Lines of lparstat -i.
_LPAR_TYPE = re.compile(r"\bType\s*:\s*(Dedicated|Shared)")
_LPAR_CPUS = re.compile(r"\bOnline Virtual CPUs\s*:\s*(\d+)")
_SHARES = {"user": "User%", "system": "Sys%", "wait": "Wait%", "idle": "Idle%", "steal": "Steal%"}
_PARTS = {
    "CPU_ALL": tuple(_SHARES.values()),
    "PCPU_ALL": ("User", "Sys", "Wait", "Idle"),
    "LPAR": ("VP_User%", "VP_Sys%", "VP_Wait%", "VP_Idle%", "PhysicalCPU"),
}
"""The columns of a section that cannot all be 0: processors are at least idle."""
_NETWORK = {"-read-KB/s": "read_kb", "-write-KB/s": "write_kb"}


class Snapshot(NamedTuple):
    """A snapshot of nmon (local time, without zone), about the time since the snapshot before."""

    name: str
    line: int
    at: datetime
    sections: dict[str, dict[str, float]]
    """By section and column, without figures that are missing or not numbers."""


@dataclass
class About(cpu_window.About):
    """What a file says about itself; filled while it is read, all but ``dedicated_cpus`` before the first snapshot."""

    format: str = "nmon"
    has_network: bool = True
    interval_s: float | None = None
    begun: datetime | None = None
    dedicated_cpus: int | None = None
    """Processors of a dedicated AIX partition, from lparstat -i."""

    shared: bool = False
    """Whether lparstat -i says that this is a shared AIX partition."""


def parse_date(text: str) -> date | None:
    """``13-AUG-2017``, whose month is English in every locale."""
    match = _DATE.fullmatch(text.strip())
    if not match or match[2].upper() not in _MONTHS:
        return None
    try:
        return date(int(match[3]), _MONTHS.index(match[2].upper()) + 1, int(match[1]))
    except ValueError:
        return None


def parse_time(text: str) -> time | None:
    """``16:09:56``, or ``07:23.04`` as Linux writes it in one place."""
    match = _TIME.fullmatch(text.strip())
    try:
        return time(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


class Reader:
    """One file; ``lines`` with their ends, because a last line without end is incomplete."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.about = About()
        self._lines = lines
        self._columns: dict[str, list[str]] = {}
        self._aaa: dict[str, list[str]] = {}
        self._lpar_type = ""

    def snapshots(self) -> Iterator[Snapshot]:
        """Every snapshot, when the next one begins or the file ends. CpuFileError if it cannot be read."""
        current: Snapshot | None = None
        for number, line in enumerate(self._lines, 1):
            if number == 1 and not line.startswith("AAA,"):
                raise CpuFileError("this is no file of nmon: its first line does not begin with AAA")
            if not line.endswith("\n"):
                break
            section, _comma, rest = line.rstrip("\r\n").partition(",")
            if section == "ZZZZ":
                if current is not None:
                    yield current
                current = _begin(rest.split(","), number)
            elif section in SECTIONS:
                self._data(section, rest.split(","), current, number)
            elif section == "AAA":
                self._describe(rest.split(","), number)
            elif section == "BBBP":
                self._command(rest)
        if current is not None:
            yield current

    def _data(self, section: str, fields: list[str], current: Snapshot | None, number: int) -> None:
        if not _SNAPSHOT.fullmatch(fields[0]):
            self._columns[section] = [name.strip() for name in fields[1:]]
        elif current is None:
            raise CpuFileError(
                f"line {number}: {section} of {fields[0]} is before the line ZZZZ with its time, so this file was"
                " sorted; give the file as nmon wrote it"
            )
        elif fields[0] == current.name:
            pairs = zip(self._columns.get(section, ()), fields[1:], strict=False)
            current.sections[section] = {
                name: float(text) for name, text in pairs if name and _NUMBER.fullmatch(text.strip())
            }

    def _describe(self, fields: list[str], number: int) -> None:
        if len(fields) < 2:  # AAA,SubprocessorMode Unknown
            return
        key, values = fields[0], [field.strip() for field in fields[1:]]
        known = self._aaa.setdefault(key, values)
        if key == "host" and known != values:
            raise CpuFileError(
                f"line {number}: several files in one, of {known[0]} and of {values[0]}; give one of them"
            )
        about = self.about
        if key == "host":
            about.host = known[0]
        elif key == "version":
            about.version = known[0]
        elif key == "AIX":
            about.system, about.level = "AIX", known[0]
        elif key == "OS":
            about.system, about.level = known[0], known[1] if len(known) > 1 else None
        elif key == "interval" and _NUMBER.fullmatch(known[0]):
            about.interval_s = float(known[0])
        elif key in ("time", "date"):
            day, clock = parse_date(self._aaa.get("date", [""])[0]), parse_time(self._aaa.get("time", [""])[0])
            about.begun = datetime.combine(day, clock) if day and clock else None

    def _command(self, rest: str) -> None:
        found = _LPAR_TYPE.search(rest)
        if found:
            self._lpar_type = found[1]
            self.about.shared = found[1] == "Shared"
        found = _LPAR_CPUS.search(rest)
        if found and self._lpar_type == "Dedicated":
            self.about.dedicated_cpus = int(found[1])


def _begin(fields: list[str], number: int) -> Snapshot:
    clock = parse_time(fields[1]) if len(fields) > 1 else None
    day = parse_date(fields[2]) if len(fields) > 2 else None
    if clock is None or day is None or not _SNAPSHOT.fullmatch(fields[0]):
        raise CpuFileError(f"line {number}: ZZZZ has no snapshot, time and date such as T0001,23:02:43,14-OCT-2014")
    return Snapshot(fields[0], number, datetime.combine(day, clock), {})


def samples_of(reader: Reader, cpus: float | None) -> Iterator[Sample]:
    """One sample per snapshot, about the time since the one before; ``cpus`` is the user's number of processors.

    After a clock step backwards it is not known how long the snapshot was: its sample has no length.
    """
    before: datetime | None = None
    for snapshot in reader.snapshots():
        since = min(before or _start(reader.about, snapshot), snapshot.at)
        yield _sample(since, snapshot, reader.about, cpus)
        before = snapshot.at


def _start(about: About, snapshot: Snapshot) -> datetime:
    """The begin of the first snapshot: nmon's own start, if that was about an interval before it."""
    begun, interval = about.begun, about.interval_s
    near = begun is not None and interval and 0 <= (snapshot.at - begun).total_seconds() <= GAP * interval
    return begun if begun and near else snapshot.at


def _drop_empty(sections: dict[str, dict[str, float]]) -> bool:
    """Take away the figures of a snapshot in which no processor was even idle; whether it is such a snapshot.

    A partition that is nearly idle can have 0.00 processors in PCPU_ALL and LPAR, and percentages in CPU_ALL.
    """
    empty = [
        name
        for name, parts in _PARTS.items()
        if any(part in sections.get(name, {}) for part in parts[3:])
        and not any(sections[name].get(part) for part in parts)
    ]
    if "CPU_ALL" in sections and "CPU_ALL" not in empty:
        return False
    for name in empty:
        sections[name] = {column: figure for column, figure in sections[name].items() if column not in _PARTS[name]}
    return bool(empty)


def _sample(since: datetime, snapshot: Snapshot, about: About, cpus: float | None) -> Sample:
    empty = _drop_empty(snapshot.sections)
    shares, lpar = snapshot.sections.get("CPU_ALL", {}), snapshot.sections.get("LPAR", {})
    interval = about.interval_s
    network: dict[str, dict[str, float]] = {}
    for column, rate in snapshot.sections.get("NET", {}).items():
        for suffix, key in _NETWORK.items():
            if column.endswith(suffix):
                network.setdefault(column.removesuffix(suffix), {})[key] = rate
    return Sample(
        begin=since,
        end=snapshot.at,
        sources={
            "PCPU_ALL": pcpu_all(snapshot, cpus),
            "LPAR": of_virtual(snapshot, cpus),
            "CPU_ALL": of_all(snapshot, about, cpus),
            "PhysicalCPU": consumed(snapshot, cpus),
        },
        shares={name: shares[column] for name, column in _SHARES.items() if column in shares},
        empty=empty,
        gap=bool(interval) and (snapshot.at - since).total_seconds() > GAP * (interval or 0.0),
        physc=lpar.get("PhysicalCPU"),
        entitled=lpar.get("entitled"),
        shared=about.shared or _is_shared(lpar),
        network=network,
    )


def _pair(user: float | None, system: float | None, factor: float, cpus: float | None) -> Used | None:
    if user is None or system is None:
        return None
    return Used((user + system) * factor, user * factor, system * factor, cpus=cpus)


def pcpu_all(snapshot: Snapshot, cpus: float | None) -> Used | None:
    """PCPU_ALL, which nmon writes with -y PCPU=on."""
    found = snapshot.sections.get("PCPU_ALL", {})
    return _pair(found.get("User"), found.get("Sys"), 1.0, cpus or _virtual(snapshot))


def of_virtual(snapshot: Snapshot, cpus: float | None) -> Used | None:
    """VP_User% and VP_Sys% of LPAR, for shared partitions."""
    found, virtual = snapshot.sections.get("LPAR", {}), _virtual(snapshot)
    if not virtual or not _is_shared(found):
        return None
    return _pair(found.get("VP_User%"), found.get("VP_Sys%"), virtual / 100.0, cpus or virtual)


def of_all(snapshot: Snapshot, about: About, cpus: float | None) -> Used | None:
    """CPU_ALL, if its number of CPUs is known."""
    found, lpar = snapshot.sections.get("CPU_ALL", {}), snapshot.sections.get("LPAR", {})
    if cpus is None and about.system == "AIX":
        cpus = lpar.get("virtualCPUs") if lpar.get("SharedCPU") == 0 else about.dedicated_cpus
    elif cpus is None:
        cpus = found.get("CPUs")
    used = _pair(found.get("User%"), found.get("Sys%"), cpus / 100.0, cpus) if cpus else None
    steal = found.get("Steal%")
    return used if used is None or steal is None or not cpus else used._replace(steal=steal * cpus / 100.0)


def consumed(snapshot: Snapshot, cpus: float | None) -> Used | None:
    """PhysicalCPU of LPAR."""
    processors = snapshot.sections.get("LPAR", {}).get("PhysicalCPU")
    return None if processors is None else Used(processors, cpus=cpus or _virtual(snapshot))


def _is_shared(lpar: Mapping[str, float]) -> bool:
    """Whether LPAR is about a shared partition; only that is entitled to a part of a processor."""
    return bool(lpar.get("entitled")) and lpar.get("SharedCPU") != 0


def _virtual(snapshot: Snapshot) -> float | None:
    return snapshot.sections.get("LPAR", {}).get("virtualCPUs")
