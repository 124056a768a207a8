# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faces of cpu_polarization, cpu_topology and hiperdispatch: what they take, and how they end."""

import errno

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.modules import cpu_polarization, cpu_topology, hiperdispatch
from modules import caller
from zkernel import DISPATCHING, STEAL_THRESHOLD, TOPOLOGY, ZHost


@pytest.fixture
def polarization(monkeypatch, capsys):
    return caller(cpu_polarization.main, monkeypatch, capsys)


@pytest.fixture
def topology(monkeypatch, capsys):
    return caller(cpu_topology.main, monkeypatch, capsys)


@pytest.fixture
def lpar(tmp_path, monkeypatch):
    host = ZHost(tmp_path)
    monkeypatch.setattr(entry_point, "Host", lambda: host)
    return host


def test_polarization_applies_predicts_and_restores(lpar, polarization):
    predicted = polarization(_ansible_check_mode=True)
    assert predicted["changed"] and predicted["tuning"][0]["verdict"] == "drifted"
    done = polarization(mode="vertical")
    assert done["changed"] and done["diff"] == predicted["diff"]
    assert polarization()["changed"] is False
    assert polarization(state="restored")["changed"]
    assert lpar.value(DISPATCHING) == "0"


def test_topology_applies_predicts_and_restores(tmp_path, monkeypatch, topology):
    guest = ZHost(tmp_path, facility=False)
    monkeypatch.setattr(entry_point, "Host", lambda: guest)
    predicted = topology(_ansible_check_mode=True)
    assert predicted["changed"] and predicted["tuning"][0]["verdict"] == "drifted"
    assert topology(sw_siblings="yes")["diff"] == predicted["diff"]
    assert topology()["changed"] is False
    assert topology(state="restored")["changed"]
    assert guest.value(TOPOLOGY) == "0"


def test_hiperdispatch_applies_predicts_and_restores(tmp_path, monkeypatch, capsys):
    host = ZHost(tmp_path, sysctl=True, vertical=True)
    host.hiperdispatch()
    monkeypatch.setattr(entry_point, "Host", lambda: host)
    call = caller(hiperdispatch.main, monkeypatch, capsys)
    predicted = call(steal_threshold="15", enabled="no", _ansible_check_mode=True)
    assert predicted["changed"] and predicted["tuning"][0]["verdict"] == "drifted"
    assert call(steal_threshold="15", enabled="no")["diff"] == predicted["diff"]
    assert call(steal_threshold=15, enabled=False)["changed"] is False
    result = call(steal_threshold=101)
    assert result["failed"] and result["msg"] == "steal_threshold: 101 is out of range; use 0 to 100"
    assert call(state="restored")["changed"] and host.value(STEAL_THRESHOLD) == "30"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"mode": "verticle"}, "value of mode must be one of: vertical, horizontal, got: verticle"),
        ({"state": "off"}, "value of state must be one of: present, restored"),
        ({"wait_timeout": 0}, "wait_timeout: 0 is out of range"),
        ({"cpus": "all"}, "Unsupported parameters"),
    ],
)
def test_bad_input_fails_with_one_sentence_and_changes_nothing(lpar, polarization, arguments, words):
    result = polarization(**arguments)
    assert result["failed"] and words in result["msg"]
    assert lpar.log == [] and not lpar.exists("/var/lib/zpower_sap_tuning")


def test_sw_siblings_is_a_choice_of_two(lpar, topology):
    result = topology(sw_siblings="some")
    assert result["failed"] and "sw_siblings" in result["msg"]


def test_a_container_with_a_read_only_sys_is_told_so(lpar, polarization):
    lpar.errors[DISPATCHING] = errno.EROFS
    result = polarization()
    assert result["failed"] and "as in a container" in result["msg"]


def test_another_machine_is_not_applicable(lpar, polarization, topology, tmp_path):
    (tmp_path / "proc/sysinfo").unlink()
    for call in (polarization, topology):
        result = call()
        assert not result["changed"] and result["tuning"][0]["verdict"] == "not_applicable"
