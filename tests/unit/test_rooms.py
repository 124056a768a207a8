# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rooms of the code are those of tests/rooms.py, and docs/architecture.md and its picture show them as they are."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import rooms  # noqa: E402
import rooms_picture  # noqa: E402


def test_no_import_leads_up():
    assert rooms.against(rooms.arrows()) == []


def test_imports_inside_the_collection_are_relative():
    assert rooms.absolute() == []


def test_the_page_shows_the_rooms_as_they_are():
    page = rooms.PAGE.read_text("utf-8")
    assert rooms.drawn(page) == page, "draw it again: python tests/rooms.py"


def test_the_picture_shows_the_rooms_as_they_are():
    assert rooms.PICTURE.read_text("utf-8") == rooms.picture(), "draw it again: python tests/rooms.py"


def test_every_room_is_in_the_picture_and_its_text():
    drawn = rooms.picture()
    names = set(re.findall(r'class="name"[^>]*>([^<]+)<', drawn))
    assert names == {room if room.startswith("_") else f"plugins/{room}" for room in rooms.ROOMS if "/" not in room} | {
        "playbooks/",
        "roles/",
    }
    parts = drawn.partition("<desc")[0], drawn.partition("<desc")[2].partition("</desc>")[0]
    assert "<title" in parts[0] and "_engine imports from _captures" in parts[1]


def test_a_picture_has_no_arrow_that_others_imply_and_none_that_leads_up():
    edges = {("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")}
    few = rooms_picture.reduced(edges)
    assert few == [("a", "b"), ("b", "c"), ("d", "c")]
    rows = rooms_picture.layers(["a", "b", "c", "d"], edges)
    assert rows == [["a"], ["b", "d"], ["c"]]


def test_an_arrow_that_passes_a_layer_has_a_place_there_and_crosses_no_other():
    edges = [("a", "d"), ("b", "c"), ("c", "e")]
    rows, paths = rooms_picture.with_dummies([["a", "b"], ["c"], ["e", "d"]], edges)
    assert paths[0] == ["a", "a d 1", "d"] and rows[1] == ["c", "a d 1"]
    found = rooms_picture.ordered(rows, paths)
    steps = [step for path in paths for step in zip(path, path[1:], strict=False)]
    assert rooms_picture.disorder(rows, steps)[0] == 1 and rooms_picture.disorder(found, steps)[0] == 0


def test_every_room_has_files():
    used = {rooms.room_of(parts) for parts in rooms.files()}
    assert used == set(rooms.ROOMS)


def test_a_file_outside_of_all_rooms_is_named():
    with pytest.raises(KeyError, match="plugins/module_utils/_new/thing.py lies in no room"):
        rooms.room_of(("module_utils", "_new", "thing"))


def test_what_leads_up_is_named():
    up = {("_host", "_engine"): ["one imports two"], ("_tunings", "_host"): ["fine"]}
    assert rooms.against(up) == ["one imports two"]
