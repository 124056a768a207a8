# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts ansible-playbook as a user would, without paying for its imports: each start is a fork of one process.

That process (playbook_server.py) belongs to the process of the tests, and ends with it. A started program has its own
pid and session, and exactly the environment, working directory and descriptors that it is given. With settings of
ansible-core other than those of environment() it starts anew, which takes five times as long.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import IO

from playbook_server import STATUS

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
COLLECTIONS = CHECKOUT / ".cache" / "collections"
# ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
# ansible-test keeps it elsewhere than its Python
PROGRAM = Path(sys.executable).with_name("ansible-playbook")
PROGRAM = PROGRAM if PROGRAM.exists() else Path(shutil.which("ansible-playbook") or PROGRAM)


RUNNING: set[Started] = set()


class Started:
    """A running ansible-playbook: ``pid``, and in the end ``returncode``, ``stdout`` and ``stderr`` as of a Popen."""

    def __init__(self, command: list[str], cwd: str | Path | None, environment: Mapping[str, str]) -> None:
        self.args = command
        self.returncode: int | None = None
        self._streams = [_file(), _file()]
        self._status, theirs = socket.socketpair()
        asked = {"command": command, "cwd": os.path.abspath(cwd or os.curdir), "environment": dict(environment)}
        with theirs, _file() as request, open(os.devnull) as nothing:
            json.dump(asked, request)
            request.flush()
            descriptors = [stream.fileno() for stream in (request, nothing, *self._streams, theirs)]
            socket.send_fds(_server(), [b"\0"], descriptors)
        self.pid = self._told()
        RUNNING.add(self)

    def _told(self) -> int:
        answer = self._status.recv(STATUS.size, socket.MSG_WAITALL)
        if len(answer) < STATUS.size:
            raise RuntimeError("the process that forks ansible-playbook is gone")
        return int(STATUS.unpack(answer)[1])

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                ended = self._status.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            assert ended or self._told()
            self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(self._told())
            RUNNING.remove(self)
            self._status.close()
            for stream in self._streams:
                stream.seek(0)
            self.stdout, self.stderr = (stream.read() for stream in self._streams)
            for stream in self._streams:
                stream.close()
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                os.kill(self.pid, signal.SIGKILL)


def _file() -> IO[str]:
    return tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115


@lru_cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        command = [sys.executable, str(HERE / "playbook_server.py"), str(theirs.fileno())]
        process = subprocess.Popen(
            command, cwd="/", env=environment(), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    @atexit.register
    def end() -> None:
        for started in list(RUNNING):
            started.kill()
        ours.close()
        process.wait()

    return ours


def environment(**more: str) -> dict[str, str]:
    """The environment of the tests with this collection, and with kept code of modules (site/sitecustomize.py)."""
    path = os.pathsep.join(filter(None, [str(HERE / "site"), os.environ.get("PYTHONPATH")]))
    ours = {"PYTHONPATH": path, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS)}
    return {**os.environ, **ours, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "false", **more}


def start(*arguments: str | Path, cwd: str | Path | None = None, env: Mapping[str, str] | None = None) -> Started:
    """Start ansible-playbook with these arguments; env: the whole environment."""
    return Started([str(PROGRAM), *map(str, arguments)], cwd, environment() if env is None else env)


def ansible_playbook(
    *arguments: str | Path, cwd: str | Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    started = start(*arguments, cwd=cwd, env=env)
    try:
        started.wait()
    except BaseException:
        started.kill()
        raise
    return subprocess.CompletedProcess(started.args, started.returncode, started.stdout, started.stderr)
