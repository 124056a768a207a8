# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that 0.9.0 has written are continued: a killed experiment, a change of two states, a calibration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from actions import run_action
from ansible_collections.zpower.sap_tuning.plugins.action import before_after, calibrate, experiment
from experiments import HOSTS, RPS

FILES = Path(__file__).resolve().parents[2] / "fixtures" / "sessions" / "version-0.9.0.json"
FACTOR = {**RPS, "levels": RPS["levels"][:2]}


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> Path:
    for name, document in json.loads(FILES.read_text()).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
    return tmp_path


def test_a_killed_experiment_is_resumed_and_ended(results: Path) -> None:
    """It was killed in the second step, which app1 had finished and app2 had not."""
    play = {"ansible_play_batch": [*HOSTS], "hostvars": {host: {} for host in HOSTS}}
    given: dict[str, Any] = {"change": "rps-levels", "results": str(results), "factors": [FACTOR]}
    found = run_action(experiment, {**given, "rounds": 6, "max_rounds": 8}, variables=play)
    assert found["resumed"] and found["msg"] == "1 of at most 16 steps are done"
    assert [(step["label"], step["hosts"]) for step in found["steps"][:2]] == [
        ("all 2", ["app2"]),
        ("off 1", ["app1", "app2"]),
    ]
    assert [(part["rounds"], part["end"]) for part in found["parts"]] == [(6, 11), (8, 15)]
    assert len(list((results / "rps-levels").glob("unfinished-2-app2-*"))) == 2
    run_action(experiment, {**given, "event": "ended"}, variables=play)
    first, second = json.loads((results / "rps-levels" / "experiment.json").read_text())["sessions"]
    assert (first["ended"], second["set_aside"], second["failures"]) == (None, 2, {})
    assert second["ended"] is not None


def test_a_change_of_two_states_is_continued(results: Path) -> None:
    common = {"measures": True, "rounds": 6, "most": 16, "minutes": 0.0, "runs": 5, "calibration": "none"}
    peers = {"app1": ["app2"], "app2": ["app1"]}
    hosts: dict[str, Any] = {
        host: {"__measure_ready": {**common, "peers": peers[host], "workloads": [{"name": "niping"}]}} for host in HOSTS
    }
    given = {"event": "begun", "change": "rps-2026-11", "results": str(results), "continue": True}
    play = {"ansible_play_batch": [*HOSTS], "hostvars": hosts}
    found = run_action(before_after, given, variables=play)
    assert (found["session"], found["done"], found["last"], found["most"]) == (2, 1, 1, 16)


def test_a_calibration_is_continued(results: Path) -> None:
    found = run_action(calibrate, {"event": "planned", "results": str(results), "rounds": 8})
    assert (found["first_round"], found["session"]) == (3, 2)
