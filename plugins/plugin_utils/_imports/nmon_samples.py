# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the snapshots of an nmon file to samples of CPU time.

Sources of the utilization, the best one first:

- ``PCPU_ALL`` (AIX): processors in use, as they are;
- ``LPAR`` (AIX, shared partition): percentages of the virtual processors, VP_User% and VP_Sys%. EC_User% and EC_Sys%
  are not used: above the entitlement they add up to more than 100 in older files, and are shares of what was consumed
  in those of AIX 7.1 and later. Over 187 snapshots of a real file this differs from PCPU_ALL by at most 0.0093;
- ``CPU_ALL``: percentages of all CPUs. On AIX its last column, PhysicalCPUs, can count threads and is not used;
- ``PhysicalCPU`` of LPAR: processors consumed, including idle time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from .._records.cpu_window import GAP, Sample, Used
from .nmon import About, Reader, Snapshot

_SHARES = {"user": "User%", "system": "Sys%", "wait": "Wait%", "idle": "Idle%", "steal": "Steal%"}
_NETWORK = {"-read-KB/s": "read_kb", "-write-KB/s": "write_kb"}


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
            "LPAR": of_virtual(snapshot, cpus),
            "CPU_ALL": of_all(snapshot, about, cpus),
            "PhysicalCPU": consumed(snapshot, cpus),
        },
        shares={name: shares[column] for name, column in _SHARES.items() if column in shares},
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
