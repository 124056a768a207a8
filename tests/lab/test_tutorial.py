# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tuning of the tutorial docs/adding_a_tuning.md on a lab host: its molecule test runs the playbooks."""

import os
import sys

from hosts import BIN, HERE, run

sys.path.insert(0, str(HERE / "tests"))

import tutorial  # noqa: E402  (it lies beside what uses it without pytest)

NAME = "tutorial"
TEST = "molecule/default/tests/applied/test_tcp_retries.py"


def test_it_is_set_verified_and_taken_back(tmp_path):
    copy = tmp_path / "copy"
    tutorial.make(copy)
    environment = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "LAB_NAME": NAME,
        "ANSIBLE_INVENTORY": str(copy / "inventories" / "lab"),
        "ANSIBLE_COLLECTIONS_PATH": str(copy / ".cache" / "collections"),
        "MOLECULE_PROJECT_DIRECTORY": str(copy),
        "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path),
    }
    words = ["-m", "pytest", "-q", "--color=no", "--hosts=ansible://sap_app_servers", TEST]
    lab = copy / "molecule" / "shared" / "lab"  # each checkout has its own labs
    try:
        run(lab, "up", "--name", NAME, "--hosts", "1")
        done = run(sys.executable, *words, check=False, cwd=copy, **environment)
    finally:
        run(lab, "down", "--name", NAME)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
