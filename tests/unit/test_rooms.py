# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rooms of the code are those of tests/rooms.py, and docs/architecture.md shows them as they are."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rooms  # noqa: E402


def test_no_import_leads_up():
    assert rooms.against(rooms.arrows()) == []


def test_imports_inside_the_collection_are_relative():
    assert rooms.absolute() == []


def test_the_page_shows_the_rooms_as_they_are():
    page = rooms.PAGE.read_text("utf-8")
    assert rooms.drawn(page) == page, "draw it again: python tests/rooms.py"


def test_every_room_has_files():
    used = {rooms.room_of(parts) for parts in rooms.files()}
    assert used == set(rooms.ROOMS)


def test_a_file_outside_of_all_rooms_is_named():
    with pytest.raises(KeyError, match="plugins/module_utils/_new/thing.py lies in no room"):
        rooms.room_of(("module_utils", "_new", "thing"))


def test_what_leads_up_is_named():
    up = {("_host", "_engine"): ["one imports two"], ("_tunings", "_host"): ["fine"]}
    assert rooms.against(up) == ["one imports two"]
