# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host fails while the other one measures against it: nothing is measured against a host at an old level."""

import json
from pathlib import Path

# the host that fails: playbook, steps that fail, number of steps of the other host, and the message
CASES = {
    "app1": ("experiment", ["off-1", "first-1"], 0, "was not in the state"),
    # its order, drawn from the name of the change, begins with after, before, before
    "app2": ("before_after", ["before-1"], 2, "was not in the state before in round 2"),
}


def test_nothing_is_measured_against_a_host_that_stayed_behind(name, play, short):
    results = Path(short["zpower_results"])
    playbook, steps, measured, sentence = CASES[name]
    change = f"behind-{name}"
    other = next(host for host in CASES if host != name)
    for step in steps:
        # a folder in the place of the record
        results.joinpath(change, name, f"{step}-pingpong-1000B-{other}.json").mkdir(parents=True)
    status, text, _changed = play(playbook, "-e", json.dumps({**short, "measure_rounds": 2, "zpower_change": change}))
    assert status != 0
    assert f"{name}, which {other} measures against, {sentence}" in text, text
    counted = [path.name for path in results.joinpath(change, other).glob("tunings-*")]
    if playbook == "before_after":
        counted = [path.name for path in results.joinpath(change, other).glob(f"*-pingpong-1000B-{name}.json")]
    assert len(counted) == measured, counted
    status, text, _changed = play("verify")
    assert status == 0, text
