# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role measure: its variables reach the programs of a host, rounds are stored, peers may be missing."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from measuring import free_port
from playing import LOCAL, play, unreachable

QUICK = {"measure_rounds": 1, "measure_runs": 1, "measure_warmup": 0, "measure_idle_seconds": 0}
QUICK |= {"measure_run_seconds": 0.1, "measure_control": False}
needs_programs = pytest.mark.skipif(
    not (shutil.which("fio") and shutil.which("openssl")), reason="no fio or no openssl on this machine"
)


def measure(
    folder: Path,
    *workloads: str,
    hosts: dict[str, dict[str, Any]] | None = None,
    peers: dict[str, dict[str, str]] | None = None,
    options: tuple[str, ...] = (),
    **variables: Any,
) -> tuple[int, str]:
    """Run the playbook measure on this machine; records below ``folder``. The host "peer" is out of reach."""
    measuring = {name: {**LOCAL, **values} for name, values in (hosts or {"app1": {}}).items()}
    everybody = {**measuring, "peer": unreachable(folder), **(peers or {})}
    given = {"ansible_python_interpreter": "/usr/bin/python3", "zpower_change": "c1", **QUICK, **variables}
    given |= {"zpower_results": str(folder / "results")}
    given |= {"measure_workloads": [*workloads]} if workloads else {}
    return play(folder, everybody, "measure", "-l", ",".join(measuring), *options, variables=given)


