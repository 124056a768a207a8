# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the JSON of a record to a round, in one pass that checks whatever the comparison relies on.

The full description of a record is docs/schemas. ValueError says in one sentence what is wrong with a record.
"""

# pylint: disable=unidiomatic-typecheck  # JSON's true is not a number, though bool is an int

import json
import marshal
import math
from array import array
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ...module_utils._measure.net import histogram
from .._statistics.ranks import median
from .checks import (
    LARGEST,
    MOST_ROUNDS,
    NUMBERS,
    VERDICTS,
    Fields,
    check_numbers,
    check_slug,
    microseconds,
    show,
    wrong,
)
from .kpi import background, cpu_sum, units_of
from .round import MUST_MATCH, ROUND_TRIP, SHOWN, SIDES, UNKNOWN, End, Layout, Protocol, Round, Workload

MEASUREMENT = "zpower.sap_tuning/measurement/1"
TUNINGS = "zpower.sap_tuning/tunings/1"

MOST_RUNS = 1_000
ERROR_LENGTH = 500
LONGEST_KEY = 4_000
"""Longer parts are read again for every record, so that no file fills the memory."""

MARSHAL = 2
"""This version of the format writes equal values as equal bytes."""

ABOUT = ("protocol", "source", "cpu_source", "context", "left_behind")
FINGERPRINT = MUST_MATCH + SHOWN


class _About(NamedTuple):
    """The parts of a record that are the same in many records."""

    workload: Workload
    protocol: Protocol
    source: str | None
    cpu_source: tuple[str | None, str | None]
    context: tuple[tuple[str, str], ...]
    left_behind: str | None


class Reader:
    """Reads records; equal workloads, protocols, fingerprints and names become one object."""

    def __init__(self) -> None:
        self._shared: dict[Any, Any] = {}

    def _share(self, value: Any) -> Any:
        """The first object that was equal to ``value``; the type belongs to the key, because 1 == True == 1.0."""
        return self._shared.setdefault((type(value), value), value)

    def measurement(self, record: object) -> Round:
        """The round of a measurement record."""
        fields = Fields(record, "the record", "")
        item = fields.item
        phase, number, host = _head(fields, MEASUREMENT)
        peer = fields.name("peer")
        workload = {**fields.required_object("workload").item, "argv": None}
        about: _About = self._once(_about, [workload, *[item.get(name) for name in ABOUT]], fields)
        given, ends = item.get("runs"), fields.optional_object("fingerprint").item
        if not isinstance(given, list) or len(given) > MOST_RUNS:
            raise wrong("runs", given, f"a list of at most {MOST_RUNS} runs")
        usual = _surely_sound(given, item.get("idle"), ends)
        if not usual:
            _check_figures(given, fields)
        layout, values = self._runs(given, about.workload.metric)
        counted = [given[place] for place in layout.counted]
        metrics = [run["metrics"] for run in counted]
        idle = item.get("idle") or {}
        known = {side: self._end(end, side) for side, end in ends.items() if end is not None}
        retransmits = _retransmits(counted)
        return Round(
            host=self._share(host),
            peer=self._share(peer),
            phase=self._share(phase),
            number=number,
            workload=about.workload,
            protocol=about.protocol,
            started=microseconds(item.get("started")),
            finished=microseconds(item.get("finished")),
            layout=layout,
            times=array("q", [microseconds(run.get("started")) or UNKNOWN for run in given]),
            values=values,
            median=_median([values[place] for place in layout.counted]),
            throughput=_median([found.get("tr2_kib_per_s") for found in metrics]),
            longest=_median([found.get("max_us") for found in metrics]),
            cpu=(cpu_sum(counted, "client"), cpu_sum(counted, "server")),
            idle=(background(idle.get("client")), background(idle.get("server"))),
            retransmits=sum(retransmits) if retransmits else None,
            retransmit_runs=len(retransmits),
            ends=(known.get("client"), known.get("server")),
            links=() if usual else self._share(tuple(sorted(set(_links(counted))))),
            context=about.context,
            source=about.source,
            cpu_source=about.cpu_source,
            left_behind=about.left_behind,
            units=_median([*map(units_of, metrics)], zero=True),
            histogram=_histogram(fields.optional_text("histogram_us")),
            clock_step_s=max([abs((ends.get(side) or {}).get("clock_step_s") or 0.0) for side in SIDES]),
        )

    def _once(self, read: Callable[[Fields], Any], values: list[Any], fields: Fields) -> Any:
        """``read(fields)``, cached by ``values``, the only values on which it depends."""
        try:
            key = (read, marshal.dumps(values, MARSHAL))
        except ValueError:  # nested deeply, or no plain JSON because it comes from a module
            return self._share(read(fields))
        found = self._shared.get(key)
        if found is None:
            found = self._share(read(fields))
            if len(key[1]) <= LONGEST_KEY:
                self._shared[key] = found
        return found

    def _runs(self, given: list[Any], metric: str) -> tuple[Layout, tuple[float | None, ...]]:
        """The layout and the primary values of sound runs."""
        heads, values = [], []
        for item in given:
            succeeded, error = item["ok"], item.get("error")
            value = item["metrics"].get(metric) if succeeded else None
            if succeeded and (value is None or value <= 0):
                value, error = None, f"the run ended well but brought no {metric}"
            values.append(value if value is None else float(value))
            heads.append((item["run"], item["warmup"], value is not None, error[:ERROR_LENGTH] if error else None))
        key = tuple(heads)
        layout = self._shared.get(key)
        if layout is None:
            counted = tuple(place for place, (_run, warmup, ok, _error) in enumerate(heads) if ok and not warmup)
            layout = self._shared[key] = Layout(key, counted, sum(not head[1] for head in heads))
        return layout, tuple(values)

    def _end(self, given: object, side: str) -> End | None:
        """The fingerprint of an end; None if it is empty."""
        fields = Fields(given, f"fingerprint.{side}")
        end: End = self._once(_end, [*map(fields.item.get, FINGERPRINT)], fields)
        return end if fields.item else None

    def tunings(self, record: object) -> dict[str, Any]:
        """A tunings file with equal parts shared: hundreds of hosts have the same knobs in the same states."""
        fields = Fields(record, "the record", "")
        _head(fields, TUNINGS)
        fields.flag("check_mode")
        given = fields.item.get("tunings")
        if not isinstance(given, list):
            raise wrong("tunings", given, "a list of tuning records")
        tunings = []
        for index, item in enumerate(given):
            tuning = Fields(item, f"tunings[{index}]")
            for name in ("name", "subject", "verdict"):
                tuning.text(name)
            if item["verdict"] not in VERDICTS:
                raise wrong(f"{tuning.prefix}verdict", item["verdict"], f"one of {', '.join(VERDICTS)}")
            for name in ("before", "after"):
                tuning.optional_object(name)
            for name in ("conflicts", "remarks", "sources"):
                tuning.optional_list(name)
            keys = {name: (dict, json.dumps(value, sort_keys=True)) for name, value in item.items()}
            tunings.append({name: self._shared.setdefault(keys[name], value) for name, value in item.items()})
        return {**fields.item, "tunings": tunings}


def _head(fields: Fields, schema: str) -> tuple[str, int, str]:
    """Phase, round and host of a record of this schema."""
    if fields.item.get("schema") != schema:
        raise ValueError(f"schema is {show(fields.item.get('schema'))}; this version reads {schema}")
    check_slug("change", fields.item.get("change"))
    phase = check_slug("phase", fields.item.get("phase"))
    number = fields.item.get("round")
    if type(number) is not int or not 1 <= number <= MOST_ROUNDS:
        raise wrong("round", number, f"a whole number from 1 to {MOST_ROUNDS}")
    return phase, number, fields.name("host")


def _surely_sound(runs: list[Any], idle: Any, ends: dict[str, Any]) -> bool:
    """A quick yes for the usual figures, because a fleet has ten million; after a no, :func:`_check_figures` looks."""
    figures: list[Any] = []
    try:
        figures += [end.get("clock_step_s", 0.0) for end in ends.values() if end is not None]
        windows = [*idle.values()]
        for run in runs:
            number = run["run"]
            if (
                type(number) is not int
                or number < 0
                or not type(run["warmup"]) is type(run["ok"]) is bool
                or run.get("error") is not None
                or run.get("links") is not None
            ):
                return False
            figures += (number, run["elapsed_s"])
            figures += run["metrics"].values()
            windows += run["cpu"].values()
            windows += run["net"].values()
        for window in windows:
            if window is not None:
                figures += window.values()
        # The root of the sum of squares is at least the largest, and the fastest to get.
        return NUMBERS.issuperset(map(type, figures)) and math.hypot(*figures) <= LARGEST
    except (KeyError, TypeError, AttributeError, OverflowError):  # no such item, no object, no number, no float
        return False


def _check_figures(runs: list[Any], fields: Fields) -> None:
    for index, item in enumerate(runs):
        try:
            _check_run(Fields(item, "", "."))
        except ValueError as error:
            raise ValueError(f"runs[{index}]{error}") from None
    fields.number_objects("idle")
    ends = fields.optional_object("fingerprint")
    for side, end in ends.item.items():
        if end is not None:
            check_numbers({"clock_step_s": ends.required_object(side).item.get("clock_step_s")}, ends.prefix + side)


def _check_run(run: Fields) -> None:
    run.count("run")
    run.flag("warmup")
    run.flag("ok")
    run.optional_text("error")
    check_numbers({"elapsed_s": run.item.get("elapsed_s")}, "")
    check_numbers(run.required_object("metrics").item, ".metrics")
    run.number_objects("cpu")
    run.number_objects("net")
    for item in run.optional_list("links"):
        link = Fields(item, ".links")
        link.optional_text("mode")
        link.optional_text("fallback")


def _about(fields: Fields) -> _About:
    source, cpu_source = fields.optional_object("source"), fields.optional_object("cpu_source")
    sources = [text for text in map(source.optional_text, ("kind", "file", "text")) if text]
    return _About(
        _workload(fields.required_object("workload")),
        _protocol(fields.optional_object("protocol")),
        ", ".join(sources) if source.item else None,
        (cpu_source.optional_text("client"), cpu_source.optional_text("server")),
        _items(fields.scalars("context")),
        fields.optional_text("left_behind"),
    )


def _protocol(fields: Fields) -> Protocol:
    return Protocol(
        fields.optional_text("name") or "",
        fields.optional_count("rounds"),
        fields.optional_count("runs"),
        fields.optional_count("warmup"),
        fields.optional_text("design") or "",
        fields.optional_count("session") or 1,
        fields.optional_text("seed") or "",
    )


def _end(fields: Fields) -> End:
    fields.optional_text("boot_id")
    items = tuple(_text(fields.item.get(name)) for name in FINGERPRINT)
    return End(items[: len(MUST_MATCH)], items[len(MUST_MATCH) :])


def _workload(fields: Fields) -> Workload:
    metric, unit, better = ROUND_TRIP
    if fields.item.get("metric") is not None:
        given = fields.required_object("metric")
        metric, unit, direction = given.text("name"), given.text("unit"), given.item.get("better")
        if direction not in ("lower", "higher"):
            raise wrong("workload.metric.better", direction, "lower or higher")
        better = direction
    return Workload(
        name=fields.name("name"),
        tool=fields.text("tool"),
        version=fields.optional_text("version"),
        bytes=fields.count("bytes"),
        loops=fields.count("loops"),
        connections=fields.count("connections"),
        control=fields.flag("control"),
        transport=fields.optional_text("transport") or "tcp",
        metric=metric,
        metric_unit=unit,
        better=better,
        unit=fields.optional_text("unit") or "round trip",
        params=_items(fields.scalars("params")),
        family=fields.optional_text("set") or "",
    )


def _items(values: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple((name, _text(values[name]) or "") for name in sorted(values))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _median(values: list[float | None], zero: bool = False) -> float | None:
    """The median of the positive values; None without one. ``zero``: 0 is a value, too."""
    known = [value for value in values if value is not None and (value > 0 or (zero and value == 0))]
    return median(known) if known else None


def _histogram(text: str | None) -> str | None:
    if text is None or histogram.FORMAT.fullmatch(text):
        return text
    raise wrong("histogram_us", text, "counts of round trips per bin, such as 340:1,5,12 412:1,")


def _links(counted: list[Mapping[str, Any]]) -> Iterable[str]:
    for item in counted:
        for link in item.get("links") or ():
            mode, fallback = link.get("mode") or "unknown", link.get("fallback")
            yield f"{mode}, {fallback[:ERROR_LENGTH]}" if fallback else mode


def _retransmits(counted: list[Mapping[str, Any]]) -> list[float]:
    """Of both ends, per run that has them."""
    found = []
    for item in counted:
        ends = [end.get("retransmits") for end in (item.get("net") or {}).values() if end]
        if known := [number for number in ends if number is not None]:
            found.append(sum(known))
    return found
