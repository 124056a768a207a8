# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role measure with the workloads of a host alone: what it is told reaches the programs, and a round is stored."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
QUICK = {"measure_rounds": 1, "measure_runs": 1, "measure_warmup": 0, "measure_idle_seconds": 0}
needs_programs = pytest.mark.skipif(
    not (shutil.which("fio") and shutil.which("openssl")), reason="no fio or no openssl on this machine"
)


def measure(folder: Path, *workloads: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """The playbook measure on this machine; records below ``folder``."""
    # ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
    play = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3", **QUICK, **variables}
    play |= {"zpower_change": "c1", "zpower_results": str(folder / "results"), "measure_workloads": [*workloads]}
    play |= {"measure_run_seconds": 0.1, "measure_control": False}
    command = [os.path.join(os.path.dirname(sys.executable), "ansible-playbook"), "-i", "app1,"]
    command += ["zpower.sap_tuning.measure", "-e", json.dumps(play)]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections")}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)


@needs_programs
def test_disks_and_cryptography_of_a_host_alone(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    done = measure(
        tmp_path,
        "fio",
        "openssl",
        measure_fio_directory=str(files),
        measure_fio_patterns=["randwrite"],
        measure_fio_modes=["buffered"],
        measure_fio_jobs=[2],
        measure_fio_size_mib=1,
        measure_openssl_ciphers=["aes-256-xts"],
        measure_openssl_bytes=[512],
        measure_openssl_processes=[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    records = {path.name: json.loads(path.read_text()) for path in (tmp_path / "results" / "c1" / "app1").iterdir()}
    assert sorted(records) == [
        "before-1-fio-randwrite-buffered-x2-local.json",
        "before-1-openssl-aes-256-xts-512B-x2-local.json",
    ]
    assert all(run["ok"] for record in records.values() for run in record["runs"])
    disks, cryptography = (records[name]["workload"] for name in sorted(records))
    assert (disks["set"], disks["params"]["size_mib"], disks["params"]["directory"]) == ("fio", 1, str(files))
    assert (cryptography["set"], cryptography["bytes"], cryptography["connections"]) == ("openssl", 512, 2)
    assert list(files.iterdir()) == []


def test_a_directory_has_to_be_named(tmp_path: Path) -> None:
    done = measure(tmp_path, "fio")
    assert done.returncode != 0 and "measure_fio_directory is empty" in done.stdout
    assert not (tmp_path / "results").exists()
