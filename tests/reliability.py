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
    old = {line.split(" | ")[0][2:]: line for line in inside.splitlines() if line.startswith("| ")}
    lines = [f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for row, title in rows.items():
        cells = [cell(counts.get(row, {}).get(column)) for column in columns]
        if row in counts:
            lines.append(f"| {title} | {' | '.join(cells)} |")
        elif title in old:
            lines.append(old[title])
    kept = [line for line in inside.splitlines() if line.startswith("Last run")]
    whole = len(counts) > 1
    note = f"Last run: {about}." if whole or not kept else kept[0]
    document.write_text(before + "\n".join([note, "", *lines, ""]) + after, encoding="utf-8")


def cell(count: Sequence[int] | None) -> str:
    return f"{count[1]} of {count[0]}" if count else "–"
