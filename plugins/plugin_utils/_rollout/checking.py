# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of a rollout's state file, schema zpower.sap_tuning/rollout/1; ValueError is one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._records.checks import Fields, check_numbers, check_slug, wrong
from .._records.round import microseconds
from .plan import fingerprint

SCHEMA = "zpower.sap_tuning/rollout/1"
RESULTS = ("running", "complete", "stopped")
STATES = ("waiting", "running", "good", "stopped")
STAGES = (
    "",
    "preflight",
    "measuring before",
    "applying",
    "soaking",
    "verifying",
    "measuring after",
    "confirming",
    "taking back",
)
OUTCOMES = ("ok", "failed", "lost", "waiting")
VALUES = ("unchanged", "probation", "confirmed", "taken back", "unknown")
ON_FAILURE = ("back", "leave")


def check(document: object) -> dict[str, Any]:
    """The document if its fields are as all readers expect them, else ValueError."""
    fields = Fields(document, "the file", "")
    if fields.item.get("schema") != SCHEMA:
        raise wrong("schema", fields.item.get("schema"), SCHEMA)
    check_slug("change", fields.item.get("change"))
    fields.text("collection")
    fields.text("headline")
    _one_of(fields, "result", RESULTS)
    planned = _plan(fields.required_object("plan"))
    batches = _objects(fields, "batches")
    if len(batches) != len(planned):
        raise wrong("batches", fields.item["batches"], f"a list of the plan's {len(planned)} batches")
    for batch, hosts in zip(batches, planned, strict=True):
        _batch(batch, hosts)
    for number, batch in enumerate(batches, 1):
        if batch.item.get("number") != number:
            raise wrong(f"{batch.prefix}number", batch.item.get("number"), str(number))
    for run in _objects(fields, "runs"):
        _time(run, "began")
        _time(run, "ended", True)
        controller = run.required_object("controller")
        controller.text("host")
        controller.count("pid")
        for name in ("evidence", "reason", "ansible_core"):
            run.text(name)
    return fields.item


def _plan(plan: Fields) -> list[list[str]]:
    """The hosts of each batch."""
    wanted = plan.required_object("wanted")
    for host in wanted.item:
        wanted.text(host)
    tunings = plan.required_object("tunings")
    for host in tunings.item:
        _texts(tunings, host)
    for name in ("soak_s", "confirm_within_s"):
        plan.count(name)
    _one_of(plan, "on_failure", ON_FAILURE)
    if plan.item.get("guard") is not None:
        guard = plan.required_object("guard")
        check_numbers({"cpu_pct": guard.item.get("cpu_pct")}, guard.prefix.rstrip("."))
        _texts(guard, "workloads")
    window = plan.required_object("window")
    for name in ("not_before", "not_after"):
        _time(window, name, True)
    window.text("time_zone")
    found: list[list[str]] = []
    seen: set[str] = set()
    for number, batch in enumerate(_objects(plan, "batches"), 1):
        if batch.count("number") != number:
            raise wrong(f"{batch.prefix}number", batch.item["number"], str(number))
        batch.flag("canary")
        batch.optional_text("group")
        hosts = _texts(batch, "hosts")
        if not hosts or seen & set(hosts) or len(set(hosts)) < len(hosts):
            raise wrong(f"{batch.prefix}hosts", hosts, "a list of hosts, each of which is in one batch only")
        seen.update(hosts)
        found.append(hosts)
    if not found:
        raise wrong(f"{plan.prefix}batches", plan.item.get("batches"), "a list of at least one batch")
    if plan.text("fingerprint") != fingerprint(plan.item):
        raise ValueError("plan.fingerprint does not fit the plan: somebody has changed the file")
    return found


def _batch(batch: Fields, planned: Sequence[str]) -> None:
    _one_of(batch, "state", STATES)
    _one_of(batch, "stage", STAGES)
    batch.count("attempt")
    for name in ("since", "began", "ended"):
        _time(batch, name, True)
    if batch.item["state"] != "waiting":
        _time(batch, "began")
    if batch.item["state"] in ("good", "stopped"):
        _time(batch, "ended")
    hosts = batch.required_object("hosts")
    if set(hosts.item) != set(planned):
        raise wrong(f"{batch.prefix}hosts", hosts.item, "an object of exactly the hosts that the plan has there")
    for name in hosts.item:
        host = hosts.required_object(name)
        _one_of(host, "outcome", OUTCOMES)
        _one_of(host, "values", VALUES)
        host.count("changed")
        _texts(host, "reasons")
    _texts(batch, "reasons")
    if batch.item.get("guard") is not None:
        guard = batch.required_object("guard")
        guard.text("change")
        guard.text("report")
        _texts(guard, "sentences")
        if "notes" in guard.item:
            _texts(guard, "notes")
        for row in _objects(guard, "comparisons"):
            for name in ("host", "workload", "metric", "verdict"):
                row.text(name)
            numbers = {name: value for name, value in row.item.items() if isinstance(value, (int, float))}
            check_numbers(
                {name: value for name, value in numbers.items() if not isinstance(value, bool)}, row.prefix.rstrip(".")
            )


def _one_of(fields: Fields, name: str, known: Sequence[str]) -> None:
    if fields.item.get(name) not in known:
        raise wrong(fields.prefix + name, fields.item.get(name), f"one of {', '.join(filter(None, known))}")


def _objects(fields: Fields, name: str) -> list[Fields]:
    items = fields.item.get(name)
    if not isinstance(items, list):
        raise wrong(fields.prefix + name, items, "a list")
    return [Fields(item, f"{fields.prefix}{name}[{place}]") for place, item in enumerate(items)]


def _texts(fields: Fields, name: str) -> list[str]:
    items = fields.item.get(name)
    if not isinstance(items, list):
        raise wrong(fields.prefix + name, items, "a list of texts")
    for item in items:
        if not isinstance(item, str):
            raise wrong(fields.prefix + name, item, "a list of texts")
    return items


def _time(fields: Fields, name: str, optional: bool = False) -> None:
    value = fields.item.get(name)
    if value is None and optional:
        return
    if microseconds(value) is None:
        raise wrong(fields.prefix + name, value, "a time such as 2026-11-20T10:00:00Z")
