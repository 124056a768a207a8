# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what a campaign found into docs/reliability.md, between the markers of the campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"


def between(text: str, name: str) -> tuple[str, str, str]:
    """The document before, between and after the markers of a campaign."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = text.partition(begin)
    inside, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"{DOCUMENT.name} has no markers of {name}")
    return before + begin, inside, end + after


def write_table(
    name: str,
    rows: Mapping[str, str],
    columns: Sequence[str],
    counts: Mapping[str, Mapping[str, Sequence[int]]],
    about: str,
    document: Path = DOCUMENT,
) -> None:
    """Write counts[row][column] = (tried, good) as a table; a row that was not tried now stays as it was."""
    before, inside, after = between(document.read_text(encoding="utf-8"), name)
    old = cells_of(inside)
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for row, title in rows.items():
        cells = [cell(counts.get(row, {}).get(column)) for column in columns]
        if row not in counts and title in old:
            # also if there are other columns now
            cells = [old[title].get(column, cell(None)) for column in columns]
        if row in counts or title in old:
            lines.append(f"| {title} | {' | '.join(cells)} |")
    kept = [line for line in inside.splitlines() if line.startswith("Last run")]
    whole = len(counts) > 1
    note = f"Last run: {about}." if whole or not kept else kept[0]
    document.write_text(before + "\n".join([note, "", *lines, ""]) + after, encoding="utf-8")


def cells_of(table: str) -> dict[str, dict[str, str]]:
    """{title of a row: {column: cell}} of a table that write_table() wrote."""
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {row[0]: dict(zip(rows[0], row[1:], strict=True)) for row in rows[1:]}


def cell(count: Sequence[int] | None) -> str:
    return f"{count[1]} of {count[0]}" if count else "–"
