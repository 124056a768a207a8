# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/sessions.py: the output of sessions is kept apart, and in CI the first failure ends the run."""

from __future__ import annotations

import re
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))

import due  # noqa: E402
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


def test_at_the_end_stand_the_sum_and_what_was_slowest(capfd: pytest.CaptureFixture[str]) -> None:
    slow = "printf '%s\\n' '12.50s call     tests/a.py::test_slow' '0.01s setup    tests/a.py::test_quick[x y]'"
    assert sessions.run([slow, "true"], stop=True) == 0
    said = capfd.readouterr().out
    assert re.search(r"^sessions: CPU time: \d+ s in 2 sessions$", said, re.M)
    tests = said.partition("sessions: the slowest tests, in seconds of the clock:\n")[2].splitlines()
    assert tests == [
        f"sessions:     12.5  tests/a.py::test_slow, in {slow}",
        f"sessions:      0.0  tests/a.py::test_quick[x y], in {slow}",
    ]


def test_pytest_is_asked_for_its_slowest_tests_and_says_them_as_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("import time\n\ndef test_one():\n    time.sleep(0.2)\n")
    command = f'"{sys.executable}" -m pytest -q -p no:cacheprovider test_one.py'
    assert sessions.run([command], stop=True) == 0
    started = sessions.start(command)
    started.process.wait()
    ended = sessions.result(started, resource.getrusage(resource.RUSAGE_CHILDREN))
    # on a busy machine also the setup of the test takes long enough to be named
    assert {test for _seconds, test in ended.tests} == {"test_one.py::test_one"}


def test_a_session_that_passes_in_ci_is_noted_and_then_not_due(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: dict[str, str] = {}
    monkeypatch.setattr(due, "NEEDS", {"true": [], "false": []})
    monkeypatch.setattr(due, "digest", lambda session: f"hash of {session}")
    monkeypatch.setattr(due, "note", noted.__setitem__)
    assert sessions.run(["true"], stop=False) == 0 and not noted  # a session that cannot run passes there
    assert sessions.run(["true", "echo other"], stop=True) == 0
    assert sessions.run(["false"], stop=True) == 1
    assert noted == {"true": "hash of true"}
    monkeypatch.setattr(due, "when", lambda session: "2026-11-24" if session in noted else None)
    capfd.readouterr()
    assert sessions.without_unchanged(["true", "false"]) == ["false"]
    assert capfd.readouterr().out == (
        "sessions: true passed on 2026-11-24, and nothing that it depends on has changed\n"
    )
