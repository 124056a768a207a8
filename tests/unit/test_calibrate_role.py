# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook calibrate on this machine: its rounds, its second run, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playing import LOCAL, ansible_playbook

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


def calibrate(folder: Path, *arguments: str, **variables: Any) -> tuple[bool, str]:
    command = ["-i", "app1,", "zpower.sap_tuning.calibrate", "-e", json.dumps({**VARIABLES, **variables})]
    done = ansible_playbook(*command, *arguments, cwd=folder)
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.gate
def test_check_mode_measures_and_writes_nothing(tmp_path: Path) -> None:
    passed, text = calibrate(tmp_path, "--check")
    assert passed, text
    assert "there is no record of the calibration calibration below results" in text
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_measured_is_refused(tmp_path: Path) -> None:
    passed, text = calibrate(tmp_path, measure_workloads=["niping"])
    assert not passed
    assert "no host of this play has a measure_peer, so there is nothing to measure" in text
    assert not list(tmp_path.glob("results/*/*"))
