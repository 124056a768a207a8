# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of CSV (RFC 4180 with line feeds, UTF-8), safe to open in a spreadsheet."""

import functools
import re
from collections.abc import Iterable

from .text import one_line

_FORMULA = re.compile(r'(?:^|(?<=;))(?=[\s"]*[=+\-@\uff1d\uff0b\uff0d\uff20])')


def cells(values: Iterable[object]) -> str:
    """One row."""
    return ",".join(map(cell, values)) + "\n"


def cell(value: object) -> str:
    """A cell; numbers are written unchanged, and unknown values are empty."""
    return str(value) if isinstance(value, (int, float)) else _text_cell(value)


@functools.lru_cache(maxsize=4096)
def _text_cell(value: object) -> str:
    """A text on one line; an apostrophe in front keeps a spreadsheet from reading it as a formula.

    In many countries, a spreadsheet begins a new cell at a semicolon, and drops quotes at its beginning.
    """
    text = "" if value is None else _FORMULA.sub("'", one_line(value))
    return '"{}"'.format(text.replace('"', '""')) if '"' in text or "," in text else text
