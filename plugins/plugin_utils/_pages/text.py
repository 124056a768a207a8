# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words, numbers and untrusted text, written the same way in every format of the report."""

import functools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._answers.text import ELLIPSIS, clean, one_line, shorten

__all__ = ["ELLIPSIS", "clean", "one_line", "shorten"]

Item = Mapping[str, Any]
PairKey = tuple[str, str, str]  # host, peer, workload
Runs = Callable[[Collection[PairKey] | None], Iterable[dict[str, Any]]]
"""Returns the runs of the named comparisons, or all runs: an iterator, because a fleet's runs would fill the memory."""

DASH = "\u2013"
ARROW = "\u2192"
MINUS = "\u2212"
MOST_OF_HEADLINE = 128
"""Characters of two lines in the largest letters of a page, 1280 pixels wide; the tests in a browser look."""


@dataclass(frozen=True)
class Style:
    """The appearance of a verdict or an outcome: symbol and word too, because colour alone is not enough."""

    word: str
    symbol: str
    css: str
    rank: int = 0  # 0 is what a reader must see first

    def __str__(self) -> str:
        return self.word


VERDICT_STYLES = {
    style.word: style
    for style in (
        Style("REGRESSED", "\u25bc", "regressed", 0),
        Style("INCONCLUSIVE", "?", "inconclusive", 1),
        Style("NOT COMPARABLE", "\u2260", "incomparable", 2),
        Style("NO DATA", "\u2205", "nodata", 3),
        Style("UNCHANGED", "=", "unchanged", 4),
        Style("IMPROVED", "\u25b2", "improved", 5),
    )
}


def verdict_of(item: Item) -> Style:
    """The verdict of a report or a comparison; an unknown word is shown as NO DATA, never as a success."""
    return VERDICT_STYLES.get(str(item.get("verdict")), VERDICT_STYLES["NO DATA"])


def verdict_style(item: Item) -> Style:
    """The verdict of an item with its warnings, as a page shows it."""
    style = verdict_of(item)
    return Style(verdict_word(item), style.symbol, style.css, style.rank)


def verdict_word(item: Item) -> str:
    """``IMPROVED`` ... ``NO DATA``, and ``IMPROVED, WITH WARNINGS`` if there is a guard."""
    word = verdict_of(item).word
    return f"{word}, WITH WARNINGS" if word == "IMPROVED" and warned(item) else word


def warned(item: Item) -> bool:
    """Whether a guard speaks against an item; for a report, whether one does against the row that decides.

    An experiment is decided by the row of its winner.
    """
    rows = item.get("pooled")
    if not rows:
        return item.get("warnings") is True
    winner = (item.get("experiment") or {}).get("winner")
    return next((row for row in rows if row.get("contrast") == winner), rows[0]).get("warnings") is True


def headline(told: object) -> tuple[str, str]:
    """The sentences of a headline that fit into two lines of a page, or its clauses or words, and the rest."""
    text = one_line(told)
    ends = (
        max(text.rfind(mark, 0, MOST_OF_HEADLINE) for mark in marks) + 1
        for marks in (("; ", ". "), (": ", ", "), (" ",))
    )
    end = next(filter(None, ends), MOST_OF_HEADLINE)
    return (text, "") if len(text) <= MOST_OF_HEADLINE else (text[:end].strip(), text[end:].strip())


