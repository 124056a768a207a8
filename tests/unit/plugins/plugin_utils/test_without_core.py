# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No test in this folder needs ansible-core: the session unit(oldest) leaves the folder out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
COLLECT = """
import sys
import pytest

sys.modules["ansible"] = None
sys.exit(pytest.main(["-q", "--collect-only", "-p", "no:xdist", sys.argv[1]]))
"""


def test_they_import_nothing_of_ansible_core() -> None:
    """Also not by way of what they import."""
    # ansible-test names plugins of pytest that import ansible-core
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_PLUGINS"}
    command = [sys.executable, "-c", COLLECT, str(FOLDER)]
    done = subprocess.run(command, cwd=FOLDER.parents[3], env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_they_start_no_program() -> None:
    tests = [path for path in FOLDER.glob("test_*.py") if path.name != Path(__file__).name]
    assert [path.name for path in tests if re.search(r"\bsubprocess\b|\bos\.system\b", path.read_text())] == []
