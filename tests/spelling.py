# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The spelling of texts for users, and the phrases of tests/docs/phrases.txt that they should not have."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
# Texts for users, in which codespell looks for misspelt words and for the phrases of tests/docs/phrases.txt.
TEXTS = ["*.md", "docs", "changelogs", "playbooks", "roles", "plugins", "tests/reference.yml"]
PHRASES = HERE / "tests" / "docs" / "phrases.txt"
# Where a phrase is right.
RIGHT = [
    "some of which",
    "each of which",
    "there is no",
    "there are no",
    "is no longer",
    "are no longer",
]


def codespell() -> list[str]:
    """The command that checks TEXTS: a phrase counts as a word of the dictionary."""
    phrases = [line.partition("->")[0] for line in PHRASES.read_text("utf-8").splitlines()]
    words = rf"(?i:\b(?:{'|'.join([*RIGHT, *phrases])})\b)|[\w\-'\u2019]+"
    files = [str(path) for name in TEXTS for path in sorted(HERE.glob(name))]
    options = ["--dictionary", "-", "--dictionary", str(PHRASES), "--ignore-words-list", "enque,hsi,ond"]
    return ["codespell", *options, "--regex", words, *files]
