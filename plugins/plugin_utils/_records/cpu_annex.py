# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU time that was recorded beside a measurement: an annex to the records of one end of a host.

It holds intervals of the imported files, in UTC, with the same names as the CPU times in a record. A round takes its
CPU time from there if it has none of its own and the intervals of one file cover its counted runs.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

from .checks import Fields, check_numbers, check_slug, microseconds, wrong
from .kpi import CpuSum, add, background, units_of
from .round import SIDES, Round

CPU = "zpower.sap_tuning/cpu/1"
FORMATS = {"nmon": "nmon", "sadf": "sar", "mpstat": "mpstat"}
"""Formats of files, and what a record calls their CPU time (cpu_source)."""

FIGURES = ("elapsed_s", "user_s", "system_s", "softirq_s", "steal_s", "ncpu")

MOST_FILES = 200
MOST_INTERVALS = 20_000
"""Of all files together: five hours of one second each, or two days of ten. As JSON they stay under LARGEST_FILE."""

LEAST_WINDOW_S = 10.0
"""Times of nmon and sysstat are whole seconds, which is too coarse for shorter windows."""

LEAST_INSIDE = 0.8
"""Share of a window that whole intervals have to fill: the CPU time of a part of an interval is a guess."""


class Interval(NamedTuple):
    """What a file says about the time from ``begin`` to ``end``, in microseconds since the epoch."""

    begin: int
    end: int
    cpu: CpuSum

    def part(self, share: float) -> CpuSum:
        """The CPU time of this share of it, without work."""
        cpu = self.cpu
        steal, softirq = (None if part is None else share * part for part in (cpu.steal_s, cpu.softirq_s))
        elapsed, capacity = share * cpu.elapsed_s, share * cpu.capacity_s
        return CpuSum(share * cpu.busy_s, steal, elapsed, capacity, 0.0, 0.0, softirq, least_pct=cpu.least_pct)


def _interval(item: object, where: str) -> Interval:
    fields = Fields(item, where)
    begin = microseconds(fields.item.get("begin"))
    if begin is None:
        raise wrong(f"{where}.begin", fields.item.get("begin"), "a time such as 2026-11-20T10:00:00.000000Z")
    window = {name: fields.item.get(name) for name in FIGURES}
    check_numbers(window, where)
    cpu = background(window)
    if cpu is None or not cpu.capacity_s:
        raise ValueError(f"{where} must have elapsed_s and ncpu above 0, user_s and system_s from 0")
    return Interval(begin, begin + round(cpu.elapsed_s * 1e6), cpu)


class Series:
    """The intervals of one file, by time; ValueError says in one sentence what is wrong with them."""

    def __init__(self, entry: object, where: str = "the file") -> None:
        fields = Fields(entry, where)
        fields.text("file")
        if fields.text("format") not in FORMATS:
            raise wrong(f"{where}.format", fields.text("format"), f"one of {', '.join(sorted(FORMATS))}")
        self.source, self.replace = FORMATS[fields.text("format")], fields.flag("replace")
        given = fields.optional_list("intervals")
        if not 0 < len(given) <= MOST_INTERVALS:
            raise ValueError(f"{where}.intervals has {len(given)} intervals; it must have 1 to {MOST_INTERVALS}")
        self.intervals = [_interval(item, f"{where}.intervals[{number}]") for number, item in enumerate(given)]
        for number, (before, after) in enumerate(pairwise(self.intervals), 1):
            if after.begin < before.end - 1000:
                raise ValueError(f"{where}.intervals[{number}] begins before the one before it ends")

    def over(self, begin: int, end: int) -> CpuSum | str:
        """The CPU time from ``begin`` to ``end``, without work; if the file does not tell, a sentence that says why."""
        length = end - begin
        if length < LEAST_WINDOW_S * 1e6:
            least = f"below {LEAST_WINDOW_S:g} s the whole seconds of the file are too coarse"
            return f"its runs last {length / 1e6:.3g} s, and {least}"
        covered = inside = 0
        parts = []
        first = max(bisect_right(self.intervals, begin, key=lambda interval: interval.begin) - 1, 0)
        for interval in islice(self.intervals, first, None):
            low, high = max(begin, interval.begin), min(end, interval.end)
            if interval.begin >= end:
                break
            if high <= low:
                continue
            share = (high - low) / (interval.end - interval.begin)
            covered += high - low
            inside += high - low if share == 1.0 else 0
            parts.append(interval.part(share))
        if covered < length - 1000:
            return f"only {covered / 1e6:.3g} s of its {length / 1e6:.3g} s are covered"
        if inside < LEAST_INSIDE * length:
            return f"the intervals are too long for its {length / 1e6:.3g} s: record at a tenth of that"
        return add(parts)._replace(elapsed_s=length / 1e6)


