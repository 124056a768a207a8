# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often are verdicts right? Experiments with known results on two hosts of the lab, with the real roles.

    run.py [CASE[=REPEATS] ...]     all cases, or for example: run.py aa=2 slower

Prints a line for each experiment and a table, and writes all results to evidence.json beside the Makefile.
Exit status 1 if a case is wrong more often than allowed. Nothing else should run on the machine at the same time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cases import CASES, SHAPERS, UNSHAPED, Case, Command, Shaper, compared, order

FOLDER = Path(__file__).resolve().parent
CHECKOUT = FOLDER.parents[1]
LAB = CHECKOUT / "molecule" / "shared" / "lab"
NAME = "evidence"
RESULTS = CHECKOUT / ".cache" / "evidence"
TIMEOUT = 600
ROUNDS = 6  # of each state
# The protocol of the roles with short runs: one size is enough, because the verdict is tested here.
PROTOCOL: dict[str, Any] = {
    "measure_tool": "pingpong",
    "measure_bytes": [1000],
    "measure_runs": 5,
    "measure_warmup": 1,
    "measure_run_seconds": 0.1,
    "measure_idle_seconds": 0.3,
    "measure_protocol": "evidence",
    "report_formats": ["json"],
}


def lab(action: str, *arguments: str) -> None:
    """Start or remove the lab."""
    subprocess.run([LAB, action, "--name", NAME, *arguments], check=True, stdout=subprocess.DEVNULL)


def ansible(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Ansible on the lab's hosts."""
    environment = {
        **os.environ,
        "LAB_NAME": NAME,
        "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections"),
        "ANSIBLE_PIPELINING": "true",
    }
    command = [str(Path(sys.executable).parent / program), "-i", str(CHECKOUT / "inventories" / "lab"), *arguments]
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=TIMEOUT)


def on_client(command: Command) -> subprocess.CompletedProcess[str]:
    """Run a command on the host that measures."""
    return ansible("ansible", "app1", "-m", "ansible.builtin.command", "-a", shlex.join(command))


def shaper() -> Shaper:
    """Return the first way to shape the network that this kernel supports."""
    said = ""
    for candidate in SHAPERS:
        done = on_client(candidate.short)
        if done.returncode == 0:
            on_client(UNSHAPED)
            return candidate
        said += done.stdout
    sys.exit(f"evidence: this kernel shapes no network:\n{said}")


def experiment(case: Case, number: int, shape: Shaper) -> dict[str, Any]:
    """Run one experiment of a case and return the results of its report."""
    change = f"{case.name}-{number:02d}"
    variables = {
        **PROTOCOL,
        "measure_rounds": ROUNDS,
        "zpower_change": change,
        "zpower_results": str(RESULTS),
        "evidence_order": order(ROUNDS),
        "evidence_states": case.states(shape),
    }
    start = time.monotonic()
    done = ansible("ansible-playbook", str(FOLDER / "experiment.yml"), "-e", json.dumps(variables))
    if done.returncode != 0:
        sys.exit(f"evidence: {change} failed:\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    report = json.loads((RESULTS / change / "report.json").read_text(encoding="utf-8"))
    return {**summary(report), "change": change, "good": case.good(report), "seconds": round(time.monotonic() - start)}


def summary(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a report that is kept."""
    comparison = compared(report)
    kept = {key: comparison[key] for key in ("ratio", "low", "high", "reason", "flags", "guards", "secondary")}
    return {"verdict": report["verdict"], **kept}


def table(outcomes: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """Return the lines of a Markdown table for docs/verdicts_simulated.md."""
    lines = ["| truth | experiments | verdicts | wanted | as wanted |", "|---|---|---|---|---|"]
    for case in CASES:
        if case.name in outcomes:
            runs = outcomes[case.name]
            verdicts = ", ".join(f"{count} {name}" for name, count in Counter(run["verdict"] for run in runs).items())
            good = sum(run["good"] for run in runs)
            lines.append(f"| {case.title} | {len(runs)} | {verdicts} | {case.wanted} | {good} |")
    return lines


def enough(outcomes: Mapping[str, list[dict[str, Any]]]) -> bool:
    """Return whether every case was wrong at most as often as allowed."""
    limits = {case.name: case.most_bad for case in CASES}
    return all(sum(not run["good"] for run in runs) <= limits[name] for name, runs in outcomes.items())


def wanted(arguments: list[str]) -> list[Case]:
    """Return the cases on the command line with their repeats; all cases by default."""
    known = {case.name: case for case in CASES}
    chosen = []
    for argument in arguments:
        name, _equals, repeats = argument.partition("=")
        if name not in known or (repeats and not repeats.isdigit()):
            sys.exit(f"evidence: {argument} is not a case; there are {', '.join(known)}, also as {name or 'aa'}=3")
        chosen.append(known[name]._replace(repeats=int(repeats)) if repeats else known[name])
    return chosen or list(CASES)


def measure(cases: list[Case]) -> tuple[Shaper, dict[str, list[dict[str, Any]]]]:
    """Run all experiments of the cases on a lab of their own."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    outcomes: dict[str, list[dict[str, Any]]] = {}
    lab("down")  # remove the lab and the network of a run that was killed
    lab("up", "--hosts", "2")
    try:
        shape = shaper()
        for case in cases:
            outcomes[case.name] = []
            for number in range(1, case.repeats + 1):
                run = experiment(case, number, shape)
                outcomes[case.name].append(run)
                mark = "" if run["good"] else f"   NOT {case.wanted}: {run['reason']}"
                print(f"{run['change']}: {run['verdict']} ({run['ratio']}) in {run['seconds']} s{mark}", flush=True)
            for command in case.leave:
                if (done := on_client(command)).returncode:
                    sys.exit(f"evidence: {shlex.join(command)} failed:\n{done.stdout}")
    finally:
        lab("down")
    return shape, outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE[=REPEATS]")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    start = time.monotonic()
    shape, outcomes = measure(wanted(options.cases))
    minutes = round((time.monotonic() - start) / 60, 1)
    print("\n".join(["", *table(outcomes), "", f"network shaped by {shape.name}; {minutes} minutes"]))
    machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "kernel": platform.release()}
    kept = {"machine": machine, "shaper": shape.name, "rounds": ROUNDS, "minutes": minutes, "cases": outcomes}
    (CHECKOUT / "evidence.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0 if enough(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
