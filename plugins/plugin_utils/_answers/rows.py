# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tuning records as a host sends them → rows: known fields, plain JSON of a bounded size, text without hidden signs."""

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypedDict

from .._records.checks import LARGEST, LONGEST_NAME, VERDICTS
from .text import ELLIPSIS, clean, one_line, shorten

MOST_ROWS = 2000  # of one host
MOST_VALUES = 500  # of one field
MOST_ITEMS = 100  # conflicts, remarks, sources
LONGEST_TEXT = 2000
DEEPEST = 8
PLACES = ("running", "stored", "next_boot")
RESTARTS = ("none", "device", "instance", "reboot")


class Row(TypedDict):
    """A tuning record as it is kept; ``before`` and ``after`` have the places running, stored and next_boot."""

    name: str
    subject: str
    wanted: Any
    before: dict[str, object] | None
    after: dict[str, object] | None
    verdict: Annotated[str, VERDICTS]
    reason: str
    restart: str | None
    conflicts: list[Any]
    remarks: list[str]
    sources: list[Any]
    undo: str | None


def plain(value: object, most: int = MOST_VALUES, scalar: Callable[[object], Any] | None = None) -> Any:
    """A copy of JSON data without the types of ansible-core; what is too long, too deep or too much is cut.

    ``scalar`` copies what is neither an object nor a list.
    """
    scalar = scalar or _scalar
    left = [most]

    def copied(item: object, depth: int) -> Any:
        left[0] -= 1
        # most are text, and isinstance() is slow for a Mapping
        if isinstance(item, str) or not isinstance(item, (dict, list, tuple, Mapping)):
            return scalar(item)
        if depth >= DEEPEST or left[0] < 0:
            return ELLIPSIS
        if not isinstance(item, (list, tuple)):
            return {_scalar(str(key)): copied(entry, depth + 1) for key, entry in item.items() if left[0] > 0}
        return [copied(entry, depth + 1) for entry in item if left[0] > 0]

    return copied(value, 0)


def _scalar(item: object) -> Any:
    if item is None or isinstance(item, bool):
        return item
    if isinstance(item, int):
        return int(item) if abs(item) <= LARGEST else None
    if isinstance(item, float):
        return float(item) if math.isfinite(item) else None
    # str() of a subclass may keep the subclass
    return clean(shorten(str.__str__(item if isinstance(item, str) else str(item)), LONGEST_TEXT))


def rows_of(records: object) -> list[Row]:
    """The rows of one host.

    If a subject has several records, the last one counts. An entry that is not a tuning record gives a failed row
    with the reason.
    """
    if records is None:
        return []
    if not isinstance(records, (list, tuple)):
        return [_unreadable("", "records", "the host sent no list of tuning records")]
    return merge([*map(_row, records[: MOST_ROWS + 1])], len(records))


def merge(rows: list[Row], sent: int) -> list[Row]:
    """The last row of each subject, of at most :data:`MOST_ROWS`; ``sent``: how many records there were."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows[:MOST_ROWS]:
        found.pop((row["name"], row["subject"]), None)
        found[row["name"], row["subject"]] = row
    more = f"the host sent {sent:,} records; the first {MOST_ROWS:,} are kept"
    return [*found.values(), *([_unreadable("", "records", more)] if sent > MOST_ROWS else [])]


def _row(item: object) -> Row:
    if not isinstance(item, Mapping):
        return _unreadable("", "record", "the host sent something that is not a tuning record")
    name, subject = (_name(item.get(key)) for key in ("name", "subject"))
    verdict = item.get("verdict")
    if verdict not in VERDICTS:
        return _unreadable(name, subject, f"the host sent an unknown verdict: {shorten(one_line(verdict), 60)}")
    restart = str(item.get("restart"))
    return {
        "name": name,
        "subject": subject,
        "wanted": plain(item.get("wanted")),
        "before": _places(item.get("before")),
        "after": _places(item.get("after")),
        "verdict": str.__str__(verdict),
        "reason": plain(str(item.get("reason") or "")),
        "restart": restart if restart in RESTARTS else "none",
        "conflicts": _items(item.get("conflicts"), (Mapping, str)),
        "remarks": _items(item.get("remarks"), str),
        "sources": _items(item.get("sources"), str),
        "undo": None if item.get("undo") is None else plain(str(item["undo"])),
    }


def _unreadable(name: str, subject: str, reason: str) -> Row:
    return _row({"name": name, "subject": subject, "verdict": "failed", "reason": reason})


def _name(value: object) -> str:
    return shorten(one_line(value if value is not None else ""), LONGEST_NAME) or "unknown"


def _places(value: object) -> dict[str, object] | None:
    return {place: plain(value.get(place)) for place in PLACES} if isinstance(value, Mapping) else None


def _items(value: object, kinds: type | tuple[type, ...]) -> list[Any]:
    """The items of a list that are of these kinds, as :func:`plain` copies them."""
    given = value[:MOST_ITEMS] if isinstance(value, (list, tuple)) else ()
    return [plain(entry) for entry in given if isinstance(entry, kinds)]
