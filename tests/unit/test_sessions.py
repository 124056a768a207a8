# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/sessions.py, with shell commands in place of the sessions of nox."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import sessions


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(sessions, "NOX", ["sh", "-c", 'eval "$1"', "sh"])
    monkeypatch.setattr(sessions, "AT_ONCE", 2)
    monkeypatch.chdir(tmp_path)
    # a background job ignores SIGINT, and so would what this test starts
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, kept)


def test_in_ci_the_first_failure_ends_the_run_and_its_output_comes_last(capfd: pytest.CaptureFixture[str]) -> None:
    endless = "trap 'touch cleaned; exit 1' INT; touch one; while :; do sleep 0.05; done"
    fails = "while [ ! -e one ]; do sleep 0.05; done; echo the reason; exit 3"
    assert sessions.run([endless, fails, "touch later"], stop=True) == 1
    assert Path("cleaned").exists() and not Path("later").exists()
    lines = capfd.readouterr().out.splitlines()
    assert lines[-3] == "the reason" and lines[-1] == f"sessions: failed: {fails}"


def test_a_run_above_its_limit_of_cpu_time_fails_only_in_ci(capfd: pytest.CaptureFixture[str]) -> None:
    for limit, stop, status in ((900, True, 0), (-1, False, 0), (-1, True, 1)):
        assert sessions.run(["true"], stop, (600, limit)) == status
        assert "sessions: 0 of 600 CPU s" in capfd.readouterr().out
