# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller does around the measuring modules: options of roles, ids, storing, facts, and what failed."""

import base64
import copy
import errno
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import ANY

import pytest
import yaml
from action_options import names_of
from ansible.errors import AnsibleActionFail
from ansible.release import __version__ as ansible_core_version
from ansible_collections.zpower.sap_tuning.plugins.action import measure_workload
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.fingerprint import fingerprint
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enqueue
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import rounds
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions import measuring as measuring_action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.measuring import encoded
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import role_values
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.reading import TUNINGS
from measuring import ALONE, Quiet, plan

FINGERPRINT = fingerprint("", "")
NAMES_VALUES = not ansible_core_version.startswith("2.16.")
SESSION = {"tool": "pingpong", "port": 3298, "control_port": 3298, "token": "t"}


def measured(name="pingpong-1000B", good=True, control=False, started="2026-11-20T10:00:00.000000Z"):
    """A record as the module returns it."""
    record = rounds.measure_workload(Quiet(name), plan(loops=700), ALONE)
    record.update(started=started, idle={"client": None, "server": None}, fingerprint={"client": None, "server": None})
    record["workload"]["control"] = control
    if control:
        record["peer"] = "loopback"
    for run in record["runs"]:
        if good:
            run["metrics"].update(av2_us=50.0 + run["run"], tr2_kib_per_s=1000.0, avg_us=51.0)
        else:
            run.update(ok=False, error="nothing listens there", metrics={})
    return record


class Action(measure_workload.ActionModule):
    """The action with a module that returns what the test says; seen: the arguments it was called with."""

    def __init__(self, task, outcome):
        connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/tmp"))
        super().__init__(task, connection, SimpleNamespace(check_mode=task.check_mode), None, None, None)
        self.outcome, self.seen = outcome, None

    def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_others):
        assert module_name == "zpower.sap_tuning.niping"
        self.seen = copy.deepcopy(module_args)
        return copy.deepcopy(self.outcome)


@pytest.fixture
def call(tmp_path):
    def run(*records, facts=None, outcome=None, variables=None, **arguments):
        values = {
            "side": "client",
            "address": "10.0.0.2",
            "session": SESSION,
            "bytes": [1000],
            "results": str(tmp_path),
        }
        values.update(arguments)
        task = SimpleNamespace(
            args={name: value for name, value in values.items() if value is not None},
            check_mode=False,
            async_val=0,
            action="niping",
            diff=False,
            environment=[],
        )
        action = Action(task, {"changed": False, "records": list(records)} if outcome is None else outcome)
        known = {"inventory_hostname": "app1", "ansible_facts": facts or {}}
        result = action.run(task_vars={**known, **(variables or {})})
        return result, action.seen

    return run


def test_a_round_without_its_server_is_left_to_the_role_only_once(call, tmp_path):
    gone = measured(good=False)
    result, _seen = call(gone, facts=None, variables={"__measure_again": False}, **BEFORE)
    assert result["failed"] and result["server_gone"]
    assert result["msg"] == "nothing was measured: nothing listens there"
    assert list(tmp_path.iterdir()) == []
    # with a server at the beginning the round counts as a failed one
    begun = {**measured(good=False), "fingerprint": {"client": None, "server": FINGERPRINT}}
    result, _seen = call(begun, variables={"__measure_again": False}, **BEFORE)
    assert result["failed"] and "server_gone" not in result and len(result["paths"]) == 1
    # the second time as well, and without the role
    for variables, number in (({"__measure_again": True}, 2), ({}, 3)):
        result, _seen = call(gone, variables=variables, **{**BEFORE, "round": number})
        assert result["failed"] and "server_gone" not in result and len(result["paths"]) == 1


BEFORE = {"change": "c1", "phase": "before", "round": 1, "peer": "app2"}


