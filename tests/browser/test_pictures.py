# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the documentation show the pages that the code makes, and are shown themselves.

`.venv/bin/python tests/browser/screenshot.py --write` takes those again whose page has changed.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from devtools import Browser
from pictures import FOLDER, LARGEST, PICTURES, path_of, stamp_of, stamped

TOP = FOLDER.parents[1]
SCRIPT = Path(__file__).parent / "screenshot.py"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_was_taken_from_the_page_that_the_code_makes(name: str) -> None:
    picture = path_of(name).read_bytes()
    assert stamp_of(picture) == PICTURES[name].digest(), f"{SCRIPT.relative_to(TOP)} --write takes it anew"
    assert len(picture) < LARGEST
    assert path_of(name).with_suffix(".png.license").is_file()


def test_a_release_keeps_the_pictures_and_another_page_does_not() -> None:
    picture = PICTURES["evidence"]
    page = picture.page()
    assert "0.9.0" in page and "2026-11-20 10:00:00" in page
    released = page.replace("0.9.0", "1.12.3").replace("2026-11-20 10:00:00", "2027-01-02 03:04:05")
    assert picture._replace(page=lambda: released).digest() == picture.digest()
    assert picture._replace(page=lambda: page.replace("drifted", "moved")).digest() != picture.digest()
    assert picture._replace(height=1).digest() != picture.digest()


def shown() -> list[tuple[Path, str, str]]:
    """Every picture in a page: the page, its text, its name."""
    pages = [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md")]
    found = [(page, re.findall(r"!\[([^]]*)\]\(([^)]+)\.png\)", page.read_text())) for page in pages]
    return [(page, text, Path(path).name) for page, pictures in found for text, path in pictures]


def test_every_picture_is_in_a_page_and_has_a_text_for_those_who_do_not_see_it() -> None:
    assert {name for _page, _text, name in shown()} == set(PICTURES) == {path.stem for path in FOLDER.glob("*.png")}
    assert [name for _page, text, name in shown() if len(text) < 20] == []


def test_the_figures_of_the_walk_are_those_of_its_pictures() -> None:
    page = FOLDER.parent / "reading_a_report.md"
    figures = set(re.findall(r"[+-]?\d+\.\d+ %", page.read_text()))
    seen = "".join(PICTURES[name].page() for path, _text, name in shown() if path == page)
    assert len(figures) > 5
    assert {figure for figure in figures if figure not in seen} == set()


def test_the_picture_of_a_page(browser: Browser, tmp_path: Path) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "images" / "report.png"
    page.write_text(PICTURES["report"].page())
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(page), str(picture), "--height", "700"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    data = picture.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1280, 700)
    assert len(data) > 40_000
    assert stamp_of(data) is None
    assert stamp_of(stamped(data, "ab" * 32)) == "ab" * 32


def test_a_part_of_a_page(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p style='height: 500px'></p><p id='part' style='margin: 0 0 0 92px; height: 300px'></p>")
    browser.show(width=400)
    browser.open(page.as_uri())
    assert struct.unpack(">II", browser.picture(200, "#part")[16:24]) == (308, 200)
