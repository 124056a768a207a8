# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which records a call of the module workload is going to write."""

import base64
import json

import pytest
from action_options import names_of
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.measuring import encoded

SESSION = {"tool": "netperf", "port": 3298, "control_port": 3299, "token": "t"}


def test_names_of_the_network_workloads():
    arguments = {"workload": "network", "session": SESSION, "network": {"kinds": ["strRead"], "connections": [1, 250]}}
    assert names_of("workload", **arguments) == ["netperf-strRead", "netperf-strRead-x250"]
    assert len(names_of("workload", workload="network", session=SESSION)) == 20


def test_names_of_workloads_without_a_server():
    names = names_of("workload", workload="openssl", openssl={"ciphers": ["aes-128-gcm"], "bytes": "1024"})
    assert names == ["openssl-aes-128-gcm-1024B"]


def test_options_that_are_no_dictionary():
    with pytest.raises(ValueError, match="'network' is of type .*str.* and we were unable to convert to dict"):
        names_of("workload", workload="network", network="latency")
    with pytest.raises(ValueError, match="'connections' found in 'network' is of type .*str.* convert to int"):
        names_of("workload", workload="network", network={"connections": ["ten"]})


def test_names_of_one_network_workload():
    arguments = {"workload": "network", "session": SESSION, "network": {"kinds": ["latency"], "connections": [1]}}
    assert names_of("workload", **arguments) == ["netperf-latency"]


def test_names_of_programs():
    commands = [{"name": "b", "argv": ["true"], "environment": {"N": 1}}, {"name": "a", "argv": ["true"]}]
    assert names_of("workload", workload="command", command=commands) == ["command-b", "command-a"]
    assert names_of("workload", workload="command") == []
    with pytest.raises(ValueError, match="missing required arguments: argv"):
        names_of("workload", workload="command", command=[{"name": "x"}])


def test_an_environment_travels_as_one_text():
    """Ansible removes every secret value from results: that of N would take each 1 of a figure with it."""
    command = {"name": "x", "environment": {"N": 1, "ON": True, "KEY": "a'b\\", "LIST": [1], "NONE": None}}
    sent = encoded(command)["environment"]
    wanted = {"N": "1", "ON": "True", "KEY": "a'b\\", "LIST": [1], "NONE": None}
    assert json.loads(base64.b64decode(sent)) == wanted and command["environment"]["N"] == 1
    for other in ({"name": "x"}, {"name": "x", "environment": "text"}, "text"):
        assert encoded(other) is other
