# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values under their keys, such as the rounds of each host, and equal items of several hosts that are shown once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, both in the order in which they come."""
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


@dataclass
class Group(Generic[V]):
    """Equal items of several hosts: the first of them, and the names of all."""

    item: V
    members: list[str]


def grouped(named: Iterable[tuple[str, V]], key: Callable[[V], object]) -> list[Group[V]]:
    """The items with the same key as one group, in the order of the first ones."""
    found = by_key((key(item), (name, item)) for name, item in named)
    return [Group(pairs[0][1], [name for name, _item in pairs]) for pairs in found.values()]