def test_records_are_stored_with_their_ids(call, tmp_path):
    result, seen = call(
        measured(),
        measured("control-pingpong-1000B", control=True),
        protocol={"name": "full", "rounds": 6, "design": "alternate"},
        **BEFORE,
    )
    # ids stay on the controller
    assert not {"change", "phase", "peer", "results", "protocol"} & set(seen)
    assert seen["round"] == 1 and seen["calibrated"] == {}
    names = ["before-1-pingpong-1000B-app2.json", "before-1-control-pingpong-1000B-loopback.json"]
    assert result["paths"] == [str(tmp_path / "c1" / "app1" / name) for name in names]
    record, control = (json.loads((tmp_path / "c1" / "app1" / name).read_text()) for name in names)
    assert record_files.validate(record) is None and record_files.validate(control) is None
    assert (record["change"], record["phase"], record["round"]) == ("c1", "before", 1)
    assert (record["host"], record["peer"], control["peer"]) == ("app1", "app2", "loopback")
    assert [record["protocol"][name] for name in ("name", "rounds", "design")] == ["full", 6, "alternate"]
    version = yaml.safe_load((Path(__file__).parents[4] / "galaxy.yml").read_text())["version"]
    assert record["collector"] == {"collection": version, "ansible_core": ansible_core_version}
    assert record["runs"][0]["raw"] == "text"
    loaded = record_files.load_change(tmp_path, "c1")
    assert len(loaded.records) == 2 and loaded.problems == []
    # the result is small and has no raw text
    assert "records" not in result and "raw" not in json.dumps(result) and not result.get("failed")
    assert result["summary"][0] == {
        **{"workload": "pingpong-1000B", "peer": "app2", "control": False, "record": result["paths"][0]},
        **{"av2_us": 51.5, "tr2_kib_per_s": 1000.0, "runs_ok": 2, "runs_failed": 0, "error": None},
    }


def test_without_a_change_nothing_is_stored_and_everything_returned(call, tmp_path):
    result, _seen = call(measured())
    assert list(tmp_path.iterdir()) == [] and "paths" not in result
    (record,) = result["records"]
    assert record["peer"] == "10.0.0.2" and record["host"] == "app1" and "raw" not in record["runs"][0]
    assert "ansible_facts" not in result


def test_every_later_round_takes_the_loops_of_the_first(call, tmp_path):
    # a round that never calibrated is not an example
    failed = measured(good=False)
    failed["workload"]["loops"] = 0
    call(failed, **BEFORE)
    assert call(measured(), **dict(BEFORE, round=2))[1]["calibrated"] == {}
    first = measured(started="2026-11-20T10:00:00.000000Z")
    control = measured("control-pingpong-1000B", control=True)
    call(first, control, **dict(BEFORE, round=3))
    later = measured(started="2026-11-20T11:00:00.000000Z")
    later["workload"]["loops"] = 900
    folder = tmp_path / "c1" / "app1"
    (folder / "tunings-before-1.json").write_text("{}")
    (folder / "other.json").write_text("no record")
    _result, seen = call(later, **dict(BEFORE, phase="after"))
    assert seen["calibrated"] == {"pingpong-1000B": 700, "control-pingpong-1000B": 700}
    assert call(measured(), **dict(BEFORE, round=4))[1]["calibrated"]["pingpong-1000B"] == 700
    assert "pingpong-1000B" not in call(measured(), **dict(BEFORE, peer="app9"))[1]["calibrated"]
    assert call(measured(), **dict(BEFORE, round=5, calibrated={"x": 5}))[1]["calibrated"] == {"x": 5}


def test_an_existing_round_is_refused_before_it_is_measured_again(call, tmp_path):
    call(measured(), **BEFORE)
    path = tmp_path / "c1" / "app1" / "before-1-pingpong-1000B-app2.json"
    text = path.read_text()
    with pytest.raises(AnsibleActionFail, match="before-1-pingpong-1000B-app2.json exists already"):
        call(measured(), **BEFORE)
    assert path.read_text() == text
    call(measured("pingpong-1000B-x8"), **dict(BEFORE, connections=8))


def test_the_control_workload_is_measured_once_in_a_round(call):
    call(measured(), measured("control-pingpong-1000B", control=True), **BEFORE)
    assert call(measured(), **dict(BEFORE, peer="app3"))[1]["control"] is False
    assert "control" not in call(measured(), **dict(BEFORE, round=2))[1]


