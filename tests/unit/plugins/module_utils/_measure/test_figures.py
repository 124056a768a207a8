# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures in the output of any program: pointers, patterns, and outputs that are meant to hurt."""

import json

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import figures

# RFC 6901, section 5
DOCUMENT = {"foo": ["bar", 2.5], "": 0, "a/b": 1, "m~n": 8, 'k"l': 6, "deep": {"list": [{"rate": "12.5"}, True, None]}}


def figure(name="rate", pointer=None, pattern=None, output="stdout"):
    return {"name": name, "unit": "1/s", "better": "higher", "pointer": pointer, "pattern": pattern, "output": output}


@pytest.mark.parametrize(
    "pointer, value",
    [("/foo/1", 2.5), ("/", 0), ("/a~1b", 1), ("/m~0n", 8), ('/k"l', 6), ("/deep/list/0/rate", 12.5)],
)
def test_a_pointer_finds_its_number(pointer, value):
    assert figures.by_pointer(json.dumps(DOCUMENT), pointer) == value


@pytest.mark.parametrize(
    "document, pointer, words",
    [
        (DOCUMENT, "", '{"foo": .* is no number'),
        (DOCUMENT, "/foo/0", '"bar" is no number from 0'),
        (DOCUMENT, "/foo/2", "the output has nothing at /foo/2"),
        (DOCUMENT, "/foo/01", "nothing at /foo/01"),
        (DOCUMENT, "/foo/-1", "nothing at /foo/-1"),
        (DOCUMENT, "/foo/x", "nothing at /foo/x"),
        (DOCUMENT, "/bar", "nothing at /bar"),
        (DOCUMENT, "/a~1b/c", "nothing at"),
        (DOCUMENT, "/deep/list/1", "true is no number from 0"),
        (DOCUMENT, "/deep/list/2", "null is no number from 0"),
        ("[NaN]", "/0", "is no number from 0"),
        ("[Infinity]", "/0", "is no number from 0"),
        ("[1e999]", "/0", "is no number from 0"),
        ("[-1]", "/0", "is no number from 0"),
        ("[1%s]" % ("0" * 30), "/0", "is no number from 0"),
        ("", "/rate", "the output is no JSON document"),
        ("rate: 5", "/rate", "the output is no JSON document"),
        ('{"rate": 5', "/rate", "the output is no JSON document"),
        ('{"rate": 5} 6', "/rate", "the output is no JSON document"),
        ("[" * 100000, "/rate", "the output is no JSON document"),
        ("\0", "/rate", "the output is no JSON document"),
    ],
)
def test_a_pointer_that_finds_none(document, pointer, words):
    with pytest.raises(MeasureError, match=words):
        figures.by_pointer(json.dumps(document) if document is DOCUMENT else document, pointer)


@pytest.mark.parametrize(
    "text, value",
    [
        ("Time: 0.890", 0.89),
        ("Time: 1\nTime: 2.50\n", 2.5),  # the last match
        ("no Time: 1\nTime: 3e3", 3000),
        ("Time: .5", 0.5),
    ],
)
def test_a_pattern_finds_the_number_of_its_last_match(text, value):
    assert figures.by_pattern(text, r"^Time: (?P<value>\S+)$") == value


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "the output has no match of .*, it began: nothing was printed"),
        ("Took: 1", "no match of .*, it began: Took: 1"),
        ("Time: 1,200", '"1,200" is no number from 0'),
        ("Time: nan", '"nan" is no number'),
        ("Time: \u0661", "is no number"),  # a digit, but of another script
        ("Time: -3", '"-3" is no number from 0'),
    ],
)
def test_a_pattern_that_finds_none(text, words):
    with pytest.raises(MeasureError, match=words):
        figures.by_pattern(text, r"^Time: (?P<value>\S+)$")
    # a group that took no part
    with pytest.raises(MeasureError, match="no match"):
        figures.by_pattern("x", "x(?P<value>y)?")


def test_figures_of_both_outputs():
    asked = [figure("a", pointer="/a"), figure("b", pattern=r"b=(?P<value>\d+)", output="stderr")]
    assert figures.read(asked, {"stdout": '{"a": 1}', "stderr": "b=2"}) == {"a": 1, "b": 2}
    assert figures.read([], {}) == {}
    with pytest.raises(MeasureError, match="^figure rate: the output has nothing at /rate$"):
        figures.read([figure(pointer="/rate")], {"stdout": "{}", "stderr": ""})
    # a whole number stays one
    assert figures.number("1200") == 1200 and isinstance(figures.number("1200"), int)
    assert figures.number(1e-9) == 1e-9


@pytest.mark.gate
def test_a_search_that_never_ends_is_ended():
    asked = [figure(pattern=r"^(a|aa)+(?P<value>\d)$")]
    with pytest.raises(MeasureError, match="the figures were not found within 1 s: simplify the pattern"):
        figures.read(asked, {"stdout": "a" * 5000, "stderr": ""}, seconds=1)


@pytest.mark.parametrize(
    "wrong, words",
    [
        (figure(), "figure rate takes either pointer or pattern"),
        (figure(pointer="/x", pattern="(?P<value>x)"), "takes either pointer or pattern"),
        (figure(pointer="x/y"), "the pointer of figure rate is x/y; a JSON pointer begins with /"),
        (figure(pattern="(?P<value>"), "the pattern of figure rate is no regular expression"),
        (figure(pattern=r"Time: (\d+)"), r"the pattern of figure rate has no group value: put the number into \(\?P<"),
    ],
)
def test_a_figure_that_cannot_be_found(wrong, words):
    with pytest.raises(MeasureError, match=words):
        figures.check(wrong)
    for right in (figure(pointer=""), figure(pointer="/a/b"), figure(pattern=r"(?i)time (?P<value>\d+)")):
        figures.check(right)
