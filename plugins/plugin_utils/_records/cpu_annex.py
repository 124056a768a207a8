# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU time that was recorded beside a measurement: an annex to the records of one end of a host.

It holds intervals of the files that were imported, in UTC, with the same names as the CPU times in a record. A round
takes its CPU time from there where it has none of its own and the intervals of one file cover its counted runs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from .cpu_schema import CPU, FORMATS, MOST_FILES, MOST_INTERVALS
from .cpu_window import CpuFileError, Window, quoted
from .kpi import CpuSum, add, units_of
from .round import microseconds

LEAST_WINDOW_S = 10.0
"""Times of nmon and sysstat are whole seconds: at the edges of a shorter window they would decide."""

LEAST_INSIDE = 0.8
"""Share of a window that whole intervals have to fill: what happened in a part of an interval is a guess."""

_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")


def _in_utc(moment: datetime, offset: timedelta) -> str:
    try:
        return (moment - offset).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except OverflowError as error:
        raise CpuFileError(f"{moment} lies at the end of the calendar") from error


def utc_offset(text: str) -> timedelta:
    """``+01:00``, ``-0500`` or ``Z`` as the time that local time is ahead of UTC."""
    match = _OFFSET.fullmatch(text)
    if text in ("Z", "UTC"):
        return timedelta()
    if not match or int(match[2]) > 14 or int(match[3]) > 59:
        raise CpuFileError(
            f"utc_offset is {text!r}; what local time is ahead of UTC belongs there, such as +01:00{quoted(text)}"
        )
    ahead = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return ahead if match[1] == "+" else -ahead


def entry_of(window: Window, file: str, offset: timedelta, replace: bool) -> dict[str, Any]:
    """What the annex keeps of a file: the intervals of a window that are wholly known, in UTC."""
    intervals = []
    for piece, used in window.used():
        if piece.sample.gap or used.user is None or used.system is None or not used.cpus:
            continue
        seconds = piece.seconds
        parts = {f"{name}_s": getattr(used, name) for name in ("user", "system", "softirq", "steal")}
        intervals.append(
            {
                "begin": _in_utc(piece.begin, offset),
                "elapsed_s": seconds,
                **{name: None if rate is None else round(rate * seconds, 6) for name, rate in parts.items()},
                "ncpu": used.cpus,
            }
        )
    if not intervals:
        raise CpuFileError(f"nothing can be kept of the window: {_why_nothing(window)}")
    about = window.about
    return {
        "file": file,
        "format": about.format,
        "source": window.source,
        "host": about.host,
        "system": about.system,
        "level": about.level,
        "version": about.version,
        "replace": replace,
        "intervals": intervals,
    }


def _why_nothing(window: Window) -> str:
    known = [used for _piece, used in window.used() if used.user is not None and used.system is not None]
    if not known:
        return "the file does not say how much CPU time was used by users and the system"
    if not any(used.cpus for used in known):
        return "the file does not say how many processors there were: give cpus"
    return "it is one gap between two samples"


def merged(annex: Mapping[str, Any] | None, entry: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, Any]:
    """The annex with one more file in it; what the same file said about the same time before is replaced."""
    others = [item for item in (annex or {}).get("files", ()) if not _same(item, entry)]
    files = sorted([*others, entry], key=lambda item: (item["intervals"][0]["begin"], item["file"]))
    if len(files) > MOST_FILES:
        raise CpuFileError(f"{len(files)} files would be kept, and {MOST_FILES} can be")
    total = sum(len(item["intervals"]) for item in files)
    if total > MOST_INTERVALS:
        raise CpuFileError(f"{total} intervals would be kept, and {MOST_INTERVALS} can be: give begin and end")
    return {"schema": CPU, **head, "files": files}


