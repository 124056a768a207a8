# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two states are comparable: the surroundings are equal, and the tuning took effect and stayed."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any, NamedTuple

from .._records.grouping import by_key
from .._records.round import MUST_MATCH, SHOWN, SIDES, Round
from .._statistics.ranks import median
from .._statistics.verdict import beyond

WORKLOAD_MUST_MATCH = ("tool", "version", "bytes", "loops", "connections", "metric", "metric_unit", "better", "unit")
NEVER_DECLARED = ("workload.tool", "workload.metric", "workload.metric_unit", "workload.better")
"""Figures of two tools, two metrics or two units cannot be compared."""

MACHINE = ("hostname", "address")
"""They must match unless one boot id shows the same start of the machine: another server is not a change here."""
IF_KNOWN = ("entitlement", "sap_kernel")
"""They must match if all rounds of both states know them: a switch of the polarization can make the first known, and
only root and <sid>adm see the second."""

ELAPSED = "elapsed_s"
"""This metric means nothing without the amount of work."""
UNITS = "workload.units"
TRANSPORT = "workload.transport"
OF_WORKLOAD = [f"workload.{name}" for name in WORKLOAD_MUST_MATCH]
OF_ENDS = {side: [f"{side}.{name}" for name in (*MUST_MATCH, *SHOWN)] for side in SIDES}
INTERFACE, RPS_CPUS = MUST_MATCH.index("interface"), SHOWN.index("rps_cpus")
TOOK_EFFECT = ("changed", "compliant", "drifted")
"""Outside check mode a drifted tuning was set and read back: only its value at the next boot is wrong."""
NO_EFFECT_WANTED = ("not_applicable", "unsupported", "observed", "waived")
"""The tuning was left alone on purpose or does not exist here: that blocks nothing and changes nothing."""

Record = Mapping[str, Any]
"""A tuning record, one of its states, or a file of them."""
NOTHING_CHANGED = "nothing changed between the phases: no recorded tuning of either end differs"


class Difference(NamedTuple):
    """An item that differs between the states, or within one; all its values are named."""

    item: str
    before: str
    after: str
    must_match: bool
    declared: bool = False
    """The item must match otherwise; the user declared this difference beforehand."""


def check_expected(patterns: Iterable[str]) -> tuple[str, ...]:
    """Patterns of ``expected_change``; ValueError for one that matches nothing, or an item that must never differ.

    A pattern is the name of an item with or without its first part; ``*`` and ``?`` work as in file names:
    ``server.kernel``, ``kernel``, ``workload.version``, ``context.packet_size``, ``context.*``.
    """
    fixed = [f"{side}.{name}" for side in SIDES for name in (*MUST_MATCH, *MACHINE, *IF_KNOWN)]
    fixed += [f"workload.{name}" for name in WORKLOAD_MUST_MATCH if f"workload.{name}" not in NEVER_DECLARED] + [UNITS]
    found = tuple(patterns)
    for pattern in found:
        named = pattern.startswith(("context.", "workload.params."))
        if not named and not any(_matches(item, (pattern,)) for item in fixed):
            raise ValueError(
                f"expected_change has {pattern!r}, which names no item that must match: use one of"
                f" {', '.join(sorted({item.partition('.')[2] for item in fixed}))}, with the prefix client., server. or"
                " workload. to mean only that one, or context.<name>"
            )
    return found


def _matches(item: str, patterns: Iterable[str]) -> bool:
    names = (item, item.partition(".")[2])
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def differences(before: Sequence[Round], after: Sequence[Round], expected: Sequence[str] = ()) -> list[Difference]:
    """Items of workload, context and fingerprints that differ between the states or within one.

    Rounds without the fingerprint of an end are ignored for that end; a fingerprint known in one state only differs.
    ``expected``: patterns of items that may differ between the states (not within one).
    """
    states = [_values(rounds) for rounds in (before, after)]
    names = sorted({*states[0], *states[1]})
    free = [name for prefix in ("workload.params.", "context.") for name in names if name.startswith(prefix)]
    found = []
    for item in (*OF_WORKLOAD, *free, TRANSPORT, *chain.from_iterable(OF_ENDS.values())):
        old, new = [state.get(item, set()) - {None} for state in states]
        if old != new or len(old) > 1:
            must = _must_match(item, states)
            declared = must and max(len(old), len(new)) <= 1 and item not in NEVER_DECLARED and _matches(item, expected)
            found.append(Difference(item, _listed(old), _listed(new), must and not declared, declared))
    return found