class Annex:
    """The annex of one end of a host, used for one record after the other; ``remarks`` says what it was used for.

    ValueError says in one sentence what is wrong with an annex.
    """

    def __init__(self, annex: object) -> None:
        if not isinstance(annex, dict) or annex.get("schema") != CPU:
            raise ValueError(f"this version reads an object with schema {CPU}")
        fields = Fields(annex, "the annex", "")
        check_slug("change", annex.get("change"))
        fields.name("host")
        self.end = fields.text("end")
        if self.end not in SIDES:
            raise wrong("end", self.end, f"one of {', '.join(SIDES)}")
        files = fields.optional_list("files")
        if not 0 < len(files) <= MOST_FILES:
            raise ValueError(f"files has {len(files)} files; it must have 1 to {MOST_FILES}")
        self._series = [Series(entry, f"files[{number}]") for number, entry in enumerate(files)]
        self._peers: set[str] = set()
        self._used = 0
        self._unused: Counter[str] = Counter()

    def cpu_of(self, item: Round, given: Sequence[Mapping[str, Any]]) -> tuple[CpuSum, str] | None:
        """The CPU time of the counted runs of ``given``; None if the round has its own, or the annex does not tell."""
        if self.end == "server" and item.workload.control:
            return None  # Both ends of a control are the client.
        self._peers.add(item.peer)
        series = [found for found in self._series if found.replace or item.cpu[SIDES.index(self.end)] is None]
        if not series:
            self._unused["it has CPU time of its own, which only an import with replace: true replaces"] += 1
            return None
        runs = [run for run in given if not run["warmup"]]
        spans = _spans(runs)
        found = spans if isinstance(spans, str) else _first_that_covers(series, spans)
        if isinstance(found, str):
            self._unused[found] += 1
            return None
        self._used += 1
        run_s = sum(run["elapsed_s"] for run in runs)
        units = sum(units_of(run["metrics"]) or 0.0 for run in runs)
        total, source = found
        return total._replace(run_s=run_s, units=units), source

    def remarks(self) -> Iterator[str]:
        """Sentences for the report, without the name of the file."""
        everything = self._used + sum(self._unused.values())
        if self.end == "server" and len(self._peers) > 1:
            yield f"used for the server of {len(self._peers)} peers ({', '.join(sorted(self._peers)[:3])})"
        for reason, count in sorted(self._unused.items()):
            yield f"not used for {count} of {everything} records: {reason}"
        if not everything:
            yield "not used: this host has no records"


def _spans(runs: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]] | str:
    """Begin and end of each counted run; a sentence if one of them is not known."""
    spans = []
    for run in runs:
        begin, elapsed = microseconds(run.get("started")), run.get("elapsed_s")
        if not run["ok"]:
            return "a counted run failed, and its CPU time cannot be told from that of the others"
        if begin is None or not elapsed or elapsed < 0:
            return "the times of its runs are not known"
        if not units_of(run["metrics"]):
            return "the work of its runs is not known"
        spans.append((begin, begin + round(elapsed * 1e6)))
    return sorted(spans) or "it has no counted run"


def _first_that_covers(series: Iterable[Series], spans: Sequence[tuple[int, int]]) -> tuple[CpuSum, str] | str:
    """The CPU time run by run if the runs are long enough, else over the whole of them; or why there is none."""
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
    return reason
