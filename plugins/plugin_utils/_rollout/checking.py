# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of a rollout's state file, schema zpower.sap_tuning/rollout/1; ValueError is one sentence."""

from typing import Annotated, TypedDict, cast

from .._records.checks import check_slug, wrong
from .._records.shapes import NotRequired, Stamp, check_shape, stamp
from . import stages
from .plan import fingerprint
from .windows import Times

SCHEMA = "zpower.sap_tuning/rollout/1"
RESULTS = ("running", "complete", "stopped")
STATES = ("waiting", "running", "good", "stopped")
STAGES = ("", *stages.BY_NAME, "taking back")


class PlannedBatch(TypedDict):
    """A batch of the plan; ``group``: None for canaries, and for hosts in no group of rollout_by."""

    number: int
    canary: bool
    group: str | None
    hosts: list[str]


class PlannedGuard(TypedDict):
    """The limits of the guard, and what it measures with; up to 0.9.0 those of the report are not in the plan."""

    cpu_pct: float
    workloads: list[str]
    material_pct: NotRequired[float]
    expected_change: NotRequired[list[str]]


class Plan(TypedDict):
    """What does not change from run to run but for the window; ``wanted`` and ``tunings`` by host."""

    wanted: dict[str, str]
    tunings: dict[str, list[str]]
    soak_s: int
    confirm_within_s: int
    on_failure: Annotated[str, tuple(stages.ENDS)]
    guard: PlannedGuard | None
    window: Times
    batches: list[PlannedBatch]
    fingerprint: str


class Comparison(TypedDict):
    """What the guard measured on a host; ``effect_pct``: above 0 is better."""

    host: str
    workload: str
    metric: str
    verdict: str
    peer: NotRequired[str | None]
    unit: NotRequired[str | None]
    before: NotRequired[float | None]
    after: NotRequired[float | None]
    effect_pct: NotRequired[float | None]


class GuardState(TypedDict):
    """What the guard said of a batch."""

    change: str
    report: str
    sentences: list[str]
    comparisons: list[Comparison]
    notes: NotRequired[list[str]]


class BatchState(TypedDict):
    """A batch with its last attempt."""

    number: int
    state: Annotated[str, STATES]
    stage: Annotated[str, STAGES]
    attempt: int
    since: Stamp | None
    began: Stamp | None
    ended: Stamp | None
    hosts: dict[str, stages.HostState]
    reasons: list[str]
    guard: GuardState | None


class Controller(TypedDict):
    """Where a run was started; ``pid_namespace``: empty or absent if unknown."""

    host: str
    pid: int
    pid_namespace: NotRequired[str]


class Start(TypedDict):
    """One start of the rollout; ``ended``: None if it did not end; ``id``: absent in those of 0.9.0."""

    began: Stamp
    ended: Stamp | None
    controller: Controller
    evidence: str
    reason: str
    ansible_core: str
    id: NotRequired[str]


class Document(TypedDict):
    """The state of a rollout."""

    schema: Annotated[str, (SCHEMA,)]
    change: Annotated[str, check_slug]
    collection: str
    headline: str
    result: Annotated[str, RESULTS]
    plan: Plan
    batches: list[BatchState]
    runs: list[Start]


def check(document: object) -> Document:
    """The document if its fields are as all readers expect them, else ValueError."""
    check_shape(document, Document)
    found = cast(Document, document)
    plan, batches = found["plan"], found["batches"]
    _check_plan(plan)
    if len(batches) != len(plan["batches"]):
        raise wrong("batches", batches, f"a list of the plan's {len(plan['batches'])} batches")
    for place, (batch, planned) in enumerate(zip(batches, plan["batches"], strict=True)):
        _check_batch(batch, planned, f"batches[{place}]")
    for place, run in enumerate(found["runs"]):
        if "id" in run:  # null is not an id
            check_slug(f"runs[{place}].id", run["id"])
    return found


def _check_plan(plan: Plan) -> None:
    seen: set[str] = set()
    for number, batch in enumerate(plan["batches"], 1):
        where, hosts = f"plan.batches[{number - 1}]", batch["hosts"]
        if batch["number"] != number:
            raise wrong(f"{where}.number", batch["number"], str(number))
        if not hosts or seen & set(hosts) or len(set(hosts)) < len(hosts):
            raise wrong(f"{where}.hosts", hosts, "a list of hosts, each of which is in one batch only")
        seen.update(hosts)
    if not seen:
        raise wrong("plan.batches", plan["batches"], "a list of at least one batch")
    if plan["fingerprint"] != fingerprint(plan):
        raise ValueError("plan.fingerprint does not fit the plan: somebody has changed the file")


def _check_batch(batch: BatchState, planned: PlannedBatch, where: str) -> None:
    if batch["state"] != "waiting":
        stamp(f"{where}.began", batch["began"])
    if batch["state"] in ("good", "stopped"):
        stamp(f"{where}.ended", batch["ended"])
    if set(batch["hosts"]) != set(planned["hosts"]):
        raise wrong(f"{where}.hosts", batch["hosts"], "an object of exactly the hosts that the plan has there")
    if batch["number"] != planned["number"]:
        raise wrong(f"{where}.number", batch["number"], str(planned["number"]))
