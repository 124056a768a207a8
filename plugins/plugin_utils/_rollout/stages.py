# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of a batch as a table, and the gate after each: whether what its hosts did lets the rollout go on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, TypedDict

from .._pages.text import one_line, shorten
from .plan import Plan

LOST = "could not be reached, or its play ended"
LONGEST = 2000
OUTCOMES = ("ok", "failed", "lost", "waiting", "left out")
VALUES = ("unchanged", "probation", "confirmed", "taken back", "unknown")


@dataclass(frozen=True)
class Stage:
    """A stage of a batch, as ``roles/rollout`` reads it."""

    name: str
    stops: tuple[str, ...] = ()
    """The lists of a result whose entries stop the batch; a failed task stops it too."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the call of the hosts, which win over all others."""
    verify: bool = False
    preflight: bool = False
    phase: str = ""
    """What is measured."""
    gate: bool = True
    tasks: str = "call.yml"


PREFLIGHT, BEFORE, APPLYING, SOAKING, VERIFYING, AFTER, CONFIRMING = STAGES = (
    # nothing is on probation yet
    Stage("preflight", ("errors", "preflight"), {"zpower_confirm_within": ""}, verify=True, preflight=True),
    Stage("measuring before", phase="before", tasks="measure.yml"),
    Stage("applying", ("errors",)),
    Stage("soaking", tasks="soak.yml"),
    Stage("verifying", ("errors", "drift"), verify=True),
    Stage("measuring after", phase="after", tasks="measure.yml"),
    Stage("confirming", ("errors", "drift"), {"zpower_confirm": True}),
)
BACK = Stage("preflight", (), {"zpower_rollback": True}, gate=False)
"""Takes back what an earlier attempt left on probation."""
ENDS = {
    "back": Stage("stopped", ("errors",), BACK.call, gate=False),
    "leave": Stage("stopped", ("errors",), CONFIRMING.call, gate=False),
}
"""How a batch that stopped ends, by ``rollout_on_failure``."""
BY_NAME = {stage.name: stage for stage in STAGES}


class HostState(TypedDict):
    """What became of a host in a stage; ``changed``: records with a changed value."""

    outcome: Annotated[str, OUTCOMES]
    values: Annotated[str, VALUES]
    changed: int
    reasons: list[str]


def host_state(outcome: str, values: str = "unknown", changed: int = 0, reasons: Iterable[str] = ()) -> HostState:
    """The state of a host, with reasons that may come from it."""
    told = [shorten(one_line(text), LONGEST) for text in reasons]
    return {"outcome": outcome, "values": values, "changed": changed, "reasons": told}


def stages_of(plan: Plan) -> list[Stage]:
    """The stages of each batch of a plan, in their order."""
    absent = {*(() if plan["guard"] else (BEFORE.name, AFTER.name)), *(() if plan["soak_s"] else (SOAKING.name,))}
    return [stage for stage in STAGES if stage.name not in absent]


def stage_rows(plan: Plan, again: bool, check: bool) -> list[dict[str, Any]]:
    """The stages of a batch for the role. ``again``: an earlier attempt may have left values on probation.

    Check mode ends where values would have to be in force, and takes nothing back, so its preflight may meet them.
    """
    stages = [replace(PREFLIGHT, call={}) if again else PREFLIGHT, APPLYING] if check else stages_of(plan)
    return [stage_row(stage, check, plan["soak_s"]) for stage in [*([BACK] if again else []), *stages]]


def stage_row(stage: Stage, check: bool, soak_s: int = 0) -> dict[str, Any]:
    """A stage for the role, with its check mode and its pause."""
    return {**asdict(stage), "check": check or stage.verify, "pause": soak_s if stage == SOAKING else 0}


def next_stage(stage: str, plan: Plan) -> str:
    """The name of the stage after this one."""
    names = [one.name for one in stages_of(plan)]
    return names[names.index(stage) + 1]


def make_gate(stage: Stage, results: Sequence[Mapping[str, Any]] | None, error: str = "") -> HostState:
    """The gate of a host after a stage.

    ``results``: those of the call's two tasks, None if the host is lost; ``error``: why a task failed.
    """
    if results is None:
        return host_state("lost", reasons=[LOST])
    records = [record for result in results for record in result.get("tuning") or () if isinstance(record, Mapping)]
    # a value that waits for a restart was left so on purpose
    waiting = {record["reason"] for record in records if record.get("verdict") == "pending_restart"}
    # a task that fails returns its sentences alone
    kept = [{"errors": result.get("failing"), **result} for result in results]
    found = [(name, text) for name in stage.stops for result in kept for text in result.get(name) or ()]
    said = dict.fromkeys(str(text) for name, text in found if name != "drift" or text not in waiting)
    # these sentences say more than the failure of the last task
    reasons = [*said] or [error] * bool(error)
    changed = sum(record.get("verdict") == "changed" for record in records)
    return host_state("failed" if reasons else "ok", changed=changed, reasons=reasons)


def values_left(before: str, gate: HostState, after: str) -> str:
    """What is on a host after its batch was taken back or left: ``before``, or ``after`` if that worked, or unknown."""
    worked = gate["outcome"] == "ok"
    if before == "probation":
        return after if worked else "unknown"
    # a call that found nothing says nothing about a host that may have been confirmed
    return after if before == "unknown" and worked and gate["changed"] else before


def values_after(stage: Stage, gate: HostState, before: str) -> str:
    """What is on a host after a stage: unchanged, probation, confirmed, or unknown. ``before``: what was there."""
    # what an earlier attempt confirmed stays: only a probation is taken back before the next one
    kept = "confirmed" if before == "confirmed" else "unchanged"
    if gate["outcome"] == "lost":
        return "unknown" if before in ("probation", "unknown") or stage == APPLYING else kept
    if stage in (PREFLIGHT, BEFORE):
        # what an earlier attempt left is only gone if the preflight could take it back
        return "unknown" if before == "unknown" and gate["outcome"] != "ok" else kept
    if stage == CONFIRMING:
        return "confirmed" if gate["outcome"] == "ok" else "unknown"
    # nothing is on probation where the confirmed values were found
    return "confirmed" if kept == "confirmed" and gate["outcome"] == "ok" and not gate["changed"] else "probation"
