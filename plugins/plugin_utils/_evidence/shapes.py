# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of the evidence of one run, schema zpower.sap_tuning/evidence/1."""

from typing import Annotated, Any, TypedDict

from .._answers.rows import Row
from .._records.checks import LARGEST, RUN_KINDS, Fields, wrong
from .._records.shapes import NotRequired

SCHEMA = "zpower.sap_tuning/evidence/1"
OUTCOMES = ("ok", "failed", "unreachable", "skipped", "not_reached")
STATES = ("expired", "unused", "needless", "applied", "not_checked")
"""Of a waiver. ``needless``: all rows are compliant without it. ``not_checked``: nothing it fits was checked."""


def _host_name(where: str, value: object) -> None:
    Fields({"": value}, "", where).name("")


def _whole_number(where: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST:
        raise wrong(where, value, "a whole number")


class RunFields(TypedDict):
    """One run of a playbook. Times are UTC in ISO 8601 with Z; ``ended`` is None until the run has ended.

    ``check``: a run in check mode. Always so for ``verify``; a check after a rollback is ``rollback`` with this.
    ``stopped``: why a rollout stopped, which is not an error of any host; absent in all other runs.
    ``controller``, ``name``: of a slice, the machine that ran it and its ``zpower_run``; absent before 1.0.0.
    """

    kind: Annotated[str, RUN_KINDS]
    check: bool
    begun: str
    ended: str | None
    collection: str
    ansible_core: str
    inventory: str
    limit: str | None
    tags: list[str]
    skip_tags: list[str]
    stopped: NotRequired[str]
    controller: NotRequired[str]
    name: NotRequired[str]


class Totals(TypedDict):
    """``drifting_hosts``: those with a row that is not as requested and not failed."""

    hosts: int
    outcomes: dict[str, int]
    rows: int
    verdicts: dict[str, int]
    drifting_hosts: int


class RowWaiver(TypedDict):
    """The waiver of a row, also one that has expired; ``verdict``: that of the row without it."""

    owner: str
    reason: str
    until: str
    expired: bool
    verdict: str


class WaivedRow(Row):
    """A row of a host; one that a waiver fits has it."""

    waiver: NotRequired[RowWaiver]


class Host(TypedDict):
    """A host of the play; ``platform``: the fact zpower_platform, None if it was not gathered."""

    host: Annotated[str, _host_name]
    outcome: Annotated[str, OUTCOMES]
    message: str
    rows: list[WaivedRow]
    platform: dict[str, Any] | None


class WaiverUse(TypedDict):
    """A waiver of the inventory and its effect; ``rows``: those that it fits. ``everyone``: its patterns and groups fit
    every host of the inventory; absent otherwise."""

    tuning: str
    subject: str
    hosts: list[str]
    reason: str
    owner: str
    until: str
    days_left: Annotated[int, _whole_number]
    soon: bool
    state: Annotated[str, STATES]
    rows: int
    everyone: NotRequired[bool]


class HostWaiver(WaiverUse):
    """A waiver as one host has it. ``here``: it fits this host; ``uses``: its effect on each row, by subject."""

    here: bool
    uses: dict[str, str]


class SliceUse(TypedDict):
    """A slice of a united run, by its file in the folder ``slices``; ``sha256``: of the bytes that were united.

    ``late``: it came or was changed after the run was united, by another process.
    """

    file: str
    sha256: str
    controller: str
    begun: str
    ended: str | None
    late: bool


class Document(TypedDict):
    """The evidence; ``problems``: mistakes in waivers, and what makes united slices doubtful. ``slices``: only of a run
    that was united."""

    schema: Annotated[str, (SCHEMA,)]
    run: RunFields
    result: str
    headline: str
    totals: Totals
    hosts: list[Host]
    waivers: list[WaiverUse]
    problems: list[str]
    slices: NotRequired[list[SliceUse]]
