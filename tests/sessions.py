# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run sessions of noxfile.py, two at a time; the output of each is printed when the session ends.

sessions.py lint unit "molecule(newest-sap)"    a name without parameters means the session with all its parameters

With CI=true the first failure ends the run and its output is the end of the log. Otherwise all sessions run.
"""

import json
import os
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

HERE = Path(__file__).resolve().parents[1]
NOX = [sys.executable, "-m", "nox", "--noxfile", str(HERE / "noxfile.py"), "--session"]
AT_ONCE = min(2, len(os.sched_getaffinity(0)))


class Started(NamedTuple):
    session: str
    process: subprocess.Popen[bytes]
    output: IO[str]
    at: float


def parametrized(names: list[str]) -> list[str]:
    """The sessions with their parameters, in the order of the names."""
    found: list[str] = []
    for name in dict.fromkeys(names):
        if "(" in name:
            found.append(name)
        else:
            listed = subprocess.run([*NOX, name, "--list", "--json"], check=True, stdout=subprocess.PIPE)
            found += [session["session"] for session in json.loads(listed.stdout)]
    return list(dict.fromkeys(found))


def start(session: str) -> Started:
    output = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  (read when the session has ended)
    process = subprocess.Popen([*NOX, session], stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    print(f"sessions: {session} started", flush=True)
    return Started(session, process, output, time.monotonic())


def end(running: dict[int, Started]) -> None:
    """Interrupt the sessions, and wait until they have taken their labs down."""
    for pid in running:
        os.killpg(pid, signal.SIGINT)
    for started in running.values():
        started.process.wait()
        print(f"sessions: {started.session} interrupted", flush=True)


def wait_for_one(pids: Iterable[int]) -> tuple[int, int, resource.struct_rusage]:
    """Wait until one of these processes has ended: its id, status and use. Other children of the caller stay."""
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


def run(waiting: list[str], stop: bool) -> int:
    """Run all sessions, or with stop until one fails; the exit status."""
    running: dict[int, Started] = {}
    failed: list[str] = []
    try:
        while running or waiting:
            while waiting and len(running) < AT_ONCE:
                started = start(waiting.pop(0))
                running[started.process.pid] = started
            pid, status, used = wait_for_one(running)
            started = running.pop(pid)
            started.process.returncode = status
            if status:
                failed.append(started.session)
            if status and stop:
                end(running)
                running = {}
                waiting = []
            show(started)
            took, cpu = time.monotonic() - started.at, used.ru_utime + used.ru_stime
            outcome = "failed" if status else "ended"
            print(f"sessions: {started.session} {outcome} after {took:.0f} s, {cpu:.0f} s of CPU time", flush=True)
    except KeyboardInterrupt:
        end(running)
        return 130
    if failed:
        print(f"sessions: failed: {', '.join(failed)}", flush=True)
    return bool(failed)


if __name__ == "__main__":
    # SIGINT may be ignored here, as in a job in the background, and the sessions would ignore it too.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    sys.exit(run(parametrized(sys.argv[1:]), os.environ.get("CI") == "true"))
