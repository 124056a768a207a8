# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence as Markdown for a ticket: what is not as requested, who was not reached, and the waivers."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from .._pages.markdown import ROWS, bullets, escape, section, table
from .._records.grouping import Group
from . import view
from .shapes import Document, Host, WaivedRow
from .table import totals, word
from .values import places

FAILING = ("Hosts", "Tuning", "Subject", "Running", "Stored", "Next boot", "Verdict", "Reason")
LOST = ("Outcome", "Hosts", "Names", "Message")
WAIVED = ("Hosts", "Tuning", "Subject", "Owner", "Last day", "Reason of the waiver")
REST = "the JSON and the CSV file"
T = TypeVar("T")


def lines(document: Document) -> Iterator[str]:
    """The document, one section per piece."""
    yield f"# {escape(view.title(document))}\n\n{escape(document['headline'])}\n\n{escape(totals(document))}\n"
    waived = [group for group in view.groups_of(document, ["waived"]) if "waiver" in group.item]
    yield from section("Not as requested", _table(FAILING, view.failing_groups(document), _unmet))
    yield from section("Not as requested, and only reported", _table(FAILING, view.reported_groups(document), _unmet))
    yield from section("Hosts that were not checked", _table(LOST, view.lost_groups(document), _lost))
    yield from section("Waived", _table(WAIVED, waived, _waived))
    yield from section("Waivers and problems to look at", bullets(view.waiver_sentences(document), REST))
    yield from section("Run", [f"- {escape(name)}: {escape(value)}\n" for name, value in view.facts(document)])


def _table(header: Sequence[str], groups: Sequence[Group[T]], row: Callable[[Group[T]], list[object]]) -> list[str]:
    """A table of groups; it names all their hosts, also of those for which it has no room."""
    left = dict.fromkeys(host for group in groups[ROWS:] for host in group.members)
    return table(header, list(map(row, groups)), f"{REST}, of {', '.join(map(escape, left))}" if left else REST)


def _unmet(group: Group[WaivedRow]) -> list[object]:
    row = group.item
    named = [group.members, row["name"], row["subject"]]
    return [*named, *places(row), word(row["verdict"]), view.reason(row)]


def _lost(group: Group[Host]) -> list[object]:
    return [word(group.item["outcome"]), len(group.members), group.members, group.item["message"]]


def _waived(group: Group[WaivedRow]) -> list[object]:
    row, waiver = group.item, group.item["waiver"]
    return [group.members, row["name"], row["subject"], waiver["owner"], waiver["until"], waiver["reason"]]
