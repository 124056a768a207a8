# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page as a list of blocks: a page says once what it shows, and each format has a template for all pages.

A template has a macro for each class here, with the name of the class. A text of a block is a string or a number, a
text class, a list of texts that follow one another, or a tuple of a text and of what stands below it in small letters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .text import Style

Text = object


@dataclass
class Bold:
    text: Text


@dataclass
class Code:
    text: Text


@dataclass
class Link:
    """``href``: an address within the page, or a quoted relative one."""

    text: Text
    href: str


@dataclass
class Lines:
    """Values in typewriter letters, each on its own line."""

    texts: Sequence[object]


@dataclass
class Members:
    """Names of hosts or pairs; a page shows a few and folds all of them, a ticket names some, or ``every`` one."""

    names: Sequence[str]
    noun: str = "host"
    every: bool = False


class Block:
    """A part of a page."""


@dataclass
class Paragraph(Block):
    text: Text
    css: str = ""
    ident: str = ""


@dataclass
class Facts(Block):
    """Names with their values. ``css``: ``facts`` side by side, ``terms`` one below the other."""

    pairs: Sequence[tuple[str, Text]]
    css: str = "facts"


@dataclass
class Items(Block):
    """A list; ``otherwise``: what is said instead if it is empty."""

    texts: Sequence[Text]
    css: str = ""
    otherwise: str = ""


@dataclass
class Steps(Block):
    """Numbered sentences whose commands, which stand between backquotes, can be copied."""

    sentences: Sequence[str]


@dataclass
class Command(Block):
    """Lines to be copied."""

    text: str


@dataclass
class Row:
    """The cells of a table row, named by the first one, and sentences below them."""

    cells: Sequence[Text]
    notes: Sequence[Text] = ()
    css: str = ""


@dataclass
class Table(Block):
    """``columns``: names, or names with a class for their cells; ``drawn`` is one for drawings, which a ticket lacks.

    ``otherwise``: the text for an empty table. A page shows the first ``most`` rows.
    """

    caption: str
    columns: Sequence[Sequence[str]]
    rows: Sequence[Row]
    sub: str = ""
    css: str = ""
    ident: str = ""
    otherwise: str = ""
    most: int = 200

    def heads(self) -> list[tuple[str, str]]:
        """The columns, each with its class."""
        return [(column, "") if isinstance(column, str) else (column[0], column[1]) for column in self.columns]

    def written(self) -> list[int]:
        """The places of the columns that are not drawn."""
        return [place for place, (_name, css) in enumerate(self.heads()) if "drawn" not in css]

    def left_out(self, most: int) -> list[str]:
        """The members that only rows behind the first ``most`` have, if a ticket names every one."""
        cells = (cell for row in self.rows[most:] for cell in row.cells)
        return [
            *dict.fromkeys(name for cell in cells if isinstance(cell, Members) and cell.every for name in cell.names)
        ]


@dataclass
class Chart(Block):
    """``label``: names the region in which a wide drawing scrolls."""

    drawing: Markup
    caption: Text = ""
    label: str = ""


@dataclass
class Key(Block):
    """The signs of a chart, as classes and paths of their strokes, with their meaning."""

    signs: Sequence[tuple[dict[str, str], str]]


@dataclass
class Filters(Block):
    """Fields, of ident, name and count or None, that hide parts of the table below: each by itself, or one of all."""

    legend: str
    fields: Sequence[tuple[str, str, int | None]]
    several: bool = False


@dataclass
class Group(Block):
    """Blocks with a title, or that a style sheet places together. A function is called only for a page: a ticket has no
    room for what it returns."""

    blocks: Sequence[Block] | Callable[[], Sequence[Block]]
    css: str = ""
    title: Text = ""
    ident: str = ""
    folded: bool = False

    def made(self) -> Sequence[Block]:
        return self.blocks() if callable(self.blocks) else self.blocks


@dataclass
class Section(Block):
    """A section of a page, which is left out if it has no blocks."""

    title: str
    blocks: Sequence[Block]
    ident: str
    css: str = ""


@dataclass
class Page:
    """``subject``: what the page is about; ``state``: its result, if it has one; ``decision``: what follows from it.

    ``counted`` and ``tally``: what is counted, and how often each style occurs; ``tally_links``: the addresses of the
    items of a style, before its class. ``rest``: the files that have all rows. ``css``: rules of this page alone.
    """

    subject: Sequence[Text]
    headline: str
    sections: Sequence[Section]
    footer: str
    state: Style | None = None
    decision: str = ""
    counted: str = ""
    tally: Sequence[tuple[Style, int]] = ()
    facts: Sequence[tuple[str, Text]] = ()
    rest: str = "the JSON file"
    css: str = ""
    tally_links: str = ""

    def title(self) -> str:
        """``STOPPED: Rollout of change chg4711``."""
        subject = "".join(str(part.text if isinstance(part, Code) else part) for part in self.subject)
        return f"{self.state.word.upper()}: {subject}" if self.state else subject
