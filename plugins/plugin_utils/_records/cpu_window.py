# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU seconds of a window from the samples of a file: elapsed time x utilization, as the studies did by hand.

The readers (nmon, sysstat) turn files into samples; this module knows no format. Times are those of the file, without
zone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple

SMC_R_HIDES = "SMC-R bypasses the network counters that nmon reads: they do not show its traffic"
SHARES = ("user", "system", "softirq", "wait", "idle", "steal")
"""Percentages as a file has them; ``softirq`` with interrupts."""

ALL_CPUS = "all CPUs"
ENTITLED = "the entitlement, or the processors consumed if that is more"
"""What 100 % is; the latter in a shared partition of AIX."""

PARTS = ("user", "system", "softirq", "steal")
FACTS = ("format", "host", "system", "level", "version")
"""What a file says about itself and a result repeats."""

EMPTY = "every share of the CPUs is 0, idle time too, which is not a measurement"
"""What sysstat and nmon write at times when they could not read the CPUs."""

GAP = 2.0
"""From so many intervals without a sample, there is a remark; recorders are a little late at times."""

_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


class CpuFileError(ValueError):
    """A file that is not in its format, or that cannot be used, in one sentence."""


class Used(NamedTuple):
    """Processors in use, which is CPU seconds per second. ``busy`` is all but steal; parts if the file has them.

    ``cpus``: how many processors there were; None if the file does not say.
    """

    busy: float
    user: float | None = None
    system: float | None = None
    softirq: float | None = None
    steal: float | None = None
    cpus: float | None = None


@dataclass(frozen=True)
class Sample:
    """What a file says about the time from ``begin`` to ``end``."""

    begin: datetime
    end: datetime
    sources: Mapping[str, Used | None]
    """By where the figures come from, the best one first; the same names in every sample of a file."""
    shares: Mapping[str, float]
    """Percentages of all CPUs by the names of SHARES; a figure that is missing or no number is left out."""
    gap: bool = False
    """The file has no sample for a part of this time."""
    empty: bool = False
    """Every share of the CPUs was 0 in the file, idle time too; none of them is in ``sources`` and ``shares``."""
    physc: float | None = None
    entitled: float | None = None
    shared: bool = False
    """Of a shared AIX partition: ``shares`` are those of its entitlement, or of physc if that is more."""
    network: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """kB per second by interface: read_kb, write_kb."""


@dataclass
class About:
    """What a file says about itself; readers fill it before the first sample."""

    format: str
    host: str | None = None
    system: str | None = None
    level: str | None = None
    version: str | None = None
    utc: bool = False
    """Whether its times are UTC; else they are the local time of the recorded host, without zone."""
    has_network: bool = False


class WindowOptions(NamedTuple):
    """The user's options; ``begin`` and ``end`` as text, None for the whole file."""

    begin: str | None = None
    end: str | None = None
    cpus: float | None = None
    smc_r: bool | None = None


def quoted(text: str) -> str:
    """A hint if YAML made a number of a time: 16:30:00 without quotes arrives as 59400."""
    number = re.fullmatch(r"[+-]?\d+", text.strip())
    return " (in quotes: without them, YAML takes it for a number)" if number else ""


def moment(text: str, first: datetime) -> datetime:
    """``16:30``, ``16:30:00`` (on the day of ``first``) or ``2026-11-20 16:30:00``; CpuFileError for anything else."""
    try:
        if _CLOCK.fullmatch(text.strip()):
            clock = time.fromisoformat(text.strip().zfill(5 if text.count(":") == 1 else 8))
            return datetime.combine(first.date(), clock)
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None:
        raise CpuFileError(
            f"{text!r} is no time of the file, which has no zone: 16:30:00 or 2026-11-20 16:30:00{quoted(text)}"
        )
    return found


def _mean(figures: Iterable[tuple[float | None, float]]) -> float | None:
    """The mean over time of (figure, seconds), without the unknown figures; None if all are unknown."""
    known = [(value, seconds) for value, seconds in figures if value is not None]
    total = sum(seconds for _value, seconds in known)
    return sum(value * seconds for value, seconds in known) / total if total > 0 else None


class Piece(NamedTuple):
    """The part of a sample that lies in the window."""

    begin: datetime
    end: datetime
    sample: Sample

    @property
    def seconds(self) -> float:
        return (self.end - self.begin).total_seconds()


