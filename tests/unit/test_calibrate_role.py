# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook calibrate on this machine: its rounds, its second run, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playing import LOCAL, play

VARIABLES: dict[str, Any] = {
    **LOCAL,
    "measure_workloads": ["command"],
    "measure_commands": [{"name": "sleep", "argv": ["/bin/sleep", "0.02"]}],
    "measure_runs": 2,
    "measure_warmup": 0,
    "measure_run_seconds": 0.1,
    "measure_idle_seconds": 0,
    "measure_control": False,
    "calibrate_rounds": 8,
}


@pytest.mark.gate
def test_check_mode_measures_and_writes_nothing(tmp_path: Path) -> None:
    code, text = play(tmp_path, {"app1": VARIABLES}, "calibrate", "--check")
    assert code == 0, text
    assert "there is no record of the calibration calibration below results" in text
    assert {path.name for path in tmp_path.iterdir()} == {"hosts.yml", "play.yml"}


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    code, text = play(tmp_path, {"app1": {**VARIABLES, "measure_workloads": ["niping"]}}, "calibrate")
    assert code == 2
    assert "no host of this play has a measure_peer, so there is nothing to measure" in text
    assert not list(tmp_path.glob("results/*/*"))
