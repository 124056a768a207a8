# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change that is measured further in another session: what has to be as before, and records that do not fit."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .._compare import comparability, comparing
from .._pages.text import one_line
from .._records.grouping import by_key
from .._records.record_files import Loaded
from .._records.round import LOCAL_PEER, Round
from .._statistics.looks import PHASES
from .session import Options, Ready

DECIDED = ("IMPROVED", "REGRESSED", "UNCHANGED", "NOT COMPARABLE", "NO DATA")
"""Verdicts of the whole change that end a measurement."""
NEED_NO_MORE = DECIDED[:-1]
"""Verdicts after which a change is not continued; without data it is."""


def verdict(loaded: Loaded, options: Options, without: Iterable[str] = ()) -> tuple[str, str]:
    """The verdict of the whole change with the limits of the report, and its reason; without the rounds of some hosts.

    ValueError for limits that cannot be used.
    """
    records = [item for item in loaded.records if item.host not in {*without}]
    limits = comparing.Options(
        material_pct=options["material_pct"], expected_change=options["expected_change"], max_runs=0
    )
    row = comparing.compare_change(replace(loaded, records=records), options=limits)["pooled"][0]
    return row["verdict"], one_line(row["reason"])


def rounds_done(loaded: Loaded) -> int:
    """Rounds per state of the host and state that have the fewest."""
    states = Counter(
        (host, phase) for host, phase, _number in {(r.host, r.phase, r.number) for r in _measured(loaded.records)}
    )
    hosts = {host for host, _phase in states}
    return min(states[host, phase] for host in hosts for phase in PHASES)


def declared(loaded: Loaded) -> int:
    """The rounds per state that the first session planned."""
    return max((item.protocol.rounds for item in loaded.records if item.protocol.session == 1), default=0)


def check_same(loaded: Loaded, ready: Mapping[str, Ready]) -> None:
    """ValueError in one sentence if the play does not measure what the records of the change hold.

    ``ready``: the results of measurement_check of the hosts of the play.
    """
    change = loaded.change
    records = _measured(loaded.records)
    if not records:
        raise ValueError(f"the change {change} has no records, so there is nothing to continue: leave "
                         "before_after_continue out")  # fmt: skip
    if any(item.protocol.design != "alternate" for item in records):
        raise ValueError(f"the change {change} was measured in blocks and cannot be continued: name another change")
    there = {item.host for item in records}
    here = {host for host, found in ready.items() if found["measures"]}
    _equal(change, "hosts", there, here)
    for host in sorted(here):
        mine = [item for item in records if item.host == host]
        _equal(change, f"peers of {host}", {item.peer for item in mine} - {LOCAL_PEER}, ready[host]["peers"])
        kinds = {str(workload["name"]) for workload in ready[host]["workloads"]}
        _equal(change, f"workloads of {host}", {item.workload.family or "niping" for item in mine}, kinds)
        _equal(change, f"measure_runs of {host}", {item.protocol.runs for item in mine}, [ready[host]["runs"]])


def _equal(change: str, what: str, there: Iterable[Any], here: Iterable[Any]) -> None:
    old, new = (", ".join(sorted(map(str, values))) or "none" for values in (there, here))
    if old != new:
        raise ValueError(
            f"the change {change} cannot be continued: its {what} were {old}, now {new}; use the same again, or name "
            "another change"
        )


def unlike(loaded: Loaded, session: int, expected: Sequence[str]) -> str | None:
    """Why the rounds of this session cannot join those of the earlier ones, in one sentence; None if they can."""
    keyed = [((item.host, item.peer, item.workload.name), item) for item in loaded.records]
    old = by_key(pair for pair in keyed if pair[1].protocol.session < session)
    new = by_key(pair for pair in keyed if pair[1].protocol.session == session)
    for key in sorted(new):
        host, peer, name = key
        where = f"{host} with {peer}, workload {name}"
        if key not in old:
            return f"{where}: the earlier sessions have no such workload"
        for other in comparability.differences(old[key], new[key], expected):
            if other.must_match:
                return f"{where}: {other.item} was {other.before} and is {other.after}"
    # the tunings of all sessions together have to be those of two states, if those of the earlier sessions were
    earlier = {item.number for rounds in old.values() for item in rounds}
    before = comparability.Tunings(file for file in loaded.tunings if file["round"] in earlier)
    now = comparability.Tunings(loaded.tunings)
    for host in sorted(now.hosts):
        if not before.blocks([host]) and (reason := now.blocks([host])):
            return reason
    return None


def _measured(records: Iterable[Round]) -> list[Round]:
    """The rounds of both states, without controls."""
    return [item for item in records if item.phase in PHASES and not item.workload.control]
