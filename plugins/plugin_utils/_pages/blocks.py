# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What pages are made of: styles of words, and equal items of several hosts that are shown once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Style:
    """The appearance of a verdict or an outcome: symbol and word too, because colour alone is not enough."""

    word: str
    symbol: str
    css: str
    rank: int = 0  # 0 is what a reader must see first

    def __str__(self) -> str:
        return self.word


@dataclass
class Group(Generic[T]):
    """Equal items of several hosts: the first of them, and the names of all."""

    item: T
    members: list[str] = field(default_factory=list)


def grouped(named: Iterable[tuple[str, T]], key: Callable[[T], object]) -> list[Group[T]]:
    """The items with the same key as one group, in the order of the first ones."""
    groups: dict[object, Group[T]] = {}
    for name, item in named:
        groups.setdefault(key(item), Group(item)).members.append(name)
    return list(groups.values())
