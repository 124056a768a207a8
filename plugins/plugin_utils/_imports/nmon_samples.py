# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the snapshots of an nmon file to samples of CPU time.

Sources of the utilization, the best one first:

- ``PCPU_ALL`` (AIX): processors in use, as they are;
- ``LPAR`` (AIX, shared partition): percentages of the entitlement, EC_User% and EC_Sys%;
- ``CPU_ALL``: percentages of all CPUs. On AIX its last column, PhysicalCPUs, can count threads and is not used;
- ``PhysicalCPU`` of LPAR: processors consumed, including idle time.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from .._records.cpu_window import GAP, CpuFileError, Sample, Used
from .nmon import About, Reader, Snapshot

_SHARES = {"user": "User%", "system": "Sys%", "wait": "Wait%", "idle": "Idle%", "steal": "Steal%"}
_NETWORK = {"-read-KB/s": "read_kb", "-write-KB/s": "write_kb"}


def samples_of(reader: Reader, cpus: float | None) -> Iterator[Sample]:
    """One sample per snapshot, about the time since the one before; ``cpus`` is the user's number of processors."""
    before: datetime | None = None
    for snapshot in reader.snapshots():
        since = before or _start(reader.about, snapshot)
        if snapshot.at < since:
            raise CpuFileError(
                f"line {snapshot.line}: the clock goes back from {since} to {snapshot.at}; give a part of the file"
            )
        yield _sample(since, snapshot, reader.about, cpus)
        before = snapshot.at


def _start(about: About, snapshot: Snapshot) -> datetime:
    """The begin of the first snapshot: nmon's own start, if that was about an interval before it."""
    begun, interval = about.begun, about.interval_s
    near = begun is not None and interval and 0 <= (snapshot.at - begun).total_seconds() <= GAP * interval
    return begun if begun and near else snapshot.at


def _sample(since: datetime, snapshot: Snapshot, about: About, cpus: float | None) -> Sample:
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
            "LPAR": of_entitlement(snapshot, cpus),
            "CPU_ALL": of_all(snapshot, about, cpus),
            "PhysicalCPU": consumed(snapshot, cpus),
        },
        shares={name: shares[column] for name, column in _SHARES.items() if column in shares},
        gap=bool(interval) and (snapshot.at - since).total_seconds() > GAP * (interval or 0.0),
        physc=lpar.get("PhysicalCPU"),
        entitled=lpar.get("entitled"),
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


def of_entitlement(snapshot: Snapshot, cpus: float | None) -> Used | None:
    """EC_User% and EC_Sys% of LPAR; only a shared partition is entitled to a part of a processor."""
    found = snapshot.sections.get("LPAR", {})
    entitled = found.get("entitled")
    if not entitled or found.get("SharedCPU") == 0:
        return None
    return _pair(found.get("EC_User%"), found.get("EC_Sys%"), entitled / 100.0, cpus or _virtual(snapshot))


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


def _virtual(snapshot: Snapshot) -> float | None:
    return snapshot.sections.get("LPAR", {}).get("virtualCPUs")
