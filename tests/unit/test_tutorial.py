# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tutorial docs/adding_a_tuning.md produces a tuning that is generated, tested and documented."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tutorial

pytestmark = pytest.mark.nightly
TOOLS = tutorial.HERE / ".venv" / "bin"
# the tests that include a new tuning, without those of the other tunings
CASES = "tcp_retries or nothing_was_used or chosen or make_generate or lead_down or variables"
TESTS = [
    "module_utils/_tunings/test_sysctl_tunings.py",
    "modules/test_tunings_module.py",
    *(f"../test_{name}.py" for name in ("generate", "roles", "rooms", "whole_code")),
]


def run(folder: Path, *command: str | Path) -> str:
    environment = {"ANSIBLE_COLLECTIONS_PATH": str(folder / ".cache" / "collections"), "ANSIBLE_NOCOLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", name="made")
def fixture_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the checkout with everything that the page describes."""
    folder = tmp_path_factory.mktemp("tutorial") / "sap_tuning"
    tutorial.make(folder)
    return folder


def test_its_tests_pass(made: Path) -> None:
    tests = [f"tests/unit/plugins/{name}" for name in TESTS]
    said = run(made, sys.executable, "-m", "pytest", "-q", "--color=no", "-k", CASES, *tests)
    assert int(re.findall(r"(\d+) passed", said)[0]) > 20


def test_tools_find_nothing(made: Path) -> None:
    blocks = tutorial.blocks(tutorial.PAGE.read_text("utf-8"))
    paths = [block.path for block in blocks if block.path.endswith(".py")] + ["plugins/modules/tcp_retries.py"]
    run(made, TOOLS / "ruff", "check", *paths)
    run(made, TOOLS / "ruff", "format", "--check", *paths)
    run(made, TOOLS / "yamllint", "--strict", "changelogs/fragments/tcp-retries.yml", "roles/tcp_retries")
    assert "8 to 255" in run(made, TOOLS / "ansible-doc", "zpower.sap_tuning.tcp_retries")