def test_a_folder_that_cannot_store_a_record_is_reported_before_anything_is_measured(call, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(AnsibleActionFail, match="no record can be written below .*: .*file is not a directory"):
        call(measured(), results=str(tmp_path / "file" / "results"), **BEFORE)
    monkeypatch.setattr(measuring_action.os, "access", lambda path, _mode: Path(path) != tmp_path)
    with pytest.raises(AnsibleActionFail, match=f"below .*: {tmp_path} is not writable"):
        call(measured(), results=str(tmp_path / "new"), **BEFORE)
    assert not (tmp_path / "new").exists()


def test_if_all_runs_failed_the_task_fails_after_storing(call):
    result, _seen = call(measured(good=False), measured("control-pingpong-1000B", control=True), **BEFORE)
    assert result["failed"]
    assert result["msg"] == "every run of pingpong-1000B with app2 failed: nothing listens there"
    record = json.loads(Path(result["paths"][0]).read_text())
    assert record["runs"][0]["ok"] is False and record["runs"][0]["metrics"] == {}
    assert result["summary"][0]["av2_us"] is None and result["summary"][0]["runs_failed"] == 2
    # what keeps several workloads off is said once
    both = [measured(good=False), measured("pingpong-500B", good=False)]
    result, _seen = call(*both, bytes=[1000, 500], **dict(BEFORE, round=2))
    assert result["msg"].startswith("every run of pingpong-1000B, pingpong-500B with app2 failed: ")
    # a workload of one host has no peer to fail with
    record = dict(measured("fio-seqread-direct", good=False), peer=rounds.LOCAL_PEER)
    assert call(record, **dict(BEFORE, round=3))[0]["msg"].startswith("every run of fio-seqread-direct failed: ")
    # a control that fails alone is not a failure
    control = measured("control-pingpong-1000B", good=False, control=True)
    result, _seen = call(measured(), control, **dict(BEFORE, round=4))
    assert not result.get("failed") and len(result["paths"]) == 2


def test_on_a_full_disk_the_error_says_what_was_measured_and_not_stored(call, monkeypatch, tmp_path):
    write = record_files.write_record

    def full(results, record):
        if record["workload"]["name"] == "pingpong-1000B":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(results, record)

    monkeypatch.setattr(record_files, "write_record", full)
    result, _seen = call(measured(), measured("pingpong-1B"), **BEFORE)
    assert result["failed"] and len(result["paths"]) == 1
    assert result["msg"] == f"measured, but not stored below {tmp_path}: pingpong-1000B: No space left on device"
    assert result["summary"][0]["av2_us"] == 51.5


@pytest.mark.parametrize(
    "change, words",
    [
        ({"change": "../x"}, "change is"),
        ({"phase": None}, "required by 'change': phase"),
        ({"phase": "a/b"}, "phase is"),
    ],
)
def test_ids_that_lead_out_of_the_results_stop_before_the_measurement(call, tmp_path, change, words):
    with pytest.raises(AnsibleActionFail, match=words):
        call(measured(), **dict(BEFORE, **change))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [{"round": "first"}, {"bytes": ["many"]}, {"bytes": [None]}, {"connections": "x"}])
def test_values_that_are_not_numbers_are_refused_in_words(call, wrong):
    ((name, value),) = wrong.items()
    # ansible-core 2.16 names the type alone
    shown = re.escape(str(value[0] if name == "bytes" else value)) if NAMES_VALUES else ""
    with pytest.raises(
        AnsibleActionFail, match=rf"'{name}' is of type \S+( '\w+'>)? and we were unable to convert to int: .*{shown}"
    ):
        call(measured(), **dict(BEFORE, **wrong))


def test_a_server_call_is_passed_on(call, tmp_path):
    outcome = {"changed": True, "session": SESSION}
    result, seen = call(outcome=outcome, side="server", address=None, bytes=None, session=None)
    assert result["session"] == SESSION and seen == {"side": "server"}
    assert list(tmp_path.iterdir()) == []


def test_a_failed_module_and_check_mode_store_nothing(call, tmp_path):
    result, _seen = call(outcome={"failed": True, "msg": "bytes is empty"}, **BEFORE)
    assert result["failed"] and result["msg"] == "bytes is empty" and "summary" not in result
    result, _seen = call(outcome={"changed": False, "records": [], "msg": "check mode"}, **BEFORE)
    assert not result.get("failed") and "ansible_facts" not in result
    assert list(tmp_path.iterdir()) == []


def test_sizes_in_every_shape_that_yaml_gives():
    for sizes in ("1,1000", ["1", 1000], 1000):
        assert names_of("niping", session=SESSION, bytes=sizes)[-1] == "pingpong-1000B"
    assert len(names_of("niping", session=SESSION)) == 7


def test_version_of_a_checkout_and_of_an_installed_collection(tmp_path):
    assert measuring_action.collection_version(tmp_path) == "unknown"
    (tmp_path / "galaxy.yml").write_text("namespace: zpower\nversion: '1.2.3'\n")
    assert measuring_action.collection_version(tmp_path) == "1.2.3"
    (tmp_path / "MANIFEST.json").write_text('{"collection_info": {"version": "1.2.4"}}')
    assert measuring_action.collection_version(tmp_path) == "1.2.4"


