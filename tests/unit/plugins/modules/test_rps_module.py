# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The face: what the module takes, and how it ends."""

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.modules import rps
from kernel import KernelHost
from modules import caller


@pytest.fixture
def host(tmp_path, monkeypatch):
    host = KernelHost(tmp_path)
    host.interface("hsi0", queues=2)
    monkeypatch.setattr(entry_point, "Host", lambda: host)
    return host


@pytest.fixture
def call(monkeypatch, capsys):
    return caller(rps.main, monkeypatch, capsys)


def test_apply_check_diff_and_restore(host, call):
    predicted = call(_ansible_check_mode=True)
    assert predicted["changed"] and predicted["tuning"][0]["verdict"] == "drifted"
    done = call()
    assert done["changed"] and done["diff"] == predicted["diff"]
    assert call()["changed"] is False
    # an unquoted off arrives as a boolean
    assert call(state=False)["tuning"][0]["wanted"]["state"] == "off"
    assert call(state="restored")["changed"]
    assert host.value("/sys/class/net/hsi0/queues/rx-0/rps_cpus") == "0"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"interfaces": ["eth7"]}, "this host has no interface eth7"),
        ({"cpus": "99"}, "this machine has no CPU 99"),
        ({"state": "absent"}, "value of state must be one of: present, off, restored"),
        ({"cpu": "1"}, "Unsupported parameters"),
        ({"every": "many"}, "every"),
    ],
)
def test_bad_input_fails_with_one_sentence_and_changes_nothing(host, call, arguments, words):
    result = call(**arguments)
    assert result["failed"] and words in result["msg"]
    assert host.log == [] and not host.exists("/var/lib/zpower_sap_tuning")


def test_a_refused_write_fails_the_module_and_keeps_the_record(host, call):
    host.errors["/sys/class/net/hsi0/queues/rx-0/rps_cpus"] = 30
    result = call()
    assert result["failed"] and "read-only" in result["msg"]
    assert result["tuning"][0]["verdict"] == "failed"
