# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbooks report and scaling say where the change is not named, or misspelt."""

from __future__ import annotations

from pathlib import Path

import pytest
from playing import ansible_playbook


def playbook(folder: Path, name: str, *arguments: str) -> tuple[bool, str]:
    """Whether a playbook of the collection passes in ``folder``, and what is said."""
    # ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
    command = ["-i", "app1,", f"zpower.sap_tuning.{name}", "-e", "ansible_python_interpreter=/usr/bin/python3"]
    done = ansible_playbook(*command, *arguments, cwd=folder)
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["report", "scaling"])
def test_a_change_has_to_be_named(tmp_path: Path, name: str) -> None:
    passed, text = playbook(tmp_path, name)
    assert not passed
    assert "change is empty: name the change, for example with -e zpower_change=" in text
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_change_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "results" / "rps-2026-11").mkdir(parents=True)
    passed, text = playbook(tmp_path, "report", "-e", "zpower_change=rsp-2026-11")
    assert not passed
    assert "there is no measurement record of change rsp-2026-11" in text
    assert "is rps-2026-11 meant?; results holds 1 other change: rps-2026-11" in text
    assert not (tmp_path / "results" / "rsp-2026-11").exists()


def test_a_change_may_be_called_by_a_number(tmp_path: Path) -> None:
    passed, text = playbook(tmp_path, "report", "-e", '{"zpower_change": 4711}')
    assert not passed
    assert "there is no measurement record of change 4711" in text
