# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's command for finished evidence: what may stand in the variable, and what is said if it fails."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import command


@pytest.mark.parametrize(
    ("value", "argv"),
    [
        (None, []),
        ("", []),
        ([], []),
        (["keep", ""], ["keep", ""]),
        (("keep", "--to", "a b"), ["keep", "--to", "a b"]),
        ('["keep", "$HOME"]', ["keep", "$HOME"]),
    ],
)
def test_a_command_is_a_list_or_json_of_one(value: object, argv: list[str]) -> None:
    assert command.parse(value) == argv


@pytest.mark.parametrize("value", ["keep", '{"a": 1}', ["keep", 1], [""], {"a": "b"}, 1, True])
def test_everything_else_is_refused(value: object) -> None:
    with pytest.raises(
        ValueError, match="zpower_results_command is .*; it must be a list of the program and its arguments"
    ):
        command.parse(value)


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_the_folder_is_the_last_argument_and_no_shell_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "a b; $(touch c)"
    program = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(repr(sys.argv[2:]))"
    assert command.run([*python(program), str(tmp_path / "seen"), "*"], folder) == ""
    assert (tmp_path / "seen").read_text("utf-8") == repr(["*", str(folder)])


def test_a_failure_names_command_code_and_the_end_of_the_output(tmp_path: Path) -> None:
    program = "import sys; print('x' * 5000, flush=True); print('disk is \\x1b[31mfull', file=sys.stderr); sys.exit(3)"
    said = command.run([*python(program), "a b"], tmp_path)
    assert said.startswith(f"zpower_results_command {shlex.quote(sys.executable)} -c ")
    assert f"'a b' {tmp_path} failed with exit code 3: " in said
    assert said.endswith("full") and "\x1b" not in said and len(said) < 1500
    said = command.run([str(tmp_path / "keep")], tmp_path)
    assert f"{tmp_path}/keep {tmp_path} cannot be started: No such file or directory" in said


def test_it_is_ended_after_its_time_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LIMIT_S", 0.2)
    said = command.run(python("import os; os.spawnvp(os.P_WAIT, 'sleep', ['sleep', '1000'])"), tmp_path)
    assert " was ended: " in said and "did not answer within 0.2 s" in said


def test_a_process_that_it_leaves_behind_is_not_waited_for(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    program = "import os, pathlib, sys; started = os.spawnvp(os.P_NOWAIT, 'sleep', ['sleep', '1000']);"
    program += "pathlib.Path(sys.argv[1]).write_text(str(started))"
    assert command.run([*python(program), str(pid)], tmp_path) == ""
    os.kill(int(pid.read_text("utf-8")), signal.SIGKILL)
