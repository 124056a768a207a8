# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common parts of all pages: autoescaped templates, one style sheet that the security policy allows by its hash."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from . import pooled, text, view

HERE = Path(__file__).parent
LONGEST = 2000  # characters of one text
FILTERS = (
    *(
        text.conflict_words,
        text.gain,
        text.interval,
        text.listed,
        text.measured,
        text.moment,
        text.number,
        text.percent,
    ),
    *(text.probability, text.signed, text.verdict_word, text.with_code),
    *(pooled.control, pooled.deviations, pooled.extent, pooled.level, pooled.more, pooled.title),
    *(
        view.common_extent,
        view.decision,
        view.metric_words,
        view.pair_name,
        view.pair_title,
        view.ways,
        view.workload_name,
    ),
)
"""Functions that templates use as filters under their own names."""


def page(template: str, values: Mapping[str, Any], room: Path = HERE) -> Iterator[str]:
    """A page in pieces; joined they are the file. Another room may have ``pages/`` and a ``page.css`` of its own."""
    css, css_hash = _style(room)
    common = {"css": css, "css_hash": css_hash, "arrow": text.ARROW, "dash": text.DASH}
    yield from environment(room).get_template(template).generate(**common, **values)


@functools.cache
def environment(room: Path = HERE) -> jinja2.Environment:
    """Templates with autoescape on; every value that is printed is cleaned and cut to :data:`LONGEST` first."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader([room / "pages", HERE / "pages"]),
        autoescape=True,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.ChainableUndefined,
    )
    env.filters.update({function.__name__: function for function in FILTERS})
    env.filters.update(
        css=lambda item: text.verdict_of(item).css,
        symbol=lambda item: text.verdict_of(item).symbol,
        plural=lambda count, *words: text.plural(count if isinstance(count, int) else 0, *words),
        opaque=lambda value: text.opaque(None if isinstance(value, jinja2.Undefined) else value)[:100],
    )
    return env


def _printed(value: object) -> object:
    if isinstance(value, Markup):
        return value
    if value is None or isinstance(value, jinja2.Undefined):
        return ""
    return text.shorten(text.clean(value), LONGEST)


@functools.cache
def _style(room: Path) -> tuple[Markup, str]:
    sheets = dict.fromkeys((HERE / "page.css", room / "page.css"))
    css = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    digest = hashlib.sha256(css.encode()).digest()
    return Markup(css), base64.b64encode(digest).decode("ascii")
