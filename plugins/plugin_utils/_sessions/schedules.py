# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of the rounds of two states, the looks at them, and the whole plan in words."""

import time
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any

from .._compare.wording import some
from .._pages.text import plural
from .._series.calibration import duration
from .._statistics import looks
from .._statistics.looks import AFTER, PHASES

Order = dict[str, Any]
"""A round in its turn: phase, number, and whether its state is set before it."""
SHOWN_STATES = 12
SHOWN_ORDERS = 5


def groups(peers: Mapping[str, Collection[str]], joining: Collection[str]) -> dict[str, tuple[str, ...]]:
    """For each host the hosts that share its states: they measure against each other, also through others.

    ``peers``: the hosts that each host measures against; only keys count. ``joining``: a peer joins
    the hosts that measure against it only if it is one of these. One that is not tuned joins nothing, because its state
    never changes: simulated with five hosts and nothing changed, 100 % instead of 60 % were then UNCHANGED, after 6
    rounds instead of 16. But if hosts load it at the same time, each feels what the change of the others does to it.
    """
    found = {host: {host} for host in peers}
    for host, others in peers.items():
        for other in found.keys() & set(others).intersection(joining):
            joined = found[host] | found[other]
            found.update(dict.fromkeys(joined, joined))
    return {host: tuple(sorted(members)) for host, members in found.items()}


def most_rounds(most: int, done: int, declared: int) -> int:
    """Rounds per state of all sessions together; two more looks if there are that many already. ValueError if none.

    ``declared``: what the first session planned.
    """
    ahead = [look.rounds for look in looks.LOOKS if look.rounds > done][:2]
    wanted = most if most > done or not ahead else ahead[-1]
    check_added(done, wanted, declared)
    return wanted


def check_added(done: int, wanted: int, declared: int) -> None:
    """ValueError unless ``wanted`` are more rounds than ``done``, and no more than LOOKS have or were ``declared``."""
    last = max(declared, looks.LOOKS[-1].rounds)
    if wanted <= done or wanted > last:
        raise ValueError(
            f"the change has {done} rounds of each state and cannot get {wanted}: its last look is at {last}, because "
            "looks that are added later make verdicts wrong; measure it again under another name"
        )


def check_most(variable: str, most: int, rounds: int) -> None:
    """ValueError if the maximum of rounds, after the first look at ``rounds``, is between two looks."""
    last = looks.LOOKS[-1].rounds
    if most != rounds and most > last:
        raise ValueError(f"{variable} is {most}: the looks at a verdict end at {last}")


def steps(design: str, seed: str, most: int, done: int, last: int) -> list[Order]:
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


def ends(design: str, first: int, most: int, done: int) -> list[int]:
    """The rounds per state at each look and at the end; ``first``: no look has fewer rounds."""
    found = list(accumulate(looks.blocks(most, done), initial=done))[1:]
    found = [end for end in found if end >= first and design != "blocks"]
    return found if found and found[-1] == most else [*found, most]


def describe(done: int, total: int, elapsed: float, until: int) -> str:
    """Round and time left; no time before the first round has ended."""
    text = f"round {done + 1} of {'at most ' if until < total else ''}{total}"
    if done < 1:
        return text
    left = duration(max(0.0, elapsed) / done * (until - done))
    return f"{text}, about {left} {'to the next look' if until < total else 'left'}"


def too_late(since: float, done: int, end: int, minutes: float) -> float | None:
    """The seconds from ``since`` to the end of step ``end``, if more than allowed; ``done`` steps have been measured.

    Steps are expected to take as long as those so far. ``minutes``: 0 means no limit.
    """
    seconds = (time.time() - since) / done * end
    return seconds if minutes and seconds > 60.0 * minutes else None


def duration_of(ends: Sequence[float], hosts: int, limit: float) -> str:
    """A sentence: the seconds until each look and the end."""
    text = f"About {duration(ends[0])} to the first look and {duration(ends[-1])} at most"
    if len(ends) == 1:
        text = f"About {duration(ends[0])}"
    text += f" for {plural(hosts, 'host')}, plus the time to set the states"
    return f"{text}; not longer than {limit:g} minutes (measure_max_minutes)." if limit else f"{text}."


def described(rounds: Sequence[int], session: int, orders: Mapping[tuple[str, ...], Sequence[Order]]) -> list[str]:
    """The rounds at each look and the orders in sentences."""
    *ahead, end = rounds
    text = f"{plural(end, 'round')} of each state" if not ahead else f"At most {plural(end, 'round')} of each state"
    if session > 1:
        text += ", with those of the earlier sessions"
    if ahead:
        either = " or ".join(filter(None, (", ".join(map(str, ahead[:-1])), str(ahead[-1]))))
        text += f"; it ends after {either} if the verdict is certain then"
    lines = [f"{text}."]
    shown = list(orders.items())[:SHOWN_ORDERS]
    for group, order in shown:
        lines.append(f"{', '.join(group)}: {some([step['phase'] for step in order], SHOWN_STATES)}")
    if len(orders) > SHOWN_ORDERS:
        lines.append(f"{len(orders) - SHOWN_ORDERS} more hosts or groups of hosts have orders of their own.")
    return lines
