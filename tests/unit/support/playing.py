# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start ansible-playbook as a user would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
COLLECTIONS = CHECKOUT / ".cache" / "collections"
# ansible-core 2.16 cannot call an interpreter in a folder with a blank, and the checkout and its .venv may be in one
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
# ansible-test keeps it elsewhere than its Python
PROGRAM = Path(sys.executable).with_name("ansible-playbook")
PROGRAM = PROGRAM if PROGRAM.exists() else Path(shutil.which("ansible-playbook") or PROGRAM)


class Started(subprocess.Popen[str]):
    """A running ansible-playbook in its own session; after wait(), ``stdout`` and ``stderr`` are texts."""

    def __init__(self, command: list[str], cwd: str | Path | None, environment: Mapping[str, str]) -> None:
        self._files = [tempfile.TemporaryFile("w+", encoding="utf-8") for _stream in range(2)]  # noqa: SIM115
        out, err = self._files
        super().__init__(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )

    def wait(self, timeout: float | None = None) -> int:
        code = super().wait(timeout)
        for stream in self._files:
            stream.seek(0)
        self.stdout, self.stderr = (stream.read() for stream in self._files)  # type: ignore[assignment]
        return code


def environment(**more: str) -> dict[str, str]:
    """Return the environment of the tests with this collection, and with cached byte code (site/sitecustomize.py)."""
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


def play(
    folder: Path,
    hosts: Mapping[str, Any],
    playbook: str | Sequence[Mapping[str, Any]],
    *arguments: str,
    variables: Mapping[str, Any] | None = None,
    **settings: str,
) -> tuple[int, str]:
    """Run a playbook of the collection, or these plays, on hosts {name: variables}; return exit code and output.

    variables: those of the command line; settings: environment variables.
    """
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
    (folder / "play.yml").write_text(json.dumps(playbook))
    name = f"zpower.sap_tuning.{playbook}" if isinstance(playbook, str) else "play.yml"
    given = ["-e", json.dumps(variables)] if variables else []
    command = ["-i", "hosts.yml", name, *arguments, *given]
    done = ansible_playbook(*command, cwd=folder, env=environment(**settings))
    return done.returncode, done.stdout + done.stderr


def program(path: Path, text: str) -> Path:
    """Write a shell program."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def unreachable(folder: Path) -> dict[str, str]:
    """Return the variables of a host that cannot be reached."""
    return {"ansible_ssh_executable": str(program(folder / "ssh", "echo 'No route to host' >&2; exit 255"))}
