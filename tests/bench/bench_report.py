# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a fleet: 1,000 hosts with 60 records each, on one core, as a task of ansible runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import records_factory

HOSTS = 1000
# Runs a command as its only child, for the peak memory of all children is what the kernel keeps.
WRAPPER = """
import json, os, resource, subprocess, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
start = time.monotonic()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seen = {"status": done.returncode, "seconds": time.monotonic() - start, "cpu": used.ru_utime + used.ru_stime}
print(json.dumps({**seen, "peak_mb": used.ru_maxrss / 1024}))
"""
LOAD = """
import json, os, sys
for folder, _folders, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as stream:
            json.load(stream)
"""


def figures() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        plan = records_factory.fleet(HOSTS)
        tunings = records_factory.change_tunings(plan)
        records_factory.write_change(folder, records_factory.make_change(plan), tunings)
        options = f"change={plan.change} results={folder}"
        task = [ansible(), "localhost", "-m", "zpower.sap_tuning.measurement_report", "-a", options]
        # Before and after the report, because the machine may be faster at one time than at another.
        load = [sys.executable, "-c", LOAD, folder]
        before, seen = used_by(load), used_by(task)
        page = Path(folder) / plan.change / "report.html"
        megabytes = page.stat().st_size / 1e6
        for path in page.parent.glob("report.*"):
            path.unlink()
        loaded = (before["cpu"] + used_by(load)["cpu"]) / 2
    ratio = seen["cpu"] / loaded
    yield {"name": "report_1000_hosts_cpu_of_json_load", "value": round(ratio, 2), "unit": "times", "goal": "<= 2.6"}
    yield {"name": "report_1000_hosts_memory", "value": round(seen["peak_mb"]), "unit": "MB", "goal": "<= 300"}
    yield {"name": "report_1000_hosts_html", "value": round(megabytes, 2), "unit": "MB", "goal": "<= 5"}
    # seconds depend on the machine, and where they are far above the CPU time somebody else was using that core
    yield {"name": "report_1000_hosts_time", "value": round(seen["seconds"], 1), "unit": "s", "goal": ""}
    yield {"name": "report_1000_hosts_cpu", "value": round(seen["cpu"], 1), "unit": "s", "goal": ""}
    yield {"name": "report_1000_hosts_json_load", "value": round(loaded, 1), "unit": "s", "goal": ""}


def used_by(command: list[str]) -> dict[str, Any]:
    """Seconds, CPU seconds and peak memory of a command; RuntimeError if it fails."""
    said = subprocess.run([sys.executable, "-c", WRAPPER, *command], check=True, capture_output=True, text=True)
    seen: dict[str, Any] = json.loads(said.stdout)
    if seen["status"] != 0:
        raise RuntimeError(f"a command of the benchmark failed; run it by hand: {' '.join(command)}")
    return seen


def ansible() -> str:
    """The ansible that belongs to this Python."""
    return os.path.join(os.path.dirname(sys.executable), "ansible")