def _values(rounds: Sequence[Round]) -> dict[str, set[str | None]]:
    """All values of each item in the rounds of a state; an item that a round does not have has none."""
    found: dict[str, set[str | None]] = {TRANSPORT: {*ways(rounds)}}
    for workload, context, ends in {(item.workload, item.context, item.ends) for item in rounds}:
        known = [(item, getattr(workload, item.partition(".")[2])) for item in OF_WORKLOAD]
        known += [(f"workload.params.{name}", value) for name, value in workload.params]
        known += [(f"context.{name}", value) for name, value in context]
        for names, end in zip(OF_ENDS.values(), ends, strict=True):
            known += zip(names, (*end.must, *end.shown), strict=True) if end else ()
        for item, value in known:
            found.setdefault(item, set()).add(None if value is None else str(value))
    return found


def _must_match(item: str, states: Sequence[Mapping[str, set[str | None]]]) -> bool:
    side, _dot, name = item.partition(".")
    if side not in SIDES or name not in SHOWN:
        # comparing TCP with SMC is the purpose of such a change
        return item != TRANSPORT
    boots, values = (set().union(*(state.get(key, ()) for state in states)) for key in (f"{side}.boot_id", item))
    another = None in boots or len(boots) > 1
    return (name in IF_KNOWN or (another and name in MACHINE)) and None not in values


def unequal_work(
    before: Sequence[Round], after: Sequence[Round], material: float, expected: Sequence[str] = ()
) -> Iterator[Difference]:
    """If elapsed time decides: the amount of work, if it differs by more than the material change."""
    if before[0].workload.metric != ELAPSED:
        return
    old, new = ([item.units for item in rounds if item.units is not None] for rounds in (before, after))
    if not old or not new:
        return
    was, now = median(old), median(new)
    # no work at all is done in no time
    if beyond(now / was, material) if was else now:
        declared = _matches(UNITS, expected)
        yield Difference(UNITS, f"{was:.12g}", f"{now:.12g}", not declared, declared)


def ways(rounds: Sequence[Round]) -> list[str]:
    """The transports of a state: ``tcp``, or ``smc`` with the mode that its connections got."""
    known = {f"{item.workload.transport}: {link}" for item in rounds for link in item.links}
    return sorted(known | {item.workload.transport for item in rounds if not item.links})


def _listed(values: Iterable[str | None]) -> str:
    return ", ".join(sorted(value for value in values if value is not None)) or "unknown"


@dataclass(slots=True)
class RecordedTuning:
    """One tuning and subject of one host over the whole change."""

    host: str
    name: str
    subject: str
    states: dict[str, set[str]] = field(default_factory=lambda: {"before": set(), "after": set()})
    """The values in force while each phase was measured, as canonical JSON."""
    first: Record | None = None
    """The state of the first ``before`` file."""
    found: Record | None = None
    """The state that the first round of the phase ``after`` found; later rounds may find the tuning set already."""
    last: Record | None = None
    """The last record of the phase ``after``."""
    blocks: str | None = None
    """Why the tuning does not count as absent before and in force after."""

    @property
    def where(self) -> str:
        """Name, subject and host."""
        return f"{self.name} {self.subject}".strip() + f" on {self.host}"

    @property
    def took_effect(self) -> bool | None:
        """None if no effect was requested or nothing is known."""
        if self.last is None or self.last["verdict"] in NO_EFFECT_WANTED:
            return None
        return self.blocks is None

    def block(self, reason: str) -> None:
        """Note why the states may not be compared; the first reason stays."""
        self.blocks = self.blocks or reason

    def add(self, item: Record, record: Record, phase: str) -> None:
        """Note what a file of this phase records of the tuning."""
        verdict = record["verdict"]
        # In check mode "after" is a prediction; "before" is the state that was in force during the measurement.
        state = record.get("before" if item["check_mode"] else "after")
        if state is not None:
            self.states[phase].add(_in_force(state))
        if phase == "before":
            self.first = self.first or state
            if verdict == "failed":
                self.block(f"{self.where} could not be taken back before round {item['round']}")
            return
        self.last = record
        self.found = self.found or record.get("before")
        if item["check_mode"]:
            self.block(f"{self.where} was only tried in check mode")
        elif verdict not in TOOK_EFFECT + NO_EFFECT_WANTED:
            self.block(f"{self.where} did not take effect before round {item['round']} ({verdict})")

    def complete(self) -> None:
        """Fill in the first state if only the tuning saw it, and block states that overlap or vary."""
        if not self.states["before"] and self.found is not None:
            self.first = self.found
            self.states["before"].add(_in_force(self.found))
        shared = self.states["before"] & self.states["after"]
        if shared and self.states["before"] != self.states["after"] and self.took_effect:
            self.block(f"{self.where} had the same value in rounds of both phases")
        for phase, values in self.states.items():
            if len(values) > 1:
                self.block(f"{self.where} was not the same in all rounds of the state {phase}")

    def entry(self) -> dict[str, Any]:
        """The entry of the section "What changed" of the report."""
        last, effect = self.last or {}, self.took_effect
        return {
            "host": self.host,
            "name": self.name,
            "subject": self.subject,
            "before": self.first,
            **{name: last.get(name) for name in ("wanted", "after", "verdict")},
            "took_effect": effect,
            "reason": f"{self.blocks}." if effect is False else last.get("reason") or "",
            **{name: last.get(name) or [] for name in ("conflicts", "remarks", "sources")},
            "undo": last.get("undo") or "",
        }


