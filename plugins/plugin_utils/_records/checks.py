# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON that anybody may have written, read field by field; ValueError says in one sentence what is wrong and where."""

# pylint: disable=unidiomatic-typecheck  # JSON's true is not a number, though bool is an int

import errno
import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NoReturn

EPOCH, MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)
SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MOST_ROUNDS = 1_000
LONGEST_NAME = 255
VERDICTS = (
    "compliant",
    "changed",
    "drifted",
    "not_applicable",
    "unsupported",
    "waived",
    "pending_restart",
    "failed",
    "unknown",
    "observed",
)
"""``waived`` is part of the schema tunings/1, and nothing sets it yet."""
RUN_KINDS = ("verify", "site", "rollback", "rollout", "confirm")
"""The kinds of runs that leave evidence, each in a folder of its name below the results."""
ROLLOUTS = "rollouts"
"""The folder of the states of rollouts, below the results."""
RESERVED = (*RUN_KINDS, ROLLOUTS)
"""A change, whose records are in a folder of its name, cannot have one of these."""
_BATCH = "-batch-"
LARGEST = 1e18
"""Larger than any figure of a record, and small enough that sums of squares stay finite."""

DEEPEST = 100
"""Levels of JSON: far more than any document has, and so few that everything which walks through them ends."""

