# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the documentation show the pages that the code makes.

`.venv/bin/python tests/browser/screenshot.py --write` takes those again whose page has changed.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from devtools import Browser
from pictures import FOLDER, LARGEST, PICTURES, path_of, stamp_of, stamped


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_was_taken_from_the_page_that_the_code_makes(name: str) -> None:
    picture = path_of(name).read_bytes()
    assert stamp_of(picture) == PICTURES[name].digest(), "tests/browser/screenshot.py --write takes it anew"
    assert len(picture) < LARGEST
    assert path_of(name).with_suffix(".png.license").is_file()


def test_there_is_no_other_picture() -> None:
    assert {path.stem for path in FOLDER.glob("*.png")} == set(PICTURES)


def test_a_release_keeps_the_pictures_and_another_page_does_not() -> None:
    picture = PICTURES["evidence"]
    page = picture.page()
    assert "0.9.0" in page and "2026-11-20 10:00:00" in page
    released = page.replace("0.9.0", "1.12.3").replace("2026-11-20 10:00:00", "2027-01-02 03:04:05")
    assert picture._replace(page=lambda: released).digest() == picture.digest()
    assert picture._replace(page=lambda: page.replace("drifted", "moved")).digest() != picture.digest()
    assert picture._replace(height=1).digest() != picture.digest()


def test_a_part_of_a_page(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p style='height: 500px'></p><p id='part' style='margin: 0 0 0 92px; height: 300px'></p>")
    browser.show(width=400)
    browser.open(page.as_uri())
    data = browser.picture(200, "#part")
    assert struct.unpack(">II", data[16:24]) == (308, 200)
    assert (stamp_of(data), stamp_of(stamped(data, "ab" * 32))) == (None, "ab" * 32)
