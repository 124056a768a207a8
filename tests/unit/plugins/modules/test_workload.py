# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module measure_workload: network, fio, openssl and the user's own programs, check mode, and wrong calls."""

import base64
import json
import os
import shutil
import sys

import pytest
from ansible.module_utils import basic
from ansible_collections.zpower.sap_tuning.plugins.modules import measure_workload
from measuring import QUICK
from modules import caller

ROUND = dict(
    QUICK,
    workload="network",
    address="127.0.0.1",
    network={"kinds": ["onlTrans", "strWrite"], "connections": [2]},
    run_seconds=0.05,
)
SESSION = {"tool": "pingpong", "port": 1, "control_port": 1, "token": "0123456789abcdef"}


@pytest.fixture
def call(monkeypatch, capsys):
    return caller(measure_workload.main, monkeypatch, capsys)


@pytest.mark.gate
@pytest.mark.skipif(not shutil.which("fio"), reason="no fio on this machine")
def test_disks(call, tmp_path):
    files = {"directory": str(tmp_path), "patterns": ["randread"], "modes": ["direct"], "size_mib": 1}
    result = call(workload="fio", fio=files, _ansible_check_mode=True, **QUICK)
    assert result["records"] == [] and not result["changed"] and os.listdir(str(tmp_path)) == []
    (record,) = call(workload="fio", fio=files, **QUICK)["records"]
    assert record["workload"]["name"] == "fio-randread-direct" and record["peer"] == "local"
    assert record["workload"]["metric"] == {"name": "iops", "unit": "requests/s", "better": "higher"}
    assert record["runs"][0]["ok"] and record["runs"][0]["metrics"]["units"] > 0
    assert os.listdir(str(tmp_path)) == []


@pytest.mark.gate
@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl on this machine")
def test_cryptography_rotates_and_takes_all_defaults_but_what_is_named(call):
    shapes = {"ciphers": ["aes-128-gcm"], "bytes": [256, 1024]}
    records = call(workload="openssl", openssl=shapes, round=2, **QUICK)["records"]
    names = [record["workload"]["name"] for record in records]
    assert names == ["openssl-aes-128-gcm-1024B", "openssl-aes-128-gcm-256B"]
    assert all(record["runs"][0]["ok"] for record in records)


SECRET = "correct 'horse' \"battery\" \\staple"
# The kernel counts CPU time in ticks: a program of less may have used none.
PRINTS = "import os, time\nwhile time.process_time() < 0.05: pass\n"
PRINTS += "print('rows: 1200'); print(os.environ.get('PASSWORD', 'none')); print(os.environ['LC_ALL'])"
PROGRAM = {"name": "rows", "argv": [sys.executable, "-c", PRINTS]}
FIGURE = {"name": "rows_per_s", "unit": "rows/s", "better": "higher", "pattern": "^rows: (?P<value>\\d+)$"}


def test_a_program_alone(call):
    (record,) = call(workload="command", command=[dict(PROGRAM, figures=[FIGURE])], **QUICK)["records"]
    about, (run,) = record["workload"], record["runs"]
    assert (about["name"], about["tool"], about["set"]) == ("command-rows", "command", "command")
    assert record["peer"] == "local"
    assert about["metric"] == {"name": "rows_per_s", "unit": "rows/s", "better": "higher"}
    assert run["ok"] and run["metrics"]["rows_per_s"] == 1200 and run["metrics"]["units"] == 1
    assert run["metrics"]["elapsed_s"] == run["elapsed_s"] > 0
    assert run["cpu"]["client"]["process_s"] > 0 and run["cpu"]["server"] is None
    assert run["raw"].split() == ["rows:", "1200", "none", "C"]
    assert call(workload="command", command=[PROGRAM], _ansible_check_mode=True, **QUICK)["records"] == []
    # a run that fails is kept
    argv = [sys.executable, "-c", "import sys; print('out of memory'); sys.exit(3)"]
    (record,) = call(workload="command", command=[{"name": "job", "argv": argv}], **QUICK)["records"]
    (run,) = record["runs"]
    assert not run["ok"] and run["metrics"] == {} and run["elapsed_s"] > 0
    assert run["error"] == "%s ended with exit code 3: out of memory" % sys.executable


