# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two states may be compared at all: equal surroundings, and a tuning that took effect and stayed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from .._records.round import MUST_MATCH, SHOWN, Items, Round
from .._statistics.ranks import median
from .._statistics.verdict import beyond

WORKLOAD_MUST_MATCH = ("tool", "version", "bytes", "loops", "connections", "metric", "metric_unit", "better", "unit")
NEVER_DECLARED = ("workload.tool", "workload.metric", "workload.metric_unit", "workload.better")
"""Two tools, two metrics, or seconds and milliseconds of one have nothing in common that could be compared."""

ELAPSED = "elapsed_s"
"""The metric that means nothing without the amount of work that took so long."""
UNITS = "workload.units"
SIDES = ("client", "server")
TOOK_EFFECT = ("changed", "compliant", "drifted")
"""Outside check mode a tuning that has drifted was set and read back: only its next boot is not as wanted."""
NO_EFFECT_WANTED = ("not_applicable", "unsupported", "waived")
"""The knob was left alone on purpose or does not exist: that blocks nothing, and is no change either."""

NOTHING_CHANGED = "nothing was changed between the phases: no knob of either end differs"


class Difference(NamedTuple):
    """An item that is not the same in both states; several values within a state are all named."""

    item: str
    before: str
    after: str
    must_match: bool
    declared: bool = False
    """It would have to match, and the user said beforehand that it differs."""


def check_expected(patterns: Iterable[str]) -> tuple[str, ...]:
    """Patterns of ``expected_change``; ValueError for one that can match nothing or what never may differ.

    A pattern is the name of an item with or without its first part, ``*`` and ``?`` as in file names:
    ``server.kernel``, ``kernel``, ``workload.version``, ``context.packet_size``, ``context.*``.
    """
    fixed = [f"{side}.{name}" for side in SIDES for name in MUST_MATCH]
    fixed += [f"workload.{name}" for name in WORKLOAD_MUST_MATCH if f"workload.{name}" not in NEVER_DECLARED] + [UNITS]
    found = tuple(patterns)
    for pattern in found:
        named = pattern.startswith(("context.", "workload.params."))
        if not named and not any(_matches(item, (pattern,)) for item in fixed):
            raise ValueError(
                f"expected_change has {pattern!r}, which names nothing that has to match: take one of"
                f" {', '.join(sorted({item.partition('.')[2] for item in fixed}))}, with client., server. or"
                " workload. before it where only that is meant, or context.<name>"
            )
    return found


def _matches(item: str, patterns: Iterable[str]) -> bool:
    names = (item, item.partition(".")[2])
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def differences(before: Sequence[Round], after: Sequence[Round], expected: Sequence[str] = ()) -> list[Difference]:
    """Items of workload, context and fingerprints that differ between the states or within one.

    Rounds without a fingerprint of an end tell nothing about it; one that is known in a single state differs.
    ``expected``: patterns of items that may differ between the states (not within one).
    """
    found = list(_differing(WORKLOAD_MUST_MATCH, "workload.", _workloads(before), _workloads(after), True, expected))
    for prefix, items in (("workload.params.", _params), ("context.", _context)):
        found += _named_differences(prefix, [{items(item) for item in rounds} for rounds in (before, after)], expected)
    # what is compared where TCP and SMC are, and no obstacle
    travelled: list[set[Items]] = [{(way,) for way in ways(rounds)} for rounds in (before, after)]
    found += _differing(("transport",), "workload.", travelled[0], travelled[1], False)
    for index, side in enumerate(SIDES):
        ends = [{item.ends[index] for item in rounds} - {None} for rounds in (before, after)]
        if ends[0] == ends[1] and len(ends[0]) <= 1:
            continue
        for names, field_name, must in ((MUST_MATCH, "must", True), (SHOWN, "shown", False)):
            old, new = ({getattr(end, field_name) for end in known} for known in ends)
            found += _differing(names, f"{side}.", old, new, must, expected)
    return found


