# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of an imported row with their checks: one small function per kind of value."""

import contextlib
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from difflib import get_close_matches
from typing import Any, NamedTuple

from .._records import checks
from .._records.checks import LARGEST, LONGEST_NAME, check_slug
from .._records.round import MUST_MATCH

METRIC_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "yes": True, "false": False, "no": False}

Check = Callable[[Any], Any]
Values = dict[str, Any]
"""The fields of a row by their names."""


class FieldError(ValueError):
    """What is wrong with one value, in one sentence without a full stop; the caller adds the place."""


def slug(value: Any) -> str:
    """A name that can be a folder or a part of a file name."""
    found = text(value)
    try:
        return check_slug("x", found)
    except ValueError as error:
        raise FieldError(str(error).removeprefix("x ")) from None


def text(value: Any) -> str:
    """One line of printable text; numbers from variables become text as well."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise FieldError(f"is {show(value)}; it must be text")
    found = value.strip()
    if len(found) > LONGEST_NAME or not found.isprintable():
        raise FieldError(f"is {show(value)}; it must be at most {LONGEST_NAME} printable characters")
    return str(found)


def number(value: Any) -> int | float:
    """A number, or text that is one: with a point, without separators of thousands."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        # No int of thousands of digits, even of zeros: Python refuses those.
        found, whole = float(value), not re.search(r"[.eE]", value) and len(value) < 100
        value = int(value) if whole and abs(found) <= LARGEST else found
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        hint = ", with a point and without separators" if isinstance(value, str) and "," in value else ""
        raise FieldError(f"is {show(value)}; it must be a number{hint}")
    if not -LARGEST < value < LARGEST or math.isnan(value):
        raise FieldError(f"is {show(value)}; it must be a finite number")
    # Variables of ansible-core 2.19 and later are subclasses of int and float.
    return int(value) if isinstance(value, int) else float(value)


def bounded(base: Check, holds: Callable[[Any], object], wanted: str) -> Check:
    """A check for the values that ``base`` accepts and that hold."""

    def check(value: Any) -> Any:
        found = base(value)
        if not holds(found):
            raise FieldError(f"is {show(value)}; {wanted}")
        return found

    return check


positive = bounded(number, lambda found: found > 0, "it must be above 0 (leave unknown values empty)")
not_negative = bounded(number, lambda found: found >= 0, "it must be a number from 0")
percent = bounded(positive, lambda found: found <= 100, "it must be a percentage of all processors, at most 100")


def whole_number(least: int, most: int) -> Check:
    """A check for whole numbers of this range."""
    wanted = f"it must be a whole number from {least} to {most}"
    check = bounded(number, lambda found: found == int(found) and least <= found <= most, wanted)
    return lambda value: int(check(value))


def flag(value: Any) -> bool:
    """True or false, yes or no."""
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower(), value)
    if not isinstance(value, bool):
        raise FieldError(f"is {show(value)}; it must be true or false")
    return value


def stamp(value: Any) -> str:
    """A time with its zone, as UTC in the form that records have."""
    given = value.isoformat() if isinstance(value, datetime) else text(value)
    try:
        moment = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", given))
    except ValueError:
        raise FieldError(f"is {show(given)}; it must be a time such as 2026-11-20T16:05:00+01:00") from None
    if moment.tzinfo is None:
        raise FieldError(f"is {show(given)}; its time zone is missing, as in 2026-11-20T16:05:00+01:00, or Z for UTC")
    try:
        return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except (OverflowError, ValueError):
        raise FieldError(f"is {show(given)}; this is outside the calendar") from None


def scalar(value: Any) -> str | int | float | bool:
    """A setting: text, number, true or false. Text that is a number in its shortest form becomes one."""
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return number(value)
    found = text(value)
    if found in ("true", "false"):
        return found == "true"
    if _NUMBER.fullmatch(found):
        for kind in (int, float):
            # 7.10 and 007 are names, not numbers.
            with contextlib.suppress(ValueError):
                if found == str(kind(found)):
                    return kind(found)
    return found


def choice(*words: str) -> Check:
    """A check for one of these words."""
    check = bounded(lambda value: value, lambda found: found in words, f"it must be one of {', '.join(words)}")
    return lambda value: str(check(value))


