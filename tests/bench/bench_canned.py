# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What verify and a site that changes nothing cost the controller, beside a play with one ansible.builtin.ping.

The hosts only answer (connection/canned.py): on a real site each one computes on its own CPU, and the controller is
what runs out. Their answer is that of this machine in check mode, with six tunings. Ansible's settings are the
defaults, but for 20 forks; each figure is the median over the rounds of a ratio within one round.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_site import FORKS, PLAYS, Ran, observed

ROUNDS = {40: 3, 100: 3, 1000: 1}
GOALS = {"verify": "<= 1.5", "site": "<= 1.6"}
VARIABLES = {
    "ansible_connection": "canned",
    "ansible_become": False,
    "ansible_python_interpreter": sys.executable,
    "zpower_tunings": ["rps", "cpu_polarization", "hiperdispatch", "smc_sysctls", "qeth", "system_base"],
    "rps_state": "off",
}


def play(folder: Path, name: str, count: int, *arguments: str) -> Ran:
    """Run a play on this many hosts."""
    playbook = str(folder / "ping.yml") if name == "ping" else f"zpower.sap_tuning.{name}"
    hosts = {f"app{number:04}": {} for number in range(count)}
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts, "vars": VARIABLES}}), "utf-8")
    (answers := folder / name).mkdir(exist_ok=True)
    program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
    results = f"zpower_results={folder / 'results'}"
    command = [program, "-i", str(folder / "hosts.yml"), "-f", str(FORKS), "-e", results, *arguments, playbook]
    environment = {
        **os.environ,
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_CONNECTION_PLUGINS": str(Path(__file__).with_name("connection")),
        "CANNED_ANSWERS": str(answers),
    }
    return observed(command, environment, memory=True)


def figures() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ping.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": PLAYS["ping"]}]))
        for each in ("ping", *GOALS):
            play(folder, each, 1, "--check")
        for count, rounds in ROUNDS.items():
            turns = [{each: play(folder, each, count) for each in ("ping", *GOALS)} for _turn in range(rounds)]
            yield from ratios(count, turns)


def ratios(count: int, turns: list[dict[str, Ran]]) -> Iterator[dict[str, Any]]:
    """CPU time and memory of the controller in each play over those of ping."""

    def over_ping(each: str, field: str) -> float:
        return round(statistics.median(getattr(turn[each], field) / getattr(turn["ping"], field) for turn in turns), 3)

    for each, goal in GOALS.items():
        name, unit = f"canned_{each}_{{}}_over_ping_{count}_hosts", "times a ping"
        yield {"name": name.format("cpu"), "value": over_ping(each, "cpu"), "unit": unit, "goal": goal}
        limit = "<= 1.45" if count == 100 else ""
        yield {"name": name.format("memory"), "value": over_ping(each, "tree_mb"), "unit": unit, "goal": limit}