def unequal_work(
    before: Sequence[Round], after: Sequence[Round], material: float, expected: Sequence[str] = ()
) -> Iterator[Difference]:
    """Where the time of a piece of work decides: how much work it was, if that differs by more than material."""
    if before[0].workload.metric != ELAPSED:
        return
    old, new = ([item.units for item in rounds if item.units is not None] for rounds in (before, after))
    if old and new and beyond(median(new) / median(old), material):
        declared = _matches(UNITS, expected)
        yield Difference(UNITS, f"{median(old):.12g}", f"{median(new):.12g}", not declared, declared)


def _params(item: Round) -> tuple[tuple[str, str], ...]:
    return item.workload.params


def _context(item: Round) -> tuple[tuple[str, str], ...]:
    return item.context


def _named_differences(
    prefix: str, states: Sequence[set[tuple[tuple[str, str], ...]]], expected: Sequence[str]
) -> Iterator[Difference]:
    """Differences of items that have names of their own; one that a state does not have is unknown there."""
    if states[0] == states[1] and len(states[0]) <= 1:
        return
    names = sorted({name for state in states for items in state for name, _value in items})
    old, new = ({tuple(dict(items).get(name) for name in names) for items in state} for state in states)
    yield from _differing(names, prefix, old, new, True, expected)


def ways(rounds: Sequence[Round]) -> list[str]:
    """How the messages of a state travelled: ``tcp``, or ``smc`` with what its connections became."""
    known = {f"{item.workload.transport}: {link}" for item in rounds for link in item.links}
    return sorted(known | {item.workload.transport for item in rounds if not item.links})


def _workloads(rounds: Sequence[Round]) -> set[Items]:
    kinds = {item.workload for item in rounds}
    return {tuple(_plain(getattr(kind, name)) for name in WORKLOAD_MUST_MATCH) for kind in kinds}


def _plain(value: object) -> str | None:
    return None if value is None else str(value)


def _differing(
    names: Sequence[str], prefix: str, before: set[Items], after: set[Items], must: bool, expected: Sequence[str] = ()
) -> Iterator[Difference]:
    for index, name in enumerate(names):
        old, new = ({items[index] for items in state} - {None} for state in (before, after))
        if old != new or len(old) > 1:
            item = prefix + name
            declared = must and len(old) <= 1 and len(new) <= 1 and item not in NEVER_DECLARED
            declared = declared and _matches(item, expected)
            yield Difference(item, _listed(old), _listed(new), must and not declared, declared)


def _listed(values: Iterable[str | None]) -> str:
    return ", ".join(sorted(value for value in values if value is not None)) or "unknown"


@dataclass(slots=True)
class Knob:
    """One tuning of one host over the whole change."""

    name: str
    subject: str
    states: dict[str, set[str]] = field(default_factory=lambda: {"before": set(), "after": set()})
    """What was in force while each phase was measured, as canonical JSON."""
    first: Mapping[str, Any] | None = None
    """The state of the first ``before`` file."""
    last: Mapping[str, Any] | None = None
    """The last record of the phase ``after``."""
    blocks: str | None = None
    """Why the tuning cannot be taken as in force after and gone before."""

    @property
    def differs(self) -> bool:
        """Whether the states have nothing in common."""
        return bool(self.states["before"] and self.states["after"]) and not self.states["before"] & self.states["after"]

    @property
    def took_effect(self) -> bool | None:
        """None if no effect was wanted or nothing is known."""
        if self.last is None or self.last["verdict"] in NO_EFFECT_WANTED:
            return None
        return self.blocks is None


