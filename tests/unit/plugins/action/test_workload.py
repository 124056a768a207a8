# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which records a call of the modules measure_workload and enqt is going to write."""

import base64
import json
from unittest.mock import ANY

import pytest
from action_options import names_of
from ansible_collections.zpower.sap_tuning.plugins.action import measure_workload
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enqueue
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.measuring import encoded
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import role_values

SESSION = {"tool": "netperf", "port": 3298, "control_port": 3299, "token": "t"}
LOCKS = {**SESSION, "tool": "enqt"}


def test_names_of_the_workloads_of_tools():
    arguments = {"workload": "network", "session": SESSION, "network": {"kinds": ["strRead"], "connections": [1, 250]}}
    assert names_of("measure_workload", **arguments) == ["netperf-strRead", "netperf-strRead-x250"]
    assert len(names_of("measure_workload", workload="network", session=SESSION)) == 20
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
    given["__measure_workload"] = {"name": "fio", "load": ""}
    module, options = measure_workload.of_role(given, given.get, "client")
    assert module == "measure_workload" and "openssl" not in options
    fio = {"patterns": ANY, "modes": ["direct", "async"], "jobs": [1], "size_mib": 256, "iodepth": 16}
    assert options["fio"] == fio
