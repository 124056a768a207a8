# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role measure: what it is told reaches the programs of a host alone, rounds are stored, peers may be missing."""

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


def measure(
    folder: Path, *workloads: str, peer: dict[str, str] | None = None, options: tuple[str, ...] = (), **variables: Any
) -> subprocess.CompletedProcess[str]:
    """The playbook measure on this machine; records below ``folder``. Without variables of a peer none is reached."""
    ssh = folder / "ssh"
    ssh.write_text("#!/bin/sh\necho 'No route to host' >&2\nexit 255\n")
    ssh.chmod(0o755)
    hosts = {"app1": {"ansible_connection": "local"}, "peer": peer or {"ansible_ssh_executable": str(ssh)}}
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    # ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
    play = {"ansible_python_interpreter": "/usr/bin/python3", "zpower_change": "c1", **QUICK, **variables}
    play |= {"zpower_results": str(folder / "results"), "measure_workloads": [*workloads]}
    play |= {"measure_run_seconds": 0.1, "measure_control": False}
    command = [os.path.join(os.path.dirname(sys.executable), "ansible-playbook"), "-i", str(inventory), "-l", "app1"]
    command += ["zpower.sap_tuning.measure", "-e", json.dumps(play), *options]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections")}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)


@needs_programs
def test_a_change_may_be_called_by_a_number(tmp_path: Path) -> None:
    shape = {"measure_openssl_ciphers": ["aes-128-gcm"], "measure_openssl_bytes": [256]}
    done = measure(tmp_path, "openssl", zpower_change=4711, **shape)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "results" / "4711" / "app1").iterdir()
    assert json.loads(path.read_text())["change"] == "4711"


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


@pytest.mark.parametrize("workload", ["niping", "network", "enqueue"])
def test_a_host_without_peer_is_not_measured(tmp_path: Path, workload: str) -> None:
    done = measure(tmp_path, workload)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("workload", ["niping", "network", "enqueue"])
def test_a_peer_out_of_reach_is_a_failure_of_the_host_that_measures(tmp_path: Path, workload: str) -> None:
    """The host itself would leave the play as unreachable, and no rescue could take back what was set on it."""
    done = measure(tmp_path, workload, measure_peer="peer")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "peer, the peer of app1, cannot be reached: " in done.stdout and "No route to host" in done.stdout
    assert "unreachable=0" in done.stdout and "failed=1" in done.stdout


@pytest.mark.parametrize("workloads, rounds", [(["openssl"], 0), (["openssl"], -1), ([], 1)])
def test_nothing_to_measure_is_an_error(tmp_path: Path, workloads: list[str], rounds: int) -> None:
    done = measure(tmp_path, *workloads, measure_rounds=rounds)
    assert done.returncode == 2 and f"measure_rounds is {rounds} and measure_workloads" in done.stdout


@pytest.mark.parametrize(
    "workload, peer, address",
    [
        ("niping", {"measure_address": "127.0.0.2"}, "127.0.0.2"),
        ("niping", {"ansible_host": "127.0.0.3"}, "127.0.0.3"),
        ("niping", {}, "peer"),
        ("network", {"measure_address": "127.0.0.2", "measure_listen": "0.0.0.0"}, "0.0.0.0"),
        ("enqueue", {"measure_address": "127.0.0.2"}, "127.0.0.2"),
    ],
)
def test_the_server_listens_where_it_is_measured_by(
    tmp_path: Path, workload: str, peer: dict[str, str], address: str
) -> None:
    done = measure(
        tmp_path,
        workload,
        peer={"ansible_connection": "local", **peer},
        options=("--check", "-v"),
        measure_peer="peer",
        measure_tool="pingpong",
        measure_enqueue_tool="locktable",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    started = done.stdout[done.stdout.index("[app1 -> peer") :]
    assert f'"session": {{"address": "{address}"' in started
