# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SECURITY.md, the threat model: every line names tests, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
WHO = {"host", "`<sid>adm`", "local user", "peer", "capture", "controller", "clock", "user of the controller"}
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


def rows() -> list[list[str]]:
    page = (TOP / "SECURITY.md").read_text("utf-8").partition("## Threat model\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ")
    ][1:]


def test_every_attacker_of_the_model_has_lines() -> None:
    assert {row[0].partition(" →")[0] for row in rows()} == WHO


def test_every_line_names_tests_that_exist() -> None:
    for row in rows():
        assert len(row) == 4, row
        named = NAMED.findall(row[3])
        assert named and NAMED.sub("", row[3]).strip(", ") == "", row
        for file, test in named:
            found = [path.read_text("utf-8") for path in TOP.glob(f"tests/**/{file}")]
            assert any(re.search(rf"^ *def {test}\(", text, re.M) for text in found), (file, test)
