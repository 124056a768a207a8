# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU seconds of a window from the samples of a file: elapsed time x utilization, as the studies did by hand.

The readers (nmon, sysstat) turn files into samples; this module does not depend on formats. Times are
those of the file, without zone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from typing import NamedTuple

from .fields import Values

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
"""What sysstat and nmon sometimes write when they could not read the CPUs."""

GAP = 2.0
"""From this many intervals without a sample, there is a remark; recorders are a little late at times."""

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
    """What a file says about the time from ``begin`` to ``end``, or about the part of it that lies in the window."""

    begin: datetime
    end: datetime
    sources: Mapping[str, Used | None]
    """By where the figures come from, the best one first; the same names in every sample of a file."""
    shares: Mapping[str, float]
    """Percentages of all CPUs by the names of SHARES; a figure that is missing or not a number is left out."""
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

    @property
    def seconds(self) -> float:
        return (self.end - self.begin).total_seconds()


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
    """The user's options; ``begin`` and ``end``: None for the whole file; ``date``: day of mpstat's first report."""

    begin: str | None = None
    end: str | None = None
    cpus: float | None = None
    smc_r: bool | None = None
    date: str | None = None


def quoted(text: str) -> str:
    """A hint if YAML made a number of a time: 16:30:00 without quotes arrives as 59400."""
    number = re.fullmatch(r"[+-]?\d+", text.strip())
    return " (in quotes: without them, YAML treats it as a number)" if number else ""


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
            f"{text!r} is not a time of the file, which has no zone: 16:30:00 or 2026-11-20 16:30:00{quoted(text)}"
        )
    return found


def _mean(figures: Iterable[tuple[float | None, float]]) -> float | None:
    """The mean over time of (figure, seconds), without the unknown figures; None if all are unknown."""
    known = [(value, seconds) for value, seconds in figures if value is not None]
    total = sum(seconds for _value, seconds in known)
    return sum(value * seconds for value, seconds in known) / total if total > 0 else None


