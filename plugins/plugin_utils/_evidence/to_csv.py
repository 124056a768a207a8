# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A row of CSV for each row of the evidence, and one for each host without rows; safe to open in a spreadsheet."""

from collections.abc import Iterator

from .._answers.rows import PLACES
from .._pages.cells import cells
from .._pages.text import opaque
from .document import looked
from .shapes import Document, WaivedRow
from .values import conflicts, current

HEADER = (
    "kind",
    "begun",  # UTC, ISO 8601
    "host",
    "outcome",
    "tuning",
    "subject",
    "verdict",
    *PLACES,  # the values that the host has; those of a check are not predictions
    "wanted",
    "reason",
    "waived_by",
    "waived_until",
    "waived_because",
    "conflicts",
    "remarks",
    "message",  # of the host
)


def lines(document: Document) -> Iterator[str]:
    """Header and rows, one host per piece."""
    yield cells(HEADER)
    run = document["run"]
    for host in document["hosts"]:
        head = [run["kind"], run["begun"], host["host"], host["outcome"]]
        rows = [_row(row, looked(run)) for row in host["rows"]] or [[None] * (len(HEADER) - len(head) - 1)]
        yield "".join(cells([*head, *row, host["message"]]) for row in rows)


def _row(row: WaivedRow, check: bool) -> list[object]:
    values = current(row, check)
    waiver = row.get("waiver")
    return [
        row["name"],
        row["subject"],
        row["verdict"],
        *(_text(values.get(place)) for place in PLACES),
        _text(row["wanted"]),
        row["reason"],
        *((waiver["owner"], waiver["until"], waiver["reason"]) if waiver else (None, None, None)),
        "; ".join(conflicts(row)),
        "; ".join(row["remarks"]),
    ]


def _text(value: object) -> str | None:
    return None if value is None else "; ".join(opaque(value))
