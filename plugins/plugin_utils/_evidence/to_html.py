# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence as one page in the style of the report: hosts by tunings, with filters that need no script."""

from collections.abc import Iterator
from pathlib import Path

from .._pages.html import page
from . import values as cells
from . import view
from .document import WANTED, failing, looked
from .shapes import OUTCOMES, Document
from .table import ORDER, TONES, word

ROWS = 200  # of each table beside the matrix
FILTERED = 20  # tunings with a box of their own, as many as page.css has rules
SECTIONS = (
    ("failing", "Not {}"),
    ("lost", "Hosts that were not checked"),
    ("hosts", "Hosts and tunings"),
    ("waivers", "Waivers"),
    ("files", "Files"),
)


def lines(document: Document) -> Iterator[str]:
    kind, totals = document["run"]["kind"], document["totals"]
    names = view.tunings(document)
    lost = view.lost_groups(document)
    rows = view.matrix(document, names)
    outcomes = ", ".join(f"{totals['outcomes'][name]:,} {word(name)}" for name in OUTCOMES if totals["outcomes"][name])
    bad = {*failing(kind, document["run"]["check"]), "unreachable", "not_reached"}
    values = {
        "document": document,
        "sections": [(ident, title.format(WANTED[kind])) for ident, title in SECTIONS if ident != "lost" or lost],
        "headings": {"waivers": "Waivers and problems"},
        "facts": [("Hosts", outcomes or "none"), *(fact for fact in view.facts(document) if fact[0] != "Inventory")],
        "hero": TONES.get(document["result"], "failed"),
        "result": {"compliant": WANTED[kind], "nothing": "nothing checked"}.get(document["result"], document["result"]),
        "tally": [(view.STYLES[name], totals["verdicts"][name]) for name in ORDER if totals["verdicts"][name]],
        "expected": WANTED[kind],
        "looked": looked(document["run"]),
        "failing": view.failing_groups(document),
        "reported": view.reported_groups(document),
        "lost": lost,
        "tunings": names,
        "heads": {"Host": "", **{name: f"t{place}" for place, name in enumerate(names)}},
        "boxes": names[:FILTERED],
        "matrix": rows,
        "bad": bad,
        "choices": _choices(rows, bad),
        "idle": view.groups_of(document, ["unknown", "unsupported", "not_applicable"]),
        "waived": view.groups_of(document, ["waived"]),
        "sentences": view.waiver_sentences(document),
        "limit": ROWS,
        "stem": kind,
    }
    yield from page(Path(__file__).parent, "evidence.html.j2", values, view, cells)


def _choices(rows: list[view.MatrixRow], bad: set[str]) -> list[tuple[str, str, int]]:
    """Filters with the number of hosts that each shows, only of what occurs."""
    counts = {name: sum(name in row.marks for row in rows) for name in dict.fromkeys((*ORDER, *OUTCOMES))}
    failed = sum(not bad.isdisjoint(row.marks) for row in rows)
    found = [("bad", "any trouble", failed)] if failed else []
    return found + [(name, word(name), count) for name, count in counts.items() if count and name != "ok"]
