# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock table of the stand-in for SAP's enqueue servers: its decisions about locks."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "standins" / "sap"))
import lock_table  # noqa: E402

MANY = 1000


@pytest.mark.parametrize(
    "requests, outcomes",
    [
        ("E-a E-a", "granted granted"),
        ("E-a E-b S-b O-b X-b", "granted held held held held"),
        ("X-a X-a E-a S-a O-a S-b", "granted held held held held held"),
        ("S-a S-b O-b E-a E-b X-a", "granted granted granted held held held"),
        ("S-a E-a S-b", "granted granted held"),
        ("E-a X-a", "granted held"),
        ("E-a S-a S-b", "granted granted held"),
        ("O-a O-b E-a E-b O-b", "granted granted granted held held"),
        ("O-a S-b E-a", "granted granted held"),
        ("O-a E-b", "granted held"),
    ],
)
def test_who_gets_a_lock(requests, outcomes):
    table = lock_table.Table(MANY)
    got = [table.lock(*(request.split("-") + ["VBAK"])) for request in requests.split()]
    assert " ".join(got) == outcomes


def test_the_first_who_changes_takes_the_optimistic_locks_of_the_others():
    table = lock_table.Table(MANY)
    for owner in "abc":
        table.lock("O", owner, "material")
    assert table.count == 3
    assert table.lock("E", "b", "material") == "granted"
    assert table.count == 1 and table.held("b", "material") == ("E", 1)
    assert table.held("a", "material") is None and table.unlock("a", "material") is False


def test_a_lock_is_free_when_it_was_given_back_as_often_as_it_was_taken():
    table = lock_table.Table(MANY)
    for _time in range(3):
        table.lock("E", "a", "order")
    assert table.held("a", "order") == ("E", 3)
    assert [table.unlock("a", "order") for _time in range(4)] == [True, True, True, False]
    assert table.count == 0 and table.lock("X", "b", "order") == "granted"


def test_a_full_table_says_so_and_keeps_what_it_has():
    table = lock_table.Table(2)
    assert [table.lock("S", owner, "x") for owner in "abc"] == ["granted", "granted", "full"]
    assert table.lock("E", "a", "y") == "full" and table.lock("S", "a", "x") == "granted"
    table.drop("a", "x")
    assert table.lock("E", "a", "y") == "granted" and table.count == 2
