# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tuning of the tutorial docs/adding_a_tuning.md on a lab host: its molecule test runs the playbooks."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(HERE / "tests"))

import tutorial  # noqa: E402  (it lies beside what uses it without pytest)

NAME = "tutorial"
TEST = "molecule/default/tests/applied/test_tcp_retries.py"


def lab(checkout, action, *options):
    # each checkout has its own labs
    subprocess.run(
        [checkout / "molecule" / "shared" / "lab", action, "--name", NAME, *options],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def test_it_is_set_verified_and_taken_back(tmp_path):
    copy = tmp_path / "copy"
    tutorial.make(copy)
    inventory = copy / "inventories" / "lab"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "LAB_NAME": NAME,
        "ANSIBLE_INVENTORY": str(inventory),
        "ANSIBLE_COLLECTIONS_PATH": str(copy / ".cache" / "collections"),
        "MOLECULE_PROJECT_DIRECTORY": str(copy),
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path),
    }
    options = [f"--ansible-inventory={inventory}", "--hosts=ansible://sap_app_servers"]
    try:
        lab(copy, "up", "--hosts", "1")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--color=no", *options, TEST],
            cwd=copy,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
    finally:
        lab(copy, "down")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
