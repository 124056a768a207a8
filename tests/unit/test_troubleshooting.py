# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/troubleshooting.md has an answer to every verdict and to every message of the code, and to nothing else."""

import re
from pathlib import Path

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import shapes, table
from ansible_collections.zpower.sap_tuning.tests.unit.support.messages import GAP, everything, messages

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"


def rows(heading):
    """The code spans in the first cells of all tables whose first column has this heading."""
    found, reading = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        first = line.split("|")[1].strip() if line.startswith("|") else None
        reading = first is not None and (reading or first == heading)
        if reading:
            found += re.findall(r"`([^`]+)`", first)
    return found


def pattern(span):
    """What a message has to begin with, by a code span of the page. A gap at the end of a span means nothing."""
    value = rf"\S*{GAP}\S*(?: \S*{GAP}\S*)*?"
    return re.compile(value.join(re.escape(part) for part in span.removesuffix(GAP).rstrip(" ").split(GAP)))


def test_every_verdict_and_outcome_has_a_row():
    words = {table.word(name) for name in (*table.ORDER, *shapes.OUTCOMES)} - {"ok"}
    assert set(rows("verdict")) == words


def test_every_message_has_an_answer():
    known = [pattern(span) for span in rows("message")]
    found = messages()
    assert len(found) > 500
    lacking = [f"{place}: {text}" for place, text in found if not any(one.match(text) for one in known)]
    assert not lacking, (
        f"{len(lacking)} messages are in no table of docs/troubleshooting.md; add the beginning of each to the row that"
        " answers it:\n" + "\n".join(lacking)
    )


def test_every_row_answers_a_message():
    """So a message that was reworded or removed is not left on the page."""
    texts = everything()
    stale = [span for span in rows("message") if not any(map(pattern(span).match, texts))]
    assert not stale, "docs/troubleshooting.md has messages that no plugin says"
