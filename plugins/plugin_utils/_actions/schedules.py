# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of the rounds of two states, the looks at them, and the whole plan in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .._report.text import plural
from .._statistics import looks
from .._statistics.looks import AFTER, BEFORE

PHASES = (BEFORE, AFTER)
SHOWN_STATES = 12
SHOWN_ORDERS = 5


def groups(peers: Mapping[str, Collection[str]]) -> dict[str, tuple[str, ...]]:
    """For each host the hosts that share its states: they measure against each other, also through others.

    ``peers``: the hosts that each host measures against; those that are no keys do not count.
    """
    found = {host: {host} for host in peers}
    for host, others in peers.items():
        for other in found.keys() & set(others):
            joined = found[host] | found[other]
            found.update(dict.fromkeys(joined, joined))
    return {host: tuple(sorted(members)) for host, members in found.items()}


def seed_of(seed: str, group: Sequence[str], session: int) -> str:
    """The text from which the order of these hosts is drawn."""
    return " ".join([seed, group[0], *([f"session {session}"] if session > 1 else [])])


def most_rounds(most: int, done: int) -> int:
    """Rounds per state of all sessions together; two more looks if there are that many already. ValueError if none."""
    if most > done:
        return most
    ahead = [look.rounds for look in looks.LOOKS if look.rounds > done][:2]
    if not ahead:
        raise ValueError(
            f"the change has {done} rounds of each state, and the last planned look is at {looks.LOOKS[-1].rounds}: "
            "set measure_max_rounds to measure more"
        )
    return ahead[-1]


def steps(design: str, seed: str, most: int, done: int, last: int) -> list[dict[str, Any]]:
    """Each round in its turn: phase, number (after ``last``), and whether the state is set before it."""
    if design == "blocks":
        # the first state is the one found
        order = [phase for phase in PHASES for _round in range(most)]
    else:
        order = looks.order(seed, most, PHASES, done)
    numbers = dict.fromkeys(PHASES, last)
    found = []
    for phase in order:
        numbers[phase] += 1
        found.append({"phase": phase, "round": numbers[phase], "set": design != "blocks" or phase == AFTER})
    return found


def blocks(design: str, first: int, most: int, done: int) -> list[dict[str, int]]:
    """The steps that are planned without a look between them: ``begin`` to ``end``, and the rounds per state then.

    ``first``: no look has fewer rounds.
    """
    ends = [end for end in _ends(most, done) if end >= first and design != "blocks"]
    ends = ends if ends and ends[-1] == most else [*ends, most]
    begins = [done, *ends]
    return [
        {"begin": 2 * (begin - done), "end": 2 * (end - done), "rounds": end}
        for begin, end in zip(begins, ends, strict=False)
    ]


def _ends(most: int, done: int) -> Iterable[int]:
    for size in looks.blocks(most, done):
        done += size
        yield done


def duration_text(seconds: float) -> str:
    """A duration in words."""
    if seconds < 90:
        return plural(max(1, round(seconds)), "second")
    if seconds < 7200:
        return plural(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"


def seconds_per_step(seconds: Collection[float], throttle: int) -> float:
    """The time in which all hosts measure one round, ``throttle`` of them at the same time."""
    return max([sum(seconds) / max(1, throttle), *seconds])


def duration(ends: Sequence[float], hosts: int, limit: float) -> str:
    """A sentence: the seconds until the end of each block."""
    text = f"About {duration_text(ends[0])} to the first look and {duration_text(ends[-1])} at most"
    if len(ends) == 1:
        text = f"About {duration_text(ends[0])}"
    text += f" for {plural(hosts, 'host')}, plus the time to set the states"
    return f"{text}; not longer than {limit:g} minutes (measure_max_minutes)." if limit else f"{text}."


def described(
    planned: Sequence[Mapping[str, int]], session: int, orders: Mapping[tuple[str, ...], Sequence[Mapping[str, Any]]]
) -> list[str]:
    """Blocks and orders in sentences."""
    *ahead, end = [block["rounds"] for block in planned]
    text = f"{plural(end, 'round')} of each state" if not ahead else f"At most {plural(end, 'round')} of each state"
    if session > 1:
        text += ", with those of the earlier sessions"
    if ahead:
        text += f"; it ends after {_either(ahead)} if the verdict is certain then"
    lines = [f"{text}."]
    shown = list(orders.items())[:SHOWN_ORDERS]
    for group, order in shown:
        more = f" and {len(order) - SHOWN_STATES} more" if len(order) > SHOWN_STATES else ""
        lines.append(f"{', '.join(group)}: {', '.join(step['phase'] for step in order[:SHOWN_STATES])}{more}")
    if len(orders) > SHOWN_ORDERS:
        lines.append(f"{len(orders) - SHOWN_ORDERS} more hosts or groups of hosts have orders of their own.")
    return lines


def _either(numbers: Sequence[int]) -> str:
    texts = [str(number) for number in numbers]
    return " or ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]
