# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of an imported row with their checks."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from .._records.round import MUST_MATCH
from .values import (
    FieldError,
    choice,
    flag,
    metric_name,
    not_negative,
    number,
    percent,
    positive,
    scalar,
    show,
    show_name,
    slug,
    stamp,
    text,
    whole_number,
)

SOURCES = ("sap_job_log", "rmf", "sd_benchmark", "sgen", "other")
UNKNOWN = ("", "null", "~")
"""The cells of unknown values."""

ANY, KEY, SINGLE = "*", "<name>", "<single>"
"""In a mapping of fields: the check of all values, of all names, and the field that a single value stands for."""

_MILLIONS = whole_number(0, 10**15)
_END: dict[str, Any] = {
    "utilization_pct": percent,
    "cpu_s": positive,
    "user_s": not_negative,
    "system_s": not_negative,
    "steal_s": not_negative,
    **dict.fromkeys(MUST_MATCH, text),
    "cpus_online": whole_number(1, 1_000_000),
    "mtu": whole_number(1, 1_000_000),
}
FIELDS: dict[str, Any] = {
    "change": slug,
    "host": text,
    "peer": text,
    "phase": slug,
    "round": whole_number(1, 1000),
    "workload": text,
    "warmup": flag,
    "ok": flag,
    "error": text,
    "started": stamp,
    "finished": stamp,
    "elapsed_s": positive,
    "units": positive,
    "unit": text,
    "latency_us": positive,
    "metric": {
        SINGLE: "name",
        "name": metric_name,
        "unit": text,
        "better": choice("lower", "higher"),
    },
    "metrics": {ANY: number, KEY: metric_name},
    "client": _END,
    "server": _END,
    "params": {ANY: scalar, KEY: text},
    "context": {ANY: scalar, KEY: text},
    "source": {SINGLE: "kind", "kind": choice(*SOURCES), "file": text, "text": text},
    "bytes": _MILLIONS,
    "loops": _MILLIONS,
    "connections": whole_number(1, 1_000_000),
    "control": flag,
}
"""Every field of a row with its check; the names are those of the documentation."""


def parse(values: Mapping[str, Any]) -> dict[str, Any]:
    """A row (or defaults) with every value checked and in its own type, without unknown values; FieldError."""
    return _checked(_nested(values), FIELDS, "")


def merged(defaults: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """The row, completed from the defaults, also within mappings such as ``client``."""
    complete = dict(defaults)
    for name, value in row.items():
        known = complete.get(name)
        complete[name] = merged(known, value) if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return complete


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """``client.machine: z14``, as in CSV, becomes ``client: {machine: z14}``."""
    nested: dict[str, Any] = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise FieldError(f"{show(key)} names a field; that has to be text")
        head, point, rest = key.partition(".")
        if not point or not isinstance(FIELDS.get(head), Mapping):
            if key in nested:
                raise FieldError(f"{key} is given both as a whole and part by part; write it one way")
            nested[key] = value
            continue
        inner = nested.setdefault(head, {})
        if not isinstance(inner, dict):
            raise FieldError(f"{head} is given both as a whole and part by part; write it one way")
        if rest in inner:
            raise FieldError(f"{key} is given twice")
        nested[head] = {**inner, rest: value}
    return nested


def _checked(values: Mapping[str, Any], fields: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    checked = {}
    for name, value in values.items():
        field = fields.get(name) or fields.get(ANY)
        if field is None:
            near = difflib.get_close_matches(name, fields, 1)
            hint = f"; did you mean {prefix}{near[0]}?" if near else f"; there are {', '.join(fields)}"
            raise FieldError(f"there is no field {prefix}{show_name(name)}{hint}")
        if value is None or (isinstance(value, str) and value.strip() in UNKNOWN):
            continue
        if isinstance(field, Mapping):
            found = _checked_mapping(value, field, prefix + name)
            checked.update({name: found} if found else {})
            continue
        try:
            checked[name] = field(value)
        except FieldError as error:
            raise FieldError(f"{prefix}{name} {error}") from None
    return checked


def _checked_mapping(value: Any, field: Mapping[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        if SINGLE not in field:
            raise FieldError(f"{name} is {show(value)}; a mapping belongs there")
        value = {field[SINGLE]: value}
    if ANY not in field:
        return _checked(value, {key: item for key, item in field.items() if key != SINGLE}, f"{name}.")
    for key in value:
        try:
            if not key or field[KEY](key) != key:
                raise FieldError("is empty or has blanks around it")
        except FieldError as error:
            raise FieldError(f"the name {show_name(key)} in {name} {error}") from None
    return _checked(value, {ANY: field[ANY]}, f"{name}.")
