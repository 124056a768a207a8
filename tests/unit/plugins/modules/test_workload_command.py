# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""measure_workload with a program of the user's: alone, with a server that samples, and what a wrong call hears."""

import base64
import json
import sys

import pytest
from ansible.module_utils import basic
from ansible_collections.zpower.sap_tuning.plugins.modules import measure_workload
from measuring import QUICK
from modules import caller

SECRET = "correct 'horse' \"battery\" \\staple"
# The kernel counts CPU time in ticks: a program of less may have used none.
PRINTS = "import os, time\nwhile time.process_time() < 0.05: pass\n"
PRINTS += "print('rows: 1200'); print(os.environ.get('PASSWORD', 'none')); print(os.environ['LC_ALL'])"
PROGRAM = {"name": "rows", "argv": [sys.executable, "-c", PRINTS]}
FIGURE = {"name": "rows_per_s", "unit": "rows/s", "better": "higher", "pattern": "^rows: (?P<value>\\d+)$"}
EMPTY = {"workload": "command", "command": []}


@pytest.fixture
def call(monkeypatch, capsys):
    return caller(measure_workload.main, monkeypatch, capsys)


def test_a_program_alone(call):
    (record,) = call(workload="command", command=[dict(PROGRAM, figures=[FIGURE])], **QUICK)["records"]
    about, (run,) = record["workload"], record["runs"]
    assert (about["name"], about["tool"], about["set"], record["peer"]) == (
        "command-rows",
        "command",
        "command",
        "local",
    )
    assert about["metric"] == {"name": "rows_per_s", "unit": "rows/s", "better": "higher"}
    assert run["ok"] and run["metrics"]["rows_per_s"] == 1200 and run["metrics"]["units"] == 1
    assert run["metrics"]["elapsed_s"] == run["elapsed_s"] > 0
    assert run["cpu"]["client"]["process_s"] > 0 and run["cpu"]["server"] is None
    assert run["raw"].split() == ["rows:", "1200", "none", "C"]


def test_values_of_the_environment_stay_out_of_the_result(call):
    environment = {"PASSWORD": SECRET, "THREADS": "1"}
    sent = base64.b64encode(json.dumps(environment).encode()).decode()
    result = call(workload="command", command=[dict(PROGRAM, environment=sent)], **QUICK)
    (record,) = result["records"]
    assert record["workload"]["params"]["environment"] == "PASSWORD THREADS"
    assert record["runs"][0]["raw"].splitlines()[1] == "<PASSWORD>"
    # one secret, not its digits: figures are whole
    assert record["runs"][0]["metrics"]["units"] == 1
    text = json.dumps(result)
    assert "staple" not in text and sent not in text


def test_values_of_the_environment_stay_out_of_the_log_of_the_system(call, monkeypatch):
    logged = []
    monkeypatch.setattr(basic.AnsibleModule, "log", lambda self, text, **details: logged.append(str((text, details))))
    sent = base64.b64encode(json.dumps({"PASSWORD": SECRET}).encode()).decode()
    call(workload="command", command=[dict(PROGRAM, environment=sent)], **QUICK)
    text = "".join(logged)
    assert "Invoked with workload=command" in text and "rows" in text
    assert sent not in text


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


def test_a_run_that_fails_is_kept(call):
    argv = [sys.executable, "-c", "import sys; print('out of memory'); sys.exit(3)"]
    (record,) = call(workload="command", command=[{"name": "job", "argv": argv}], **QUICK)["records"]
    (run,) = record["runs"]
    assert not run["ok"] and run["metrics"] == {} and run["elapsed_s"] > 0
    assert run["error"] == "%s ended with exit code 3: out of memory" % sys.executable


def test_check_mode_runs_nothing(call, tmp_path):
    argv = [sys.executable, "-c", "open(%r, 'w')" % str(tmp_path / "trace")]
    result = call(workload="command", command=[{"name": "job", "argv": argv}], _ansible_check_mode=True, **QUICK)
    assert result["records"] == [] and not result["changed"] and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments, words",
    [
        (EMPTY, "command has nothing; name at least one program"),
        ({"workload": "command"}, "command has nothing"),
        ({"command": [{"argv": ["true"]}]}, "name"),
        ({"command": [{"name": "x", "argv": []}]}, "command x: argv is empty"),
        ({"command": [{"name": "x", "argv": ["no-such-program"]}]}, "command x: no-such-program was not found in "),
        ({"command": [{"name": "x", "argv": ["/no/such"]}]}, "command x: /no/such is no executable file"),
        ({"command": [{"name": "x", "argv": ["true"], "user": "no-such-user"}]}, "command x: "),
        ({"command": [dict(PROGRAM, figures=[dict(FIGURE, better="more")])]}, "more"),
    ],
)
def test_a_wrong_call_hears_what_is_wrong(call, arguments, words):
    result = call(**dict(QUICK, workload="command", **{k: v for k, v in arguments.items() if k != "workload"}))
    assert result["failed"] and words in result["msg"]
