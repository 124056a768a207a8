# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a SAP profile of 10,000 lines costs: by itself, and in a module call beside a module that does nothing."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.profile import Profile, marker
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.writing import write

CHECKOUT = Path(__file__).resolve().parents[2]
LAB = CHECKOUT / "molecule" / "shared" / "lab"
NAME = "bench"
LINES = 10_000
CALLS = 5
REPEATS = 3
ONCE = ["once"]
PATH = "/var/lib/bench/PRD_D00_app1"


def figures() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        small, large = (
            statistics.median(changed(Path(folder) / "PRD_D00_app1", lines) for _repeat in range(9))
            for lines in (LINES // 10, LINES)
        )
    name = "profile_10000_lines"
    yield {"name": f"{name}_parse_plan_write", "value": round(large, 3), "unit": "s", "goal": "<= 0.3"}
    # what is read and written a line at a time grows with the lines, and no faster
    yield {"name": f"{name}_over_1000", "value": round(large / small, 1), "unit": "times", "goal": "<= 15"}
    changing, converged = over_empty()
    yield {"name": f"{name}_module_changing", "value": changing, "unit": "s over an empty module", "goal": "<= 1"}
    yield {"name": f"{name}_module_converged", "value": converged, "unit": "s over an empty module", "goal": "<= 1"}


def profile(lines: int) -> str:
    """A profile whose every tenth line is a comment."""
    return "".join(f"{'# ' if n % 10 == 0 else ''}rdisp/number_{n} = value of line {n}\n" for n in range(lines))


def changed(path: Path, lines: int) -> float:
    """Seconds to read a profile, change, add and take out a parameter, and put it in its place, durably."""
    path.write_text(profile(lines), encoding="utf-8")
    start = time.monotonic()
    old = Profile(path.read_bytes())
    wanted = {f"rdisp/number_{lines - 1}": "new", "enque/table_size": "640000", "rdisp/number_5": None}
    new = old.changed({name: old.wanted(name, value) for name, value in wanted.items()}, marker("2026-11-20", "bench"))
    write(Host(), str(path), old.data(), new.data())
    return time.monotonic() - start


def over_empty() -> tuple[float, float]:
    """Seconds that a call takes more than a ping, if it changes such a profile and if nothing is to change."""
    subprocess.run([LAB, "up", "--name", NAME, "--hosts", "1"], check=True, stdout=subprocess.DEVNULL)
    try:
        play({"ansible.builtin.file": {"path": os.path.dirname(PATH), "state": "directory", "mode": "0755"}}, ONCE, 1)
        play({"ansible.builtin.copy": {"content": profile(LINES), "dest": PATH, "mode": "0644"}}, ONCE, 1)
        ping = {"ansible.builtin.ping": {}}
        rounds = []
        for number in range(REPEATS):
            # in turn, so that whatever else the machine does meets all three
            values = [f"{number} {call}" for call in range(CALLS)]
            rounds.append((play(ping, values), play(call("{{ item }}"), values, 1), play(call(values[-1]), values)))
    finally:
        subprocess.run([LAB, "down", "--name", NAME], check=True, stdout=subprocess.DEVNULL)
    empty, changing, converged = (statistics.median(column) / CALLS for column in zip(*rounds, strict=True))
    return round(changing - empty, 3), round(converged - empty, 3)


def call(value: str) -> dict[str, Any]:
    """The task that wants this value in the last line of the profile."""
    return {"zpower.sap_tuning.sap_profile": {"profile": PATH, "parameters": {f"rdisp/number_{LINES - 1}": value}}}


def play(task: dict[str, Any], items: list[str], changed_tasks: int = 0) -> float:
    """Wall seconds of a playbook that runs a task on the host of the lab, once for each item."""
    content = [{"hosts": "app1", "gather_facts": False, "tasks": [{**task, "loop": items}]}]
    program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as playbook:
        json.dump(content, playbook)
        playbook.flush()
        command = [program, "-i", str(CHECKOUT / "inventories" / "lab"), playbook.name]
        environment = {**os.environ, "LAB_NAME": NAME}
        start = time.monotonic()
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        seconds = time.monotonic() - start
    if f"changed={changed_tasks} " not in done.stdout:
        raise RuntimeError(f"{changed_tasks} changes were expected: {done.stdout}")
    return seconds
