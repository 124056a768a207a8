# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all pages have in common: templates with autoescape, one style sheet that the security policy names by hash."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from . import text, view

LONGEST = 2000  # characters of one text


def page(template: str, values: Mapping[str, Any]) -> Iterator[str]:
    """A page in pieces; joined they are the file."""
    css, css_hash = _style()
    common = {"css": css, "css_hash": css_hash, "arrow": text.ARROW, "dash": text.DASH}
    yield from environment().get_template(template).generate(**common, **values)


@functools.cache
def environment() -> jinja2.Environment:
    """Templates with autoescape on; every value that is printed is cleaned and cut to :data:`LONGEST` first."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "pages"),
        autoescape=True,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.ChainableUndefined,
    )
    forms = {"percent": text.percent, "number": text.number}
    env.filters.update(
        css=lambda item: text.verdict_of(item).css,
        symbol=lambda item: text.verdict_of(item).symbol,
        word=text.verdict_word,
        pair=view.pair_name,
        ways=view.ways,
        workload=view.workload_name,
        decision=view.decision,
        metric=view.metric_words,
        interval=text.interval,
        shown=lambda value, form: forms[form](value),
        plural=lambda count, *words: text.plural(count if isinstance(count, int) else 0, *words),
        number=text.number,
        measured=text.measured,
        percent=text.percent,
        gain=text.gain,
        signed=text.signed,
        with_code=text.with_code,
        probability=text.probability,
        moment=text.moment,
        opaque=lambda value: text.opaque(None if isinstance(value, jinja2.Undefined) else value)[:100],
        conflict=text.conflict_words,
        listed=text.listed,
    )
    return env


def _printed(value: object) -> object:
    if isinstance(value, Markup):
        return value
    if value is None or isinstance(value, jinja2.Undefined):
        return ""
    return text.shorten(text.clean(value), LONGEST)


@functools.cache
def _style() -> tuple[Markup, str]:
    css = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    digest = hashlib.sha256(css.encode()).digest()
    return Markup(css), base64.b64encode(digest).decode("ascii")
