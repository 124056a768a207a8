# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of SAP profiles: examples of what is read and written, byte by byte."""

import itertools
import json

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.errors import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.profile import (
    Profile,
    is_directive,
    marker,
    shown,
    value_of,
)

MARKER = marker("2026-11-20", "more_locks")


@pytest.mark.parametrize(
    "line, value, written",
    [
        (b"a=1", "2", b"a=2"),
        (b" a\t=  1\t ", "22", b" a\t=  22\t "),
        (b"a = 1 = 1", "1", b"a = 1"),
        (b"a = b # c", "d", b"a = d"),
        (b"a =", "1", b"a = 1"),
        (b"a=", "1", b"a=1"),
        (b"a =\t", "1", b"a =\t1"),
        (b"a = 1 ", "", b"a =  "),
        (b"a = aa", "a", b"a = a"),
        (b"a\t=a\r\n", "b", b"a\t=b\r\n"),
        (b"a = 1\r", "2", b"a = 2\r"),
        (b"a = 1\r\r\n", "2", b"a = 2\r\r\n"),
        (b"a = 1\rb = 2", "3", b"a = 3"),
        (b"a = \x00\xff", "3", b"a = 3"),
    ],
)
def test_only_the_value_of_a_line_changes(line, value, written):
    profile = Profile(line)
    new = profile.changed({"a": profile.wanted("a", value)}, MARKER)
    assert new.data() == written
    assert new.changed({"a": profile.text("a")}, MARKER).data() == line


@pytest.mark.parametrize("line", [b"#a = 1", b" \t# a = 1", b"a", b"= a", b"a 1", b"#", b"aa = 1", b"A = 1", b"_a = 1"])
def test_lines_that_do_not_assign_a_parameter(line):
    profile = Profile(line + b"\n")
    assert profile.value("a") is profile.text("a") is None
    new = profile.changed({"a": profile.wanted("a", "2")}, MARKER)
    assert new.data() == line + b"\n" + MARKER.encode("ascii") + b"\na = 2\n"


def test_blanks_and_tabs_are_no_part_of_names_and_values_and_other_blanks_are_data():
    for blank in (" ", "\t", " \t "):
        text = "%sa%s=%s1%s2%s\n" % ((blank,) * 5)
        assert Profile(text.encode("ascii")).value("a") == "1%s2" % blank
    for other in ("\xa0", "\x85", "\x0b", "\x0c", "\x1c"):
        text = "%s1%s" % (other, other)
        assert Profile(("a = %s\n" % text).encode("latin-1")).value("a") == text


SPECIAL = ["_PF", "_", "SETENV_00", "Execute_07", "execute_0", "Start_Program_1", "Restart_Program_0", "Stop_Program_1"]
NO_DIRECTIVES = ["SETENV", "Execute", "a_PF", "rdisp/Execute_00", "Execute_00/x", "SETENV_x", "Autostart"]


@pytest.mark.parametrize("name", SPECIAL + NO_DIRECTIVES)
def test_directives_are_no_parameters(name):
    assert is_directive(name) == (name in SPECIAL)
    profile = Profile(("%s = 1\n%s = 2\n" % (name, name)).encode("ascii"))
    assert profile.names() == ([] if name in SPECIAL else [name])
    assert profile.duplicates() == ({} if name in SPECIAL else {name: [1, 2]})


def test_the_last_of_several_lines_counts_and_is_the_one_that_changes():
    profile = Profile(b"a = 1\nb = 5\na = 2\n#a = 3\n")
    text = profile.wanted("a", "4")
    assert (value_of(profile.text("a")), value_of(text), value_of(None)) == ("2", "4", None)
    assert [item[:2] for item in json.loads(text)] == [[1, "a = 1"], [3, "a = 4"]]
    assert profile.changed({"a": text}, MARKER).data() == b"a = 1\nb = 5\na = 4\n#a = 3\n"
    assert profile.wanted("a", "2") == profile.text("a")
    assert profile.wanted("a", None) is None
    assert json.loads(profile.wanted("c", "1")) == [[0, "c = 1"]]


