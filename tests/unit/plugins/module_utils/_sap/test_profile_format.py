# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of SAP profiles: what holds for any profile, tried on generated ones."""

from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.profile import Profile, marker, value_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

MARKER = marker("2026-11-20", "more_locks")
SETTINGS = settings(max_examples=200)

NAMES = ["rdisp/vbname", "rdisp/VBNAME", "icm[J2EE]/enable", "enque/table_size", "a", "x y", "ES/TABLE"]
DIRECTIVES = ["_PF", "SETENV_00", "Execute_01", "Start_Program_02", "Restart_Program_03", "Stop_Program_04"]
# what a line may hold: blanks that are none here, controls, every Latin-1 letter, what looks like syntax
CHARACTERS = st.sampled_from("abAB019/_[]\"'#=$(){}%;,:. \t\x00\x0b\x0c\x1c\x85\xa0\xe4\xff\r")
TEXTS = st.text(CHARACTERS, max_size=12)
BLANKS = st.text(st.sampled_from(" \t"), max_size=3)
VALUES = st.one_of(
    TEXTS.map(lambda text: text.strip(" \t\r")),
    st.sampled_from(["$(rdisp/myname)", "PROT=HTTP,PORT=80$$", "off # no comment", "SYNR/WPNR/HOST", "", "a  b", "=="]),
)
# what a user may ask for; other encodings have their own test
WANTED = st.one_of(
    st.text(st.sampled_from("abAB01/$()#='\"; "), max_size=8).map(str.strip), st.sampled_from(["", "$(rdisp/myname)"])
)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def assignments(draw, names):
    """(text of a line, its name, its value)"""
    name, value = draw(st.sampled_from(names)), draw(VALUES)
    text = draw(BLANKS) + name + draw(BLANKS) + "=" + draw(BLANKS) + value + draw(BLANKS)
    return text, name, value


def nothing(text):
    """A line that assigns nothing."""
    return text.rstrip("\r"), None, None


COMMENTS = st.tuples(BLANKS, TEXTS, st.sampled_from(NAMES)).map(lambda parts: nothing("%s#%s%s = 1" % parts))
WORDS = TEXTS.map(lambda text: nothing(text.replace("=", "")))
NO_NAMES = st.tuples(BLANKS, TEXTS).map(lambda parts: nothing("%s=%s" % parts))
LINES = st.one_of(assignments(NAMES), assignments(NAMES), assignments(DIRECTIVES), COMMENTS, WORDS, NO_NAMES)


@st.composite
def profiles(draw, always=None, header=()):
    """(bytes of a profile, [(name, value)] of its lines); always: a line that it has in any case; header: its first."""
    content = draw(st.lists(LINES, max_size=12))
    if always is not None:
        content.insert(draw(st.integers(0, len(content))), draw(always))
    content = [nothing(line) for line in header] + content
    ended = draw(st.booleans()) or not content or not content[-1][0]
    usual = draw(ENDS)
    mixed = ended and draw(st.booleans())
    ends = [draw(ENDS) if mixed else usual for dummy in content]
    if not ended:
        ends[-1] = ""
    text = "".join(line[0] + end for line, end in zip(content, ends))
    return text.encode("latin-1"), [(name, value) for dummy, name, value in content]


# A profile of which one line is left cannot tell any more how its lines ended.
HEADER = ["#.*   Instance profile", "#.*   Version = 000003"]
CHANGES = st.dictionaries(st.sampled_from(NAMES), st.one_of(st.none(), WANTED), max_size=4)


def effective(model):
    """{parameter: the value of its last line} of [(name, value)]."""
    return {name: value for name, value in model if name in NAMES}


def after(profile, changes):
    """A profile after changes {name: value or None}."""
    texts = {name: profile.wanted(name, value) for name, value in changes.items()}
    return profile.changed(texts, MARKER)


def first_texts(profile, names):
    """What a journal notes of these parameters."""
    return {name: profile.text(name) for name in names}


@SETTINGS
@given(st.binary(max_size=300))
@example(b"\xef\xbb\xbfa = 1\n")
@example(b"a = 1\r")
@example(b"\n\r")
@example(b"\xff = \xfe")
def test_any_bytes_come_back_as_they_are(data):
    profile = Profile(data)
    assert profile.data() == data
    texts = first_texts(profile, profile.names())
    assert all(texts.values())
    assert profile.changed(texts, MARKER).data() == data
    assert profile.changed({"not there": None}, MARKER).data() == data


