# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a rollout as one page in the style of the report, for a change manager."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from .._pages.html import page
from . import summary
from .checking import Document

COMPARISONS = 100  # of each batch
SECTIONS = (
    ("next", "What to do next"),
    ("batches", "Batches"),
    ("hosts", "Hosts, batch by batch"),
    ("plan", "Plan"),
    ("runs", "Runs"),
    ("files", "Files"),
)


def lines(document: Document, links: Mapping[str, str] | None = None) -> Iterator[str]:
    """The page in pieces. ``links``: the addresses of reports, by the path that the document has."""
    batches = summary.batches(document)
    begun = [batch for batch in batches if batch["begun"]]
    now = summary.state(document)
    values = {
        "document": document,
        "sections": [item for item in SECTIONS if item[0] != "hosts" or begun],
        "result": summary.RESULTS[now],
        "ended": now in ("complete", "stopped"),
        "batches": batches,
        "begun": begun,
        "links": links or {},
        "limit": COMPARISONS,
    }
    yield from page(Path(__file__).parent, "rollout.html.j2", values, summary)
