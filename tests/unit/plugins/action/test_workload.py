# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which records a call of the module workload is going to write."""

import pytest
from action_options import names_of
from ansible_collections.zpower.sap_tuning.plugins.action import workload

SESSION = {"tool": "netperf", "port": 3298, "control_port": 3299, "token": "t"}


def test_names_of_the_network_workloads():
    arguments = {"workload": "network", "session": SESSION, "network": {"kinds": ["strRead"], "connections": [1, 250]}}
    assert names_of(workload, **arguments) == ["netperf-strRead", "netperf-strRead-x250"]
    assert len(names_of(workload, workload="network", session=SESSION)) == 20


def test_names_of_workloads_without_a_server():
    names = names_of(workload, workload="openssl", openssl={"ciphers": ["aes-128-gcm"], "bytes": "1024"})
    assert names == ["openssl-aes-128-gcm-1024B"]


def test_options_that_are_no_dictionary():
    with pytest.raises(ValueError, match="'network' is of type .*str.* and we were unable to convert to dict"):
        names_of(workload, workload="network", network="latency")
    with pytest.raises(ValueError, match="'connections' found in 'network' is of type .*str.* convert to int"):
        names_of(workload, workload="network", network={"connections": ["ten"]})


def test_the_action_runs_the_module_of_its_name():
    assert workload.ActionModule.MODULE == "zpower.sap_tuning.workload"
    arguments = {"workload": "network", "session": SESSION, "network": {"kinds": ["latency"], "connections": [1]}}
    assert names_of(workload, **arguments) == ["netperf-latency"]