@SETTINGS
@given(profiles())
def test_what_counts_in_a_profile(generated):
    data, model = generated
    profile = Profile(data)
    values = effective(model)
    assert {name: profile.value(name) for name in profile.names()} == values
    assert {name: value_of(profile.text(name)) for name in profile.names()} == values
    first = [name for at, (name, dummy) in enumerate(model) if name not in [other for other, dummy2 in model[:at]]]
    assert profile.names() == [name for name in first if name in NAMES]
    for name in NAMES + DIRECTIVES:
        numbers = [at for at, (other, dummy) in enumerate(model, 1) if other == name]
        assert [line.number for line in profile.active(name)] == numbers
        assert (profile.duplicates().get(name) == numbers) == (len(numbers) > 1 and name in NAMES)


@SETTINGS
@given(profiles(always=assignments(NAMES)), st.data(), WANTED)
def test_setting_a_value_changes_that_line_only(generated, draws, value):
    data, model = generated
    profile = Profile(data)
    name = draws.draw(st.sampled_from(sorted(effective(model))))
    new = after(profile, {name: value})
    number = profile.active(name)[-1].number
    before, now = data.split(b"\n"), new.data().split(b"\n")
    assert [at for at, pair in enumerate(zip(before, now), 1) if pair[0] != pair[1]] in ([], [number])
    assert len(before) == len(now)
    # around the value, the line is what it was
    old_line, new_line = before[number - 1].decode("latin-1"), now[number - 1].decode("latin-1")
    old_value = effective(model)[name]
    if old_value and value:
        head, dummy, tail = old_line.partition("=")[2].partition(old_value)
        assert new_line == "%s=%s%s%s" % (old_line.partition("=")[0], head, value, tail)
    assert new.value(name) == value
    assert after(new, {name: value}).data() == new.data()
    assert new.changed(first_texts(profile, [name]), MARKER).data() == data


@SETTINGS
@given(profiles(), st.sets(st.sampled_from(["b", "new/one", "enque/table_sizes"]), min_size=1), WANTED)
@example((b"", []), {"b"}, "1")
@example((b"\n", []), {"b"}, "1")
@example((b"x = 1\r", []), {"b"}, "1")
@example((b"x = 1\r\r\n", []), {"b"}, "")
@example((MARKER.encode("ascii") + b"\n", []), {"b"}, "1")
def test_new_lines_go_to_the_end_below_one_marker_and_away_again(generated, names, value):
    data = generated[0]
    profile = Profile(data)
    new = after(profile, {name: value for name in sorted(names)})
    kept = len(data.rstrip(b"\r\n"))
    assert new.data()[:kept] == data[:kept]
    added = new.data().decode("latin-1").replace("\r", "").rstrip("\n").split("\n")[-1 - len(names) :]
    assert added == [MARKER] + [("%s = %s" % (name, value)).rstrip(" ") for name in sorted(names)]
    assert new.data().endswith(b"\n") == (data.endswith(b"\n") or not data)
    assert all(new.value(name) == value for name in names)
    assert after(new, {name: value for name in names}).data() == new.data()
    # one after the other, and at once
    one_by_one = new
    for name in names:
        one_by_one = one_by_one.changed({name: None}, MARKER)
    assert one_by_one.data() == data
    assert new.changed(dict.fromkeys(names), MARKER).data() == data


@SETTINGS
@given(profiles(header=HEADER), CHANGES)
@example((b"a = 1", []), {"a": None})
@example((b"\n\na = 1", []), {"a": None, "ES/TABLE": "2"})
@example((b"a = 1\nrdisp/vbname = 2", []), {"a": None, "rdisp/vbname": None})
def test_one_call_and_its_way_back(generated, changes):
    profile = Profile(generated[0])
    new = after(profile, changes)
    assert {name: new.value(name) for name in changes} == changes
    untouched = [name for name in NAMES + DIRECTIVES if name not in changes]
    assert [[line.raw for line in new.active(name)] for name in untouched] == [
        [line.raw for line in profile.active(name)] for name in untouched
    ]
    assert new.changed(first_texts(profile, changes), MARKER).data() == profile.data()


@SETTINGS
@given(profiles(header=HEADER), st.lists(CHANGES, min_size=2, max_size=4))
@example((b"#\n a =\nES/TABLE =", []), [{"a": None}, {"a": None, "ES/TABLE": None, "x y": "1"}])
@example((b"#\nx y = 1\na = 2\n", []), [{"a": None}, {"x y": "3", "a": "1"}, {"x y": None}])
def test_several_calls_and_their_way_back(generated, calls):
    """The first text of a parameter is from the call that first touched it, as in a journal."""
    profile, journal = Profile(generated[0]), {}
    for changes in calls:
        for name in changes:
            journal.setdefault(name, profile.text(name))
        profile = after(profile, changes)
    assert profile.changed(journal, MARKER).data() == generated[0]
