# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What fails the demo."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "demo"))

import story as demo  # noqa: E402

FOUND = {"app1": ["rps_cpus:0", "abc  /etc/udev/rules.d/x"], "app2": ["rps_cpus:0"]}


REPORT = {"experiment": {"progress": {"complete": True}}}


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (FOUND, {**FOUND, "app2": ["rps_cpus:3"]}, "NOT as they were: app2 rps_cpus:0; app2 rps_cpus:3"),
        (FOUND, {"app1": FOUND["app1"]}, "NOT as they were: app2 rps_cpus:0"),
        (FOUND, {**FOUND, "app1": [*FOUND["app1"], "d  /y"]}, "NOT as they were: app1 d  /y"),
        ({}, {}, "nothing could be read"),
        ({"app1": []}, {"app1": []}, "nothing could be read"),
    ],
)
def test_a_host_that_is_not_as_it_was_fails_the_demo(first: demo.Found, last: demo.Found, told: str) -> None:
    assert demo.as_found(first, last).startswith(told)
    assert demo.problems(REPORT, first, last) == ["the hosts are not as they were"]
