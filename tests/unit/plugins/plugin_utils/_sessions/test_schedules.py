# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of before_after: who shares an order, the order, the looks, and the plan in words."""

from __future__ import annotations

from collections import Counter

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._sessions import schedules
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import looks


def order(seed: str = "c1 app1", most: int = 16, done: int = 0, last: int = 0) -> list[tuple[str, int]]:
    return [(step["phase"], step["round"]) for step in schedules.steps("alternate", seed, most, done, last)]


@pytest.mark.parametrize(
    ("peers", "groups"),
    [
        ({"app1": ["db1"], "app2": ["db1"]}, {"app1": "app1", "app2": "app2"}),
        ({"app1": ["db1"], "app2": ["db1"], "db1": []}, dict.fromkeys(["app1", "app2", "db1"], "app1 app2 db1")),
        (
            {"d": ["c"], "c": ["b"], "b": ["a"], "a": [], "z": ["y"], "y": ["z"]},
            {**dict.fromkeys("abcd", "a b c d"), **dict.fromkeys("yz", "y z")},
        ),
        # joined by a host that comes later
        ({"a": [], "b": [], "c": ["a", "b"]}, dict.fromkeys("abc", "a b c")),
    ],
)
def test_hosts_that_measure_each_other_share_an_order(peers: dict[str, list[str]], groups: dict[str, str]) -> None:
    assert {host: " ".join(group) for host, group in schedules.groups(peers, peers).items()} == groups


def test_a_peer_that_is_never_changed_joins_nothing() -> None:
    peers, both = {"app1": ["db1"], "app2": ["db1"], "db1": ["app1"]}, ("app1", "db1")
    assert schedules.groups(peers, ["app1", "app2"]) == {"app1": both, "db1": both, "app2": ("app2",)}


def test_the_order_follows_the_seed_and_is_balanced_at_every_look() -> None:
    steps = order()
    assert [phase for phase, _round in steps] == looks.order("c1 app1", 16)
    assert order() == steps and order("c1 app2") != steps and order(most=32)[:32] == steps
    for look in (6, 8, 10, 12, 16):
        assert Counter(phase for phase, _round in steps[: 2 * look]) == {"before": look, "after": look}
    for phase in ("before", "after"):
        assert [number for name, number in steps if name == phase] == list(range(1, 17))


@pytest.mark.parametrize(("done", "most", "sizes"), [(8, 12, [2, 2]), (7, 12, [1, 2, 2]), (16, 32, [8, 8])])
def test_another_session_goes_on_with_balanced_blocks(done: int, most: int, sizes: list[int]) -> None:
    steps = order("c1 app1 session 2", most, done, last=done + 1)
    at = 0
    for size in sizes:
        assert Counter(phase for phase, _round in steps[at : at + 2 * size]) == {"before": size, "after": size}
        at += 2 * size
    assert at == len(steps)
    # one round of a state was begun and has no partner: its number is not used again
    assert min(number for _phase, number in steps) == done + 2


@pytest.mark.parametrize(
    ("design", "first", "most", "done", "ends"),
    [
        ("alternate", 6, 16, 0, [6, 8, 10, 12, 16]),
        ("alternate", 8, 16, 0, [8, 10, 12, 16]),
        ("alternate", 7, 9, 0, [8, 9]),
        ("alternate", 6, 6, 0, [6]),
        ("alternate", 2, 2, 0, [2]),
        ("alternate", 5, 5, 0, [5]),
        ("alternate", 2, 8, 0, [6, 8]),
        ("alternate", 20, 20, 0, [20]),
        ("alternate", 6, 12, 8, [10, 12]),
        ("alternate", 6, 40, 32, [40]),
        ("blocks", 6, 6, 0, [6]),
    ],
)
def test_the_looks(design: str, first: int, most: int, done: int, ends: list[int]) -> None:
    assert schedules.ends(design, first, most, done) == ends


def test_more_rounds_are_those_of_the_next_two_looks() -> None:
    assert [schedules.most_rounds(16, done, 16) for done in (0, 6, 15, 16, 17, 24)] == [16, 16, 16, 32, 32, 32]
    assert schedules.most_rounds(8, 8, 8) == 12


def test_more_than_32_rounds_must_be_declared_before_the_first_one() -> None:
    for most in (16, 48, 64):
        with pytest.raises(ValueError, match="has 32 rounds of each state and cannot get .*: its last look is at 32"):
            schedules.most_rounds(most, 32, 16)
    assert schedules.most_rounds(64, 32, 64) == 64
    with pytest.raises(ValueError, match="cannot get 80: its last look is at 64"):
        schedules.most_rounds(80, 64, 64)
    assert looks.look_at(64) == looks.LOOKS[-1]
    assert looks.next_look(32) is None


def test_the_plan_in_words() -> None:
    lines = schedules.described([6, 8, 10], 1, {("app1", "app2"): schedules.steps("alternate", "x", 10, 0, 0)})
    assert lines[0].startswith("At most 10 rounds of each state") and "ends after 6 or 8 if" in lines[0]
    names = looks.order("x", 10)[:12]
    assert lines[1:] == [f"app1, app2: {', '.join(names)} and 8 more"]
    orders = {(f"app{number}",): schedules.steps("alternate", str(number), 2, 0, 0) for number in range(7)}
    lines = schedules.described([2], 1, orders)
    assert lines[0] == "2 rounds of each state." and len(lines) == 7
    assert lines[-1].startswith("2 more hosts or groups of hosts")
    (line,) = schedules.described([10, 12], 2, {})
    assert "12 rounds of each state, with those of the earlier sessions" in line and "ends after 10 if" in line


def test_the_duration_in_words() -> None:
    assert schedules.duration_of([60.0], 1, 0).startswith("About 60 s for 1 host")
    said = schedules.duration_of([600.0, 9000.0], 2, 30.0)
    assert said.startswith("About 10 min to the first look and 2 h 30 min at most for 2 hosts")
    assert "not longer than 30 minutes (measure_max_minutes)" in said


def test_the_progress_counts_to_the_next_look() -> None:
    assert schedules.describe(0, 32, 0.0, 12) == "round 1 of at most 32"
    assert schedules.describe(2, 32, 60.0, 12) == "round 3 of at most 32, about 5 min to the next look"
    assert schedules.describe(30, 32, 60.0, 32) == "round 31 of 32, about 4 s left"
