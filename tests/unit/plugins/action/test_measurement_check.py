# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the action measurement_check refuses, and what it says of a host that can be measured."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import records_factory as factory
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import measurement_check

COMMANDS = [{"name": "x", "argv": ["sleep", 1], "environment": {"N": 1, "PASSWORD": "secret"}}]
LOADS = ("sd_benchmark", "create_locks")
ALL_HOSTS = {"groups": {"all": ["app1", "db1", "ci1"]}}


def check(results: Path, host: str = "app1", tags: tuple[str, ...] = ("all",), **arguments: Any) -> dict[str, Any]:
    given = {"change": "c1", "results": str(results), "peer": "db1", **arguments}
    variables = {**ALL_HOSTS, "inventory_hostname": host, "ansible_run_tags": [*tags]}
    return run_action(measurement_check, given, variables=variables)


@pytest.mark.parametrize(
    ("arguments", "peers", "measures"),
    [
        ({}, ["db1"], True),
        ({"peer": ""}, [], False),
        ({"workloads": ["niping", "network", "enqueue"], "enqueue_peer": "ci1"}, ["db1", "ci1"], True),
        ({"workloads": ["niping", "enqueue"], "enqueue_peer": "db1"}, ["db1"], True),
        ({"workloads": ["enqueue"], "enqueue_peer": ""}, [], False),
        # a peer that no workload measures against does not count, whatever it is
        ({"workloads": ["niping"], "enqueue_peer": "nobody"}, ["db1"], True),
        ({"workloads": ["openssl"], "peer": "nobody"}, [], True),
        ({"workloads": ["niping", "fio"], "peer": "", "fio_directory": "/x"}, [], True),
        ({"workloads": ["command"], "peer": "nobody", "commands": [{"name": "x", "argv": ["true"]}]}, [], True),
        ({"workloads": ["command"], "command_peer": "ci1", "commands": COMMANDS}, ["ci1"], True),
        ({"change": 4711}, ["db1"], True),
        # what counts for another workload
        ({"workloads": ["network"], "tool": "niping", "transport": "smc"}, ["db1"], True),
        ({"network_tool": "qperf", "enqueue_timeout": 0}, ["db1"], True),
    ],
)
def test_the_peers_of_a_host(tmp_path: Path, arguments: dict[str, Any], peers: list[str], measures: bool) -> None:
    result = check(tmp_path, **arguments)
    assert (result["host"], result["peers"], result["measures"]) == ("app1", peers, measures)
    assert not result["changed"] and not list(tmp_path.iterdir())


def test_each_load_is_a_call_and_servers_that_share_a_fixed_port_start_for_one_round(tmp_path: Path) -> None:
    given = {"workloads": ["niping", "enqueue", "openssl"], "enqueue_loads": [*LOADS], "enqueue_peer": "ci1"}
    calls = [("niping", ""), ("enqueue", LOADS[0]), ("enqueue", LOADS[1]), ("openssl", "")]
    for port, tasks, servers in ((0, "call", ["niping", "enqueue"]), (3298, "own_server", [])):
        found = check(tmp_path, **given, port=port)
        assert [(one["name"], one["load"]) for one in found["workloads"]] == calls
        assert [one["tasks"] for one in found["workloads"]] == [tasks, tasks, tasks, "call"]
        assert [one["name"] for one in found["servers"]] == servers
        assert found["against"] == {"niping": "db1", "enqueue": "ci1"}


def of_program(**more: Any) -> dict[str, Any]:
    return {"workloads": ["command"], "commands": [{**COMMANDS[0], **more}]}


def of_enqueue(**more: Any) -> dict[str, Any]:
    return {"workloads": ["enqueue"], "enqueue_peer": "ci1", **{f"enqueue_{name}": one for name, one in more.items()}}


def of_network(tool: str, **more: Any) -> dict[str, Any]:
    given = {f"network_{name}": one for name, one in more.items()}
    return {"workloads": ["network"], "network_tool": tool, **given}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"change": ""}, "zpower_change is empty"),
        ({"change": "../x"}, "zpower_change is '../x'; it must begin with"),
        ({"peer": "app1"}, "measure_peer is app1; it must be the inventory name of another host"),
        ({"peer": "10.0.0.1"}, "measure_peer is 10.0.0.1; it must be"),
        ({"workloads": ["enqueue"], "enqueue_peer": "app1"}, "measure_enqueue_peer is app1; it must be"),
        ({"rounds": 0}, "measure_rounds is 0 and measure_workloads"),
        ({"workloads": []}, r"measure_rounds is 6 and measure_workloads \[\]"),
        ({"workloads": ["fio"]}, "measure_fio_directory is empty"),
        ({"workloads": ["command"]}, "measure_commands is empty"),
        ({"workloads": ["command"], "commands": [{"name": "x"}]}, "measure_commands: missing .*: argv"),
        (of_program(figures=[{"name": "s", "pattern": "("}]), "measure_commands: command x: the pattern of figure s"),
        (of_program(directory="here"), "measure_commands: command x: directory is here; it must be an absolute path"),
        (of_program(environment={"A B": "secret"}), 'measure_commands: command x: environment has "A B"; a name has'),
        ({**of_program(), "command_peer": "app1"}, "measure_command_peer is app1; it must be the inventory name"),
        ({"max_rounds": 5}, "measure_max_rounds is 5, less than measure_rounds, which is 6"),
        ({"max_rounds": 40}, "measure_max_rounds is 40: the looks at a verdict end at 32$"),
        ({"workloads": ["niping", "niping"]}, r"measure_workloads is \['niping', 'niping'\]; name each only once"),
        (of_enqueue(run_seconds=200), "measure_enqueue_timeout is shorter than run_seconds"),
        (of_enqueue(timeout=0), "measure_enqueue_timeout is 0; it must be from 1 to 86400"),
        (of_network("sockperf"), "measure_network_tool: sockperf cannot do onlTrans: use kinds of latency, strWrite"),
        (of_network("qperf", kinds=["latency"]), "measure_network_tool: qperf serves one connection at a time"),
        ({**of_network("netperf"), "transport": "smc"}, "measure_network_tool: netperf opens TCP sockets only"),
        ({"tool": "niping", "transport": "smc"}, "measure_tool: niping opens TCP sockets only"),
        ({"tags": ("rps", "smc_r")}, "--tags rps,smc_r would leave the measurement out"),
    ],
)
def test_what_cannot_be_measured_gets_one_sentence(tmp_path: Path, arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnsibleActionFail, match=f"^{sentence}"):
        check(tmp_path, **arguments)


