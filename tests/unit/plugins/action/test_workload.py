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
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import entry_point
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


def test_the_name_of_a_record_of_locks_is_that_of_the_module():
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


def test_options_that_are_no_dictionary():
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


def test_the_variables_that_the_role_computes_are_options_and_no_other_has_the_name_of_one():
    names = {name for module in measure_workload.MODULES.values() for name in module.ARGUMENTS}
    names |= {
        name
        for spec in measure_workload.MODULES["measure_workload"].ARGUMENTS.values()
        for name in spec.get("options", ())
    }
    computed = {name.removeprefix("__measure_") for name in role_values("measure") if name.startswith("__measure_")}
    expected = {"address", "command", "lifetime", "path", "peer", "protocol", "session", "side", "transport"}
    assert computed & {*names, *entry_point.ARGUMENTS} == expected


def test_options_of_the_role():
    variables = {**role_values("measure"), "__measure_workload": "enqueue", "__measure_load": "create_locks"}
    variables |= {"measure_enqueue_users": 7, "measure_users": 8, "measure_runs": "", "measure_port": 4}
    given = {name: value for name, value in variables.items() if "{{" not in str(value)}
    module, options = measure_workload.of_role(given, given.get)
    assert module == "enqt"
    assert (options["load"], options["users"], options["timeout"], options["port"]) == ("create_locks", 7, 120, 4)
    assert not {"runs", "sid", "session"} & {*options}
    given["__measure_workload"] = "fio"
    module, options = measure_workload.of_role(given, given.get)
    assert module == "measure_workload" and "openssl" not in options
    fio = {"patterns": ANY, "modes": ["direct", "async"], "jobs": [1], "size_mib": 256, "iodepth": 16}
    assert options["fio"] == fio