def _same(item: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    first, second = Series(item), Series(entry)
    overlap = first.begins[0] < second.ends[-1] and second.begins[0] < first.ends[-1]
    return overlap and item["file"] == entry["file"]


class Series:
    """The intervals of one file, by time."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self.source = FORMATS[entry["format"]]
        self.replace: bool = entry["replace"]
        self.begins: list[int] = []
        self.ends: list[int] = []
        self._figures: list[Mapping[str, Any]] = entry["intervals"]
        for interval in self._figures:
            begin = microseconds(interval["begin"]) or 0
            self.begins.append(begin)
            self.ends.append(begin + round(interval["elapsed_s"] * 1e6))

    def over(self, begin: int, end: int) -> CpuSum | str:
        """The CPU time from ``begin`` to ``end``, without work, or why this file does not tell."""
        length = end - begin
        if length < LEAST_WINDOW_S * 1e6:
            return f"its runs last {length / 1e6:.3g} s, and under {LEAST_WINDOW_S:g} s whole seconds would decide"
        covered = inside = 0
        busy = capacity = 0.0
        steal: float | None = 0.0
        softirq: float | None = 0.0
        for place in range(max(bisect_right(self.begins, begin) - 1, 0), len(self.begins)):
            low, high = max(begin, self.begins[place]), min(end, self.ends[place])
            if self.begins[place] >= end:
                break
            if high <= low:
                continue
            figures, whole = self._figures[place], self.ends[place] - self.begins[place]
            share = (high - low) / whole
            covered += high - low
            inside += high - low if high - low == whole else 0
            busy += share * (figures["user_s"] + figures["system_s"] + (figures["softirq_s"] or 0.0))
            capacity += (high - low) / 1e6 * figures["ncpu"]
            steal = _plus(steal, figures["steal_s"], share)
            softirq = _plus(softirq, figures["softirq_s"], share)
        if covered < length - 1000:
            return f"only {covered / 1e6:.3g} s of its {length / 1e6:.3g} s are covered"
        if inside < LEAST_INSIDE * length:
            return f"the intervals are too long for its {length / 1e6:.3g} s: a tenth of that is right"
        return CpuSum(
            busy_s=busy,
            steal_s=steal,
            elapsed_s=length / 1e6,
            capacity_s=capacity,
            run_s=0.0,
            units=0.0,
            softirq_s=softirq,
            process_s=None,
        )


def _plus(total: float | None, value: float | None, share: float) -> float | None:
    return None if total is None or value is None else total + share * value


class Found(NamedTuple):
    """CPU time of a round from an annex."""

    total: CpuSum
    source: str


class Annex:
    """The annex of one end of a host, applied to record after record; ``remarks`` says what came of it."""

    def __init__(self, annex: Mapping[str, Any]) -> None:
        self.end: str = annex["end"]
        self._series = [Series(entry) for entry in annex["files"]]
        self._peers: set[str] = set()
        self._used = 0
        self._unused: Counter[str] = Counter()

    def cpu_of(self, record: Mapping[str, Any], has_own: bool) -> Found | None:
        """The CPU time of a record's counted runs; None if it has its own, or the annex does not tell."""
        if self.end == "server" and record["workload"]["control"]:
            return None  # Both ends of a control are the client.
        self._peers.add(record["peer"])
        series = [item for item in self._series if item.replace or not has_own]
        if not series:
            self._unused["it has CPU time of its own, which stays unless the import says replace"] += 1
            return None
        runs = [run for run in record["runs"] if not run["warmup"]]
        found = _spans(runs)
        if isinstance(found, str):
            self._unused[found] += 1
            return None
        total, source = _first_that_covers(series, found)
        if source is None:
            self._unused[str(total)] += 1
            return None
        self._used += 1
        run_s = sum(run["elapsed_s"] for run in runs)
        units = sum(units_of(run) or 0.0 for run in runs)
        return Found(total._replace(run_s=run_s, units=units), source)  # type: ignore[union-attr]

    def remarks(self) -> Iterator[str]:
        """Sentences for whoever reads the report, without the name of the file."""
        everything = self._used + sum(self._unused.values())
        if self.end == "server" and len(self._peers) > 1:
            yield f"taken for the server of {len(self._peers)} peers ({', '.join(sorted(self._peers)[:3])})"
        for reason, count in sorted(self._unused.items()):
            yield f"not used for {count} of {everything} records: {reason}"
        if not everything:
            yield "not used: this host has no records"


def _spans(runs: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]] | str:
    """When the counted runs were, each from begin to end; a sentence where that is not known of every one."""
    spans = []
    for run in runs:
        begin, elapsed = microseconds(run.get("started")), run.get("elapsed_s")
        if not run["ok"]:
            return "a counted run failed, and its CPU time is among that of the others"
        if begin is None or not elapsed or elapsed < 0:
            return "it is not known when its runs were"
        if not units_of(run):
            return "it is not known how much work its runs did"
        spans.append((begin, begin + round(elapsed * 1e6)))
    return sorted(spans) or "it has no counted run"


def _first_that_covers(
    series: Iterable[Series], spans: Sequence[tuple[int, int]]
) -> tuple[CpuSum, str] | tuple[str, None]:
    """Run by run where the runs are long enough, else over the whole of them."""
    whole = (spans[0][0], max(end for _begin, end in spans))
    reason = ""
    for item in series:
        single = [item.over(*span) for span in spans]
        known = [total for total in single if isinstance(total, CpuSum)]
        if len(known) == len(spans):
            return add(known), item.source
        total = item.over(*whole)
        if isinstance(total, CpuSum):
            return total, item.source
        reason = reason or total
    return reason, None
