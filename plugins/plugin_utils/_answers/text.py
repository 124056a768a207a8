# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that a host has sent, without hidden content and of a bounded length."""

import re
import unicodedata

ELLIPSIS = "\u2026"
NOT_PLAIN = re.compile(r"[^\t\n -~]")
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Printable to Python, but blank or only a mark on the character before: fillers and variation selectors."""
ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")


def clean(value: object) -> str:
    """Text without hidden content: control characters are dropped, invisible and bidirectional ones are shown as code.

    Line feeds and tabs stay. Surrogates and non-characters, which XML and UTF-8 refuse, become U+FFFD.
    """
    text = value if isinstance(value, str) else str(value)
    plain = text.isprintable() and (text.isascii() or not INVISIBLE.search(text))
    return text if plain else NOT_PLAIN.sub(lambda found: _visible(found[0]), text)


def _visible(char: str) -> str:
    if char in "\n\t" or (char.isprintable() and not INVISIBLE.match(char)):
        return char
    category = unicodedata.category(char)
    if category == "Cc":
        return ""
    if category == "Zs":
        return char
    if category == "Cs" or ord(char) & 0xFFFE == 0xFFFE:
        return "\ufffd"
    return f"[U+{ord(char):04X}]"


def clean_json(text: str) -> str:
    """:func:`clean` for JSON, also for characters that it holds as escapes; half of a pair of surrogates stays."""
    return ESCAPED.sub(_escape, clean(text))


def _escape(found: re.Match[str]) -> str:
    if found[1] in ("b", "f", "r"):
        return ""
    shown = _visible(chr(int(found[1][1:], 16))) if len(found[1]) == 5 else ""
    return shown if shown.startswith("[U+") or (not shown and len(found[1]) == 5) else found[0]


def one_line(value: object) -> str:
    """:func:`clean` with every run of white space as one blank."""
    text = clean(value)
    return text.strip() if text.isprintable() and "  " not in text else " ".join(text.split())


def shorten(text: str, length: int) -> str:
    """At most ``length`` characters, with an ellipsis at the end of a shortened text."""
    return text if len(text) <= length else text[: length - 1] + ELLIPSIS
