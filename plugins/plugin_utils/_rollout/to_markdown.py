# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a rollout as Markdown for a ticket."""

from collections.abc import Iterator, Mapping

from .._pages.markdown import ROWS, bullets, escape, section, sentence, table
from .._pages.text import listed, moment
from .._records.grouping import Group
from . import summary
from .checking import Document, HostState

BATCHES = ("Batch", "Hosts", "State", "Attempt", "Began", "Ended", "Duration", "Values")
HOSTS = ("Batch", "Hosts", "Outcome", "Values", "Changed", "Reasons")
GUARD = ("Batch", "Host", "Workload", "Metric", "Before", "After", "Gain", "Verdict")
RUNS = ("Began", "Ended", "Reason", "Controller", "ansible-core", "Evidence")


def lines(document: Document, _links: Mapping[str, str] | None = None) -> Iterator[str]:
    """The document, one section per piece."""
    result = summary.RESULTS[summary.state(document)]
    yield f"# {result.symbol} {result.word.upper()}: {escape(summary.title(document))}\n\n"
    yield f"{escape(document['headline'])}\n\n"
    yield from (f"- **{name}:** {escape(value)}\n" for name, value in summary.facts(document))
    steps = summary.steps(document)
    yield from section("What to do next", [f"{place}. {sentence(step)}\n" for place, step in enumerate(steps, 1)])
    batches = summary.batches(document)
    yield from section("Batches", table(BATCHES, [*map(_batch, batches)]))
    begun = [batch for batch in batches if batch["begun"]]
    for batch in begun:
        verb = "stopped" if batch["state"] == "stopped" else "has remarks"
        yield from section(f"Why batch {batch['number']} {verb}", bullets(batch["reasons"]))
    hosts = [_group(batch["number"], group) for batch in begun for group in batch["groups"]]
    yield from section("Hosts", table(HOSTS, hosts, "rollout.html"))
    yield from _guard(begun)
    plan = [f"- {name}: {escape(value)}\n" for name, value in summary.conditions(document)]
    yield from section("Plan", plan)
    yield from section("Runs", table(RUNS, summary.runs(document)))


def _batch(batch: summary.Batch) -> list[object]:
    style, begun = summary.STATES[batch["state"]], batch["begun"]
    at = f" ({batch['at']})" if batch["at"] else ""
    state = f"{style.symbol} {style}{at}"
    values = ", ".join(f"{count:,} {summary.VALUES[name]}" for name, count in batch["tally"]) if begun else ""
    times = moment(batch["began"]), moment(batch["ended"]), batch["lasted"]
    return [batch["title"], listed(batch["names"], 6), state, batch["attempt"] if begun else "", *times, values]


def _group(number: int, group: Group[HostState]) -> list[object]:
    host = group.item
    fate = summary.OUTCOMES[host["outcome"]], summary.VALUES[host["values"]], host["changed"]
    return [number, listed(group.members, 20), *fate, "; ".join(host["reasons"])]


def _guard(batches: list[summary.Batch]) -> Iterator[str]:
    guarded = [(batch, batch["guard"]) for batch in batches if batch["guard"]]
    said = [
        f"- Batch {batch['number']}: {escape(text)}\n"
        for batch, guard in guarded
        for text in [*batch["sentences"], *guard.get("notes", ())]
    ]
    rows = [[batch["number"], *row] for batch, _said in guarded for row in batch["measured"]]
    reports = [
        f"- Report of batch {batch['number']}: {escape(guard['report'])}\n"
        for batch, guard in guarded
        if guard["report"]
    ]
    parts = [*said[:ROWS], *reports[:ROWS], "\n" * bool(said or reports), *table(GUARD, rows, "rollout.html")]
    yield from section("Guard: measurements before and after each batch", parts if guarded else [])