class CpuWindow:
    """The samples of a file that lie in a window, and what they add up to."""

    def __init__(self, about: About, samples: Iterable[Sample], options: WindowOptions) -> None:
        self.about, self._options = about, options
        self._samples: list[Sample] = []
        self._remarks: list[str] = []
        first = last = previous = None
        begin: datetime | None = None
        end: datetime | None = None
        step = ""
        for sample in samples:
            if first is None or last is None or previous is None:
                first, last, previous = sample.begin, sample.end, sample.begin
                begin, end = _limits(options, sample)
            first, last = min(first, sample.begin), max(last, sample.end)
            inside = (begin is None or begin < sample.begin) and (end is None or previous < end)
            if sample.begin > previous and inside:
                self._remarks.append(f"no sample between {previous} and {sample.begin}")
            if sample.end < previous and self._samples and not step:
                step = f"the clock goes back from {previous} to {sample.end}"
            previous = sample.end
            part = replace(sample, begin=max(sample.begin, begin or sample.begin), end=min(previous, end or previous))
            if step and (part.seconds > 0 or end is None):
                raise CpuFileError(f"{step}, and the window has times on both sides: give another begin and end")
            if part.seconds > 0:
                if sample.gap:
                    self._remarks.append(f"no sample between {sample.begin} and {sample.end}")
                self._samples.append(part)
        if first is None:
            raise CpuFileError("the file has no sample of the CPUs")
        if not self._samples:
            wanted = f"the window is {begin or first} to {end or last}"
            raise CpuFileError(f"the file covers {first} to {last}, {wanted}")
        self._begin, self._end = begin or self._samples[0].begin, end or self._samples[-1].end
        # the source that covers most; the first of those that cover the same
        covered = {
            name: sum(sample.seconds for sample in self._samples if sample.sources[name] is not None)
            for name in self._samples[0].sources
        }
        best = max(covered, key=lambda name: covered[name])
        self.source = best if covered[best] > 0 else None

    def used(self) -> list[tuple[Sample, Used]]:
        """The samples that the best source says something about."""
        known = ((sample, sample.sources[self.source]) for sample in self._samples if self.source)
        return [(sample, used) for sample, used in known if used is not None]

    def result(self) -> Values:
        """The window as plain data."""
        used, samples = self.used(), self._samples
        covered = sum(sample.seconds for sample, _used in used)
        elapsed = (self._end - self._begin).total_seconds()
        shares = {name: _mean((one.shares.get(name), one.seconds) for one in samples) for name in SHARES}
        known = [shares[name] for name in ("user", "system")]
        busy = None if None in known else sum(share or 0.0 for share in [*known, shares["softirq"]])
        whole = ENTITLED if any(sample.shared for sample in samples) else ALL_CPUS
        return {
            **{name: getattr(self.about, name) for name in FACTS},
            "zone": "UTC" if self.about.utc else "local",
            "begin": self._begin.isoformat(sep=" "),
            "end": self._end.isoformat(sep=" "),
            "elapsed_s": elapsed,
            "covered_s": covered,
            "samples": len(samples),
            "source": self.source,
            **{f"{'cpu' if name == 'busy' else name}_s": _seconds(used, name) for name in ("busy", *PARTS)},
            "cpus": _rounded(_mean((item.cpus, sample.seconds) for sample, item in used)),
            **{f"{name}_pct": _rounded(share) for name, share in shares.items()},
            "busy_pct": _rounded(busy),
            "pct_of": whole if any(share is not None for share in shares.values()) else None,
            "physc": _rounded(_mean((sample.physc, sample.seconds) for sample in samples)),
            "entitlement": _rounded(_mean((sample.entitled, sample.seconds) for sample in samples)),
            "network": self._network() if self.about.has_network else None,
            "remarks": self._remarks + self._missing(elapsed, covered),
        }

    def _network(self) -> Values:
        """Network counters, and whether they apply."""
        smc_r = self._options.smc_r
        if smc_r:
            return {"applicable": False, "reason": SMC_R_HIDES, "interfaces": {}}
        unknown = smc_r is None and self.about.system == "AIX"
        reason = f"smc_r does not say whether SMC-R was on; {SMC_R_HIDES}" if unknown else None
        interfaces: dict[str, dict[str, float]] = {}
        for sample in self._samples:
            for name, rates in sample.network.items():
                entry = interfaces.setdefault(name, {})
                for key, rate in rates.items():
                    entry[key] = entry.get(key, 0.0) + rate * sample.seconds
        rounded = {name: {key: _rounded(value) for key, value in entry.items()} for name, entry in interfaces.items()}
        return {"applicable": None if unknown else True, "reason": reason, "interfaces": rounded}

    def empty(self) -> str:
        """A sentence if samples of the window are not measurements."""
        count = sum(sample.empty for sample in self._samples)
        return f"in {count} of {len(self._samples)} samples {EMPTY}" if count else ""

    def _missing(self, elapsed: float, covered: float) -> list[str]:
        found = [*filter(None, [self.empty()])]
        if covered <= 0 and any("user" in sample.shares for sample in self._samples):
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


def _limits(options: WindowOptions, sample: Sample) -> tuple[datetime | None, datetime | None]:
    """The window as the user gives it; times of day are those of the day on which the first sample ends."""
    begin, end = (moment(text, sample.end) if text else None for text in (options.begin, options.end))
    if begin and end and end <= begin:
        if not _CLOCK.fullmatch((options.end or "").strip()):
            raise CpuFileError(f"the window ends at {end}, which is not after its begin at {begin}")
        end += timedelta(days=1)
    return begin or (sample.begin if end else None), end


def _seconds(used: Sequence[tuple[Sample, Used]], name: str) -> float | None:
    """The CPU seconds of a part; None unless every sample has it."""
    rates = [(sample.seconds, getattr(item, name)) for sample, item in used]
    if not rates or any(rate is None for _seconds, rate in rates):
        return None
    return _rounded(sum(seconds * rate for seconds, rate in rates))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
