# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a rollout as Markdown for a ticket."""

from __future__ import annotations

from collections.abc import Iterator

from .._report.text import listed, plural
from .._report.to_markdown import ROWS, bullets, escape, section, sentence, table
from . import summary

BATCHES = ("Batch", "Hosts", "State", "Attempt", "Began", "Ended", "Duration", "Values")
HOSTS = ("Batch", "Hosts", "Outcome", "Values", "Changed", "Reasons")
GUARD = ("Batch", "Host", "Workload", "Metric", "Before", "After", "Gain", "Verdict")
RUNS = ("Began", "Ended", "Reason", "Controller", "ansible-core", "Evidence")


def lines(document: summary.Document) -> Iterator[str]:
    """The document, one section per piece."""
    result = summary.RESULTS[summary.state(document)]
    yield f"# {result.symbol} {result.word.upper()}: {escape(summary.title(document))}\n\n"
    yield f"{escape(document['headline'])}\n\n"
    yield from (f"- **{name}:** {escape(value)}\n" for name, value in summary.facts(document))
    steps = summary.steps(document)
    yield from section("What to do next", [f"{place}. {sentence(step)}\n" for place, step in enumerate(steps, 1)])
    batches = summary.batches(document)
    yield from section("Batches", table(BATCHES, map(_batch, batches)))
    begun = [batch for batch in batches if batch.begun]
    for batch in begun:
        if batch.reasons:
            yield from section(f"Why batch {batch.number} {_verb(batch)}", bullets(batch.reasons))
    groups = [(batch, group) for batch in begun for group in batch.groups]
    rows = table(HOSTS, [_group(batch, group) for batch, group in groups[:ROWS]])
    yield from section("Hosts", [*rows, *_more(len(groups))])
    yield from _guard(begun)
    plan = [f"- {name}: {escape(value)}\n" for name, value in summary.conditions(document)]
    yield from section("Plan", plan)
    yield from section("Runs", table(RUNS, summary.runs(document)))


def _verb(batch: summary.Batch) -> str:
    return "stopped" if batch.state == "stopped" else "has remarks"


def _batch(batch: summary.Batch) -> list[object]:
    style = summary.STATES[batch.state]
    stage = f" ({batch.stage})" if batch.stage else ""
    values = ", ".join(f"{count:,} {summary.VALUES[name].word}" for name, count in batch.values) if batch.begun else ""
    state = f"{style.symbol} {style.word}{stage}"
    attempt = batch.attempt if batch.begun else ""
    return [batch.title, listed(batch.hosts, 6), state, attempt, batch.began, batch.ended, batch.lasted, values]


def _group(batch: summary.Batch, group: summary.Group) -> list[object]:
    outcome, values = summary.OUTCOMES[group.outcome], summary.VALUES[group.values]
    names = listed(group.members, 20)
    return [batch.number, names, outcome.word, values.word, group.changed, "; ".join(group.reasons)]


def _guard(batches: list[summary.Batch]) -> Iterator[str]:
    guarded = [batch for batch in batches if batch.guard]
    said = [
        f"- Batch {batch.number}: {escape(text)}\n" for batch in guarded for text in [*batch.sentences, *batch.notes]
    ]
    rows = [
        [batch.number, item.host, item.workload, item.metric, item.before, item.after, item.effect, item.verdict]
        for batch in guarded
        for item in batch.comparisons
    ]
    reports = [
        f"- Report of batch {batch.number}: {escape(batch.guard['report'])}\n"
        for batch in guarded
        if batch.guard and batch.guard.get("report")
    ]
    parts = [*said[:ROWS], *reports[:ROWS], "\n" * bool(said or reports), *table(GUARD, rows[:ROWS]), *_more(len(rows))]
    yield from section("Guard: measurements before and after each batch", parts if guarded else [])


def _more(count: int) -> list[str]:
    return [f"\n{plural(count - ROWS, 'more row')} in rollout.html.\n"] if count > ROWS else []
