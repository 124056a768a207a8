# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of nmon, of AIX (topas_nmon) and Linux.

Comma-separated lines whose first field is a section. AAA describes the run, ZZZZ begins a snapshot, BBBP holds the
output of commands. A section has a header line with the names of its columns, then one line per snapshot, which can
be shorter or longer; a later header replaces it, anywhere in the file.

Sources of the utilization of a sample, the best one first:

- ``PCPU_ALL`` (AIX, written with -y PCPU=on): processors in use, as they are;
- ``LPAR`` (AIX, shared partition): percentages of the virtual processors, VP_User% and VP_Sys%. EC_User% and EC_Sys%
  are not used: above the entitlement they add up to more than 100 in older files, and are shares of what was consumed
  in those of AIX 7.1 and later. Over 187 snapshots of a real file this differs from PCPU_ALL by at most 0.0093;
- ``CPU_ALL``: percentages of all CPUs. On AIX its last column, PhysicalCPUs, can count threads and is not used;
- ``PhysicalCPU`` of LPAR: processors consumed, including idle time.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from .cpu_window import GAP, About, CpuFileError, Sample, Used

SECTIONS = frozenset({"CPU_ALL", "PCPU_ALL", "LPAR", "NET"})
"""The sections that are read; a file has about thirty others, some with one line per process."""

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
# 16:09:56 13-AUG-2017: the month is English in every locale, and Linux writes AAA,time with a point before the seconds
_MOMENT = re.compile(r"(\d{1,2}):(\d{2})[:.](\d{2}) (\d{1,2})-([A-Za-z]{3})-(\d{4})")
_NUMBER = re.compile(r"-?\d+(\.\d*)?")
_SNAPSHOT = re.compile(r"T\d+")
_LPAR_TYPE = re.compile(r"\bType\s*:\s*(Dedicated|Shared)")
_LPAR_CPUS = re.compile(r"\bOnline Virtual CPUs\s*:\s*(\d{1,9})\b")
_SHARES = {"user": "User%", "system": "Sys%", "wait": "Wait%", "idle": "Idle%", "steal": "Steal%"}
_PARTS = {
    "CPU_ALL": tuple(_SHARES.values()),
    "PCPU_ALL": ("User", "Sys", "Wait", "Idle"),
    "LPAR": ("VP_User%", "VP_Sys%", "VP_Wait%", "VP_Idle%", "PhysicalCPU"),
}
"""The columns of a section that cannot all be 0: processors are at least idle."""
_NETWORK = {"-read-KB/s": "read_kb", "-write-KB/s": "write_kb"}

Sections = dict[str, dict[str, float]]
"""The figures of a snapshot by section and column, without those that are missing or not numbers."""


def _moment(clock: str, day: str) -> datetime | None:
    """Parse a time and a date of nmon; None if they are not both valid."""
    match = _MOMENT.fullmatch(f"{clock.strip()} {day.strip()}")
    if not match or match[5].upper() not in _MONTHS:
        return None
    hour, minute, second, number, month, year = match.groups()
    try:
        place = _MONTHS.index(month.upper()) + 1
        return datetime(int(year), place, int(number), int(hour), int(minute), int(second))
    except ValueError:
        return None