class CpuWindow:
    """The samples of a file that lie in a window, and what they add up to."""

    def __init__(self, about: About, samples: Iterable[Sample], options: WindowOptions) -> None:
        self.about = about
        self._options = options
        self._pieces: list[Piece] = []
        self._remarks: list[str] = []
        self._begin: datetime | None = None
        self._end: datetime | None = None
        self._covered: tuple[datetime, datetime] | None = None
        self._last: datetime
        self._step = ""
        self.begin: datetime
        self.end: datetime
        self.source: str | None
        for sample in samples:
            self._add(sample)
        if self._covered is None:
            raise CpuFileError("the file has no sample of the CPUs")
        if not self._pieces:
            first, last = self._covered
            wanted = f"the window is {self._begin or first} to {self._end or last}"
            raise CpuFileError(f"the file covers {first} to {last}, {wanted}")
        self.begin, self.end = self._begin or self._pieces[0].begin, self._end or self._pieces[-1].end
        self.source = self._best()

    def _add(self, sample: Sample) -> None:
        if self._covered is None:
            self._covered, self._last = (sample.begin, sample.end), sample.begin
            self._limits(sample)
        first, last = self._covered
        self._covered = min(first, sample.begin), max(last, sample.end)
        inside = (self._begin is None or self._begin < sample.begin) and (self._end is None or self._last < self._end)
        if sample.begin > self._last and inside:
            self._remarks.append(f"no sample between {self._last} and {sample.begin}")
        if sample.end < self._last and self._pieces and not self._step:
            self._step = f"the clock goes back from {self._last} to {sample.end}"
        self._last = sample.end
        piece = Piece(max(sample.begin, self._begin or sample.begin), min(sample.end, self._end or sample.end), sample)
        if self._step and (piece.seconds > 0 or self._end is None):
            raise CpuFileError(f"{self._step}, and the window has times on both sides: give another begin and end")
        if piece.seconds > 0:
            if sample.gap:
                self._remarks.append(f"no sample between {sample.begin} and {sample.end}")
            self._pieces.append(piece)

    def _limits(self, sample: Sample) -> None:
        """Times of day are those of the day on which the first sample ends."""
        options = self._options
        self._begin = moment(options.begin, sample.end) if options.begin else None
        self._end = moment(options.end, sample.end) if options.end else None
        if self._begin and self._end and self._end <= self._begin:
            if not _CLOCK.fullmatch((options.end or "").strip()):
                raise CpuFileError(f"the window ends at {self._end}, which is not after its begin at {self._begin}")
            self._end += timedelta(days=1)
        if self._end:
            self._begin = self._begin or sample.begin

    def _best(self) -> str | None:
        """The source that covers most; the first of those that cover the same."""
        covered = {
            name: sum(piece.seconds for piece in self._pieces if piece.sample.sources[name] is not None)
            for name in self._pieces[0].sample.sources
        }
        name = max(covered, key=lambda item: covered[item])
        return name if covered[name] > 0 else None

    def used(self) -> list[tuple[Piece, Used]]:
        """The pieces that the best source says something about."""
        known = ((piece, piece.sample.sources[self.source]) for piece in self._pieces if self.source)
        return [(piece, used) for piece, used in known if used is not None]

    def result(self) -> dict[str, Any]:
        """The window as plain data."""
        used = self.used()
        covered = sum(piece.seconds for piece, _used in used)
        elapsed = (self.end - self.begin).total_seconds()
        whole = ENTITLED if any(piece.sample.shared for piece in self._pieces) else ALL_CPUS
        pieces = self._pieces
        shares = {name: _mean((piece.sample.shares.get(name), piece.seconds) for piece in pieces) for name in SHARES}
        return {
            **{name: getattr(self.about, name) for name in FACTS},
            "zone": "UTC" if self.about.utc else "local",
            "begin": self.begin.isoformat(sep=" "),
            "end": self.end.isoformat(sep=" "),
            "elapsed_s": elapsed,
            "covered_s": covered,
            "samples": len(self._pieces),
            "source": self.source,
            "cpu_s": _rounded(sum(item.busy * piece.seconds for piece, item in used)) if used else None,
            **{f"{name}_s": _part(used, name) for name in PARTS},
            "cpus": _rounded(_mean((item.cpus, piece.seconds) for piece, item in used)),
            **{f"{name}_pct": _rounded(share) for name, share in shares.items()},
            "busy_pct": _rounded(_sum(shares["user"], shares["system"], shares["softirq"])),
            "pct_of": whole if any(share is not None for share in shares.values()) else None,
            "physc": _rounded(_mean((piece.sample.physc, piece.seconds) for piece in pieces)),
            "entitlement": _rounded(_mean((piece.sample.entitled, piece.seconds) for piece in pieces)),
            "network": self._seen() if self.about.has_network else None,
            "remarks": self._remarks + self._missing(elapsed, covered),
        }

    def _seen(self) -> dict[str, Any]:
        """Network counters, and whether they apply."""
        smc_r = self._options.smc_r
        if smc_r:
            return {"applicable": False, "reason": SMC_R_HIDES, "interfaces": {}}
        unknown = smc_r is None and self.about.system == "AIX"
        reason = f"smc_r does not say whether SMC-R was on; {SMC_R_HIDES}" if unknown else None
        interfaces: dict[str, dict[str, float]] = {}
        for piece in self._pieces:
            for name, rates in piece.sample.network.items():
                entry = interfaces.setdefault(name, {})
                for key, rate in rates.items():
                    entry[key] = entry.get(key, 0.0) + rate * piece.seconds
        rounded = {name: {key: _rounded(value) for key, value in entry.items()} for name, entry in interfaces.items()}
        return {"applicable": None if unknown else True, "reason": reason, "interfaces": rounded}

    def empty(self) -> str:
        """A sentence if samples of the window are not measurements."""
        count = sum(piece.sample.empty for piece in self._pieces)
        return f"in {count} of {len(self._pieces)} samples {EMPTY}" if count else ""

    def _missing(self, elapsed: float, covered: float) -> list[str]:
        found = [*filter(None, [self.empty()])]
        if covered <= 0 and any("user" in piece.sample.shares for piece in self._pieces):
            return [*found, "the file does not say how many processors its percentages refer to: give cpus"]
        if covered <= 0:
            return [*found, "the file has no figures of the CPUs with user and system time in this window"]
        if covered < elapsed:
            found.append(f"{covered:g} s of {elapsed:g} s are covered, and the figures refer to those")
        if self.source == "PhysicalCPU":
            found.append(
                "cpu_s is the processor time that the partition consumed, idle time included: LPAR has no VP_User% and"
                " VP_Sys%"
            )
        return found


def _part(used: Sequence[tuple[Piece, Used]], name: str) -> float | None:
    """The CPU seconds of a part; None unless every sample has it."""
    rates = [(piece.seconds, getattr(item, name)) for piece, item in used]
    if not rates or any(rate is None for _seconds, rate in rates):
        return None
    return _rounded(sum(seconds * rate for seconds, rate in rates))


def _sum(user: float | None, system: float | None, softirq: float | None) -> float | None:
    return None if user is None or system is None else user + system + (softirq or 0.0)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
