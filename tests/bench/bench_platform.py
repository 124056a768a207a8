# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What platform_info costs on a target with 200 CPUs and 64 interfaces (a synthetic tree), in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import captured
import synthetic

REPEATS = 5
# Reads the tree once, as a module does; python and its imports are not what is measured.
ONCE = """
import json, sys, time
sys.path[:0] = json.loads(sys.argv[1])
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.facts import facts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
start = time.monotonic()
found = facts(ReadingHost(sys.argv[2]), "Linux")
seconds = time.monotonic() - start
print(json.dumps([seconds, found["cpus"]["online"]["count"], len(found["interfaces"])]))
"""


def figures() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        captured.grow(folder, synthetic.large_lpar())
        command = [sys.executable, "-c", ONCE, json.dumps(sys.path), folder]
        runs = []
        for _repeat in range(REPEATS):
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            seconds, cpus, interfaces = json.loads(said)
            if (cpus, interfaces) != (196, 64):
                raise RuntimeError(f"the facts of the synthetic tree are wrong: {said}")
            runs.append(seconds)
    yield {"name": "platform_facts_200_cpus", "value": round(statistics.median(runs), 3), "unit": "s", "goal": "<= 0.3"}