class Reader:
    """One file; ``lines`` with their ends, because a last line without end is incomplete. cpus: as the user says."""

    def __init__(self, lines: Iterable[str], cpus: float | None = None) -> None:
        self.about = About("nmon", has_network=True)
        self._lines, self._cpus = lines, cpus
        self._columns: dict[str, list[str]] = {}
        self._aaa: dict[str, list[str]] = {}
        self._name, self._sections = "", Sections()
        self._type = ""
        self._dedicated_cpus: int | None = None

    def samples(self) -> Iterator[Sample]:
        """One sample per snapshot, about the time since the one before. Raises CpuFileError.

        After a clock step backwards it is not known how long the snapshot was: its sample has no length.
        """
        before: datetime | None = None
        at: datetime | None = None
        for number, line in enumerate(self._lines, 1):
            if number == 1 and not line.startswith("AAA,"):
                raise CpuFileError("this is not a file of nmon: its first line does not begin with AAA")
            if not line.endswith("\n"):
                break
            section, _comma, rest = line.rstrip("\r\n").partition(",")
            if section == "ZZZZ":
                if at:
                    yield self._sample(before, at)
                self._name, clock, day = [*rest.split(",", 3), "", ""][:3]
                self._sections, before, at = {}, at, _moment(clock, day)
                if at is None or not _SNAPSHOT.fullmatch(self._name):
                    raise CpuFileError(
                        f"line {number}: ZZZZ has no snapshot, time and date such as T0001,23:02:43,14-OCT-2014"
                    )
            elif section in SECTIONS:
                self._add(section, rest.split(","), number)
            elif section == "AAA":
                self._describe(rest.split(","), number)
            elif section == "BBBP":
                # lines of lparstat -i
                self._type = found[1] if (found := _LPAR_TYPE.search(rest)) else self._type
                if (found := _LPAR_CPUS.search(rest)) and self._type == "Dedicated":
                    self._dedicated_cpus = int(found[1])
        if at:
            yield self._sample(before, at)

    def _add(self, section: str, fields: list[str], number: int) -> None:
        if not _SNAPSHOT.fullmatch(fields[0]):
            self._columns[section] = [name.strip() for name in fields[1:]]
        elif not self._name:
            raise CpuFileError(
                f"line {number}: {section} of {fields[0]} is before the line ZZZZ with its time, so this file was"
                " sorted; give the file as nmon wrote it"
            )
        elif fields[0] == self._name:
            pairs = zip(self._columns.get(section, ()), fields[1:], strict=False)
            self._sections[section] = {
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

    def _sample(self, before: datetime | None, at: datetime) -> Sample:
        sections = self._sections
        empty = _drop_empty(sections)
        total, lpar = sections.get("CPU_ALL", {}), sections.get("LPAR", {})
        clock, day, interval = (self._aaa.get(name, [""])[0] for name in ("time", "date", "interval"))
        usual = float(interval) if _NUMBER.fullmatch(interval) else 0.0
        if not before:
            # nmon's own start, if that was about an interval before the first snapshot
            begun = _moment(clock, day)
            before = begun if begun and usual and 0 <= (at - begun).total_seconds() <= GAP * usual else at
        begin = min(before, at)
        network: dict[str, dict[str, float]] = {}
        for column, rate in sections.get("NET", {}).items():
            for suffix, key in _NETWORK.items():
                if column.endswith(suffix):
                    network.setdefault(column.removesuffix(suffix), {})[key] = rate
        # Only a shared partition is entitled to a part of a processor.
        shared = bool(lpar.get("entitled")) and lpar.get("SharedCPU") != 0
        return Sample(
            begin,
            at,
            sources=self._sources(shared),
            shares={name: total[column] for name, column in _SHARES.items() if column in total},
            empty=empty,
            gap=bool(usual) and (at - begin).total_seconds() > GAP * usual,
            physc=lpar.get("PhysicalCPU"),
            entitled=lpar.get("entitled"),
            shared=self._type == "Shared" or shared,
            network=network,
        )

    def _sources(self, shared: bool) -> dict[str, Used | None]:
        total, physical, lpar = (self._sections.get(name, {}) for name in ("CPU_ALL", "PCPU_ALL", "LPAR"))
        virtual, consumed = lpar.get("virtualCPUs"), lpar.get("PhysicalCPU")
        whole, cpus = self._cpus or virtual, self._cpus
        if cpus is None and self.about.system == "AIX":
            cpus = virtual if lpar.get("SharedCPU") == 0 else self._dedicated_cpus
        elif cpus is None:
            cpus = total.get("CPUs")
        return {
            "PCPU_ALL": _used(physical.get("User"), physical.get("Sys"), 1.0, whole),
            "LPAR": _used(lpar.get("VP_User%"), lpar.get("VP_Sys%"), (virtual or 0.0) / 100.0 * shared, whole),
            "CPU_ALL": _used(total.get("User%"), total.get("Sys%"), (cpus or 0.0) / 100.0, cpus, total.get("Steal%")),
            "PhysicalCPU": None if consumed is None else Used(consumed, cpus=whole),
        }


def _used(
    user: float | None, system: float | None, factor: float, cpus: float | None, steal: float | None = None
) -> Used | None:
    """The processors in use; None without user or system time, or if 100 % of what is not known (factor 0)."""
    if user is None or system is None or not factor:
        return None
    stolen = None if steal is None else steal * factor
    return Used((user + system) * factor, user * factor, system * factor, steal=stolen, cpus=cpus)


def _drop_empty(sections: Sections) -> bool:
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
