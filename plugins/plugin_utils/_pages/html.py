# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common parts of all pages: autoescaped templates, one style sheet that the security policy allows by its hash."""

import base64
import functools
import hashlib
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2
from markupsafe import Markup

from . import text

HERE = Path(__file__).parent
LONGEST = 2000  # characters of one text


def page(room: Path, template: str, values: Mapping[str, Any], *words: ModuleType) -> Iterator[str]:
    """A page of a room in pieces; joined they are the file. The room has ``pages/``, and maybe a ``page.css``.

    In templates text.py and the modules ``words`` give their functions as filters and their constants, by their names.
    """
    css, css_hash = _style(room)
    yield from environment(room, words).get_template(template).generate(values, css=css, css_hash=css_hash)


@functools.cache
def environment(room: Path, words: tuple[ModuleType, ...]) -> jinja2.Environment:
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
    for module in (text, *words):
        env.filters.update(inspect.getmembers(module, inspect.isfunction))
        env.globals.update({name: value for name, value in vars(module).items() if name.isupper()})
    env.filters.update(
        css=lambda item: text.verdict_of(item).css,
        symbol=lambda item: text.verdict_of(item).symbol,
        plural=lambda count, *words: text.plural(count if isinstance(count, int) else 0, *words),
        opaque=lambda value: text.opaque(None if isinstance(value, jinja2.Undefined) else value)[:100],
    )
    env.globals.update(vars(env.get_template("macros.html.j2").module))
    return env


def _printed(value: object) -> object:
    if isinstance(value, Markup):
        return value
    if value is None or isinstance(value, jinja2.Undefined):
        return ""
    return text.shorten(text.clean(value), LONGEST)


@functools.cache
def _style(room: Path) -> tuple[Markup, str]:
    sheets = (HERE / "page.css", room / "page.css")
    css = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets if sheet.exists())
    digest = hashlib.sha256(css.encode()).digest()
    return Markup(css), base64.b64encode(digest).decode("ascii")
