# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of a row in few words, for a table."""

from collections.abc import Mapping
from typing import Any

from .._answers.rows import PLACES
from .._pages.text import ARROW, conflict_words, natural, one_line, opaque, shorten
from .shapes import WaivedRow

MOST_ITEMS = 2  # that a cell names
LONGEST_CELL = 120
NOTHING = "-"


def current(row: WaivedRow, looked: bool) -> Mapping[str, Any]:
    """The values of a row as the host has them. If the run only looked, ``after`` holds predictions."""
    values = row["before"] if looked else row["after"]
    return values if isinstance(values, Mapping) else {}


def short(value: object) -> str:
    """One place of a row in one cell; receive queues that agree stand in it once: {rx-0: 3, rx-1: 3} is "3"."""
    if value is None or value == {}:
        return NOTHING
    if not isinstance(value, Mapping):
        return shorten(one_line(", ".join(opaque(value))), LONGEST_CELL) or "empty"
    distinct = list(dict.fromkeys(_words(entry) for entry in value.values()))
    if len(distinct) == 1:
        return shorten(distinct[0], LONGEST_CELL) or "empty"
    if len(value) > MOST_ITEMS:
        return f"{len(value)} values"
    items = sorted(value, key=natural)
    return shorten(", ".join(f"{one_line(item)}={_words(value[item])}" for item in items), LONGEST_CELL)


def arrow(before: object, after: object) -> str:
    """ "0 → 3" for a value that changes; of many items only those that do."""
    one, other = short(before), short(after)
    if before == after:
        return one
    old, new = (value if isinstance(value, Mapping) else {} for value in (before, after))
    if max(len(old), len(new)) <= MOST_ITEMS or (not one.endswith(" values") and not other.endswith(" values")):
        return one if one == other else f"{one} {ARROW} {other}"
    changed = sorted((item for item in {**old, **new} if old.get(item) != new.get(item)), key=natural)
    cells = [
        f"{one_line(item)}: {_cell(old.get(item))} {ARROW} {_cell(new.get(item))}" for item in changed[:MOST_ITEMS]
    ]
    more = [f"{len(changed) - MOST_ITEMS} more"] if len(changed) > MOST_ITEMS else []
    return shorten(", ".join(cells + more), LONGEST_CELL)


def places(row: WaivedRow) -> list[str]:
    """The cells running, stored, next boot; with an arrow for a value that changes or would."""
    before, after = row["before"] or {}, row["after"] or {}
    return [arrow(before.get(place), after.get(place)) for place in PLACES]


def conflicts(row: WaivedRow) -> list[str]:
    """One sentence for each setting elsewhere of the same knob."""
    return [one_line(conflict_words(entry)) for entry in row["conflicts"]]


def _words(value: object) -> str:
    return one_line(", ".join(opaque(value)))


def _cell(value: object) -> str:
    return NOTHING if value is None else _words(value) or "empty"
