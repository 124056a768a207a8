# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One round of a measurement, with only the fields that the comparison needs.

A record file holds raw output, both fingerprints and every metric of every run; sixty thousand of them do not fit into
memory. A :class:`Round` keeps the runs' primary values and sums, and shares all values that repeat between records.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from .._statistics.verdict import Better
from .kpi import CpuSum

ROUND_TRIP: tuple[str, str, Better] = ("av2_us", "µs", "lower")
"""The metric of records that do not name theirs, which are those of the first version."""

MUST_MATCH = ("system", "arch", "kernel", "machine", "cpus_online", "interface", "mtu")
"""Fingerprint items of each end that have to be equal in both states."""

SHOWN = ("python", "hostname", "address", "boot_id", "rps_cpus", "smc_r", "entitlement", "sap_kernel")
"""Items of each end that are shown if they differ. Only the last two, if they are known, decide something."""

SIDES = ("client", "server")

# the peer of a record whose tool has no server, as the measuring modules write it
LOCAL_PEER = "local"
UNKNOWN = -(2**63)
"""The smallest number of an array, for a time that is not known."""

Items = tuple[str | None, ...]


class Workload(NamedTuple):
    """The workload of a round; ``bytes`` is the size of one message."""

    name: str
    tool: str
    version: str | None
    bytes: int
    loops: int
    connections: int
    control: bool
    transport: str
    """The kind of sockets, by default ``tcp``."""
    metric: str
    """The metric that decides, with the next two."""
    metric_unit: str
    better: Better
    unit: str
    """One unit of work in words."""
    params: tuple[tuple[str, str], ...]
    """Further parameters of the workload, as text, sorted by name."""
    family: str
    """The set of workloads that it belongs to."""


class Protocol(NamedTuple):
    """The declared rounds per state, and counted runs and warm-up runs per round.

    ``session``: 1, or more for the rounds of a measurement that was continued later; what changed between two sessions
    is not an effect of the change. ``seed``: the order of the states was drawn from it.
    """

    name: str
    rounds: int
    runs: int
    warmup: int
    design: str
    session: int = 1
    seed: str = ""


class Layout(NamedTuple):
    """What is the same in most rounds of a change, so that they share it: everything of their runs but the figures."""

    heads: tuple[tuple[int, bool, bool, str | None], ...]
    """Of each run: its number, whether it is a warm-up, whether it succeeded, and its error."""
    counted: tuple[int, ...]
    """The places of the counted runs that succeeded."""
    wanted: int
    """The number of counted runs, also of those that failed."""


class End(NamedTuple):
    """Fingerprint of one end as text, in the order of MUST_MATCH and SHOWN."""

    must: Items
    shown: Items

    @property
    def boot_id(self) -> str | None:
        """Identifies the kernel: two ends with the same one share it."""
        return self.shown[SHOWN.index("boot_id")]


@dataclass(slots=True, eq=False)
class Round:
    """One record. Times in microseconds since the epoch; medians over the counted (not warm-up) successful runs."""

    host: str
    peer: str
    phase: str
    number: int
    workload: Workload
    protocol: Protocol
    started: int | None
    finished: int | None
    layout: Layout
    times: "array[int]"
    """The start of each run, or UNKNOWN: in an array, because a fleet has half a million."""
    values: tuple[float | None, ...]
    """The primary metric of each run; None for a failed one."""
    median: float | None
    throughput: float | None
    longest: float | None
    """Median over the counted runs of each run's longest round trip, in µs."""
    cpu: tuple[CpuSum | None, CpuSum | None]
    """Client, server."""
    idle: tuple[CpuSum | None, CpuSum | None]
    retransmits: float | None
    """Of both ends, over the counted runs that have them."""
    retransmit_runs: int
    ends: tuple[End | None, End | None]
    links: tuple[str, ...]
    """The kinds of connections in the counted runs, if SMC was requested: ``SMCR`` or ``TCP, why``."""
    clock_step_s: float
    """The larger step of the two ends' clocks; 0 if none was noticed."""
    context: tuple[tuple[str, str], ...] = ()
    """Settings of the application that are not tunings of this collection, as text, sorted by name."""
    source: str | None = None
    """The source of imported figures."""
    cpu_source: tuple[str | None, str | None] = (None, None)
    """The source of the CPU time of client and server; None in records of the first version, which had their own."""
    left_behind: str | None = None
    """What the measurement could not undo."""
    units: float | None = None
    """Median over the counted runs of their units of work."""
    histogram: str | None = None
    """The round trips of the counted runs, in the text form of module_utils/_measure/net/histogram.py."""

    @property
    def slot(self) -> tuple[str, int]:
        """Phase and number: one object for all rounds that have them, because a report names them many times."""
        return _slot(self.phase, self.number)

    @property
    def good(self) -> list[float]:
        """Primary values of the counted runs that succeeded, in their order."""
        values: Sequence[Any] = self.values
        return [values[place] for place in self.layout.counted]

    @property
    def failed(self) -> int:
        """Counted runs that failed or are missing from those that the protocol requested."""
        return max(self.layout.wanted, self.protocol.runs, 1) - len(self.layout.counted)


@lru_cache(maxsize=4096)
def _slot(phase: str, number: int) -> tuple[str, int]:
    return phase, number


def time_text(moment: int | None) -> str | None:
    """The inverse of :func:`microseconds`, in its canonical form."""
    if moment in (None, UNKNOWN):
        return None
    minute, rest = divmod(moment, 60_000_000)
    return f"{_minute_text(minute)}:{rest // 1_000_000:02d}.{rest % 1_000_000:06d}Z"


@lru_cache(maxsize=4096)
def _minute_text(minute: int) -> str:
    """Kept, because runs that are written one after the other began in the same minute."""
    return (datetime(1970, 1, 1) + timedelta(minutes=minute)).isoformat(timespec="minutes")
