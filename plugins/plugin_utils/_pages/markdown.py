# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Markdown for a ticket: sections, lists and tables; everything that comes from hosts is escaped."""

import re
from collections.abc import Iterator, Sequence

from . import text

ROWS = 50  # a ticket is read, not searched
LONGEST = 500
_SPECIAL = re.compile(r"[\\`*_\[\]|~#&<>@]|://|(?i:(?<=www)\.)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "://": ":&#47;&#47;", ".": "&#46;"}


def escape(value: object) -> str:
    """A text on one line that Markdown and HTML show literally, without mentions and links."""
    line = text.shorten(text.one_line(value), LONGEST)
    line = _SPECIAL.sub(lambda match: _ENTITIES.get(match[0], "\\" + match[0]), line)
    return re.sub(r"^([-+]|\d+[.)])(?=\s)", r"\\\1", line)


def sentence(step: object) -> str:
    """A sentence whose commands can be copied: text between backquotes is not markup and contains no backquote."""
    parts = text.with_code(step)
    return "".join(f"`{text.one_line(part)}`" if code else _between_commands(part) for code, part in parts)


def _between_commands(part: str) -> str:
    """Escaped text with the blank before and behind it."""
    first, last = (" " * (part[place] == " ") for place in (0, -1))
    return f"{first}{escape(part)}{last if part.strip() else ''}"


def section(title: str, body: Sequence[str]) -> Iterator[str]:
    """A section with its heading; nothing if the section is empty."""
    if body:
        yield f"\n## {title}\n\n"
        yield from body


def bullets(sentences: Sequence[str], rest: str = "the JSON file") -> list[str]:
    """A list of sentences, cut at :data:`ROWS`; ``rest`` holds all of them."""
    more = len(sentences) - ROWS
    told = [f"- {more:,} more in {rest}.\n"] if more > 0 else []
    return [f"- {escape(sentence)}\n" for sentence in sentences[:ROWS]] + told


def table(header: Sequence[str], rows: Sequence[Sequence[object]], rest: str = "") -> list[str]:
    """A table with escaped cells; empty without rows. A list is a cell with all its items.

    ``rest``: what holds the rows after the first :data:`ROWS`.
    """
    if rest and len(rows) > ROWS:
        more = text.plural(len(rows) - ROWS, "more row")
        return [*table(header, rows[:ROWS]), f"\n{more} in {rest}.\n"]
    body = [f"| {' | '.join(map(_cell, row))} |\n" for row in rows]
    return [f"| {' | '.join(header)} |\n", f"|{' --- |' * len(header)}\n", *body] if body else []


def _cell(value: object) -> str:
    return ", ".join(map(escape, value)) if isinstance(value, list) else escape("" if value is None else value)