def test_a_host_cannot_write_records_of_others_or_replace_one(call, tmp_path):
    folder = tmp_path / "c1" / "app1"
    forged = {**measured(), "host": "app2", "change": "c2", "phase": "after", "round": 7, "peer": "app9"}
    result, _seen = call(forged, **BEFORE)
    assert result["paths"] == [str(folder / "before-1-pingpong-1000B-app2.json")]
    record = json.loads(Path(result["paths"][0]).read_text())
    ids = [record[name] for name in ("host", "change", "phase", "round", "peer")]
    assert ids == ["app1", "c1", "before", 1, "app2"]
    for good in (True, False):
        result, _seen = call(measured("other", good=good), **dict(BEFORE, connections=2))
        assert bool(result.get("failed")) is not good
    assert "exists already" in result["msg"]
    assert json.loads((folder / "before-1-other-app2.json").read_text())["runs"][0]["ok"]
    # hostile names stay in their folder
    result, _seen = call(measured(), **dict(BEFORE, peer="../../etc/passwd"))
    assert result["paths"] == [str(folder / "before-1-pingpong-1000B-_._.._etc_passwd.json")]


@pytest.mark.parametrize(
    "records, words",
    [
        ("text", "it is not an object"),
        ([7], "it is not an object"),
        ([{}], "schema is missing"),
        ([{**measured(), "runs": 7}], "runs is 7"),
        ([{**measured(), "schema": TUNINGS}], "this version reads"),
    ],
)
@pytest.mark.parametrize("ids", [BEFORE, {}], ids=["stored", "returned"])
def test_an_invalid_record_is_one_sentence(call, tmp_path, records, words, ids):
    with pytest.raises(AnsibleActionFail, match=f"app1 returned a record that cannot be used: .*{words}"):
        call(outcome={"changed": False, "records": records}, **ids)
    assert not list(tmp_path.rglob("*.json"))


def test_texts_of_a_host_reach_the_terminal_without_control_characters(call):
    record = measured("pingpong-1000B", good=False)
    for run in record["runs"]:
        run["error"] = "\x1b[2J\x1b]0;gone\x07" + "x" * 100_000
    result, _seen = call(record, **BEFORE)
    assert result["failed"] and result["msg"].isprintable() and len(result["msg"]) < 5000


@pytest.mark.parametrize(
    "what", ["pipe", "link", "[" * 100_000, '{"schema": 1}'], ids=["pipe", "link", "nested", "other"]
)
def test_what_is_between_the_records_blocks_nobody(call, tmp_path, what):
    folder = tmp_path / "c1" / "app1"
    folder.mkdir(parents=True)
    odd = folder / "before-9-odd-app2.json"
    if what == "pipe":
        os.mkfifo(odd)
    elif what == "link":
        odd.symlink_to("/dev/zero")
    else:
        odd.write_text(what)
    result, seen = call(measured(), **BEFORE)
    assert len(result["paths"]) == 1 and seen["calibrated"] == {}


NETPERF = {"tool": "netperf", "port": 3298, "control_port": 3299, "token": "t"}
LOCKS = {**NETPERF, "tool": "enqt"}


def test_names_of_the_workloads_of_tools():
    arguments = {"workload": "network", "session": NETPERF, "network": {"kinds": ["strRead"], "connections": [1, 250]}}
    assert names_of("measure_workload", **arguments) == ["netperf-strRead", "netperf-strRead-x250"]
    assert len(names_of("measure_workload", workload="network", session=NETPERF)) == 20
    arguments["network"] = {"kinds": ["latency"], "connections": [1]}
    assert names_of("measure_workload", **arguments) == ["netperf-latency"]
    names = names_of("measure_workload", workload="openssl", openssl={"ciphers": ["aes-128-gcm"], "bytes": "1024"})
    assert names == ["openssl-aes-128-gcm-1024B"]


def test_a_record_of_locks_has_the_name_of_the_module():
    assert names_of("enqt", session=LOCKS) == ["enqt-sd_benchmark"]
    assert names_of("enqt", session=LOCKS, load="create_locks", processes="5") == ["enqt-create_locks-x5"]
    assert names_of("enqt", session=None) == ["-sd_benchmark"]
    with pytest.raises(ValueError, match="processes"):
        names_of("enqt", session=LOCKS, processes="many")

    class Tool(enqueue.LockWorkload):
        tool = "enqt"
        METRICS = {"create_locks": enqueue.time_of("lock_us")}

    asked = enqueue.Asked("create_locks", 10, 1000, 5, 15.0, False)
    assert [Tool(asked, None).name] == names_of("enqt", session=LOCKS, load="create_locks", processes=5)


