# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU seconds of a window from the snapshots of an nmon file: elapsed time x utilization, as the studies did by hand.

Sources of the utilization, the best one that covers most of the window:

- ``PCPU_ALL`` (AIX): processors in use, as they are;
- ``LPAR`` (AIX, shared partition): percentages of the entitlement, EC_User% and EC_Sys%;
- ``CPU_ALL``: percentages of all CPUs. On AIX its last column, PhysicalCPUs, can count threads and is not used;
- ``PhysicalCPU`` of LPAR: processors consumed, in which idle turns are contained.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._nmon import About, NmonError, Reader, Snapshot

SMC_R_HIDES = "SMC-R goes past the network counters that nmon reads: they do not show its traffic"
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_SHARES = {"user": "User%", "system": "Sys%", "wait": "Wait%", "idle": "Idle%", "steal": "Steal%"}
_READ, _WRITE = "-read-KB/s", "-write-KB/s"
_GAP = 2.0
"""Intervals without a snapshot from which on it is said; nmon is a little late at times."""

Figures = Mapping[str, float]


class Used(NamedTuple):
    """Processors in use, which is CPU seconds a second. ``busy`` is all; user and system where it says them apart."""

    busy: float
    user: float | None = None
    system: float | None = None
    steal: float | None = None


class Wanted(NamedTuple):
    """What the user asks for; ``begin`` and ``end`` as text, None for the whole file."""

    begin: str | None = None
    end: str | None = None
    cpus: float | None = None
    smc_r: bool | None = None


def cpu_seconds(elapsed_s: float, busy_pct: float, cpus: float = 1.0) -> float:
    """Elapsed time x utilization x CPUs that the utilization is a share of."""
    return elapsed_s * busy_pct / 100.0 * cpus


def _pair(user: float | None, system: float | None, factor: float = 1.0, steal: float | None = None) -> Used | None:
    if user is None or system is None:
        return None
    stolen = None if steal is None else steal * factor
    return Used((user + system) * factor, user * factor, system * factor, stolen)


def pcpu_all(snapshot: Snapshot) -> Used | None:
    """PCPU_ALL, which nmon has with -y PCPU=on."""
    found = snapshot.sections.get("PCPU_ALL", {})
    return _pair(found.get("User"), found.get("Sys"))


def of_entitlement(snapshot: Snapshot) -> Used | None:
    """EC_User% and EC_Sys% of LPAR; only a shared partition is entitled to a part of a processor."""
    found = snapshot.sections.get("LPAR", {})
    entitled = found.get("entitled")
    if not entitled or found.get("SharedCPU") == 0:
        return None
    return _pair(found.get("EC_User%"), found.get("EC_Sys%"), entitled / 100.0)


def of_all(snapshot: Snapshot, about: About, cpus: float | None) -> Used | None:
    """CPU_ALL, where it is known how many CPUs it is about."""
    found, lpar = snapshot.sections.get("CPU_ALL", {}), snapshot.sections.get("LPAR", {})
    if cpus is None and about.system == "AIX":
        cpus = lpar.get("virtualCPUs") if lpar.get("SharedCPU") == 0 else about.dedicated_cpus
    elif cpus is None:
        cpus = found.get("CPUs")
    if not cpus:
        return None
    return _pair(found.get("User%"), found.get("Sys%"), cpus / 100.0, found.get("Steal%"))


def consumed(snapshot: Snapshot) -> Used | None:
    """PhysicalCPU of LPAR."""
    processors = snapshot.sections.get("LPAR", {}).get("PhysicalCPU")
    return None if processors is None else Used(processors)


@dataclass
class Mean:
    """A mean over time of what is known in some snapshots only; None where it is in none."""

    total: float = 0.0
    seconds: float = 0.0

    def add(self, value: float | None, seconds: float) -> None:
        if value is not None:
            self.total += value * seconds
            self.seconds += seconds

    @property
    def value(self) -> float | None:
        return self.total / self.seconds if self.seconds > 0 else None


