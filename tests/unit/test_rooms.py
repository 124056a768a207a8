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


LOCAL = {"About", "Budget", "Command", "Line", "Piece", "Reader", "Row", "Totals"}
"""Names of classes in several rooms that mean something only in their own file. No name may be added."""


def glossary():
    """The words of the page, each with its classes and their rooms."""
    section = rooms.PAGE.read_text("utf-8").partition("## Words\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| .+ \| (.*) \|$", section, re.MULTILINE)
    named = r"`(\w+)`: ((?:`_[\w/]+`(?:, )?)+)"
    return {
        word: {name: set(re.findall(r"`(.+?)`", where)) for name, where in re.findall(named, told)}
        for word, told in rows
    }


def classes():
    """The names of all classes below the faces, each with its rooms."""
    found = {}
    for parts in rooms.files():
        if parts[0] in ("module_utils", "plugin_utils"):
            for name in re.findall(r"^class (\w+)", rooms.text_of(parts), re.MULTILINE):
                found.setdefault(name, set()).add(rooms.room_of(parts))
    return found


def test_the_glossary_has_at_most_forty_words_and_each_class_with_such_a_name():
    words = glossary()
    assert 30 <= len(words) <= 40
    named = {name: where for told in words.values() for name, where in told.items()}
    single = {part.strip().title().replace(" ", "") for word in words for part in word.split(",")}
    known = classes()
    assert named == {name: where for name, where in known.items() if name in single | set(named)}


def test_a_name_of_a_class_in_two_rooms_is_a_word_of_the_glossary():
    named = {name for told in glossary().values() for name in told}
    assert {name for name, where in classes().items() if len(where) > 1} - named == LOCAL
