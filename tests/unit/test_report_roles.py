# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook report says where the change is misspelt. A change may be called by a number."""

from __future__ import annotations

from pathlib import Path

from playing import LOCAL, play


def test_a_misspelt_change_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "results" / "4711").mkdir(parents=True)
    code, text = play(tmp_path, {"app1": LOCAL}, "report", variables={"zpower_change": 4712})
    assert code == 2
    assert "there is no measurement record of change 4712" in text
    assert "is 4711 meant?; results holds 1 other change: 4711" in text
    assert not (tmp_path / "results" / "4712").exists()
