# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checksums of evidence, and the user's command, which gets its folder."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import COLLECTION
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import command, files
from evidence_samples import build, result, row, run

PAGE = (COLLECTION / "docs" / "evidence.md").read_text("utf-8")
BLOCKS = re.findall(r"(?s)\n```bash\n(.*?)```", PAGE)
CHECK, SSH, GPG, GIT = (block for block in BLOCKS if "SHA256SUMS" in block or "git" in block)
CHECK_HERE = CHECK.partition("\n")[2]
EXPECTED = {"SHA256SUMS", "SHA256SUMS.sig", "SHA256SUMS.asc"}


def write(results: Path, ended: str | None = "2026-11-20T10:00:09Z") -> Path:
    folder = files.new_folder(results, "verify", "2026-11-20T10:00:00Z")
    files.write(build(run(ended=ended), ["app1"], {"app1": result("ok", "", [row()])}), folder)
    return folder


def told(folder: Path, commands: str = CHECK_HERE) -> tuple[int, set[str]]:
    """The exit code of the first command that fails, and the lines of output that are not to be expected."""
    done = subprocess.run(["bash", "-ec", commands], cwd=folder, check=False, capture_output=True, text=True)
    return done.returncode, {line for line in done.stdout.splitlines() if not line.endswith(": OK")} - EXPECTED


def test_the_page_checks_a_folder(tmp_path: Path) -> None:
    assert told(write(tmp_path)) == (0, set())
    assert not (write(tmp_path, None) / files.SUMS).exists()


CHANGES: dict[str, Callable[[Path], object]] = {
    "verify.csv: FAILED": lambda folder: (folder / "verify.csv").write_text("changed"),
    "verify.md: FAILED open or read": lambda folder: (folder / "verify.md").unlink(),
    "planted.json": lambda folder: (folder / "planted.json").touch(),
    "SHA256SUMS-old": lambda folder: (folder / "SHA256SUMS-old").symlink_to("verify.csv"),
    "slices/evil.json": lambda folder: [(folder / "slices").mkdir(), (folder / "slices" / "evil.json").touch()],
}


@pytest.mark.parametrize("line", CHANGES)
def test_the_page_shows_what_was_changed_and_what_the_run_did_not_write(tmp_path: Path, line: str) -> None:
    CHANGES[line](folder := write(tmp_path))
    code, lines = told(folder)
    assert line in lines and bool(code) == ("FAILED" in line)


def test_a_file_that_is_swapped_while_the_run_writes_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swapping(document: Any) -> Iterator[str]:
        (path,) = tmp_path.glob("verify/*/verify.json")
        (path.parent / "evil").write_text(path.read_text().replace("compliant", "drifted"))
        os.replace(path.parent / "evil", path)
        (path.parent / "planted.json").touch()
        yield "last"

    monkeypatch.setitem(files.FORMATS, "prom", swapping)
    code, lines = told(write(tmp_path))
    assert code and "verify.json: FAILED" in lines
    assert "planted.json" not in (tmp_path / "verify" / "20261120T100000Z" / files.SUMS).read_text()


@pytest.mark.gate
def test_the_page_signs_with_ssh_gpg_and_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    results, home = tmp_path / "results", tmp_path / ".ssh"
    home.mkdir()
    keys = tempfile.mkdtemp()  # the path of a socket is short
    request.addfinalizer(lambda: shutil.rmtree(keys, ignore_errors=True))
    for name, value in {"HOME": str(tmp_path), "GNUPGHOME": keys, "GIT_CONFIG_NOSYSTEM": "1"}.items():
        monkeypatch.setenv(name, value)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.com")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / "id_ed25519"], check=True)
    (home / "allowed_signers").write_text(f"ada@example.com {(home / 'id_ed25519.pub').read_text()}")
    made = ["gpg", "--batch", "--passphrase", "", "--quick-generate-key", "ada@example.com"]
    subprocess.run(made, check=True, capture_output=True)
    subprocess.run(["git", "init", "-q", results], check=True)
    folder = write(results)
    try:
        assert told(tmp_path, CHECK) == (0, set())
        for commands in (SSH, GPG):
            assert told(folder, commands)[0] == 0
            *_sign, verify = commands.splitlines()
            sums = (folder / files.SUMS).read_bytes()
            (folder / files.SUMS).write_bytes(sums + b"0" * 64 + b"  planted.json\n")
            assert told(folder, verify)[0] != 0
            (folder / files.SUMS).write_bytes(sums)
        assert told(folder) == (0, set())
        assert told(tmp_path, GIT) == (0, set())
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False)
    (folder / "verify.csv").unlink()
    assert told(results, GIT.splitlines()[-1])[1] == {" D verify/20261120T100000Z/verify.csv"}


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
