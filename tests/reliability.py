# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write what a campaign found into docs/reliability.md, between the markers of the campaign."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"


def between(text: str, name: str) -> tuple[str, str, str]:
    """Return the document before, between and after the markers of a campaign."""
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
    only: Collection[str] = (),
) -> None:
    """Write counts[row][column] = (tried, good) as a table; a row that was not tried this time stays as it is.

    only: the columns that were tried, if not all; the others stay, and so does the line about the last run.
    """
    before, inside, after = between(document.read_text(encoding="utf-8"), name)
    old = cells_of(inside)
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for row, title in rows.items():
        tried = set(only or columns) if row in counts else set()
        cells = [
            cell(counts[row].get(column)) if column in tried else old.get(title, {}).get(column, cell(None))
            for column in columns
        ]
        if row in counts or title in old:
            lines.append(f"| {title} | {' | '.join(cells)} |")
    kept = [line for line in inside.splitlines() if line.startswith("Last run")]
    whole = len(counts) > 1 and not only
    note = f"Last run: {about}." if whole or not kept else kept[0]
    document.write_text(before + "\n".join([note, "", *lines, ""]) + after, encoding="utf-8")


def cells_of(table: str) -> dict[str, dict[str, str]]:
    """Return {title of a row: {column: cell}} of a table that write_table() wrote."""
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return {row[0]: dict(zip(rows[0], row[1:], strict=True)) for row in rows[1:]}


def cell(count: Sequence[int] | None) -> str:
    """Return the number of cases if all of them were good, otherwise how many of them were."""
    tried, good = count or (0, 0)
    return "–" if not count else str(tried) if good == tried else f"**{good} of {tried}**"
