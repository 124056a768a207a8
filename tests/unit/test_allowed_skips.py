# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""In CI a skipped test is a failure, unless tests/allowed_skips.py lists it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SKIPPED = """
import pytest

@pytest.mark.parametrize("tool", ["a", "b"])
def test_tool(tool):
    if tool == "b":
        pytest.skip("no b on this machine")

@pytest.mark.skipif(True, reason="not root")
def test_marked():
    raise AssertionError()
"""
WHOLE = "import pytest\npytest.importorskip('no_such_library')\n"
BOTH = [("test_one.py::test_tool[*b]", "no b *", "why"), ("test_one.py::test_marked", "not root", "why")]


@pytest.fixture(name="run")
def fixture_run(tmp_path):
    """Run pytest on files beside a copy of conftest.py, with a list of allowed skips: (exit status, output)."""

    def run(allowed, *arguments, ci="true", **files):
        shutil.copy(TESTS / "conftest.py", tmp_path)
        (tmp_path / "allowed_skips.py").write_text(f"ALLOWED = {allowed!r}\n")
        (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider -rfEs\n")
        for name, text in (files or {"test_one": SKIPPED}).items():
            (tmp_path / f"{name}.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *arguments],
            cwd=tmp_path,
            env={**os.environ, "CI": ci},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        return done.returncode, done.stdout + done.stderr

    return run


def test_a_skip_that_is_listed_is_a_skip(run):
    status, said = run(BOTH)
    assert status == 0 and "1 passed, 2 skipped" in said and "was not" not in said


def test_a_skip_that_is_not_listed_or_has_another_reason_fails_in_ci(run):
    status, said = run([(BOTH[0][0], "no c *", "why")])
    assert status == 1 and "skipped, " not in said and "1 failed, 1 passed, 1 error" in said
    assert "skipped (no b on this machine), which in CI is a failure" in said
    assert "skipped (not root), which in CI is a failure" in said


def test_outside_ci_skips_stay_skips_and_show_their_reason(run):
    status, said = run([], ci="")
    assert status == 0 and "1 passed, 2 skipped" in said
    assert "no b on this machine" in said and "not root" in said


def test_a_file_that_is_skipped_as_a_whole_fails(run):
    status, said = run([], test_whole=WHOLE)
    assert status == 2 and "could not import 'no_such_library'" in said and "which in CI is a failure" in said
    assert run([("test_whole.py", "could not import *", "why")], test_whole=WHOLE)[0] == 5


def test_an_entry_that_names_no_test_is_an_error(run):
    entry = ("test_one.py::test_gone", "*", "why")
    status, said = run([*BOTH, entry], ci="")
    assert status == 4 and "allowed_skips.py: no test is called test_one.py::test_gone" in said
    # not known where only some tests were asked for, or the file is another session's
    assert run([*BOTH, entry], "test_one.py::test_tool")[0] == 0
    assert run([*BOTH, ("test_two.py::test_gone", "*", "why")])[0] == 0


def test_an_entry_whose_test_is_not_skipped_is_named(run):
    status, said = run([*BOTH, ("test_one.py::test_tool[a]", "*", "why")])
    assert status == 0 and "allowed_skips.py: test_one.py::test_tool[a] may be skipped, and was not" in said
