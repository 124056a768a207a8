# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock table of the stand-in for SAP's enqueue servers: who gets a lock."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "standins" / "sap"))
import lock_table  # noqa: E402


@pytest.mark.parametrize(
    "requests, outcomes",
    [
        ("E-a E-a", "granted granted"),
        ("E-a E-b S-b O-b X-b", "granted held held held held"),
        ("X-a X-a E-a S-a O-a S-b", "granted held held held held held"),
        ("S-a S-b O-b E-a E-b X-a", "granted granted granted held held held"),
        ("E-a S-a S-b", "granted granted held"),
        ("O-a O-b E-a E-b O-b", "granted granted granted held held"),
    ],
)
def test_who_gets_a_lock(requests, outcomes):
    table = lock_table.Table(1000)
    got = [table.lock(*request.split("-"), "VBAK") for request in requests.split()]
    assert " ".join(got) == outcomes


def test_a_lock_is_given_back_as_often_as_it_was_taken_and_a_full_table_keeps_what_it_has():
    table = lock_table.Table(2)
    assert [table.lock("E", "a", "order") for _time in range(3)] == ["granted"] * 3
    assert [table.unlock("a", "order") for _time in range(4)] == [True, True, True, False]
    assert [table.lock("S", owner, "x") for owner in "abc"] == ["granted", "granted", "full"]
    table.drop("a", "x")
    assert table.lock("E", "a", "y") == "granted" and table.count == 2
