# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock server of ASCS01 on app1, measured from app2 through the role.

It is a stand-in that really decides about locks, over TCP.

Each stage of the scenario measures against hosts as they are then; here the instances have been restarted.
"""

import json
import os
import subprocess

import pytest

HOST = "app2"
EXE = "/usr/sap/PRD/D00/exe"
PROFILE = "/usr/sap/PRD/SYS/profile/PRD_ASCS01_prdscs"
QUICK = {
    "users": 2,
    "locks_per_user": 50,
    "runs": 2,
    "warmup": 0,
    "idle_seconds": 0,
    "control": False,
    "run_seconds": 1,
}
# Prints the process id of the program that runs enq_admin repeatedly on this host: the module.
MODULE = """
import glob, time
while True:
    for path in glob.glob("/proc/[0-9]*"):
        try:
            words = open(path + "/cmdline").read()
            if words.startswith("python3\\0/usr/sap/") and "--locks=*:" in words:
                print([line.split()[1] for line in open(path + "/status") if line.startswith("PPid:")][0])
                raise SystemExit
        except OSError:
            pass
    time.sleep(0.01)
"""


@pytest.fixture
def locks(host):
    """Return a function that reads the number of locks with the program itself."""
    call = f"env LD_LIBRARY_PATH={EXE} {EXE}/enq_admin pf={PROFILE} --csv --no_color '--locks=1:*:*:*:*'"
    return lambda: int(host.check_output(call).partition("Current=")[2].partition(";")[0])


def ask(where, **arguments):
    """Call the module enqt on a host of the lab and return its result."""
    command = ["ansible", where, "-m", "zpower.sap_tuning.enqt", "-a", json.dumps(arguments)]
    plain = dict(os.environ, ANSIBLE_FORCE_COLOR="0")
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, env=plain)
    text = done.stdout.partition(" => ")[2]
    assert text.startswith("{"), done.stdout + done.stderr
    return json.JSONDecoder().raw_decode(text)[0]


@pytest.fixture(scope="module")
def agent():
    """Return the session of an agent on app1, which all tests share."""
    session = ask("app1", side="server", sid="PRD", address="0.0.0.0")["session"]
    yield session
    ask("app1", side="server", state="stopped", session=session)


@pytest.fixture
def address(host):
    return host.check_output("getent hosts prdscs").split()[0]


def test_a_round_of_the_role_finds_the_server_and_leaves_no_lock(play, tmp_path, locks):
    asked = {
        "measure_workloads": ["enqueue"],
        "measure_enqueue_loads": ["create_locks", "sd_benchmark"],
        "measure_enqueue_run_seconds": 1,
        "measure_rounds": 1,
        "measure_runs": 2,
        "measure_peer": "app1",
        "zpower_change": "enqueue",
        "zpower_results": str(tmp_path),
    }
    status, text, _changed = play("measure", "--limit", "app2", "-e", json.dumps(asked))
    assert status == 0, text
    stored = {path.name: json.loads(path.read_text()) for path in (tmp_path / "enqueue" / "app2").iterdir()}
    for load in ("create_locks", "sd_benchmark"):
        record = stored[f"before-1-enq_admin-{load}-app1.json"]
        assert record["workload"]["version"] == "789.100" and "left_behind" not in record
        assert all(run["ok"] and run["metrics"]["response_us"] > 0 for run in record["runs"])
        assert all(run["cpu"]["server"]["ncpu"] >= 1 for run in record["runs"])
    assert locks() == 0


def test_a_module_that_is_killed_leaves_no_lock(host, agent, address, locks, eventually):
    options = dict(QUICK, side="client", session=agent, address=address, load="verify_entries", run_seconds=60)
    command = ["ansible", "app2", "-m", "zpower.sap_tuning.enqt", "-a", json.dumps(options)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        assert eventually(lambda: locks() >= 100), "it has not begun"
        host.check_output("kill -9 $(timeout 300 python3 -c %s)", MODULE)
        running.wait()
    assert eventually(lambda: locks() == 0), "locks were left"
