# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the documentation show the pages that the code makes.

`.venv/bin/python tests/browser/screenshot.py --write` takes those again whose page has changed.
"""

from __future__ import annotations

import pytest
from pictures import FOLDER, LARGEST, PICTURES, path_of, stamp_of


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_was_taken_from_the_page_that_the_code_makes(name: str) -> None:
    picture = path_of(name).read_bytes()
    assert stamp_of(picture) == PICTURES[name].digest(), "tests/browser/screenshot.py --write takes it anew"
    assert len(picture) < LARGEST
    assert path_of(name).with_suffix(".png.license").is_file()


def test_there_is_no_other_picture() -> None:
    assert {path.stem for path in FOLDER.glob("*.png")} == set(PICTURES)