def number(value: object) -> str:
    """A measured value with three to four digits; a dash if it is missing: a missing value is never 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return DASH
    size = abs(value)
    if isinstance(value, int) and size < 1_000_000:
        return f"{value:,}".replace("-", MINUS)
    for limit, form in ((1e12, "{:.3e}"), (1e6, "M"), (1000, "{:,.0f}"), (100, "{:.1f}"), (1, "{:.2f}"), (0, "{:.3g}")):
        if size >= limit:
            text = f"{value / 1e6:,.{2 if size < 1e8 else 1}f} M" if form == "M" else form.format(value)
            return text.replace("-", MINUS)
    return DASH


def measured(value: object, unit: object) -> str:
    """A value with its unit; a missing value has none."""
    text = number(value)
    return f"{text} {unit}" if unit and text != DASH else text


def percent(value: object) -> str:
    """``4.3 %``."""
    return f"{value:.1f} %".replace("-", MINUS) if isinstance(value, (int, float)) else DASH


def gain(ratio: object) -> str:
    """A ratio above 1 is better: 1.043 is shown as ``+4.3 %``, 0.98 as a minus and ``2.0 %``."""
    if not isinstance(ratio, (int, float)) or not math.isfinite(ratio):
        return DASH
    value = (ratio - 1) * 100
    if abs(value) < 0.05:
        return "0.0 %"
    return f"{value:+.1f} %".replace("-", MINUS)


def better_by(ratio: object) -> str:
    """A ratio above 1 is better: 1.043 is shown as ``4.3 % better``."""
    told = gain(ratio)
    if told in (DASH, "0.0 %"):
        return told if told == DASH else "no different"
    return f"{told[1:]} {'better' if told.startswith('+') else 'worse'}"


def signed(value: object) -> str:
    """A change of a metric itself, in percent with its sign: ``-59.5 %`` with a true minus."""
    return f"{value:+.1f} %".replace("-", MINUS) if isinstance(value, (int, float)) else DASH


def interval(item: Item) -> str:
    """Both ends as gains; few rounds may leave an end open."""
    ends = [item.get("low"), item.get("high")]
    if item.get("ratio") is None or ends == [None, None]:
        return DASH
    return " to ".join("open" if end is None else gain(end) for end in ends)


def probability(value: object) -> str:
    """A p value: ``0.004``, ``< 0.001``."""
    if not isinstance(value, (int, float)):
        return DASH
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def moment(value: object) -> str:
    """``2026-11-20T10:00:00.123456Z`` as ``2026-11-20 10:00:00 UTC``; any other text unchanged."""
    text = str(value or "")
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z", text)
    return f"{match[1]} {match[2]} UTC" if match else text or DASH


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 host``, ``2 hosts``, ``1,000 hosts``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def opaque(value: object) -> list[str]:
    """The lines that show a JSON value of any type: a dict gives ``key = value`` lines."""
    if value is None:
        return [DASH]
    if isinstance(value, Mapping):
        return [f"{key} = {', '.join(opaque(value[key]))}" for key in sorted(value, key=natural)] or [DASH]
    if isinstance(value, (list, tuple)):
        return [", ".join(line for entry in value for line in opaque(entry)) or DASH]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [str(value)]


def conflict_words(conflict: object) -> str:
    """``udev rule sets it (/etc/udev/rules.d/60-net.rules, line 3), wins: yes``, or what it does instead
    of setting the knob; other forms as :func:`opaque`."""
    if not isinstance(conflict, Mapping) or not conflict.get("what"):
        return "; ".join(opaque(conflict))
    place = str(conflict.get("file") or "")
    if place and conflict.get("line") is not None:
        place += f", line {conflict['line']}"
    said = f"{conflict['what']}{f' ({place})' if place else ''}"
    if conflict.get("effect"):
        return f"{said}: {conflict['effect']}"
    wins = conflict.get("wins")
    return f"{said}{f', wins: {wins}' if wins is not None else ''}"


def natural(value: object) -> tuple[tuple[int, str, str], ...]:
    """A sort key that puts ``app2`` before ``app10``, however long the digits are."""
    return _natural(str(value))


@functools.lru_cache(maxsize=16384)
def _natural(value: str) -> tuple[tuple[int, str, str], ...]:
    parts = re.split(r"([0-9]+)", value)
    bare = [part.lstrip("0") if index % 2 else part for index, part in enumerate(parts)]
    return tuple((len(bare[i]) if i % 2 else 0, bare[i], parts[i]) for i in range(len(parts)))


def in_columns(rows: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.ljust) -> list[str]:
    """A line per row with its cells in columns; ``align``: str.rjust for figures behind the first cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(align, row[1:], widths[1:])]).rstrip() for row in rows]


def with_code(sentence: object) -> list[tuple[bool, str]]:
    """The parts of a sentence in their order; True for a command, which stands between backquotes."""
    parts = str(sentence).split("`")
    if len(parts) % 2 == 0:
        return [(False, str(sentence))]
    return [(bool(index % 2), part) for index, part in enumerate(parts) if part]


def listed(names: Iterable[object], limit: int) -> str:
    """``a, b, c`` with at most ``limit`` names and the count of the others."""
    texts = [str(name) for name in names]
    more = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more
