# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Structure of records, checked without a library: what the comparison relies on, in one sentence an error.

The full description is docs/schemas; this check runs at every load, so that a foreign file cannot crash a report.
"""

# pylint: disable=unidiomatic-typecheck  # JSON's true is no number, though bool is an int

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MEASUREMENT = "zpower.sap_tuning/measurement/1"
TUNINGS = "zpower.sap_tuning/tunings/1"
SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
VERDICTS = ("compliant", "changed", "drifted", "not_applicable", "unsupported", "waived", "pending_restart", "failed")
MOST_ROUNDS = 1_000
MOST_RUNS = 1_000
LONGEST_NAME = 255
LARGEST = 1e18
"""Larger than any figure a record holds, and small enough that sums of squares stay finite."""

NUMBERS = frozenset({int, float})
"""Exact types, because True is an int as well."""

_TEXT, _BOOL, _WHOLE = "text", "true or false", "a whole number from 0"
_WORKLOAD = (
    ("name", _TEXT),
    ("tool", _TEXT),
    ("bytes", _WHOLE),
    ("loops", _WHOLE),
    ("connections", _WHOLE),
    ("control", _BOOL),
)
_WORKLOAD_OPTIONAL = (("version", _TEXT), ("transport", _TEXT), ("unit", _TEXT), ("set", _TEXT))
_METRIC = (("name", _TEXT), ("unit", _TEXT), ("better", _TEXT))
_RUN = (("run", _WHOLE), ("warmup", _BOOL), ("ok", _BOOL))
_PROTOCOL = (("name", _TEXT), ("rounds", _WHOLE), ("runs", _WHOLE), ("warmup", _WHOLE), ("design", _TEXT))
_TUNING = ("name", "subject", "verdict")


class _Wrong(Exception):
    """The first thing that is wrong; a record is used whole or not at all."""


def check_slug(what: str, value: object) -> str:
    """``value`` if it can name a folder or a part of a file name, else ValueError that says what would be right."""
    if isinstance(value, str) and SLUG.fullmatch(value):
        return value
    raise ValueError(
        f"{what} is {_show(value)}; it has to begin with a letter or digit and to hold at most 64 letters, digits,"
        " points, underscores and hyphens"
    )


def validate(record: object) -> str | None:
    """What is wrong with a measurement record, in one sentence; None if it is sound."""
    return _first_wrong(_measurement, record)


def validate_tunings(record: object) -> str | None:
    """What is wrong with a tunings file, in one sentence; None if it is sound."""
    return _first_wrong(_tunings, record)


def _first_wrong(check: Any, record: object) -> str | None:
    try:
        check(record)
    except _Wrong as wrong:
        return str(wrong)
    except ValueError as error:
        return str(error)
    return None


def _measurement(record: object) -> None:
    item = _head(record, MEASUREMENT)
    _name(item.get("peer"), "peer")
    workload = _mapping(item.get("workload"), "workload")
    _fields(workload, _WORKLOAD, "workload")
    _name(workload["name"], "workload.name")
    _optional_fields(workload, _WORKLOAD_OPTIONAL, "workload")
    _metric(workload.get("metric"))
    _scalars(workload, "params", "workload.")
    _scalars(item, "context")
    _texts(item, "source", ("kind", "file", "text"))
    _texts(item, "cpu_source", ("client", "server"))
    _optional_fields(item, (("left_behind", _TEXT),), "the record")
    protocol = item.get("protocol")
    if protocol is not None:
        _optional_fields(_mapping(protocol, "protocol"), _PROTOCOL, "protocol")
    runs = item.get("runs")
    if not isinstance(runs, list) or len(runs) > MOST_RUNS:
        raise _Wrong(f"runs is {_show(runs)}; a list of at most {MOST_RUNS} runs belongs there")
    for index, run in enumerate(runs):
        if not _surely_sound(run):
            _run(run, f"runs[{index}]")
    _ends(item, "idle", "", _numbers)
    _ends(item, "fingerprint", "", _fingerprint)


def _metric(metric: object) -> None:
    if metric is None:
        return
    item = _mapping(metric, "workload.metric")
    _fields(item, _METRIC, "workload.metric")
    if item["better"] not in ("lower", "higher"):
        raise _Wrong(f"workload.metric.better is {_show(item['better'])}; lower or higher belongs there")


def _scalars(item: Mapping[str, Any], name: str, prefix: str = "") -> None:
    """An optional object of texts, numbers, true and false."""
    if item.get(name) is None:
        return
    for key, value in _mapping(item[name], prefix + name).items():
        if value is None or not isinstance(value, (str, bool)):
            _number(value, f"{prefix}{name}.{key}")


def _texts(item: Mapping[str, Any], name: str, fields: tuple[str, ...]) -> None:
    """An optional object of optional texts."""
    if item.get(name) is not None:
        _optional_fields(_mapping(item[name], name), tuple((field, _TEXT) for field in fields), name)


def _surely_sound(run: Any) -> bool:
    """A quick yes for the usual run; a no only means that :func:`_run` has to look. A fleet has half a million runs."""
    try:
        cpu, net = run["cpu"], run["net"]
        ends = [end for end in (*cpu.values(), *net.values()) if end is not None]
        figures = [run["run"], run["elapsed_s"], *run["metrics"].values()]
        for end in ends:
            figures += end.values()
        return (
            type(run["warmup"]) is type(run["ok"]) is bool
            and type(run["run"]) is int
            and run["run"] >= 0
            and run.get("error") is None
            and run.get("links") is None
            and NUMBERS.issuperset(map(type, figures))
            and sum(map(abs, figures)) <= LARGEST
        )
    except (KeyError, TypeError, AttributeError, OverflowError):  # no such item, no object, no number, no float
        return False


def _run(run: object, where: str) -> None:
    item = _mapping(run, where)
    _fields(item, _RUN, where)
    error = item.get("error")
    if error is not None and not isinstance(error, str):
        raise _Wrong(f"{where}.error is {_show(error)}; text or null belongs there")
    _number(item.get("elapsed_s"), f"{where}.elapsed_s")
    _numbers(_mapping(item.get("metrics"), f"{where}.metrics"), f"{where}.metrics")
    _ends(item, "cpu", f"{where}.", _numbers)
    _ends(item, "net", f"{where}.", _numbers)
    links = item.get("links")
    if links is not None and not isinstance(links, list):
        raise _Wrong(f"{where}.links is {_show(links)}; a list of links or null belongs there")
    for link in links or ():
        _optional_fields(_mapping(link, f"{where}.links"), (("mode", _TEXT), ("fallback", _TEXT)), f"{where}.links")


def _tunings(record: object) -> None:
    item = _head(record, TUNINGS)
    if not isinstance(item.get("check_mode"), bool):
        raise _Wrong(f"check_mode is {_show(item.get('check_mode'))}; true or false belongs there")
    tunings = item.get("tunings")
    if not isinstance(tunings, list):
        raise _Wrong(f"tunings is {_show(tunings)}; a list of tuning records belongs there")
    for index, tuning in enumerate(tunings):
        where = f"tunings[{index}]"
        entry = _mapping(tuning, where)
        for name in _TUNING:
            if not isinstance(entry.get(name), str):
                raise _Wrong(f"{where}.{name} is {_show(entry.get(name))}; text belongs there")
        if entry["verdict"] not in VERDICTS:
            raise _Wrong(f"{where}.verdict is {_show(entry['verdict'])}; one of {', '.join(VERDICTS)} belongs there")
        for name in ("before", "after"):
            if entry.get(name) is not None:
                _mapping(entry[name], f"{where}.{name}")
        for name in ("conflicts", "remarks", "sources"):
            if entry.get(name) is not None and not isinstance(entry[name], list):
                raise _Wrong(f"{where}.{name} is {_show(entry[name])}; a list belongs there")


def _head(record: object, schema: str) -> Mapping[str, Any]:
    item = _mapping(record, "the record")
    if item.get("schema") != schema:
        raise _Wrong(f"schema is {_show(item.get('schema'))}; this version reads {schema}")
    check_slug("change", item.get("change"))
    check_slug("phase", item.get("phase"))
    number = item.get("round")
    if type(number) is not int or not 1 <= number <= MOST_ROUNDS:
        raise _Wrong(f"round is {_show(number)}; a whole number from 1 to {MOST_ROUNDS} belongs there")
    _name(item.get("host"), "host")
    return item


def _name(value: object, where: str) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
        raise _Wrong(f"{where} is {_show(value)}; a name of 1 to {LONGEST_NAME} characters belongs there")


def _mapping(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f"{where} is {_show(value)}; an object belongs there")
    return value


def _fields(item: Mapping[str, Any], fields: tuple[tuple[str, str], ...], where: str) -> None:
    for name, kind in fields:
        value = item.get(name)
        if kind is _WHOLE:
            right = type(value) is int and 0 <= value <= LARGEST
        else:
            right = isinstance(value, str if kind is _TEXT else bool)
        if not right:
            raise _Wrong(f"{where}.{name} is {_show(value)}; {kind} belongs there")


def _optional_fields(item: Mapping[str, Any], fields: tuple[tuple[str, str], ...], where: str) -> None:
    _fields(item, tuple(field for field in fields if item.get(field[0]) is not None), where)


def _ends(item: Mapping[str, Any], name: str, prefix: str, check: Any) -> None:
    both = item.get(name)
    if both is None:
        return
    for side, end in _mapping(both, prefix + name).items():
        if end is not None:
            where = f"{prefix}{name}.{side}"
            check(_mapping(end, where), where)


def _fingerprint(end: Mapping[str, Any], where: str) -> None:
    _number(end.get("clock_step_s"), f"{where}.clock_step_s")
    boot_id = end.get("boot_id")
    if boot_id is not None and not isinstance(boot_id, str):
        raise _Wrong(f"{where}.boot_id is {_show(boot_id)}; text or null belongs there")


def _numbers(item: Mapping[str, Any], where: str) -> None:
    for name, value in item.items():
        _number(value, f"{where}.{name}")


def _number(value: Any, where: str) -> None:
    # The comparison also turns away infinities, NaN and integers that no float can hold.
    if value is not None and not (type(value) in NUMBERS and -LARGEST < value < LARGEST):
        raise _Wrong(f"{where} is {_show(value)}; a number or null belongs there")


def _show(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "a number beyond all bounds"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
