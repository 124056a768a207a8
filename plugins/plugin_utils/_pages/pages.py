# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of pages for people: a template each, with a macro for each class of :mod:`blocks`.

A template prints texts with the filter ``show``, which cleans, cuts and escapes them. Everything else that is not
markup of the template is escaped as HTML.
"""

import base64
import functools
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from . import text
from .blocks import Page
from .writing import Formats

HERE = Path(__file__).parent
LONGEST = {"html": 2000, "md": 500}
_SPECIAL = re.compile(r"[\\`*_\[\]|~#&<>@]|://|(?i:(?<=www)\.)")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "://": ":&#47;&#47;", ".": "&#46;"}


def page_formats(make: Callable[..., Page]) -> Formats:
    """The writers of a page, from the function that makes it of a document."""
    return {form: functools.partial(_lines, form, make) for form in LONGEST}


def _lines(form: str, make: Callable[..., Page], *document: object) -> Iterator[str]:
    """The page. Its one style sheet is allowed by its hash."""
    page = make(*document)
    css = (HERE / "page.css").read_text(encoding="utf-8") + page.css
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode("ascii")
    yield load_writer(form)(page, Markup(css), digest)


@functools.cache
def load_writer(form: str) -> Callable[..., Markup]:
    """The writer of texts, blocks and whole pages in one format."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    say = escape_html if form == "html" else escape_markdown
    macros: dict[str, Callable[..., Markup]] = {}

    def show(value: object, *more: object) -> Markup:
        macro = macros.get(type(value).__name__)
        return macro(value, *more) if macro else say(value)

    words = text.headline, text.listed, text.one_line, text.plural, text.with_code
    env.filters.update({word.__name__: word for word in words}, show=show)
    macros.update(vars(env.get_template(f"page.{form}.j2").module))
    return show


def escape_html(value: object) -> Markup:
    """A text that HTML shows literally."""
    return escape(text.shorten(text.clean(_written(value)), LONGEST["html"]))


def escape_markdown(value: object) -> Markup:
    """A text on one line, with the blanks before and behind it, that Markdown and HTML show literally, without mentions
    and links."""
    said = _written(value)
    line = text.shorten(text.one_line(said), LONGEST["md"])
    line = _SPECIAL.sub(lambda match: _ENTITIES.get(match[0], "\\" + match[0]), line)
    line = re.sub(r"^([-+]|\d+[.)])(?=\s)", r"\\\1", line)
    return Markup(f"{' ' * said.startswith(' ')}{line}{' ' * (said.endswith(' ') and bool(line))}")


def _written(value: object) -> str:
    """A text; nothing for None, and a whole number with commas."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return "" if value is None else f"{value:,}" if whole else str(value)