class Tunings:
    """Every knob of every host of a change, from its tunings files."""

    def __init__(self, files: Iterable[Mapping[str, Any]], phases: tuple[str, str] = ("before", "after")) -> None:
        """``phases``: the names of the states before and after in the files."""
        self.hosts: dict[str, dict[tuple[str, str], Knob]] = {}
        states = dict(zip(phases, ("before", "after"), strict=True))
        for item in sorted(files, key=lambda item: (item["host"], states.get(item["phase"], ""), item["round"])):
            if item["phase"] in states:
                for tuning in item["tunings"]:
                    if not _says_nothing(tuning):
                        self._add(item, tuning, states[item["phase"]])
        for host, knobs in self.hosts.items():
            for knob in knobs.values():
                _finish(knob, host)

    def _add(self, item: Mapping[str, Any], tuning: Mapping[str, Any], phase: str) -> None:
        key = tuning["name"], tuning["subject"]
        knob = self.hosts.setdefault(item["host"], {}).setdefault(key, Knob(*key))
        verdict = tuning["verdict"]
        # Check mode only predicts "after"; what was in force during the measurement is what it found.
        state = tuning.get("before" if item["check_mode"] else "after")
        if state is not None:
            knob.states[phase].add(_in_force(state))
        where = f"{knob.name} {knob.subject}".strip() + f" on {item['host']}"
        if phase == "before":
            knob.first = knob.first or state
            if verdict == "failed":
                knob.blocks = knob.blocks or f"{where} could not be taken back before round {item['round']}"
            return
        knob.last = tuning
        if item["check_mode"]:
            knob.blocks = knob.blocks or f"{where} was only tried in check mode"
        elif verdict not in TOOK_EFFECT + NO_EFFECT_WANTED:
            knob.blocks = knob.blocks or f"{where} did not take effect before round {item['round']} ({verdict})"

    def blocks(self, hosts: Sequence[str]) -> str | None:
        """Why the states of a pair of hosts may not be compared; None if they may, or no tuning was recorded."""
        if not self.hosts:
            return None
        knobs = [knob for host in hosts for _key, knob in sorted(self.hosts.get(host, {}).items())]
        for knob in knobs:
            if knob.blocks:
                return knob.blocks
        return None if any(knob.differs for knob in knobs) else NOTHING_CHANGED

    def changes(self) -> list[dict[str, Any]]:
        """The section "what changed" of the report: one entry a knob and host."""
        return [
            _entry(host, knob) for host, knobs in sorted(self.hosts.items()) for _key, knob in sorted(knobs.items())
        ]


def _says_nothing(tuning: Mapping[str, Any]) -> bool:
    """Whether this is the record of a tuning that had no subject, as when there was nothing to take back."""
    states = [tuning.get("before") or {}, tuning.get("after") or {}]
    return tuning["verdict"] == "compliant" and not any(value for state in states for value in state.values())


def _finish(knob: Knob, host: str) -> None:
    if not knob.states["before"] and knob.last is not None and knob.last.get("before") is not None:
        # Nobody recorded the first state; the tuning itself saw it.
        knob.first = knob.last["before"]
        knob.states["before"].add(_in_force(knob.last["before"]))
    shared = knob.states["before"] & knob.states["after"]
    if shared and knob.states["before"] != knob.states["after"] and knob.blocks is None and knob.took_effect:
        knob.blocks = f"{knob.name} {knob.subject} had the same value in rounds of both phases".replace("  ", " ")
    for phase, values in knob.states.items():
        if len(values) > 1 and knob.blocks is None:
            where = f"{knob.name} {knob.subject}".strip() + f" on {host}"
            knob.blocks = f"{where} was not the same in all rounds of the state {phase}"


def _in_force(state: Mapping[str, Any]) -> str:
    running = state.get("running")
    return json.dumps(state if running is None else running, sort_keys=True)


def _entry(host: str, knob: Knob) -> dict[str, Any]:
    last = knob.last or {}
    effect = knob.took_effect
    return {
        "host": host,
        "name": knob.name,
        "subject": knob.subject,
        "wanted": last.get("wanted"),
        "before": knob.first,
        "after": last.get("after"),
        "verdict": last.get("verdict"),
        "took_effect": effect,
        "reason": f"{knob.blocks}." if effect is False else last.get("reason") or "",
        "conflicts": last.get("conflicts") or [],
        "remarks": last.get("remarks") or [],
        "sources": last.get("sources") or [],
        "undo": last.get("undo") or "",
    }
