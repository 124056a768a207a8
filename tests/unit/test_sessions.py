# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/sessions.py: the output of sessions is kept apart, and in CI the first failure ends the run."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))

import sessions  # noqa: E402

# In place of nox: a session is a shell command.
SHELL = ["sh", "-c", 'eval "$1"', "sh"]
ONE = 'touch one; while [ ! -e two ]; do sleep 0.05; done; echo "output of one"; echo "end of one"'
TWO = 'while [ ! -e one ]; do sleep 0.05; done; echo "output of two"; touch two'


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(sessions, "NOX", SHELL)
    monkeypatch.setattr(sessions, "AT_ONCE", 2)
    monkeypatch.chdir(tmp_path)
    # a job in the background ignores SIGINT, and so would what these tests start
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, kept)


def test_two_run_at_once_and_each_output_is_in_one_piece(capfd: pytest.CaptureFixture[str]) -> None:
    assert sessions.run([ONE, TWO, "echo third"], stop=True) == 0
    said = capfd.readouterr().out
    assert "\noutput of one\nend of one\n" in said and "\noutput of two\n" in said and "\nthird\n" in said


def test_in_ci_the_first_failure_ends_the_run_and_its_output_comes_last(capfd: pytest.CaptureFixture[str]) -> None:
    endless = "trap 'touch cleaned; exit 1' INT; touch one; while :; do sleep 0.05; done"
    fails = "while [ ! -e one ]; do sleep 0.05; done; echo the reason; exit 3"
    assert sessions.run([endless, fails, "touch later"], stop=True) == 1
    assert Path("cleaned").exists() and not Path("later").exists()
    lines = capfd.readouterr().out.splitlines()
    assert f"sessions: {endless} interrupted" in lines
    assert lines[-3] == "the reason" and lines[-1] == f"sessions: failed: {fails}"


def test_elsewhere_all_run_and_the_failed_ones_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert sessions.run(["exit 1", "echo still", "exit 2"], stop=False) == 1
    said = capfd.readouterr().out
    assert "\nstill\n" in said and said.splitlines()[-1] in (
        "sessions: failed: exit 1, exit 2",
        "sessions: failed: exit 2, exit 1",
    )
