# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that cannot be true: rounds that were copied, and rounds that begin in the future."""

from collections.abc import Sequence

from .round import UNKNOWN, Round, time_text

DAY = 86_400_000_000
"""In microseconds. The clocks of a host and of this machine may differ by this much."""


def credible(records: Sequence[Round], now: int) -> tuple[list[Round], list[str]]:
    """The rounds that can be believed, and a sentence for each doubt; ``now``: microseconds since the epoch.

    No two rounds of a workload begin all their runs in the same microsecond: one is a copy. Within a phase the one with
    the lowest number counts; of two phases none does, because nobody knows where it was measured. Times in the future
    are only told: they still have an order, and the clock of this machine may be the wrong one.
    """
    alike: dict[object, list[Round]] = {}
    future: dict[str, int] = {}
    for item in records:
        if {*item.times} - {UNKNOWN}:
            # imported figures may have times of whole minutes
            same = item.values if item.source else ()
            alike.setdefault((item.host, item.peer, item.workload.name, item.times.tobytes(), same), []).append(item)
        if item.started is not None and item.started > now + DAY:
            future[item.host] = max(future.get(item.host, 0), item.started)
    doubts = []
    copies: set[int] = set()
    for rounds in alike.values():
        if len(rounds) > 1:
            first, *others = sorted(rounds, key=lambda item: item.number)
            one_phase = len({item.phase for item in rounds}) == 1
            copies |= {id(item) for item in (others if one_phase else rounds)}
            names = " and ".join(f"{item.phase}-{item.number}" for item in [first, *others])
            nobody = "neither counts" if len(rounds) == 2 else "none of them counts"
            counts = f"only {first.phase}-{first.number} counts" if one_phase else nobody
            doubts.append(f"{first.host}: {names} of {first.workload.name} have the same times: a copy; {counts}.")
    doubts += [
        f"{host}: rounds begin in the future, the last one at {time_text(moment)}: a clock is wrong."
        for host, moment in future.items()
    ]
    return [item for item in records if id(item) not in copies], sorted(doubts)
