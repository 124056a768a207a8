# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site costs the controller alone: made-up hosts, whose answer is that of this machine, given at once.

No connection is opened and no module runs, so the figures hold neither ssh nor hosts. One line of JSON per run: wall
time, CPU time and memory of the controller, and the sizes of the evidence.

    PYTHONPATH=tests/bench .venv/bin/python tests/bench/many_hosts.py [HOSTS ...]    1000 unless told
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench_site import CHECKOUT, PLAYS, VARIABLES, observed

FORKS = 50
HERE = Path(__file__).resolve().parent
PING = [{"name": "ping", "hosts": "all", "gather_facts": False, "tasks": PLAYS["ping"]}]


def inventory(count: int, folder: Path) -> dict[str, Any]:
    variables = {
        **VARIABLES,
        "ansible_connection": "canned",
        "ansible_pipelining": True,
        "ansible_become": False,
        "ansible_python_interpreter": "/usr/bin/python3",
        "rps_interfaces": ["auto"],
        "zpower_tunings": ["rps", "cpu_polarization", "cpu_topology", "hiperdispatch", "smc_sysctls", "system_base"],
        "zpower_results": str(folder / "results"),
    }
    return {"all": {"hosts": {f"app{number:04}": {} for number in range(1, count + 1)}, "vars": variables}}


def play(folder: Path, name: str, playbook: str, count: int) -> dict[str, Any]:
    """One run, with the figures of the controller."""
    hosts = folder / "hosts.json"
    hosts.write_text(json.dumps(inventory(count, folder)), "utf-8")
    program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections"),
        "ANSIBLE_CONNECTION_PLUGINS": str(HERE / "connections"),
        "CANNED": str(folder / f"{name}.answer"),
    }
    command = [program, "-i", str(hosts), "-f", str(FORKS), playbook]
    ran = observed(command, environment, memory=True, fine=(0, 2))  # this machine may differ from the request
    return {
        "play": name,
        "hosts": count,
        "wall_s": round(ran.seconds, 1),
        "cpu_s": round(ran.cpu, 1),
        "main_mb": round(ran.main_mb),
        "tree_mb": round(ran.tree_mb),
        "lines": ran.lines,
        "load": os.getloadavg()[0],
    }


def main(counts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        (folder / "ping.yml").write_text(json.dumps(PING), "utf-8")
        for count in counts or [1000]:
            for name, playbook in (("ping", str(folder / "ping.yml")), ("verify", "zpower.sap_tuning.verify")):
                found = play(folder, name, playbook, count)
                evidence = sorted((folder / "results").glob("*/*"))[-1:]
                sizes = {path.name: path.stat().st_size for one in evidence for path in sorted(one.iterdir())}
                print(json.dumps({**found, "bytes": sizes}), flush=True)


if __name__ == "__main__":
    main([int(count) for count in sys.argv[1:]])
