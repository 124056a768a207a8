# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged inputs: bytes and values of a corpus with a few changes, and random values."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any

WORDS: tuple[bytes, ...] = (
    b"\0",
    b"\n",
    b"\r\n",
    b"\xff\xfe",
    b"\xe2\x80\xa8",
    b"\x1b[31m",
    b"%s%n",
    b"{{ 7 * 7 }}",
    b"-1",
    b"0",
    b"1e999",
    b"nan",
    b"0x1",
    b"\xd9\xa3",  # a digit outside of ASCII
    b"\xc2\xb2",
    b"99999999999999999999999",
    b"9" * 5000,
    b"9" * 60000,
    b"[" * 50000,
    b'{"a":' * 10000,
    b"- " * 20000,
    b"(" * 3000,
    b" " * 20000,
    b"a" * 100000,
    b"0-" * 10000,
    b"x=" * 10000,
    b"\n" * 20000,
    b"../" * 50,
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1 << 31,
    1 << 63,
    1 << 70,
    0.5,
    float("inf"),
    float("nan"),
    "",
    " ",
    "0",
    "all",
    "0-3",
    "0-9999999999",
    "\0",
    "a\nb",
    "\u0663",
    "\u2028",
    "\ud800",
    "{{ x }}",
    "*",
    "[",
    "x" * 10000,
    [],
    [None],
    ["", 1, {}],
    {},
    {"": None},
    {"a": {"b": [1]}},
    [[[[[[]]]]]],
)


def mutated(data: bytes, chance: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """Return data with one to four changes."""
    for _number in range(chance.randint(1, 4)):
        data = _changed(data, chance, others)
    return data


def _changed(data: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    at = chance.randint(0, len(data))
    end = min(len(data), at + chance.choice((1, 2, 8, 100)))
    kind = chance.randrange(8)
    if kind == 6:
        lines = data.split(b"\n")
        chance.shuffle(lines)
        return b"\n".join(lines)
    if kind == 7:
        other = chance.choice(others) if others else data
        return data[:at] + other[chance.randint(0, len(other)) :]
    flipped = bytes([data[at] ^ 1 << chance.randrange(8)]) if at < len(data) else b""
    word = chance.choice(WORDS)
    # inserted, replaced, cut out, repeated, truncated, one bit flipped
    between, rest = [
        (word, data[at:]),
        (word, data[end:]),
        (b"", data[end:]),
        (data[at:end] * chance.choice((2, 5, 100)), data[end:]),
        (b"", b""),
        (flipped, data[at + 1 :]),
    ][kind]
    return data[:at] + between + rest


def value(chance: random.Random) -> Any:
    """Return a random value."""
    return copy.deepcopy(chance.choice(VALUES))


def damaged(data: Any, chance: random.Random) -> Any:
    """Return a copy of nested lists and dicts with one to three changes."""
    data = copy.deepcopy(data)
    for _number in range(chance.randint(1, 3)):
        data = _damage(data, chance)
    return data


def _damage(data: Any, chance: random.Random) -> Any:
    if not data or not isinstance(data, (dict, list)) or chance.random() < 0.02:
        return value(chance)
    key = chance.choice(list(data) if isinstance(data, dict) else range(len(data)))
    kind = chance.randrange(6)
    if kind <= 2:
        data[key] = _damage(data[key], chance)
    elif kind == 3:
        del data[key]
    elif kind == 4:
        data[key] = value(chance)
    elif isinstance(data, dict):
        data[str(value(chance))] = copy.deepcopy(data[key])
    else:
        data.append(copy.deepcopy(data[key]))
    return data


def arguments(specification: dict[str, Any], usual: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return arguments of a module: usual ones, some of them damaged, and random values for its options."""
    found = copy.deepcopy(usual)
    for name in chance.sample(list(specification), min(len(specification), chance.randint(0, 4))):
        rule = specification[name]
        choices = rule.get("choices") or [1, 2, 255, 65536, "0-1", "hsi*", "smcr0", "PRD", "D00", "any", "yes"]
        picked = chance.random()
        found[name] = chance.choice(choices) if picked < 0.5 else value(chance)
        if picked < 0.8 and rule.get("type") == "list":
            found[name] = (
                [found[name]] if rule.get("elements") != "dict" else [arguments(rule.get("options") or {}, {}, chance)]
            )
        elif picked < 0.8 and rule.get("type") == "dict":
            found[name] = {str(value(chance)): value(chance), "maxuproc": chance.choice(choices)}
    spoilt = damaged(found, chance) if chance.random() < 0.3 else found
    return spoilt if isinstance(spoilt, dict) else found
