# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the documentation show the current pages.

`.venv/bin/python tests/browser/screenshot.py --write` retakes those whose page has changed.
"""

from __future__ import annotations

from pictures import FOLDER, LARGEST, PICTURES, outdated, path_of


def test_each_picture_shows_the_page_that_the_code_makes() -> None:
    assert outdated() == [], "run tests/browser/screenshot.py --write"
    assert {path.stem for path in FOLDER.glob("*.png")} == set(PICTURES)
    assert max(path_of(name).stat().st_size for name in PICTURES) < LARGEST