metric_name = bounded(
    text, METRIC_NAME.fullmatch, "it must have small letters, digits and _, a letter first and the unit last"
)
"""The name of a figure as records have it."""


def show_name(name: Any) -> str:
    """A name out of a file, for a sentence."""
    return name if isinstance(name, str) and name.isprintable() and 0 < len(name) <= 60 else show(name)


def show(value: Any) -> str:
    """A value out of a file, for a sentence."""
    if value is None or isinstance(value, Mapping):
        return "None" if value is None else "a mapping"
    return checks.show(list(value) if isinstance(value, tuple) else value)


SOURCES = ("sap_job_log", "rmf", "sd_benchmark", "sgen", "other")
UNKNOWN = ("", "null", "~")
"""The cells of unknown values."""


class Group(NamedTuple):
    """A mapping of fields. single: the field that a value in its place stands for.

    names: the check of names that the user chooses; values: that of their values.
    """

    fields: Values = {}
    single: str = ""
    names: Check | None = None
    values: Check | None = None


_MILLIONS = whole_number(0, 10**15)
_END = Group(
    {
        "utilization_pct": percent,
        "cpu_s": positive,
        **dict.fromkeys(("user_s", "system_s", "steal_s"), not_negative),
        **dict.fromkeys(MUST_MATCH, text),
        **dict.fromkeys(("cpus_online", "mtu"), whole_number(1, 1_000_000)),
    }
)
FIELDS: Values = {
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
    "metric": Group({"name": metric_name, "unit": text, "better": choice("lower", "higher")}, single="name"),
    "metrics": Group(names=metric_name, values=number),
    "client": _END,
    "server": _END,
    "params": Group(names=text, values=scalar),
    "context": Group(names=text, values=scalar),
    "source": Group({"kind": choice(*SOURCES), "file": text, "text": text}, single="kind"),
    "bytes": _MILLIONS,
    "loops": _MILLIONS,
    "connections": whole_number(1, 1_000_000),
    "control": flag,
}
"""Every field of a row with its check; the names are those of the documentation."""


def parse(values: Values) -> Values:
    """A row (or defaults) with every value checked and in its own type, without unknown values; FieldError."""
    return _checked(_nested(values), Group(FIELDS), "")


def merged(defaults: Values, row: Values) -> Values:
    """The row, completed from the defaults, also within mappings such as ``client``."""
    complete = dict(defaults)
    for name, value in row.items():
        known = complete.get(name)
        complete[name] = merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return complete


def _nested(values: Values) -> Values:
    """``client.machine: z14``, as in CSV, becomes ``client: {machine: z14}``."""
    nested: Values = {}
    for key, value in values.items():
        if not isinstance(key, str):
            raise FieldError(f"{show(key)} names a field; it must be text")
        head, point, rest = key.partition(".")
        if not point or not isinstance(FIELDS.get(head), Group):
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


def _checked(value: Any, field: Group, where: str) -> Values:
    if not isinstance(value, Mapping):
        if not field.single:
            raise FieldError(f"{where} is {show(value)}; it must be a mapping")
        value = {field.single: value}
    found = {}
    prefix = f"{where}." if where else ""
    for name, inside in value.items():
        check = field.fields.get(name, field.values)
        if check is None:
            near = get_close_matches(str(name), field.fields, 1)
            hint = f"; did you mean {prefix}{near[0]}?" if near else f"; there are {', '.join(field.fields)}"
            raise FieldError(f"there is no field {prefix}{show_name(name)}{hint}")
        try:
            if field.names and (not name or field.names(name) != name):
                raise FieldError("is empty or has blanks around it")
        except FieldError as error:
            raise FieldError(f"the name {show_name(name)} in {where} {error}") from None
        if inside is None or (isinstance(inside, str) and inside.strip() in UNKNOWN):
            continue
        try:
            known = _checked(inside, check, prefix + name) if isinstance(check, Group) else check(inside)
        except FieldError as error:
            raise error if isinstance(check, Group) else FieldError(f"{prefix}{name} {error}") from None
        found.update({} if known == {} else {name: known})
    return found
