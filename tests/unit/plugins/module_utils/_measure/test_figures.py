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
    "pointer, words",
    [
        ("", '{"foo": .* is no number'),
        ("/foo/0", '"bar" is no number from 0'),
        ("/foo/2", "the output has nothing at /foo/2"),
        ("/foo/01", "nothing at /foo/01"),
        ("/foo/-1", "nothing at /foo/-1"),
        ("/foo/x", "nothing at /foo/x"),
        ("/bar", "nothing at /bar"),
        ("/a~1b/c", "nothing at"),
        ("/deep/list/1", "true is no number from 0"),
        ("/deep/list/2", "null is no number from 0"),
    ],
)
def test_a_pointer_that_finds_none(pointer, words):
    with pytest.raises(MeasureError, match=words):
        figures.by_pointer(json.dumps(DOCUMENT), pointer)


@pytest.mark.parametrize("text", ["[NaN]", "[Infinity]", "[1e999]", "[-1]", "[1%s]" % ("0" * 30)])
def test_numbers_that_are_no_figures(text):
    with pytest.raises(MeasureError, match="is no number from 0"):
        figures.by_pointer(text, "/0")


@pytest.mark.parametrize("text", ["", "rate: 5", '{"rate": 5', '{"rate": 5} 6', "[" * 100000, "\0"])
def test_text_that_is_no_document(text):
    with pytest.raises(MeasureError, match="the output is no JSON document"):
        figures.by_pointer(text, "/rate")


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


def test_a_whole_number_stays_one():
    assert figures.number("1200") == 1200 and isinstance(figures.number("1200"), int)
    assert figures.number(1e-9) == 1e-9


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


def test_a_group_that_took_no_part_is_no_figure():
    with pytest.raises(MeasureError, match="no match"):
        figures.by_pattern("x", "x(?P<value>y)?")


def test_figures_of_both_outputs():
    asked = [figure("a", pointer="/a"), figure("b", pattern=r"b=(?P<value>\d+)", output="stderr")]
    assert figures.read(asked, {"stdout": '{"a": 1}', "stderr": "b=2"}) == {"a": 1, "b": 2}
    assert figures.read([], {}) == {}


def test_a_missing_figure_is_named():
    with pytest.raises(MeasureError, match="^figure rate: the output has nothing at /rate$"):
        figures.read([figure(pointer="/rate")], {"stdout": "{}", "stderr": ""})


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


def test_figures_that_can():
    figures.check(figure(pointer=""))
    figures.check(figure(pointer="/a/b"))
    figures.check(figure(pattern=r"(?i)time (?P<value>\d+)"))
