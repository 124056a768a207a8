# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run work with a planned fault in a separate process, until it and all its children have ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import select
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from injection import Plan

PATIENCE_S = 120.0
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Outcome:
    """The end of a run. result: of the module. raised: an exception that it did not handle. Both None if killed."""

    result: dict[str, Any] | None
    raised: str | None

    @property
    def killed(self) -> bool:
        return self.result is None and self.raised is None

    @property
    def failed(self) -> bool:
        return self.result is None or bool(self.result.get("failed"))


def adopt() -> None:
    """Make orphans below this process its children."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@dataclass
class Running:
    pid: int
    pipe: int


def start(work: Callable[[], dict[str, Any]], plan: Plan | None = None) -> Running:
    """Start work in a separate process and session."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write_end)
        return Running(pid, read_end)
    outcome = Outcome(None, "ended early")
    try:
        os.setsid()
        os.close(read_end)
        if plan is not None:
            plan.start()
        outcome = Outcome(work(), None)
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome = Outcome(None, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
    finally:
        Plan.current = None
        with contextlib.suppress(OSError):
            data = pickle.dumps(outcome)
            while data:
                data = data[os.write(write_end, data) :]
        os._exit(0)


def finish(running: Running) -> Outcome:
    """Wait until a run has ended; its children may continue."""
    data, until = b"", time.monotonic() + PATIENCE_S
    while True:
        if not select.select([running.pipe], [], [], max(until - time.monotonic(), 0))[0]:
            os.killpg(running.pid, signal.SIGKILL)
            data = pickle.dumps(Outcome(None, f"a run did not end within {PATIENCE_S:g} s"))
            break
        more = os.read(running.pipe, 1 << 16)
        if not more:
            break
        data += more
    os.close(running.pipe)
    os.waitpid(running.pid, 0)
    return pickle.loads(data) if data else Outcome(None, None)


def run(work: Callable[[], dict[str, Any]], plan: Plan | None = None) -> Outcome:
    return finish(start(work, plan))


def ended() -> str:
    """Wait until all started processes have ended; return a sentence if that takes too long."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.002)
        except ChildProcessError:
            return ""
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return f"something that a run started did not end within {PATIENCE_S:g} s"


def children() -> list[int]:
    return [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
