# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's command ``zpower_results_command``, which gets the folder of finished evidence, for example to copy it."""

import contextlib
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from ...module_utils._host import commands
from .._pages.text import one_line, shorten
from .._records.checks import show

VARIABLE = "zpower_results_command"
RIGHT = "it must be a list of the program and its arguments, such as ['/usr/local/bin/keep', '--quiet']"
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
    argv = [*command, str(folder)]
    named = f"{VARIABLE} {shlex.join(argv)}"
    with tempfile.TemporaryFile() as output:  # no pipe: a process that it leaves behind may go on printing
        try:
            process = commands.start(argv, cwd=None, stdout=output, stderr=subprocess.STDOUT)  # type: ignore[no-untyped-call]
            commands.finish(process, LIMIT_S)  # type: ignore[no-untyped-call]
        except commands.Stopped as error:
            return f"{named} was ended: {error}{said(output)}"
        except (OSError, ValueError) as error:
            return f"{named} cannot be started: {getattr(error, 'strerror', None) or error}"
        code = process.returncode
        return f"{named} failed with exit code {code}{said(output)}" if code else ""


def said(output: IO[bytes]) -> str:
    """The end of the output, with a colon before it."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - LONGEST_OUTPUT))
    text = one_line(output.read().decode("utf-8", "replace").strip())
    return f": {shorten(text, LONGEST_OUTPUT)}" if text else ""
