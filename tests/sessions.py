# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run sessions of noxfile.py, two at a time; the output of each is printed when the session ends.

sessions.py quick unit "molecule(newest-sap)"    a name without parameters means the session with all its parameters
sessions.py --cpu 600 900 quick unit             they should take at most 600 s of CPU time, and fail in CI above 900 s

With CI=true the first failure ends the run and its output is the end of the log; otherwise all sessions run.
It then prints the sum of CPU time, the slowest sessions and the slowest tests.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

import homes

HERE = Path(__file__).resolve().parents[1]
NOX = [sys.executable, "-m", "nox", "--noxfile", str(HERE / "noxfile.py"), "--session"]
AT_ONCE = min(2, len(os.sched_getaffinity(0)))
SLOWEST = 10
# pytest prints its slowest tests, and this program the slowest of all sessions.
OPTIONS = {"PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} --durations={SLOWEST}".strip()}
DURATION = re.compile(r"^(\d+\.\d+)s (?:call|setup|teardown) +(\S.*)$", re.M)


class Started(NamedTuple):
    session: str
    process: subprocess.Popen[bytes]
    output: IO[str]
    at: float
    home: tempfile.TemporaryDirectory[str]


class Ended(NamedTuple):
    session: str
    seconds: float
    cpu_seconds: float
    tests: list[tuple[float, str]]


def parametrized(names: list[str]) -> list[str]:
    """Return the sessions with their parameters, in the order of the names."""
    found: list[str] = []
    for name in dict.fromkeys(names):
        if "(" in name:
            found.append(name)
        else:
            listed = subprocess.run([*NOX, name, "--list", "--json"], check=True, stdout=subprocess.PIPE)
            found += [session["session"] for session in json.loads(listed.stdout)]
    return list(dict.fromkeys(found))


def start(session: str) -> Started:
    """Start a session in its own process group, with its own home and folder for temporary files."""
    output = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  (read when the session has ended)
    home = tempfile.TemporaryDirectory(prefix="zp-", ignore_cleanup_errors=True)
    env = os.environ | OPTIONS | homes.variables(home.name)
    process = subprocess.Popen(
        [*NOX, session], stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env=env
    )
    print(f"sessions: {session} started", flush=True)
    return Started(session, process, output, time.monotonic(), home)


def end(running: dict[int, Started]) -> None:
    """Interrupt the sessions, and wait until they have taken their labs down."""
    for pid in running:
        os.killpg(pid, signal.SIGINT)
    for started in running.values():
        started.process.wait()
        print(f"sessions: {started.session} interrupted", flush=True)


def wait_for_one(pids: Iterable[int]) -> tuple[int, int, resource.struct_rusage]:
    """Wait until one of these processes has ended; return its id, status and usage. Ignore other children."""
    while True:
        for pid in pids:
            ended = os.wait4(pid, os.WNOHANG)
            if ended[0]:
                return ended
        time.sleep(0.1)


def show(started: Started) -> None:
    print(f"\n===== {started.session}", flush=True)
    started.output.seek(0)
    shutil.copyfileobj(started.output, sys.stdout)
    sys.stdout.flush()


def result(started: Started, used: resource.struct_rusage) -> Ended:
    started.output.seek(0)
    tests = [(float(seconds), test.strip()) for seconds, test in DURATION.findall(started.output.read())]
    return Ended(started.session, time.monotonic() - started.at, used.ru_utime + used.ru_stime, tests)


def summary(ended: list[Ended]) -> str:
    """Return the total CPU time, and the slowest sessions and tests."""
    lines = [f"CPU time: {sum(one.cpu_seconds for one in ended):.0f} s in {len(ended)} sessions"]
    slow = sorted(ended, key=lambda one: -one.cpu_seconds)[:SLOWEST]
    lines += ["the slowest sessions, in seconds of CPU time (and of the clock):"]
    lines += [f"  {one.cpu_seconds:6.0f} ({one.seconds:.0f})  {one.session}" for one in slow]
    tests = sorted(((*test, one.session) for one in ended for test in one.tests), reverse=True)[:SLOWEST]
    lines += ["the slowest tests, in seconds of the clock:"] if tests else []
    lines += [f"  {seconds:6.1f}  {test}, in {session}" for seconds, test, session in tests]
    return "\n".join(f"sessions: {line}" for line in lines)


def over_budget(ended: list[Ended], goal: int, limit: int) -> bool:
    """Print the total CPU time beside its goal; return whether it is above the limit."""
    used = sum(one.cpu_seconds for one in ended)
    print(
        f"sessions: {used:.0f} of {goal} CPU s" + (f", above the limit of {limit}" if used > limit else ""), flush=True
    )
    return used > limit


def run(waiting: list[str], stop: bool, budget: tuple[int, int] | None = None) -> int:
    """Run all sessions, or with stop until one fails; return the exit status.

    budget: goal and limit in CPU seconds; above the limit, a run with stop has failed.
    """
    running: dict[int, Started] = {}
    failed: list[str] = []
    done: list[Ended] = []
    try:
        while running or waiting:
            while waiting and len(running) < AT_ONCE:
                started = start(waiting.pop(0))
                running[started.process.pid] = started
            pid, status, used = wait_for_one(running)
            started = running.pop(pid)
            started.process.returncode = status
            started.home.cleanup()
            if status:
                failed.append(started.session)
            if status and stop:
                end(running)
                running, waiting = {}, []
            show(started)
            one = result(started, used)
            done.append(one)
            outcome = "failed" if status else "ended"
            print(f"sessions: {one.session} {outcome} after {one.seconds:.0f} s, {one.cpu_seconds:.0f} s of CPU time")
            sys.stdout.flush()
    except KeyboardInterrupt:
        end(running)
        return 130
    if done and not (failed and stop):
        print(summary(done), flush=True)
        if budget and over_budget(done, *budget) and stop:
            failed.append("the budget of CPU time")
    if failed:
        print(f"sessions: failed: {', '.join(failed)}", flush=True)
    return bool(failed)


if __name__ == "__main__":
    # SIGINT may be ignored here, as in a background job, and the sessions would then ignore it too.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", nargs=2, type=int, metavar=("GOAL", "LIMIT"), help="CPU seconds of all sessions")
    parser.add_argument("session", nargs="+")
    asked = parser.parse_args()
    sys.exit(run(parametrized(asked.session), os.environ.get("CI") == "true", asked.cpu))