def test_options_that_are_not_a_dictionary():
    with pytest.raises(ValueError, match="'network' is of type .*str.* and we were unable to convert to dict"):
        names_of("measure_workload", workload="network", network="latency")
    with pytest.raises(ValueError, match="'connections' found in 'network' is of type .*str.* convert to int"):
        names_of("measure_workload", workload="network", network={"connections": ["ten"]})


def test_names_of_programs():
    commands = [{"name": "b", "argv": ["true"], "environment": {"N": 1}}, {"name": "a", "argv": ["true"]}]
    assert names_of("measure_workload", workload="command", command=commands) == ["command-b", "command-a"]
    assert names_of("measure_workload", workload="command") == []
    with pytest.raises(ValueError, match="missing required arguments: argv"):
        names_of("measure_workload", workload="command", command=[{"name": "x"}])


def test_an_environment_travels_as_one_text():
    """Ansible removes every secret value from results: that of N would take each 1 of a figure with it."""
    command = {"name": "x", "environment": {"N": 1, "ON": True, "KEY": "a'b\\", "LIST": [1], "NONE": None}}
    sent = encoded(command)["environment"]
    wanted = {"N": "1", "ON": "True", "KEY": "a'b\\", "LIST": [1], "NONE": None}
    assert json.loads(base64.b64decode(sent)) == wanted and command["environment"]["N"] == 1
    for other in ({"name": "x"}, {"name": "x", "environment": "text"}, "text"):
        assert encoded(other) is other


def test_options_of_the_role():
    variables = {**role_values("measure"), "__measure_total": 3, "__measure_drawn": {"session": 2}}
    variables |= {"measure_enqueue_users": 7, "measure_users": 8, "measure_runs": "", "measure_port": 4}
    variables |= {"measure_transport": "tcp", "measure_enqueue_path": "/own", "measure_protocol": "full"}
    variables |= {"__measure_ready": {"against": {"enqueue": "app2"}}, "__measure_sessions": {"enqueue": {"port": 5}}}
    peer = {"ansible_host": "192.0.2.7", "measure_listen": "", "measure_enqueue_path": "/its"}
    variables |= {"hostvars": {"app2": peer}}
    given = {name: value for name, value in variables.items() if "{{" not in str(value)}
    given["__measure_workload"] = {"name": "enqueue", "load": "create_locks"}
    module, options = measure_workload.of_role(given, given.get, "client")
    assert module == "enqt"
    assert (options["load"], options["users"], options["timeout"], options["port"]) == ("create_locks", 7, 120, 4)
    assert not {"runs", "sid", "round"} & {*options}
    assert (options["address"], options["session"], options["path"]) == ("192.0.2.7", {"port": 5}, "/own")
    assert options["lifetime"] == 10800
    assert options["protocol"] == {"name": "full", "rounds": 6, "design": "blocks", "session": 2}
    _module, options = measure_workload.of_role(given, given.get, "server")
    assert (options["address"], options["path"], "session" in options) == ("192.0.2.7", "/its", False)
    # a server listens where it is measured by, unless its host says otherwise
    for own, address in (
        ({"measure_address": "127.0.0.2", "ansible_host": "127.0.0.3"}, "127.0.0.2"),
        ({"measure_address": "127.0.0.2", "measure_listen": "0.0.0.0"}, "0.0.0.0"),
        ({}, "app2"),
    ):
        given["hostvars"] = {"app2": own}
        assert measure_workload.of_role(given, given.get, "server")[1]["address"] == address
    given["__measure_ready"] = {"against": {"network": "app2"}}
    given |= {"measure_transport": "smc", "__measure_workload": {"name": "network", "load": ""}}
    # the server has the transport of its host, or that of the client
    for own, of_server in (({}, "smc"), ({"measure_transport": "tcp"}, "tcp")):
        given["hostvars"] = {"app2": own}
        for side, transport in (("client", "smc"), ("server", of_server)):
            _module, options = measure_workload.of_role(given, given.get, side)
            assert (options["network"]["transport"], "transport" in options) == (transport, False)
            assert (options["network"]["tool"], options["network"]["connections"]) == ("pingpong", [1, 10, 50, 250])
    given["__measure_workload"] = {"name": "fio", "load": ""}
    module, options = measure_workload.of_role(given, given.get, "client")
    assert module == "measure_workload" and "openssl" not in options
    fio = {"patterns": ANY, "modes": ["direct", "async"], "jobs": [1], "size_mib": 256, "iodepth": 16}
    assert options["fio"] == fio