@pytest.mark.parametrize(
    "profile, value, written",
    [
        (b"a = 1\n", "K\xfcche", b"a = K\xc3\xbcche\n"),
        (b"# K\xc3\xbcche\na = 1\n", "\u20ac", b"# K\xc3\xbcche\na = \xe2\x82\xac\n"),
        (b"# K\xfcche\na = 1\n", "K\xfcche", b"# K\xfcche\na = K\xfcche\n"),
        (b"a = 1\n", "\udcff", b"a = \xff\n"),
    ],
)
def test_a_value_is_written_in_the_encoding_of_the_profile(profile, value, written):
    new = Profile(profile).changed({"a": Profile(profile).wanted("a", value)}, MARKER)
    assert new.data() == written
    assert shown(new.value("a")) == value.replace("\udcff", "\xff")
    assert new.wanted("a", value) == new.text("a")


def test_a_value_that_the_encoding_does_not_have_is_refused():
    for profile, value, encoding in ((b"# K\xfcche\n", "5 \u20ac", "Latin-1"), (b"", "\ud800", "UTF-8")):
        with pytest.raises(InputError) as error:
            Profile(profile).wanted("a", value)
        assert encoding in str(error.value) and value in str(error.value)
    assert shown("K\xc3\xbcche") == shown("K\xfcche") == "K\xfcche"
    assert shown("\xe2\x82\xac") == "\u20ac"


def test_the_marker_is_one_line_with_date_and_change():
    assert marker("2026-11-20", "CHG1") == "# zpower.sap_tuning 2026-11-20 change CHG1"
    assert marker("2026-11-20", "") == "# zpower.sap_tuning 2026-11-20"
    assert marker("2026-11-20", "a\nb = 1\x85c") == "# zpower.sap_tuning 2026-11-20 change a b = 1 c"
    latin = Profile(b"# \xfc\n")
    assert latin.changed({"a": latin.wanted("a", "1")}, marker("2026-11-20", "\xfc")).data().count(b"\xfc") == 2


def test_each_call_has_its_marker_which_goes_with_its_last_line():
    first = Profile(b"a = 1\n")
    one = first.changed({"b": first.wanted("b", "1"), "c": first.wanted("c", "1")}, marker("2026-11-20", "one"))
    two = one.changed({"d": one.wanted("d", "1")}, marker("2026-11-21", "two"))
    assert two.data().decode("ascii").split("\n") == [
        "a = 1",
        "# zpower.sap_tuning 2026-11-20 change one",
        "b = 1",
        "c = 1",
        "# zpower.sap_tuning 2026-11-21 change two",
        "d = 1",
        "",
    ]
    assert two.changed({"b": None}, MARKER).data().count(b"# zpower") == 2
    assert two.changed({"b": None, "c": None}, MARKER).data().count(b"# zpower") == 1
    assert two.changed({"d": None}, MARKER).data() == one.data()
    # a marker stays where someone has added a line below it
    profile = Profile(b"a = 1\n%s\nb = 1\n_OURS = theirs\n" % MARKER.encode("ascii"))
    assert profile.changed({"b": None}, MARKER).data() == b"a = 1\n%s\n_OURS = theirs\n" % MARKER.encode("ascii")


@pytest.mark.parametrize("theirs", ["", "# more locks"])
def test_our_block_ends_at_a_blank_line_or_a_comment_of_the_user(theirs):
    ours = "a = 1\n%s\nb = 1\n" % MARKER
    profile = Profile((ours + theirs + "\nc = 2\n").encode("ascii"))
    assert profile.changed({"c": None}, MARKER).data().decode("ascii") == ours + theirs + "\n"
    assert profile.changed({"b": None}, MARKER).data().decode("ascii") == "a = 1\n" + theirs + "\nc = 2\n"
    # a line below it belongs to the user: it stays where it is now, and is no line that we added
    elsewhere = Profile(b"a = 1\nc = 3\n")
    moved = profile.changed({"c": elsewhere.text("c")}, MARKER)
    assert moved.data().decode("ascii") == ours + theirs + "\nc = 3\n"