@dataclass
class Source:
    """The CPU time that one source of the utilization gives."""

    covered_s: float = 0.0
    busy_s: float = 0.0
    parts: dict[str, Mean] = field(default_factory=lambda: {name: Mean() for name in ("user", "system", "steal")})

    def add(self, used: Used | None, seconds: float) -> None:
        if used is None:
            return
        self.covered_s += seconds
        self.busy_s += used.busy * seconds
        for name, mean in self.parts.items():
            mean.add(getattr(used, name), seconds)

    def part(self, name: str) -> float | None:
        """The CPU seconds of a part, only where every snapshot says it."""
        mean = self.parts[name]
        return mean.total if self.covered_s > 0 and mean.seconds == self.covered_s else None


def moment(text: str, first: datetime) -> datetime:
    """``16:30``, ``16:30:00`` (on the day of ``first``) or ``2026-11-20 16:30:00``; NmonError for anything else."""
    try:
        if _CLOCK.fullmatch(text.strip()):
            clock = time.fromisoformat(text.strip().zfill(5 if text.count(":") == 1 else 8))
            return datetime.combine(first.date(), clock)
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None:
        raise NmonError(f"{text!r} is no time of the file, which has no zone: 16:30:00 or 2026-11-20 16:30:00")
    return found


class Window:
    """Adds up snapshots: :meth:`add` one after the other, then :meth:`result`."""

    def __init__(self, about: About, wanted: Wanted) -> None:
        self._about, self._wanted = about, wanted
        self._begin: datetime | None = None
        self._end: datetime | None = None
        self._from: datetime | None = None
        self._before: datetime | None = None
        self._snapshots = 0
        self._shares = {name: Mean() for name in _SHARES}
        self._sources = {name: Source() for name in ("PCPU_ALL", "LPAR", "CPU_ALL", "PhysicalCPU")}
        self._physical, self._entitled = Mean(), Mean()
        self._network: dict[str, dict[str, float]] = {}
        self._covered_s = 0.0
        self._remarks: list[str] = []

    def _start(self, snapshot: Snapshot) -> datetime:
        """Where the first snapshot begins: nmon's own start, if that was about an interval before it."""
        begun, interval = self._about.begun, self._about.interval_s
        near = begun is not None and interval and 0 <= (snapshot.at - begun).total_seconds() <= _GAP * interval
        self._from = start = begun if begun and near else snapshot.at
        wanted = self._wanted
        self._begin = moment(wanted.begin, snapshot.at) if wanted.begin else None
        self._end = moment(wanted.end, snapshot.at) if wanted.end else None
        if self._begin and self._end and self._end <= self._begin:
            if not _CLOCK.fullmatch((wanted.end or "").strip()):
                raise NmonError(f"the window ends at {self._end}, which is not after its begin at {self._begin}")
            self._end += timedelta(days=1)
        return start

    def add(self, snapshot: Snapshot) -> None:
        """Count the part of a snapshot's interval that lies in the window."""
        since, until = self._before or self._start(snapshot), snapshot.at
        if until < since:
            raise NmonError(
                f"line {snapshot.line}: the clock goes back from {since} to {until}; give a part of the file"
            )
        self._before = until
        low = max(since, self._begin or since)
        high = min(until, self._end or until)
        seconds = (high - low).total_seconds()
        if seconds <= 0:
            return
        interval = self._about.interval_s
        if interval and (until - since).total_seconds() > _GAP * interval:
            self._remarks.append(f"no snapshot between {since} and {until}")
        self._count(snapshot, seconds)

    def _count(self, snapshot: Snapshot, seconds: float) -> None:
        sections = snapshot.sections
        self._snapshots += 1
        self._covered_s += seconds
        for name, column in _SHARES.items():
            self._shares[name].add(sections.get("CPU_ALL", {}).get(column), seconds)
        for name, used in (
            ("PCPU_ALL", pcpu_all(snapshot)),
            ("LPAR", of_entitlement(snapshot)),
            ("CPU_ALL", of_all(snapshot, self._about, self._wanted.cpus)),
            ("PhysicalCPU", consumed(snapshot)),
        ):
            self._sources[name].add(used, seconds)
        lpar = sections.get("LPAR", {})
        self._physical.add(lpar.get("PhysicalCPU"), seconds)
        self._entitled.add(lpar.get("entitled"), seconds)
        for column, rate in sections.get("NET", {}).items():
            for suffix, key in ((_READ, "read_kb"), (_WRITE, "write_kb")):
                if column.endswith(suffix):
                    entry = self._network.setdefault(column.removesuffix(suffix), {})
                    entry[key] = entry.get(key, 0.0) + rate * seconds

    def result(self) -> dict[str, Any]:
        """The window as plain data; NmonError where the file says nothing about it."""
        if self._from is None or self._before is None:
            raise NmonError("the file has no snapshot (ZZZZ)")
        begin, end = self._begin or self._from, self._end or self._before
        if self._covered_s <= 0:
            raise NmonError(f"the file is about {self._from} to {self._before}, the window is {begin} to {end}")
        elapsed = (end - begin).total_seconds()
        # max() takes the first of those that are equal, and the sources stand in the order of their worth
        name, source = max(self._sources.items(), key=lambda item: item[1].covered_s)
        known = source.covered_s > 0
        shares = {f"{share}_pct": _rounded(mean.value) for share, mean in self._shares.items()}
        return {
            "host": self._about.host,
            "system": self._about.system,
            "level": self._about.level,
            "version": self._about.version,
            "begin": begin.isoformat(sep=" "),
            "end": end.isoformat(sep=" "),
            "elapsed_s": elapsed,
            "covered_s": source.covered_s if known else 0.0,
            "snapshots": self._snapshots,
            "source": name if known else None,
            "cpu_s": _rounded(source.busy_s) if known else None,
            "user_s": _rounded(source.part("user")),
            "system_s": _rounded(source.part("system")),
            "steal_s": _rounded(source.part("steal")),
            **shares,
            "busy_pct": _rounded(_sum(self._shares["user"].value, self._shares["system"].value)),
            "physc": _rounded(self._physical.value),
            "entitlement": _rounded(self._entitled.value),
            "network": self._seen(),
            "remarks": self._remarks + self._missing(elapsed, name, source),
        }

    def _seen(self) -> dict[str, Any]:
        """Network counters, and whether they mean anything."""
        smc_r = self._wanted.smc_r
        if smc_r:
            return {"applicable": False, "reason": SMC_R_HIDES, "interfaces": {}}
        unknown = smc_r is None and self._about.system == "AIX"
        reason = f"it is not said whether SMC-R was on; {SMC_R_HIDES}" if unknown else None
        interfaces = {
            name: {key: _rounded(value) for key, value in entry.items()} for name, entry in self._network.items()
        }
        return {"applicable": None if unknown else True, "reason": reason, "interfaces": interfaces}

    def _missing(self, elapsed: float, name: str, source: Source) -> list[str]:
        if source.covered_s <= 0 and self._shares["user"].seconds > 0:
            return ["the file does not say of how many processors its percentages are: give cpus"]
        if source.covered_s <= 0:
            return ["the file has no CPU section with User and Sys in this window"]
        found = []
        if source.covered_s < elapsed:
            found.append(f"{source.covered_s:g} s of {elapsed:g} s are covered, and the figures are about those")
        if name == "PhysicalCPU":
            found.append("cpu_s is what the partition consumed, idle turns too: LPAR has no EC_User% and EC_Sys%")
        return found


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def window_of(reader: Reader, wanted: Wanted) -> dict[str, Any]:
    """Read a file to its end and return what :meth:`Window.result` has of it."""
    window = Window(reader.about, wanted)
    for snapshot in reader.snapshots():
        window.add(snapshot)
    return window.result()
