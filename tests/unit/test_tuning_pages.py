# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of the tunings have one shape, and their catalogue names all of them with figures that are published."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import note_checks
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import system_base
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import values as base_values

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


def test_the_page_on_aix_has_every_tuning_of_it_and_a_row_of_each_tuning_of_the_lab() -> None:
    text = (generate.HERE / "docs" / "aix.md").read_text("utf-8")
    there = {name for name in generate.TUNINGS if "AIX" in catalogue.systems(generate.MODULES / f"{name}.py")}
    assert set(re.findall(r"^\| \[(\w+)\]", section(text, "Which tunings apply"), re.MULTILINE)) == there
    site = generate.HERE / "inventories" / "aix" / "group_vars" / "sap_app_servers.yml"
    rows = re.findall(r"^app\d  (\w+) ", section(text, "First steps"), re.MULTILINE)
    assert set(rows) == set(yaml.safe_load(site.read_text("utf-8"))["zpower_tunings"])


def test_figures_of_the_catalogue_are_those_of_the_recalculated_studies() -> None:
    text = section(catalogue.PAGE.read_text("utf-8"), "When they help, and what they risk")
    figures = set(re.findall(r"\d+\.\d+ %", text))
    assert len(figures) > 5
    published = (generate.HERE / "docs" / "published.md").read_text("utf-8")
    assert {figure for figure in figures if not re.search(rf"\| -?{re.escape(figure)} \|", published)} == set()


def test_every_item_of_a_note_is_set_or_observed_or_has_a_reason() -> None:
    """By the tables of the code: base_values.ROWS for what is set, note_checks.ROWS for what is observed."""
    text = (generate.PAGES / "system_base.md").read_text("utf-8").split("### Every item of the notes\n")[1]
    lines = [line for line in text.split("\n### ")[0].splitlines() if line.startswith("| ")][1:]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(found) > 20
    for note, item, settable, _row, why in found:
        assert note and item
        assert bool(settable) + bool(why) == 1, item
    named = {(note, name) for cells in found for note in notes_in(cells[0]) for name in cells[2:4] if name}
    tables = {(note, f"`{row.subject}`") for row in base_values.ROWS for note in notes_in(row.source)}
    tables |= {
        (note, f"`{row.subject}`") for row in note_checks.ROWS for one in row.asked for note in notes_in(one.source)
    }
    tables |= {
        (note, f"`{request.name}`")
        for request in system_base.REQUESTS
        for row in note_checks.ROWS
        for one in row.asked
        if row.subject == request.row
        for note in notes_in(one.source)
    }
    # its size is no sysctl, and so in no such table
    assert named - {("941735", "`/dev/shm`")} == tables
    assert {cells[2].strip("`") for cells in found} - {""} == {*system_base.ITEMS} - {system_base.HugePages.name}
    assert {cells[3].strip("`") for cells in found} - {""} == {row.subject for row in note_checks.ROWS}


def notes_in(source: str) -> set[str]:
    """The numbers of SAP Notes; the whole text "none" where there is none."""
    return set(re.findall(r"\b[0-9]{6,7}\b", source)) or {"none"}


def test_the_page_of_the_platform_has_every_row_of_the_notes() -> None:
    text = section((generate.HERE / "docs" / "platform.md").read_text("utf-8"), "What SAP notes ask")
    assert re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE) == [row.subject for row in note_checks.ROWS]
