# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence as Markdown for a ticket: what is not as requested, who was not reached, and the waivers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._report.text import listed
from .._report.to_markdown import ROWS, escape, section, table
from . import view
from .table import totals, word

FAILING = ("Hosts", "Tuning", "Subject", "Running", "Stored", "Next boot", "Verdict", "Reason")
WAIVED = ("Hosts", "Tuning", "Subject", "Owner", "Last day", "Reason of the waiver")


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The document, one section per piece."""
    yield f"# {view.title(document)}\n\n{escape(document['headline'])}\n\n{escape(totals(document))}\n"
    failing = [
        [listed(group.members, 6), group.row["name"], group.row["subject"], *group.places, word(group.row["verdict"])]
        + [view.reason(group.row)]
        for group in view.failing_groups(document)
    ]
    yield from _table("Not as requested", FAILING, failing)
    lost = [
        [word(group.outcome), len(group.members), listed(group.members, 20), group.message]
        for group in view.lost_groups(document)
    ]
    yield from _table("Hosts that were not checked", ("Outcome", "Hosts", "Names", "Message"), lost)
    waived = [
        [listed(group.members, 6), group.row["name"], group.row["subject"], *view.waiver_cells(group.row["waiver"])]
        for group in view.groups_of(document, ["waived"])
    ]
    yield from _table("Waived", WAIVED, waived)
    sentences = [f"- {escape(sentence)}\n" for sentence in view.waiver_sentences(document)]
    yield from section("Waivers and problems to look at", [*sentences[:ROWS], *_more(len(sentences))])
    yield from section("Run", [f"- {escape(name)}: {escape(value)}\n" for name, value in view.facts(document)])


def _table(heading: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    yield from section(heading, [*table(header, rows[:ROWS]), *_more(len(rows))])


def _more(count: int) -> list[str]:
    return [f"\n{count - ROWS:,} more in the JSON and the CSV file.\n"] if count > ROWS else []