@pytest.mark.gate
@needs_programs
def test_programs_of_a_host_alone(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    commands = [
        {"name": "sleep", "argv": ["sleep", "0.05"], "environment": {"PASSWORD": "secret-4711"}},
        {"name": "fail", "argv": ["sh", "-c", "echo $PASSWORD; exit 3"], "environment": {"PASSWORD": "secret-4711"}},
    ]
    code, text = measure(
        tmp_path,
        hosts={"app1": {"measure_workloads": ["fio", "openssl"]}, "app2": {"measure_workloads": ["command"]}},
        options=("-vvv",),
        zpower_change=4711,
        measure_fio_directory=str(files),
        measure_fio_patterns=["randwrite"],
        measure_fio_modes=["buffered"],
        measure_fio_jobs=[2],
        measure_fio_size_mib=1,
        measure_openssl_ciphers=["aes-256-xts"],
        measure_openssl_bytes=[512],
        measure_openssl_processes=[2],
        measure_commands=commands,
    )
    # what was measured is stored, and a program that always fails makes the host fail
    assert code == 2, text
    assert "every run of command-fail failed: " in text and "ended with exit code 3: <PASSWORD>" in text
    paths = sorted((tmp_path / "results" / "4711").glob("*/*"))
    assert [f"{path.parent.name}/{path.name}" for path in paths] == [
        "app1/before-1-fio-randwrite-buffered-x2-local.json",
        "app1/before-1-openssl-aes-256-xts-512B-x2-local.json",
        "app2/before-1-command-fail-local.json",
        "app2/before-1-command-sleep-local.json",
    ]
    disks, cryptography, _failed, slept = (json.loads(path.read_text()) for path in paths)
    assert all(run["ok"] for record in (disks, cryptography) for run in record["runs"])
    (fio, openssl) = (record["workload"] for record in (disks, cryptography))
    assert (fio["set"], fio["params"]["size_mib"], fio["params"]["directory"]) == ("fio", 1, str(files))
    assert (openssl["set"], openssl["bytes"], openssl["connections"]) == ("openssl", 512, 2)
    assert list(files.iterdir()) == []
    assert slept["change"] == "4711" and slept["runs"][0]["metrics"]["elapsed_s"] >= 0.05
    assert "secret-4711" not in text + "".join(path.read_text() for path in paths)


PEERED = ["niping", "network", "enqueue"]  # the workloads that need a peer


def about(host: str, text: str) -> str:
    """Return the lines of a playbook's output that name a host in brackets: its results."""
    return "\n".join(line for line in text.splitlines() if f"[{host}" in line)


@pytest.mark.gate
def test_an_unreachable_peer_is_a_failure_of_the_host_that_measures(tmp_path: Path) -> None:
    """Otherwise the host would leave the play as unreachable, and no rescue could roll back its values."""
    peered = [*PEERED, "command"]
    hosts = {name: {"measure_workloads": [name], "measure_peer": "peer"} for name in peered}
    code, text = measure(tmp_path, hosts=hosts, measure_commands=[{"name": "x", "argv": ["true"]}])
    assert code == 2, text
    for name in peered:
        said = about(name, text)
        assert f"peer, the peer of {name}, cannot be reached: " in said and "No route to host" in said
    assert text.count("unreachable=0") == text.count("failed=1") == len(peered)


def test_nothing_to_measure_is_an_error(tmp_path: Path) -> None:
    """Among hosts that only lack a peer, the first one says so for all."""
    hosts: dict[str, dict[str, Any]] = {name: {"measure_workloads": [name]} for name in PEERED}
    code, text = measure(tmp_path, hosts={"empty": {"measure_workloads": []}, **hosts})
    assert code == 2
    assert "measure_rounds is 1 and measure_workloads []" in about("empty", text), text
    assert "no host of this play has a measure_peer" in about(PEERED[0], text)
    assert not (tmp_path / "results").exists()


HERE = {"ansible_connection": "local", "measure_address": "127.0.0.1"}
PINGPONG = {"measure_tool": "pingpong", "measure_bytes": [1000]}


@pytest.mark.gate
def test_one_server_serves_all_rounds(tmp_path: Path) -> None:
    code, text = measure(
        tmp_path,
        "niping",
        peers={"peer": HERE},
        options=("-v",),
        measure_peer="peer",
        **{**PINGPONG, "measure_rounds": 3},
    )
    assert code == 0, text
    assert text.count("Start the server for round trips]") == 1
    assert text.count("TASK [zpower.sap_tuning.measure : Measure round trips: round ") == 3
    assert "round 1 of 3]" in text and "round 3 of 3, about " in text
    # each round has measure_lifetime seconds
    assert '"lifetime": 10800' in text
    # no result and no fact contains the token, only a handle of this run
    tokens = re.findall(r'"token": "(.*?)"', text)
    assert tokens and all(token.startswith(("zpower-token-", "VALUE_SPECIFIED")) for token in tokens), tokens
    assert sorted(path.name for path in (tmp_path / "results" / "c1" / "app1").iterdir()) == [
        f"before-{number}-pingpong-1000B-peer.json" for number in (1, 2, 3)
    ]


@pytest.mark.gate
def test_servers_that_share_a_fixed_port_run_one_after_another(tmp_path: Path) -> None:
    shape = {"measure_network_kinds": ["latency"], "measure_network_connections": [1], "measure_port": free_port()}
    code, text = measure(tmp_path, "niping", "network", peers={"peer": HERE}, measure_peer="peer", **PINGPONG, **shape)
    assert code == 0, text
    assert sorted(path.name for path in (tmp_path / "results" / "c1" / "app1").iterdir()) == [
        "before-1-pingpong-1000B-peer.json",
        "before-1-pingpong-latency-peer.json",
    ]


ROUND = {
    "ansible.builtin.include_role": {"name": "zpower.sap_tuning.measure", "tasks_from": "call"},
    "vars": {"__measure_workload": "{{ __measure_ready.workloads[0] }}"},
}
LOSE_SERVER = [
    {"ansible.builtin.include_role": {"name": "zpower.sap_tuning.measure", "tasks_from": "ready"}},
    {
        "ansible.builtin.include_role": {"name": "zpower.sap_tuning.measure", "tasks_from": "start_server"},
        "loop": "{{ __measure_ready.servers }}",
        "loop_control": {"loop_var": "__measure_workload"},
    },
    *({**ROUND, "vars": {**ROUND["vars"], "__measure_round": {"number": at, "done": 0}}} for at in (1, 2)),
    {"ansible.builtin.include_role": {"name": "zpower.sap_tuning.measure", "tasks_from": "stop"}},
]
# a killed process may still answer: its port is refused only once the kernel has ended it
KILL_AND_WAIT = """\
import os, signal, socket, sys, time
pid, port = map(int, sys.argv[1:])
os.kill(pid, signal.SIGKILL)
until = time.monotonic() + 300
while time.monotonic() < until:
    with socket.socket() as client:
        refused = client.connect_ex(("127.0.0.1", port)) != 0
    try:
        state = open("/proc/%d/stat" % pid).read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        state = "Z"
    if refused and state == "Z":
        break
    time.sleep(0.02)
else:
    sys.exit("it is still there")
"""
SESSION = "{{ __measure_sessions.niping.%s }}"
KILL = {"argv": ["/usr/bin/python3", "-c", KILL_AND_WAIT, SESSION % "pid", SESSION % "port"]}
LOSE_SERVER.insert(2, {"ansible.builtin.command": KILL})


@pytest.mark.nightly
def test_a_server_that_is_gone_is_started_again(tmp_path: Path) -> None:
    variables = {"zpower_change": "c1", "zpower_results": str(tmp_path / "results"), "measure_peer": "peer"}
    # Another test that runs here at the same time would at once take a port of the default range that becomes free.
    variables |= {**QUICK, **PINGPONG, "measure_port": free_port(), "__measure_total": 2}
    hosts = {"app1": {**LOCAL, **variables}, "peer": {**LOCAL, **HERE}}
    plays = [{"hosts": "app1", "gather_facts": False, "tasks": LOSE_SERVER}]
    code, text = play(tmp_path, hosts, plays, COLUMNS="1000")
    assert code == 0, text
    assert "nothing was measured: the server is gone" in text
    assert text.count("Start the server for round trips]") == 2 and "rescued=1" in text
    records = [json.loads(path.read_text()) for path in (tmp_path / "results" / "c1" / "app1").iterdir()]
    assert sorted(record["round"] for record in records) == [1, 2]
    assert all(run["ok"] for record in records for run in record["runs"])


@pytest.mark.gate
def test_a_calibration_writes_nothing_in_check_mode_and_needs_something_to_measure(tmp_path: Path) -> None:
    commands = [{"name": "sleep", "argv": ["/bin/sleep", "0.02"]}]
    given = {**LOCAL, **QUICK, "measure_workloads": ["command"], "measure_commands": commands, "calibrate_rounds": 8}
    code, text = play(tmp_path, {"app1": given}, "calibrate", "--check")
    assert code == 0, text
    assert "there is no record of the calibration calibration below results" in text
    assert {path.name for path in tmp_path.iterdir()} == {"hosts.yml", "play.yml"}
    code, text = play(tmp_path, {"app1": {**given, "measure_workloads": ["niping"]}}, "calibrate")
    assert code == 2
    assert "no host of this play has a measure_peer, so there is nothing to measure" in text
    assert not list(tmp_path.glob("results/*/*"))
