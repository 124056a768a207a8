# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which records a call of the module workload is going to write."""

import pytest
from ansible_collections.zpower.sap_tuning.plugins.action import workload

SESSION = {"tool": "netperf", "port": 3298, "control_port": 3299, "token": "t"}


def test_names_of_the_network_workloads():
    arguments = {"workload": "network", "session": SESSION, "network": {"kinds": ["strRead"], "connections": [1, 250]}}
    assert workload.expected_names(arguments) == ["netperf-strRead", "netperf-strRead-x250"]
    assert len(workload.expected_names({"workload": "network", "session": SESSION})) == 20


def test_names_of_workloads_without_a_server():
    names = workload.expected_names({"workload": "openssl", "openssl": {"ciphers": ["aes-128-gcm"], "bytes": "1024"}})
    assert names == ["openssl-aes-128-gcm-1024B"]


def test_options_that_are_no_dictionary():
    with pytest.raises(TypeError, match="network has to be a dictionary of options"):
        workload.expected_names({"workload": "network", "network": "latency"})
    with pytest.raises(ValueError):
        workload.expected_names({"workload": "network", "network": {"connections": ["ten"]}})


def test_the_action_runs_the_module_of_its_name():
    assert workload.ActionModule.MODULE == "zpower.sap_tuning.workload"
    arguments = {"workload": "network", "session": SESSION, "network": {"kinds": ["latency"], "connections": [1]}}
    assert workload.ActionModule.names(None, arguments) == ["netperf-latency"]
