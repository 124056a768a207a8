# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of the tunings have one shape, and their catalogue names all of them with figures that are published."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import catalogue  # noqa: E402  (it lies beside what uses it without pytest)
import generate  # noqa: E402

SHAPE = [
    "What it does",
    "When it helps",
    "When it does not help",
    "Published figures",
    "Risk",
    "Settings",
    "Check it by hand",
    "Undo",
    "Messages worth knowing",
    "Internals",
]


def section(text: str, title: str) -> str:
    return text.split(f"\n## {title}\n")[1].split("\n## ", maxsplit=1)[0]


@pytest.mark.parametrize("tuning", generate.TUNINGS)
def test_a_page_has_the_shape_of_all(tuning: str) -> None:
    text = (generate.PAGES / f"{tuning}.md").read_text("utf-8")
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^## (.*)$", outside, re.MULTILINE) == SHAPE
    assert re.match(rf".*\({tuning}[,)]", re.findall(r"^# (.*)$", outside, re.MULTILINE)[0])
    for title in SHAPE:
        assert section(text, title).strip(), title
    assert generate.BEGIN in section(text, "Settings")
    assert "\n```\n" in section(text, "Check it by hand")
    assert "](../troubleshooting.md#" in section(text, "Messages worth knowing")
    assert f"zpower.sap_tuning.rollback -i inventory --tags {tuning}\n" in section(text, "Undo")


def test_no_page_is_without_a_tuning() -> None:
    assert {path.stem for path in generate.PAGES.glob("*.md")} == {*generate.TUNINGS, "index"}


def test_the_catalogue_is_that_of_the_modules() -> None:
    assert catalogue.PAGE.read_text("utf-8") == catalogue.page(), "run make generate"


@pytest.mark.parametrize("title", ["When they help, and what they risk", "Tried on what"])
@pytest.mark.parametrize("tuning", generate.TUNINGS)
def test_the_catalogue_names_every_tuning(tuning: str, title: str) -> None:
    rows = [line for line in section(catalogue.PAGE.read_text("utf-8"), title).splitlines() if line.startswith("| ")]
    assert any(tuning in re.findall(r"\w+", row.split("|")[1]) for row in rows)


def test_figures_of_the_catalogue_are_those_of_the_recalculated_studies() -> None:
    text = section(catalogue.PAGE.read_text("utf-8"), "When they help, and what they risk")
    figures = set(re.findall(r"\d+\.\d+ %", text))
    assert len(figures) > 5
    published = (generate.HERE / "docs" / "published.md").read_text("utf-8")
    assert {figure for figure in figures if not re.search(rf"\| -?{re.escape(figure)} \|", published)} == set()