class Tunings:
    """All recorded tunings of each host of a change, from its tunings files."""

    def __init__(self, files: Iterable[Record], phases: tuple[str, str] = ("before", "after")) -> None:
        """``phases``: the names of the states before and after in the files."""
        states = dict(zip(phases, ("before", "after"), strict=True))
        known: dict[tuple[str, ...], RecordedTuning] = {}
        for item in sorted(files, key=lambda item: (item["host"], states.get(item["phase"], ""), item["round"])):
            for record in item["tunings"] if item["phase"] in states else ():
                if not _is_empty(record):
                    key = item["host"], record["name"], record["subject"]
                    known.setdefault(key, RecordedTuning(*key)).add(item, record, states[item["phase"]])
        for tuning in known.values():
            tuning.complete()
        self.hosts = by_key((tuning.host, tuning) for _key, tuning in sorted(known.items()))

    def blocks(self, hosts: Sequence[str]) -> str | None:
        """Why the states of a pair of hosts may not be compared; None if they may, or if no tuning was recorded."""
        if not self.hosts:
            return None
        tunings = [tuning for host in hosts for tuning in self.hosts.get(host, ())]
        blocked = next((tuning.blocks for tuning in tunings if tuning.blocks), None)
        states = [[*tuning.states.values()] for tuning in tunings]
        differ = any(before and after and before.isdisjoint(after) for before, after in states)
        return blocked or (None if differ else NOTHING_CHANGED)

    def swapped(self, states: Mapping[str, Sequence[Round]]) -> str | None:
        """A sentence if the fingerprints of each state show the CPU masks that RPS had in the other one."""
        item = next(item for rounds in states.values() for item in rounds)
        for place, host in enumerate((item.host, item.peer)):
            ends = [{one.ends[place] for one in states[state]} - {None} for state in ("before", "after")]
            for tuning in (tuning for tuning in self.hosts.get(host, ()) if tuning.name == "rps"):
                over = [[end for end in known if end and end.must[INTERFACE] == tuning.subject] for known in ends]
                shown = [_all_masks(end.shown[RPS_CPUS] or "" for end in known) for known in over]
                wanted = [_all_masks(known) for known in tuning.states.values()]
                if wanted[0] != wanted[1] and shown == wanted[::-1]:
                    return f"the labels of the states are swapped: on {host} the rounds before show RPS as it was after"
        return None

    def __iter__(self) -> Iterator[RecordedTuning]:
        """All tunings, by host, name and subject."""
        return chain.from_iterable(self.hosts.values())


def _all_masks(texts: Iterable[str]) -> set[frozenset[tuple[str, str]]]:
    """The masks of the queues in each of these JSON texts, without commas and leading zeros."""
    found = [json.loads(text) if text.startswith("{") else {} for text in texts]
    masks = [{queue: str(mask).replace(",", "").lstrip("0") for queue, mask in item.items()} for item in found]
    return {frozenset((queue, mask) for queue, mask in item.items() if " " not in queue) for item in masks}


def _is_empty(record: Record) -> bool:
    """Whether this is the record of a tuning without a subject, for example if there was nothing to take back."""
    states = [record.get("before") or {}, record.get("after") or {}]
    return record["verdict"] == "compliant" and not any(value for state in states for value in state.values())


def _in_force(state: Record) -> str:
    running = state.get("running")
    return json.dumps(state if running is None else running, sort_keys=True)
