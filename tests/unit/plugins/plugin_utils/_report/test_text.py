# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers, words and untrusted text of the report."""

from __future__ import annotations

import math

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages import text
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import view
from report_samples import sample


def test_number() -> None:
    unknown: list[object] = [None, math.nan, True, "51"]
    assert [text.number(value) for value in unknown] == ["–"] * 4
    shown = {0: "0", 51.234: "51.23", 0.01234: "0.0123", 123.456: "123.5", 38461.5: "38,462", 7.0e7: "70.00 M"}
    shown |= {0.0: "0", 1.21e9: "1,210.0 M", -5.5: "−5.50", 1234: "1,234"}
    assert {value: text.number(value) for value in shown} == shown


def test_gain() -> None:
    shown = {1.043: "+4.3 %", 0.98: "−2.0 %", 1.0001: "0.0 %", None: "–", math.inf: "–"}
    assert {ratio: text.gain(ratio) for ratio in shown} == shown


def test_one_line_has_single_blanks() -> None:
    assert text.one_line(" a\n\n b\t c  d ") == "a b c d"


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("µs → ok", "µs → ok"),
        ("a\x1b[31mb\x00\x7f\x85", "a[31mb"),
        ("\u202e\u2066\u200b\ufeff\u00ad", "[U+202E][U+2066][U+200B][U+FEFF][U+00AD]"),
        ("\u2028", "[U+2028]"),
        ("\ud800\ufffe\U0001fffe", "\ufffd" * 3),
        ("a\nb\tc\u00a0d", "a\nb\tc\u00a0d"),
        (7, "7"),
    ],
)
def test_clean(raw: object, cleaned: str) -> None:
    assert text.clean(raw) == cleaned


def test_opaque_shows_any_json_in_a_fixed_order() -> None:
    assert text.opaque({"rx-10": "f", "rx-2": None, "on": True, "list": [1, {"a": 2}]}) == [
        "list = 1, a = 2",
        "on = yes",
        "rx-2 = –",
        "rx-10 = f",
    ]
    assert text.opaque(None) == text.opaque({}) == ["–"]


def test_a_conflict_is_a_sentence() -> None:
    conflict = {"what": "a rule", "file": "/etc/x", "line": 3, "wins": "yes"}
    assert text.conflict_words(conflict) == "a rule (/etc/x, line 3), wins: yes"
    assert text.conflict_words(dict(conflict, effect="hides CPUs")) == "a rule (/etc/x, line 3): hides CPUs"
    assert text.conflict_words({"what": "a rule"}) == "a rule"
    assert text.conflict_words({"file": "/etc/x"}) == "file = /etc/x"


def test_names_are_sorted_as_people_count() -> None:
    names = ["app10", "app2", "app1", "app02", "x" + "9" * 5000, "²"]
    assert sorted(names, key=text.natural)[:4] == ["app1", "app02", "app2", "app10"]


def test_moments_and_probabilities() -> None:
    assert text.moment("2026-11-20T10:00:00.123456Z") == "2026-11-20 10:00:00 UTC"
    assert text.moment("yesterday") == "yesterday"
    assert text.moment(None) == "–"
    assert [text.probability(p) for p in (0.0042, 0.0001, None)] == ["0.004", "< 0.001", "–"]


def test_an_unknown_verdict_is_not_a_success() -> None:
    assert text.verdict_of({"verdict": "SPLENDID"}).word == "NO DATA"
    assert text.verdict_word({"verdict": "REGRESSED", "warnings": True}) == "REGRESSED"
    assert text.verdict_word({"verdict": "IMPROVED", "warnings": ["a list of the report"]}) == "IMPROVED"


def test_controls_stand_below_the_last_pair_of_their_host() -> None:
    items = [
        {**sample("improved")["comparisons"][0], "host": host, "peer": peer, "bytes": size, "control": not size}
        for host, peer, size in [
            ("a", "loopback", 0),
            ("a", "c", 10),
            ("a", "b", 10),
            ("a", "b", 2),
            ("z", "loopback", 0),
        ]
    ]
    found = [(pair, [(i["peer"], i["bytes"]) for i in members]) for pair, members in view.by_pair(items)]
    assert found == [
        ("a → b", [("b", 2), ("b", 10)]),
        ("a → c", [("c", 10), ("loopback", 0)]),
        ("z → loopback", [("loopback", 0)]),
    ]


@pytest.mark.parametrize(
    ("told", "first", "rest"),
    [
        ("All 8 hosts are confirmed.", "All 8 hosts are confirmed.", ""),
        (f"{'x' * 100}; {'y' * 50}.", f"{'x' * 100};", f"{'y' * 50}."),
        (f"Stopped: {'word ' * 40}end.", "Stopped:", f"{'word ' * 40}end."),
        (f"{'word ' * 40}end.", ("word " * 25).strip(), f"{'word ' * 15}end."),
        ("x" * 300, "x" * 128, "x" * 172),
        ("\u202e" * 40, "[U+202E]" * 16, "[U+202E]" * 24),
    ],
)
def test_a_headline_has_at_most_two_lines_and_loses_nothing(told: str, first: str, rest: str) -> None:
    assert text.headline(told) == (first, rest)
    assert len(first) <= text.MOST_OF_HEADLINE
