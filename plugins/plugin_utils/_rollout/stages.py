# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of a batch, and the gate after each: whether what its hosts did lets the rollout go on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._pages.text import one_line, shorten

STAGES = PREFLIGHT, BEFORE, APPLYING, SOAKING, VERIFYING, AFTER, CONFIRMING = (
    "preflight",
    "measuring before",
    "applying",
    "soaking",
    "verifying",
    "measuring after",
    "confirming",
)
"""In their order; see :func:`following`."""
STOPPED = "stopped"
"""The batch was taken back or left."""
LOST = "could not be reached, or its play ended"
LONGEST = 500


@dataclass
class Gate:
    """What a stage says of one host. ``outcome``: ok, failed or lost; ``changed``: the number of changed records."""

    outcome: str
    changed: int = 0
    reasons: list[str] = field(default_factory=list)


def judged(stage: str, results: Sequence[Mapping[str, Any]] | None, error: str = "") -> Gate:
    """The gate of a host after a stage.

    ``results``: those of the call's two tasks, None if the host is lost; ``error``: why a task failed.
    """
    if results is None:
        return Gate("lost", reasons=[LOST])
    said = [error] if error else []
    if stage not in (BEFORE, AFTER):
        # the sentences of the call say more than the failure of its last task
        said = _sentences(stage, results) or said
    changed = sum(record.get("verdict") == "changed" for record in _records(results))
    return Gate("failed" if said else "ok", changed, [shorten(one_line(text), LONGEST) for text in said])


def following(stage: str, soak_s: int, guarded: bool) -> str:
    """The stage after this one. Without a guard there is no measurement."""
    absent = {*(() if guarded else (BEFORE, AFTER)), *(() if soak_s else (SOAKING,))}
    return next(name for name in STAGES[STAGES.index(stage) + 1 :] if name not in absent)


def _sentences(stage: str, results: Sequence[Mapping[str, Any]]) -> list[str]:
    found = [text for result in results for text in result.get("errors") or ()]
    if stage == PREFLIGHT:
        found += [text for result in results for text in result.get("preflight") or ()]
    if stage in (VERIFYING, CONFIRMING):
        # a value that waits for a restart was left so on purpose
        waiting = {record["reason"] for record in _records(results) if record.get("verdict") == "pending_restart"}
        found += [text for result in results for text in result.get("drift") or () if text not in waiting]
    return list(dict.fromkeys(map(str, found)))


def _records(results: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [record for result in results for record in result.get("tuning") or () if isinstance(record, Mapping)]


def stopped(gates: Mapping[str, Gate]) -> list[str]:
    """Why the batch does not go on, one sentence per host; none if it does."""
    return [f"{host}: {'; '.join(gate.reasons)}" for host, gate in gates.items() if gate.outcome != "ok"]


def left(before: str, gate: Gate, after: str) -> str:
    """What is on a host after its batch was taken back or left: ``before``, or ``after`` if that worked, or unknown."""
    worked = gate.outcome == "ok"
    if before == "probation":
        return after if worked else "unknown"
    # a call that found nothing says nothing about a host that may have been confirmed
    return after if before == "unknown" and worked and gate.changed else before


def values_after(stage: str, gate: Gate, before: str) -> str:
    """What is on a host after a stage: unchanged, probation, confirmed, or unknown. ``before``: what was there."""
    if gate.outcome == "lost":
        return "unknown" if before in ("probation", "unknown") or stage == APPLYING else "unchanged"
    if stage in (PREFLIGHT, BEFORE):
        # what an earlier attempt left is only gone if the preflight could take it back
        return "unknown" if before == "unknown" and gate.outcome != "ok" else "unchanged"
    if stage == CONFIRMING:
        return "confirmed" if gate.outcome == "ok" else "unknown"
    return "probation"
