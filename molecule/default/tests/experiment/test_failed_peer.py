# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host fails, and the other one measures against it: nothing is measured against a level that stayed behind."""

import json
import os
from pathlib import Path

RESULTS = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results")
LEVELS = {"off": {"rps_state": "off", "rps_cpus": "all"}, "first": {"rps_state": "present", "rps_cpus": "0"}}
PLAY = {
    "zpower_results": str(RESULTS),
    "experiment_factors": [{"name": "rps", "levels": [{"name": name, "vars": LEVELS[name]} for name in LEVELS]}],
    "experiment_rounds": 2,
    "measure_rounds": 2,
    "measure_tool": "pingpong",
    "measure_runs": 2,
    "measure_warmup": 0,
    "measure_bytes": [1000],
    "measure_run_seconds": 0.1,
    "measure_idle_seconds": 0.1,
}
# the host that fails: what is played, at which of its steps, how much the other one has of it, and what is said
CASES = {
    "app1": ("experiment", ["off-1", "first-1"], 0, "was not at level"),
    "app2": ("before_after", ["before-1"], 1, "did not come to the state after of round 1"),
}


def test_nothing_is_measured_against_a_host_that_stayed_behind(name, play):
    playbook, steps, measured, sentence = CASES[name]
    change = f"behind-{name}"
    other = next(host for host in CASES if host != name)
    for step in steps:
        # where its record is to lie, a folder lies
        RESULTS.joinpath(change, name, f"{step}-pingpong-1000B-{other}.json").mkdir(parents=True)
    status, text, _changed = play(playbook, "-e", json.dumps({**PLAY, "zpower_change": change}))
    assert status != 0
    assert f"{name}, which {other} measures against, {sentence}" in text, text
    counted = [path.name for path in RESULTS.joinpath(change, other).glob("tunings-*")]
    if playbook == "before_after":
        counted = [path.name for path in RESULTS.joinpath(change, other).glob(f"*-pingpong-1000B-{name}.json")]
    assert len(counted) == measured, counted
    status, text, _changed = play("verify")
    assert status == 0, text
