# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's command ``zpower_results_command``, which gets the folder of finished evidence, for example to copy it."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from .._pages.text import one_line, shorten
from .._records.checks import show

VARIABLE = "zpower_results_command"
RIGHT = "a list of the program and its arguments, such as ['/usr/local/bin/keep', '--quiet'], belongs there"
LIMIT_S = 300.0
LONGEST_OUTPUT = 1000


def parse(value: object) -> list[str]:
    """The command of a variable, which may be a list or JSON text of one; empty if none is given. ValueError."""
    if value is None or value == "":
        return []
    items = value
    if isinstance(value, str):
        with contextlib.suppress(json.JSONDecodeError):
            items = json.loads(value)
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items) or "" in items[:1]:
        raise ValueError(f"{VARIABLE} is {show(value)}; {RIGHT}")
    return [str.__str__(item) for item in items]


def run(command: Sequence[str], folder: Path) -> str:
    """Call the command with the folder as its last argument; empty if it succeeded, else a sentence."""
    named = f"{VARIABLE} {shlex.join([*command, str(folder)])}"
    with tempfile.TemporaryFile() as output:  # no pipe: a process that it leaves behind would keep it open
        try:
            code = call([*command, str(folder)], output)
        except (OSError, ValueError) as error:
            return f"{named} cannot be started: {getattr(error, 'strerror', None) or error}"
        if code is None:
            return f"{named} was ended after {LIMIT_S:.0f} s{said(output)}"
        return f"{named} failed with exit code {code}{said(output)}" if code else ""


def call(argv: Sequence[str], output: IO[bytes]) -> int | None:
    """The exit code; None if the program was ended because it took too long."""
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            return process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            return None


def said(output: IO[bytes]) -> str:
    """The end of the output, with a colon before it."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - LONGEST_OUTPUT))
    text = one_line(output.read().decode("utf-8", "replace").strip())
    return f": {shorten(text, LONGEST_OUTPUT)}" if text else ""
