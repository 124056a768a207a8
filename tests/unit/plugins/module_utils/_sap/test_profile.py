# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles of SAP: their lines, changed and brought back, and the parameters that this collection knows."""

import itertools
import json
import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.errors import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.parameters import (
    KNOWN,
    PRESETS,
    PRIORITY,
    SCHEDULER,
    check,
    merge,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.profile import (
    Profile,
    is_directive,
    marker,
    shown,
    value_of,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from places import FIXTURES

FOLDER = str(FIXTURES / "profiles")
MARKER = marker("2026-11-20", "more_locks")

# What each file holds, as a person reads it: how many parameters have a line, and some values.
READ_BY_HAND = {
    "DEFAULT.PFL": (
        17,
        {
            "SAPGLOBALHOST": "prdascs",
            "system/type": "ABAP",
            "rdisp/msserv": "",
            "gw/logging": "ACTION=Ss LOGFILE=gw_log-%y-%m-%d SWITCHTF=day MAXSIZEKB=100",
            "gw/sec_info": "$(DIR_DATA)/secinfo # not a comment",
            "icm[J2EE]/enable_icmadm": "TRUE",
            "dbs/db6/schema": '"SAPPRD"',
            "vmcj/enable": "off;; # two",
            "rdisp/TRACE": "5",
            "": None,
        },
    ),
    "PRD_ASCS01_prdascs": (12, {"enque/table_size": "16384", "enq/server/schema_0": "global"}),
    "PRD_D00_prdapp1": (
        23,
        {
            "SAPSYSTEM": "00",
            "rdisp/wp_no_btc": "24",
            "rdisp/linux/os_scheduler": None,
            "icm/server_port_0": "PROT=HTTP,PORT=80$$,TIMEOUT=60,PROCTIMEOUT=600",
        },
    ),
    "PRD_ERS10_prders": (9, {"SCSID": "01", "NR": "$(SCSID)", "enque/process_location": "REMOTESA"}),
    "QAS_ASCS01_qasascs": (18, {"enque/table_size": "64000", "rdisp/enqname": "$(rdisp/myname)"}),
    "QAS_DVEBMGS02_qasci": (14, {"rdisp/vb_dispatching": "1", "ES/TABLE": "SHM_SEGS", "SAPSYSTEM": "02"}),
}
FILLER = b"".join(b"#filler/%d = %d\n" % (number, number) for number in range(2000))
LONG = b"# " + b"-" * 65536 + b"\n_LONG = " + b"v" * 65536 + b"\n"
LAYOUTS = {
    "as_it_is": lambda data: data,
    "cr_lf": lambda data: data.replace(b"\n", b"\r\n"),
    "last_line_ended": lambda data: data.rstrip(b"\n") + b"\n",
    "last_line_open": lambda data: data.rstrip(b"\n"),
    "latin_1": lambda data: data.decode("utf-8").encode("latin-1") + b"\n# \xe4\n",
    "tabs": lambda data: data.replace(b" = ", b"\t=\t"),
    "2000_lines": lambda data: FILLER + data,
    "64_kb_lines": lambda data: LONG + data,
}


def corpus_file(name):
    with open(os.path.join(FOLDER, name), "rb") as stream:
        return stream.read()


def samples():
    """Each file as it is and DEFAULT.PFL in each layout; the rest of the product at night."""
    found = []
    for file in sorted(READ_BY_HAND):
        for layout, change in LAYOUTS.items():
            marks = [] if layout == "as_it_is" or file == "DEFAULT.PFL" else pytest.mark.nightly
            found.append(pytest.param(file, change(corpus_file(file)), id="%s-%s" % (file, layout), marks=marks))
    return found


def test_duplicates_are_reported_with_their_lines():
    assert set(os.listdir(FOLDER)) == set(READ_BY_HAND)
    assert Profile(corpus_file("DEFAULT.PFL")).duplicates() == {"rdisp/TRACE": [12, 13, 29]}
    assert Profile(corpus_file("PRD_D00_prdapp1")).duplicates() == {}


@pytest.mark.parametrize("file, data", samples())
def test_the_corpus_is_read_as_a_person_reads_it_and_changed_and_brought_back(file, data):
    profile, lines = Profile(data), data.split(b"\n")
    number, values = READ_BY_HAND[file]
    assert profile.data() == data
    assert len(profile.names()) == number
    assert {name: profile.value(name) for name in values} == values
    for name in profile.names():
        new = profile.changed({name: profile.wanted(name, "new value")}, MARKER)
        assert new.value(name) == "new value"
        different = [pair for pair in zip(lines, new.data().split(b"\n")) if pair[0] != pair[1]]
        assert len(different) == 1
        assert len(new.data().split(b"\n")) == len(lines)
        assert different[0][0].split(b"=")[0] == different[0][1].split(b"=")[0]
        assert new.changed({name: profile.text(name)}, MARKER).data() == data
        out = profile.changed({name: None}, MARKER)
        assert out.value(name) is None
        assert len(out.active("_PF")) == len(profile.active("_PF"))
        assert out.changed({name: profile.text(name)}, MARKER).data() == data


@pytest.mark.parametrize(
    "line, value, written",
    [
        (b" a\t=  1\t ", "22", b" a\t=  22\t "),
        (b"a = 1 = 1", "1", b"a = 1"),
        (b"a = b # c", "d", b"a = d"),
        (b"a =", "1", b"a = 1"),
        (b"a=", "1", b"a=1"),
        (b"a = 1 ", "", b"a =  "),
        (b"a\t=a\r\n", "b", b"a\t=b\r\n"),
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


SPECIAL = ["_PF", "_", "SETENV_00", "Execute_07", "execute_0", "Start_Program_1", "Restart_Program_0", "Stop_Program_1"]
NO_DIRECTIVES = ["SETENV", "Execute", "a_PF", "rdisp/Execute_00", "Execute_00/x", "SETENV_x", "Autostart"]


@pytest.mark.parametrize("name", SPECIAL + NO_DIRECTIVES)
def test_directives_are_not_parameters(name):
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
    # a line below it belongs to the user: it stays where it is now, and is not a line that we added
    elsewhere = Profile(b"a = 1\nc = 3\n")
    moved = profile.changed({"c": elsewhere.text("c")}, MARKER)
    assert moved.data().decode("ascii") == ours + theirs + "\nc = 3\n"


def test_a_line_of_an_earlier_change_is_changed_in_place():
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
def test_what_is_too_large_for_a_profile_is_not_treated_as_one(data, words):
    with pytest.raises(HostError, match=words):
        Profile(data)
    assert Profile(data[: len(data) // 2]).data() == data[: len(data) // 2]


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
    mixed = draw(st.booleans())
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
    one_by_one = new
    for name in names:
        one_by_one = one_by_one.changed({name: None}, MARKER)
    assert one_by_one.data() == data
    assert new.changed(dict.fromkeys(names), MARKER).data() == data


@SETTINGS
@given(profiles(header=HEADER), st.lists(CHANGES, min_size=1, max_size=4))
@example((b"a = 1", []), [{"a": None}])
@example((b"\n\na = 1", []), [{"a": None, "ES/TABLE": "2"}])
@example((b"a = 1\nrdisp/vbname = 2", []), [{"a": None, "rdisp/vbname": None}])
@example((b"#\n a =\nES/TABLE =", []), [{"a": None}, {"a": None, "ES/TABLE": None, "x y": "1"}])
@example((b"#\nx y = 1\na = 2\n", []), [{"a": None}, {"x y": "3", "a": "1"}, {"x y": None}])
@example((b"#\n#\r\na = 2", []), [{"a": None}])
def test_several_calls_and_their_rollback(generated, calls):
    """The first text of a parameter is from the call that first touched it, as in a journal."""
    profile, journal = Profile(generated[0]), {}
    for changes in calls:
        for name in changes:
            journal.setdefault(name, profile.text(name))
        profile = after(profile, changes)
        assert {name: profile.value(name) for name in changes} == changes
    assert profile.changed(journal, MARKER).data() == generated[0]


RULE_WORDS = {
    SCHEDULER: "SCHED_OTHER, SCHED_RR or SCHED_FIFO",
    "rdisp/vb_dispatching": "0 or 1",
    "es/implementation": "std or map",
    "enque/table_size": "a number of KB, digits only",
    "rdisp/wp_no_vb": "a number not below 0",
}


def refused(parameters, presets=(), **more):
    with pytest.raises(InputError) as error:
        check(merge(presets, parameters), True, **more)
    return str(error.value)


WARNED = "Do not change this value unless instructed to do so by SAP"
REMARKS = {"update_local": [WARNED], "enqueue_table": ["ipc/shm_psize_34 = 0"]}


def test_the_presets_are_what_was_published():
    assert PRESETS == {
        "realtime_scheduler": {"rdisp/linux/os_scheduler": "SCHED_RR", "rdisp/linux/os_priority": "40"},
        "update_local": {
            "dynp/luw_id_format": "2",
            "rdisp/vb_dispatching": "0",
            "rdisp/vb_key_comp": "SYNR/WPNR/HOST/DATE/TIME/STMP",
            "rdisp/vbname": "$(rdisp/myname)",
        },
        "memory_std": {"es/implementation": "std"},
        "memory_map": {"es/implementation": "map"},
        "enqueue_table": {"enque/table_size": "640000"},
    }
    for name, parameters in PRESETS.items():
        usable, remarks = check(merge([name], {}), True)
        assert usable == parameters and set(parameters) <= set(KNOWN)
        assert [word in remark for word, remark in zip(REMARKS.get(name, ()), remarks)] == [True] * len(remarks)
    said = refused({}, ["memory_std", "enqueue_table", "memory_map"])
    assert "memory_std and memory_map set es/implementation differently" in said


def test_presets_compose_in_their_order_and_parameters_win():
    merged = merge(["enqueue_table", "realtime_scheduler"], {PRIORITY: 40, "rdisp/wp_no_btc": "8", "login/x": None})
    assert list(merged.items()) == [
        ("enque/table_size", "640000"),
        (SCHEDULER, "SCHED_RR"),
        (PRIORITY, "40"),
        ("rdisp/wp_no_btc", "8"),
        ("login/x", None),
    ]
    assert merge(["memory_std", "memory_std"], None) == {"es/implementation": "std"}
    assert merge(None, None) == {}
    merged.clear()
    assert PRESETS["enqueue_table"] == {"enque/table_size": "640000"}


@pytest.mark.parametrize(
    "values, words",
    [
        ([True, False, 1.0, 0.5, ["1"], {"a": "1"}], "write it in quotes, exactly as in the profile"),
        (["a\nb = 1", "a\x00", "a\tb", "\r", "a\x7f", "a\x85b"], "control character"),
        ([" a", "a ", " "], "begins or ends with a blank"),
    ],
)
@pytest.mark.parametrize("name", ["rdisp/x", "enque/table_size"])
def test_values_that_no_profile_can_hold_are_refused(values, words, name):
    for value in values:
        said = refused({name: value})
        assert name in said and words in said


@pytest.mark.parametrize("value", ["1", None])
def test_names_that_no_profile_can_hold_are_refused(value):
    for name in ("", "a b", "a=b", "#a", "a\nb", "a\n", "\ta", "a\x00", "k\xfcche", 1, None, True):
        assert "%r is not a parameter name" % (name,) in refused({name: value})
        with pytest.raises(InputError):
            check({name: value}, True)
    for name in ("_PF", "SETENV_00", "Execute_03", "Start_Program_01", "Stop_Program_00"):
        assert "%s is not a parameter but a directive" % name in refused({name: value})


@pytest.mark.parametrize(
    "value, text", [(0, "0"), (-1, "-1"), ("TRUE", "TRUE"), ("", ""), ("a b", "a b"), ("$(x) = # y", "$(x) = # y")]
)
@pytest.mark.parametrize("name", ["login/x", "icm[J2EE]/enable", "ipc/shm_psize_10", "SAPSYSTEM", "a.b-c:d*e"])
def test_values_become_text(name, value, text):
    assert check(merge([], {name: value}), True)[0] == {name: text}


@pytest.mark.parametrize(
    "name, good, bad",
    [
        (SCHEDULER, ["SCHED_OTHER", "SCHED_RR", "SCHED_FIFO"], ["RR", "sched_rr", "SCHED_RR,99", "SCHED_IDLE", ""]),
        ("rdisp/vb_dispatching", ["0", "1"], ["2", "TRUE", "01", ""]),
        ("es/implementation", ["std", "map"], ["STD", "flat", "stdmap"]),
        ("rdisp/wp_no_vb", ["0", "4", "120"], ["-1", "many", "1000", ""]),
        ("enque/table_size", ["1", "64000", "640000"], ["640 MB", "640000KB", "0", "-1", "064", "64,000", "6e5"]),
    ],
)
def test_values_of_parameters_that_are_known(name, good, bad):
    for value in good:
        usable, remarks = check(merge([], {name: value}), True, {"ipc/shm_psize_34": "0"})
        assert usable == {name: value}
        local = (name, value) == ("rdisp/vb_dispatching", "0")
        assert [WARNED in remark and "VBHDR, VBMOD and VBDATA" in remark for remark in remarks] == [True] * local
    for value in bad:
        said = refused({name: value})
        assert "'%s' is not a value of %s" % (value, name) in said
        assert said.endswith(": write " + RULE_WORDS[name])


def test_a_priority_needs_a_real_time_scheduler():
    for value in ("1", "9", "10", "99"):
        assert check(merge(["realtime_scheduler"], {PRIORITY: value}), True)[0][PRIORITY] == value
    for value in ("0", "100", "-5", "", "99.0", "high", "099"):
        assert "a number from 1 to 99" in refused({PRIORITY: value}, ["realtime_scheduler"])
    assert "rdisp/linux/os_scheduler is not set" in refused({PRIORITY: 50})
    assert "is SCHED_OTHER" in refused({PRIORITY: 50, SCHEDULER: "SCHED_OTHER"})
    assert "is SCHED_OTHER" in refused({PRIORITY: 50}, current={SCHEDULER: "SCHED_OTHER"})
    assert "is not set" in refused({PRIORITY: 50, SCHEDULER: None}, current={SCHEDULER: "SCHED_RR"})
    for scheduler in ("SCHED_RR", "SCHED_FIFO", "$(S)"):
        assert check({PRIORITY: "50"}, True, {SCHEDULER: scheduler}) == ({PRIORITY: "50"}, [])
        both = {PRIORITY: "50", SCHEDULER: scheduler}
        usable, remarks = check(both, True)
        assert usable == both and bool(remarks) == (scheduler == "$(S)")
    assert check({SCHEDULER: "SCHED_FIFO"}, True) == ({SCHEDULER: "SCHED_FIFO"}, [])
    assert check({SCHEDULER: "SCHED_RR", PRIORITY: None}, True, {PRIORITY: "9"})[1] == []


def test_a_priority_that_stays_without_meaning_is_worth_a_remark():
    for scheduler in ("SCHED_OTHER", None):
        usable, remarks = check({SCHEDULER: scheduler}, True, {PRIORITY: "9", SCHEDULER: "SCHED_RR"})
        assert usable == {SCHEDULER: scheduler}
        assert ["os_priority = 9 stays in the profile without effect" in remark for remark in remarks] == [True]
    assert check({SCHEDULER: None, PRIORITY: None}, True, {PRIORITY: "9", SCHEDULER: "SCHED_RR"})[1] == []
    assert check({"es/implementation": "std"}, True, {PRIORITY: "9"})[1] == []


def test_the_name_that_a_study_prints_is_refused_but_may_be_taken_out():
    said = refused({"enqueue/table_size": 640000})
    assert said.startswith("enqueue/table_size ") and "the SAP kernel's name is enque/table_size" in said
    gone = {"enqueue/table_size": None, "rdisp/vb_name": None, "login/x": None}
    usable, remarks = check(merge([], gone), True)
    assert usable == gone
    assert [remark.split(";")[1] for remark in remarks] == [
        " enque/table_size is another parameter and stays",
        " rdisp/vbname is another parameter and stays",
    ]


def test_misspelt_names_are_refused():
    for name, meant in (
        ("rdisp/linux/os_sheduler", SCHEDULER),
        ("rdisp/linux/os_prio", PRIORITY),
        ("rdisp/vb_name", "rdisp/vbname"),
        ("RDISP/VBNAME", "rdisp/vbname"),
        ("enque/tablesize", "enque/table_size"),
        ("dynp/luw_idformat", "dynp/luw_id_format"),
    ):
        assert refused({name: "1"}).endswith("did you mean %s?" % meant)
    for name in ("enq/server/schema_1", "rdisp/max_vb2_server", "rdisp/enqname", "rdisp/btcname", "rdisp/wp_no_vb3"):
        usable, remarks = check(merge([], {name: "1"}), True)
        assert usable == {name: "1"}
        assert [remark.startswith("%s is not a known parameter" % name) for remark in remarks] == [True]
    assert "(similar: rdisp/linux/os_scheduler)" in check({"rdisp/os_scheduler": "1"}, True)[1][0]
    assert "similar" not in check({"login/x": "1"}, True)[1][0]


def test_what_is_not_checked():
    for name in ("enque/table_size", "rdisp/vb_dispatching", SCHEDULER):
        usable, remarks = check({name: "$(MY_VALUE)"}, True, {"ipc/shm_psize_34": "0"})
        assert usable == {name: "$(MY_VALUE)"}
        assert remarks == ["%s is written as $(MY_VALUE), and its substituted value is not checked" % name]
    # no rule is published
    assert check(merge([], {"rdisp/vb_factor": "any text"}), True) == ({"rdisp/vb_factor": "any text"}, [])


def test_what_is_for_linux_only_is_left_out_elsewhere():
    parameters = merge(["realtime_scheduler", "memory_std", "enqueue_table"], {"rdisp/linux/other": 1})
    usable, remarks = check(parameters, False)
    assert usable == {"enque/table_size": "640000"}
    left_out = [remark.split(" ")[0] for remark in remarks if "only SAP kernels for Linux" in remark]
    assert left_out == [SCHEDULER, PRIORITY, "es/implementation", "rdisp/linux/other"]
    gone = {"es/implementation": None, PRIORITY: None}
    assert check(gone, False) == (gone, [])
    with pytest.raises(InputError):
        check({"es/implementation": "flat"}, False)
