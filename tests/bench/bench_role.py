# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the site playbook costs on hosts that are converged already, beside a play that only pings them."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
LAB = CHECKOUT / "molecule" / "shared" / "lab"
NAME = "bench"
HOSTS = 10
REPEATS = 3
PING = """
- name: Ping
  hosts: all
  gather_facts: false
  tasks:
    - name: Ping
      ansible.builtin.ping:
"""


def figures() -> Iterator[dict[str, Any]]:
    subprocess.run([LAB, "up", "--name", NAME, "--hosts", str(HOSTS)], check=True, stdout=subprocess.DEVNULL)
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as ping:
            ping.write(PING)
            ping.flush()
            site = "zpower.sap_tuning.site"
            play(site)  # converges
            calls = play(site, "-vvv")[1].count("Using module file")
            # in turn, so that whatever else the machine does meets both
            pairs = [(play(site)[0], play(ping.name)[0]) for _repeat in range(REPEATS)]
    finally:
        subprocess.run([LAB, "down", "--name", NAME], check=True, stdout=subprocess.DEVNULL)
    converged, pinged = (statistics.median(column) for column in zip(*pairs, strict=True))
    yield {"name": "role_rps_module_calls", "value": calls / HOSTS, "unit": "calls per host", "goal": "== 1"}
    yield {"name": "role_rps_time", "value": round(converged / HOSTS, 3), "unit": "s per host", "goal": ""}
    yield {"name": "role_rps_over_ping", "value": round(converged / pinged, 2), "unit": "times a ping", "goal": "<= 2"}


def play(playbook: str, *arguments: str) -> tuple[float, str]:
    """Wall seconds and output of one run of a playbook on all hosts of the lab."""
    program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
    command = [program, "-i", str(CHECKOUT / "inventories" / "lab"), "-f", str(HOSTS), *arguments, playbook]
    start = time.monotonic()
    done = subprocess.run(command, env={**os.environ, "LAB_NAME": NAME}, check=True, capture_output=True, text=True)
    return time.monotonic() - start, done.stdout