NUMBERS = frozenset({int, float})
"""Exact types, because True is an int as well."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which is not JSON")


DECODER = json.JSONDecoder(parse_constant=_no_constant)
TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
NO_OPENING = bytes(set(range(256)) - set(b"[{"))
NO_BRACKETS = bytes(set(range(256)) - set(b'"[]{}'))
ONE_KIND = bytes.maketrans(b"{}", b"[]")


def check_slug(what: str, value: object) -> str:
    """``value`` if it can name a folder or a part of a file name, else ValueError that says what would be right."""
    if isinstance(value, str) and SLUG.fullmatch(value):
        return value
    raise ValueError(
        f"{what} is {show(value)}; it must begin with a letter or digit and have at most 64 letters, digits,"
        " points, underscores and hyphens"
    )


def batch_change(rollout: str, number: int, attempt: int = 1) -> str:
    """The change that the guard of a rollout measures for one of its batches."""
    return f"{rollout}{_BATCH}{number}" + (f"-{attempt}" if attempt > 1 else "")


def rollout_of(change: str) -> str:
    """The rollout that has such a change as batch_change(); empty if the name is another one."""
    return change.rpartition(_BATCH)[0]


def check_change_name(what: str, value: object) -> str:
    """``value`` if it can name a change, else ValueError that says what would be right."""
    name = check_slug(what, value)
    if name in RESERVED:
        raise ValueError(f"{what} is {name}, a folder of the results that holds no records; choose another name")
    return name


def microseconds(stamp: Any) -> int | None:
    """``2026-11-20T10:00:00.123456Z`` as microseconds since the epoch; None for anything but a UTC time, and for one so
    far away that no time zone can show it."""
    if not isinstance(stamp, str) or stamp[-1:] != "Z" or stamp[:4] in ("0001", "9999"):
        return None
    try:
        return (datetime.fromisoformat(stamp[:-1]) - EPOCH) // MICROSECOND
    except (ValueError, TypeError):  # TypeError: a second time zone before the Z
        return None


def plain_json(value: Any) -> Any:
    """A copy in the types of JSON: ansible-core 2.19 and later hand over subclasses of str, int and float."""
    return json.loads(json.dumps(value))


def wrong(where: str, value: object, right: str) -> ValueError:
    """The error for a value that is not ``right``."""
    return ValueError(f"{where} is {show(value)}; it must be {right}")


def check_number(where: str, value: Any) -> None:
    """ValueError unless the value is null or a number within bounds: no infinity, no NaN."""
    if value is not None and not (type(value) in NUMBERS and -LARGEST < value < LARGEST):
        raise wrong(where, value, "a number or null")


def check_numbers(item: Mapping[str, object], where: str) -> None:
    """:func:`check_number` for every value."""
    for name, value in item.items():
        check_number(f"{where}.{name}", value)


class Fields:
    """A JSON object; each method returns a field that it has checked. ``prefix`` precedes the names in sentences."""

    __slots__ = ("item", "prefix")

    def __init__(self, value: object, where: str, prefix: str | None = None) -> None:
        if not isinstance(value, dict):
            raise wrong(where, value, "an object")
        self.item: dict[str, Any] = value
        self.prefix = f"{where}." if prefix is None else prefix

    def text(self, name: str) -> str:
        value = self.item.get(name)
        if isinstance(value, str):
            return value
        raise wrong(self.prefix + name, value, "text")

    def optional_text(self, name: str) -> str | None:
        return None if self.item.get(name) is None else self.text(name)

    def name(self, name: str) -> str:
        """A required text of 1 to LONGEST_NAME characters. Raises ValueError."""
        value = self.item.get(name)
        if isinstance(value, str) and 0 < len(value) <= LONGEST_NAME:
            return value
        raise wrong(self.prefix + name, value, f"a name of 1 to {LONGEST_NAME} characters")

    def flag(self, name: str) -> bool:
        value = self.item.get(name)
        if isinstance(value, bool):
            return value
        raise wrong(self.prefix + name, value, "true or false")

    def count(self, name: str) -> int:
        value = self.item.get(name)
        if type(value) is int and 0 <= value <= LARGEST:
            return value
        raise wrong(self.prefix + name, value, "a whole number from 0")

    def optional_count(self, name: str) -> int:
        return 0 if self.item.get(name) is None else self.count(name)

    def required_object(self, name: str) -> "Fields":
        return Fields(self.item.get(name), self.prefix + name)

    def optional_object(self, name: str) -> "Fields":
        """An optional object; empty if it is missing."""
        value = self.item.get(name)
        return Fields({} if value is None else value, self.prefix + name)

    def optional_list(self, name: str) -> list[Any]:
        """An optional list; empty if it is missing."""
        value = self.item.get(name)
        if value is None or isinstance(value, list):
            return value or []
        raise wrong(self.prefix + name, value, "a list")

    def scalars(self, name: str) -> dict[str, object]:
        """An optional object of texts, numbers, true and false."""
        inner = self.optional_object(name)
        check_numbers(
            {key: value for key, value in inner.item.items() if not isinstance(value, (str, bool))}, self.prefix + name
        )
        return inner.item

    def number_objects(self, name: str) -> dict[str, object]:
        """An optional object of optional objects of numbers, such as the two ends of a run."""
        both = self.optional_object(name)
        for key, value in both.item.items():
            if value is not None:
                check_numbers(both.required_object(key).item, both.prefix + key)
        return both.item


def show(value: object) -> str:
    """A value out of a file, for a sentence."""
    if value is None:
        return "missing"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "a number beyond all bounds"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def parse_json(data: bytes) -> Any:
    """JSON that anybody may have written; ValueError or RecursionError if it is unusable or nested too deeply."""
    record = DECODER.decode(data.decode("utf-8"))
    if too_deep(data):
        raise RecursionError
    return record


def too_deep(data: bytes) -> bool:
    """Whether valid JSON has more than DEEPEST levels, in a fraction of the time of a walk through its objects."""
    if len(data.translate(None, NO_OPENING)) <= DEEPEST:
        return False
    brackets = data.translate(ONE_KIND, NO_BRACKETS).replace(b'""', b"")
    if b'"' in brackets or rb"\"" in data:  # a text holds brackets or quotes
        brackets = TEXT.sub(b"", data).translate(ONE_KIND, NO_BRACKETS)
    for _level in range(DEEPEST):
        brackets = brackets.replace(b"[]", b"")  # the innermost ones
        if not brackets:
            break
    return bool(brackets)


def sentence(error: Exception) -> str:
    """What is wrong with a file, from an exception of :func:`parse_json` or a check."""
    if isinstance(error, OSError):
        return "it is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON ({error.msg}, line {error.lineno})"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, UnicodeEncodeError):
        return "it holds half of a surrogate pair, which is not a character"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)