def test_values_of_the_environment_stay_out_of_the_result_and_the_log_of_the_system(call, monkeypatch):
    logged = []
    monkeypatch.setattr(basic.AnsibleModule, "log", lambda self, text, **details: logged.append(str((text, details))))
    environment = {"PASSWORD": SECRET, "THREADS": "1"}
    sent = base64.b64encode(json.dumps(environment).encode()).decode()
    result = call(workload="command", command=[dict(PROGRAM, environment=sent)], **QUICK)
    (record,) = result["records"]
    assert record["workload"]["params"]["environment"] == "PASSWORD THREADS"
    assert record["runs"][0]["raw"].splitlines()[1] == "<PASSWORD>"
    # one secret, not its digits: figures are whole
    assert record["runs"][0]["metrics"]["units"] == 1
    log = "".join(logged)
    assert "Invoked with workload=command" in log and "rows" in log
    for text in (json.dumps(result), log):
        assert "staple" not in text and sent not in text


def test_a_server_samples_the_peer(call):
    session = call(workload="command", side="server", address="127.0.0.1", lifetime=600)["session"]
    try:
        assert session["tool"] == "command"
        arguments = dict(QUICK, workload="command", command=[PROGRAM], session=session)
        (record,) = call(address="127.0.0.1", **arguments)["records"]
        assert record["runs"][0]["ok"] and record["runs"][0]["cpu"]["server"]["user_s"] is not None
        assert record["fingerprint"]["server"]["hostname"]
        assert "address is not set" in call(**arguments)["msg"]
    finally:
        assert call(workload="command", side="server", state="stopped", session=session)["changed"]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(ROUND), "workload network needs the session of a started server and its address"),
        (dict(ROUND, session=SESSION, network={"kinds": ["fast"]}), "value of kinds must be one or more of: latency,"),
        (dict(ROUND, session=SESSION, network={"connections": [300]}), "network.connections has 300"),
        (dict(ROUND, session=SESSION, network={"tool": "niping"}), "value of tool must be one of: pingpong, netperf"),
        (dict(ROUND, session=SESSION, run_seconds=601), "run_seconds is 601.0; it must be from"),
        (dict(workload="network", side="server", state="stopped"), "session"),
        (
            dict(workload="network", side="server", path="/no/such/program", network={"tool": "netperf"}),
            "/no/such/program is not an executable file with an absolute path: set path to netserver, or leave it out",
        ),
        (dict(workload="disk"), "value of workload must be one of: network, fio, openssl, command"),
        (dict(workload="fio"), "fio"),
        (dict(workload="fio", fio={}), "directory"),
        (dict(workload="fio", fio={"directory": "/nowhere", "jobs": [99]}), "fio.jobs has 99"),
        (dict(workload="openssl", openssl={"ciphers": ["rot13"]}), "rot13"),
        (dict(workload="openssl", path="/nowhere/openssl"), "/nowhere/openssl is not an executable file"),
        (dict(workload="openssl", side="server"), "workload openssl has no server: use side client"),
        (dict(workload="command", command=[]), "command has nothing; name at least one program"),
        (dict(command=[{"argv": ["true"]}]), "name"),
        (dict(command=[{"name": "x", "argv": []}]), "command x: argv is empty"),
        (dict(command=[{"name": "x", "argv": ["no-such-program"]}]), "command x: no-such-program was not found in "),
        (dict(command=[{"name": "x", "argv": ["true"], "user": "no-such-user"}]), "command x: "),
    ],
)
def test_a_wrong_call_is_told_why(call, arguments, words):
    given = dict(QUICK, workload="command") if "command" in arguments else dict(QUICK)
    result = call(**dict(given, **arguments))
    assert result["failed"] and words in result["msg"]