@pytest.mark.parametrize(
    ("host", "folder"), [("app1", "app1"), (".app", "_app"), ("db:1", "db_1"), ("a" * 90, "a" * 71 + "-6b2ec791")]
)
def test_records_of_the_host_are_looked_for_where_they_are_stored(tmp_path: Path, host: str, folder: str) -> None:
    place = tmp_path / "c1" / folder
    place.mkdir(parents=True)
    assert check(tmp_path, host, new=True)["measures"]
    # as a directory it is not a record
    (place / "before-1-x.json").mkdir()
    assert check(tmp_path, host, new=True)["measures"]
    (place / "tunings-before-1.json").write_text("{}")
    with pytest.raises(AnsibleActionFail, match=f"c1/{folder} holds records already: name another change"):
        check(tmp_path, host, new=True)
    assert check(tmp_path, host)["measures"]


@pytest.mark.parametrize(
    ("arguments", "seconds"),
    [
        # an idle window, and six runs of the control and of each of seven sizes
        ({}, 1 + 6 * 7 + 6),
        ({"control": False, "idle_seconds": 0, "warmup": 0, "run_seconds": 0.5}, 5 * 7 * 0.5),
        (
            {"workloads": ["niping", "enqueue"], "bytes": [1000], "enqueue_peer": "ci1", "enqueue_loads": [*LOADS]},
            2 + 6 + 6 * 30 + 6,
        ),
        ({"peer": ""}, 0),
    ],
)
def test_the_estimated_duration_of_a_round(tmp_path: Path, arguments: dict[str, Any], seconds: float) -> None:
    assert check(tmp_path, **arguments)["seconds"] == pytest.approx(seconds)


@pytest.mark.parametrize(("declared", "last"), [(6, 32), (64, 64)])
def test_undeclared_rounds_are_not_added_after_the_last_look(tmp_path: Path, declared: int, last: int) -> None:
    # a measurement ends after its rounds unless more are allowed
    assert [check(tmp_path, **more)["most"] for more in ({}, {"max_rounds": 16})] == [6, 16]
    records = [*factory.make_change(factory.Plan(change="c1", hosts=("app1", "app2"), rounds=2))]
    for record in records:
        record["protocol"]["rounds"] = declared
    factory.write_change(tmp_path, records)
    assert check(tmp_path, first_round=last, rounds=1, phase="after")["measures"]
    sentence = f"cannot get {last + 1}: its last look is at {last}, .* measure it again under another name$"
    with pytest.raises(AnsibleActionFail, match=sentence):
        check(tmp_path, first_round=last, rounds=2, phase="after")
    # a calibration compares no states
    assert check(tmp_path, first_round=last + 1, rounds=1, phase="calibration")["measures"]


def test_an_option_that_is_left_out_has_the_value_of_its_variable(tmp_path: Path) -> None:
    variables = {**ALL_HOSTS, "measure_change": "c2", "measure_results": str(tmp_path), "measure_peer": "{{ peer }}"}
    variables |= {"measure_rounds": "8", "ansible_run_tags": ["all"]}

    def result(template: Any = lambda value: value, **arguments: Any) -> dict[str, Any]:
        templar = SimpleNamespace(template=template)
        return run_action(measurement_check, arguments, variables=variables, templar=templar)

    def templated(value: dict[str, Any]) -> dict[str, Any]:
        return {name: "ci1" if text == "{{ peer }}" else text for name, text in value.items()}

    found = result(templated)
    assert (found["peers"], found["rounds"]) == (["ci1"], 8)
    assert result(templated, peer="db1")["peers"] == ["db1"], "what a task gives comes first"

    def undefined(_value: Any) -> Any:
        raise KeyError("peer is undefined")

    with pytest.raises(AnsibleActionFail, match="^measure_[a-z_]+: .*peer is undefined"):
        result(undefined)
