# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elements of inline SVG: no script, no inline style, colours from the page's style sheet by class.

Every drawing has a title and a description. Shapes with a meaning differ in form, not only in colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from .text import clean, one_line

WIDTH = 960
NARROW = 380


def el(name: str, *children: object, **attributes: object) -> Markup:
    """One SVG element; text and attribute values are cleaned and escaped, ``cls`` becomes ``class``."""
    parts = []
    for key, value in attributes.items():
        shown = f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
        attribute = "class" if key == "cls" else key.replace("_", "-")
        parts.append(f' {attribute}="{escape(clean(shown))}"')
    inner = "".join(child if isinstance(child, Markup) else escape(clean(child)) for child in children)
    return Markup(f"<{name}{''.join(parts)}>{inner}</{name}>" if inner else f"<{name}{''.join(parts)}/>")


def first_of(sentences: Sequence[str], most: int = 12) -> str:
    """The first sentences in one line, and the count of the others."""
    more = [f"{len(sentences) - most} more"] if len(sentences) > most else []
    return "; ".join([*sentences[:most], *more])


def drawing(
    ident: str, title: str, description: str, *, size: tuple[int, float], body: Iterable[Markup], cls: str
) -> Markup:
    """An SVG image with a title and a description for screen readers."""
    return el(
        "svg",
        el("title", one_line(title), id=f"{ident}-title"),
        el("desc", one_line(description), id=f"{ident}-desc"),
        *body,
        cls=cls,
        viewBox=f"0 0 {size[0]} {size[1]:.0f}",
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
    )


def circle(x: float, y: float) -> str:
    """The path of the sign for before."""
    return f"M{x - 2.6:.1f} {y:.1f}a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0-5.2 0z"


def diamond(x: float, y: float) -> str:
    """The path of the sign for after."""
    return f"M{x:.1f} {y - 3.4:.1f}l3.4 3.4l-3.4 3.4l-3.4-3.4z"