def test_a_line_that_was_taken_out_and_added_again_goes_back_to_its_place():
    first = Profile(b"a = 1\nb = 2\nc = 3\n")
    again = first.changed({"a": None}, MARKER)
    again = again.changed({"a": again.wanted("a", "9")}, MARKER)
    assert again.data().endswith(b"a = 9\n")
    assert again.changed({"a": first.text("a")}, MARKER).data() == first.data()
    # a line that is to be added and is there already is set
    text = first.wanted("d", "1")
    new = first.changed({"d": text}, MARKER)
    assert new.changed({"d": text}, MARKER).data() == new.data()


def test_a_line_of_an_earlier_change_is_changed_where_it_stands():
    profile = Profile(b"a = 1\n%s\nb = 2\nc = 3\n" % MARKER.encode("ascii"))
    for name in ("b", "c"):
        new = profile.changed({name: profile.wanted(name, "9")}, MARKER)
        assert new.data().count(b"# zpower") == 1
        assert new.changed({name: profile.text(name)}, MARKER).data() == profile.data()


def test_lines_find_their_place_by_their_neighbours_although_the_file_has_grown():
    profile = Profile(b"a = 1\n# before\nb = 2\n# after\nc = 3\n")
    edited = Profile(b"# new\n# new\n# new\na = 1\n# before\n# after\nc = 3\n")
    back = edited.changed({"b": profile.text("b")}, MARKER)
    assert back.data() == b"# new\n# new\n# new\na = 1\n# before\nb = 2\n# after\nc = 3\n"
    # without their neighbours by number
    profile = Profile(b"# one\na = 1\n# two\n")
    assert Profile(b"x = 1\ny = 2\n").changed({"a": profile.text("a")}, MARKER).data() == b"x = 1\na = 1\ny = 2\n"
    assert Profile(b"").changed({"a": profile.text("a")}, MARKER).data() == b"a = 1\n"


def orders(names):
    """Every way in which several calls can take out these names: lists of lists."""
    if not names:
        yield []
    for number in range(1, len(names) + 1):
        for call in itertools.combinations(names, number):
            for calls in orders([name for name in names if name not in call]):
                yield [list(call)] + calls


@pytest.mark.parametrize("names", ["abcd"] + [pytest.param(one, marks=pytest.mark.nightly) for one in ("dcba", "bdac")])
@pytest.mark.parametrize(
    "between, above, above_now",
    [
        ("", "# above\n", "# above\n"),
        ("# between\n", "# above\n", "# above\n"),
        ("", "# above\n", "# one\n# two\n# three\n# above\n"),
        ("", "# one\n# two\n# three\n# above\n", "# above\n"),
    ],
)
@pytest.mark.parametrize("adding", [False, True])
def test_lines_that_went_in_several_calls_come_back_in_their_order(names, between, above, above_now, adding):
    """Whoever went first, where calls added lines too, where neighbours look alike, where someone moved it all."""
    content = above + between.join("%s = 1\n" % name for name in names)
    for calls in orders(list(names)):
        profile, journal = Profile(content.encode("ascii")), {}
        for number, call in enumerate(calls):
            changes = dict.fromkeys(call)
            if adding:
                changes["new/%d" % number] = profile.wanted("new/%d" % number, "1")
            journal.update((name, profile.text(name)) for name in changes)
            profile = profile.changed(changes, MARKER)
        profile = Profile(profile.data().replace(above.encode("ascii"), above_now.encode("ascii")))
        back = profile.changed({name: journal[name] for name in sorted(journal)}, MARKER)
        assert back.data().decode("ascii") == content.replace(above, above_now), calls


@pytest.mark.parametrize(
    "data, words", [(b"\n" * (256 * 1024 + 1), "more than 256 KiB"), (b"a = 1\n" * 101, "more than 100 lines set a:")]
)
def test_what_is_too_large_for_a_profile_is_not_taken_for_one(data, words):
    with pytest.raises(HostError, match=words):
        Profile(data)
    assert Profile(data[: len(data) // 2]).data() == data[: len(data) // 2]
