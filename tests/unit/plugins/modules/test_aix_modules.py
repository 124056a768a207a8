# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faces of smc_r and aix_device_attributes: what they take, and how they end."""

import platform

import pytest
from aix import AixHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_r import PRESETS
from ansible_collections.zpower.sap_tuning.plugins.modules import aix_device_attributes, smc_r
from modules import caller


@pytest.fixture
def smc(monkeypatch, capsys):
    return caller(smc_r.main, monkeypatch, capsys)


@pytest.fixture
def attributes(monkeypatch, capsys):
    return caller(aix_device_attributes.main, monkeypatch, capsys)


@pytest.fixture
def host(tmp_path, monkeypatch):
    made = AixHost(tmp_path)
    monkeypatch.setattr(entry_point, "Host", lambda: made)
    monkeypatch.setattr(platform, "system", lambda: "AIX")
    return made


def test_smc_r_applies_predicts_and_restores(host, smc):
    found = host.values()
    predicted = smc(preset="optimized", _ansible_check_mode=True)
    assert predicted["changed"] and host.values() == found
    done = smc(preset="optimized")
    assert done["changed"] and done["diff"] == predicted["diff"]
    assert host.devices["smcr0"].stored == PRESETS["optimized"]
    assert host.exists("/var/adm/zpower_sap_tuning/smc_r.json")
    assert smc(preset="optimized")["changed"] is False
    assert smc(state="restored")["changed"] and host.values() == found
    assert not host.exists("/var/adm/zpower_sap_tuning")


def test_attributes_apply_predict_and_restore(host, attributes):
    found = host.values()
    wanted = {"devices": {"sys0": {"maxuproc": 4096}}}
    predicted = attributes(_ansible_check_mode=True, **wanted)
    assert predicted["changed"] and host.values() == found
    assert attributes(**wanted)["diff"] == predicted["diff"]
    assert host.devices["sys0"].in_force["maxuproc"] == "4096"
    assert attributes(**wanted)["changed"] is False
    assert attributes(state="restored")["changed"] and host.values() == found


def test_a_busy_device(host, smc):
    host.devices["smcr0"].busy = True
    failed = smc(preset="enabled")
    assert failed["failed"] and "0514-062" in failed["msg"] and failed["tuning"][0]["verdict"] == "failed"
    done = smc(preset="enabled", when_busy="defer")
    assert done["changed"] and done["tuning"][0]["verdict"] == "pending_restart"


def test_instance_numbers_without_quotes(host, smc):
    smc(preset="enabled", sap_ports=[0, 1])
    assert host.devices["smcr0"].stored["port_range"].startswith("3200-3201,")


@pytest.mark.parametrize(
    "wanted, words",
    [
        ({}, "give a preset, attributes or sap_ports"),
        ({"preset": "on"}, "value of preset must be one of: disabled, enabled, optimized, got: on"),
        ({"preset": "enabled", "attributes": {"port_range": ""}}, "attributes: port_range of smcr0 would be empty"),
        ({"preset": "enabled", "attributes": {"enabled": True}}, "write it in quotes"),
        ({"preset": "enabled", "when_busy": "force"}, "value of when_busy must be one of: fail, defer, got: force"),
        ({"preset": "enabled", "sap_ports": ["D00"]}, "'D00' is no instance number"),
        ({"presets": ["enabled"]}, "Unsupported parameters"),
    ],
)
def test_bad_input_of_smc_r_fails_with_one_sentence_and_changes_nothing(host, smc, wanted, words):
    result = smc(**wanted)
    assert result["failed"] and words in result["msg"]
    assert host.changes() == [] and not host.exists("/var/adm")


@pytest.mark.parametrize(
    "wanted, words",
    [
        ({}, "devices: nothing to set"),
        ({"devices": {"sys0": {"maxuprocs": 4096}}}, "sys0 has fwversion, maxuproc"),
        ({"devices": "sys0"}, "devices"),
        ({"devices": {"sys0": {"maxuproc": 4096}}, "state": "absent"}, "value of state must be one of"),
    ],
)
def test_bad_input_of_attributes_fails_with_one_sentence_and_changes_nothing(host, attributes, wanted, words):
    result = attributes(**wanted)
    assert result["failed"] and words in result["msg"]
    assert host.changes() == [] and not host.exists("/var/adm")
