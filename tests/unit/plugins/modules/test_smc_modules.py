# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faces of smc and smc_sysctls, and the rows and options of other faces that are about SMC."""

import errno

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_sysctls import SmcSysctls
from ansible_collections.zpower.sap_tuning.plugins.modules import niping, platform_settings_info, smc, smc_sysctls
from modules import caller
from sapsystem import D00
from smckernel import SYSCTLS, SmcHost
from smcsystem import SmcSapHost

WMEM = SYSCTLS + "wmem"


@pytest.fixture
def sysctls(monkeypatch, capsys):
    return caller(smc_sysctls.main, monkeypatch, capsys)


@pytest.fixture
def host(tmp_path, monkeypatch):
    found = SmcHost(tmp_path)
    monkeypatch.setattr(entry_point, "Host", lambda: found)
    return found


def test_it_applies_predicts_and_restores(host, sysctls):
    predicted = sysctls(settings={"wmem": 131072}, _ansible_check_mode=True)
    assert predicted["changed"] and predicted["tuning"][0]["verdict"] == "drifted"
    assert sysctls(settings={"wmem": "131072"})["diff"] == predicted["diff"]
    assert sysctls(settings={"wmem": 131072})["changed"] is False
    assert host.value(WMEM) == "131072"
    assert sysctls(state="restored")["changed"]
    assert host.value(WMEM) == "65536"


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"settings": {"wmem": "much"}}, "wmem"),
        ({"settings": {"smcr_buf_type": 3}}, "smcr_buf_type: 3 is out of range; use 0 to 2"),
        ({"settings": {"limit_smc_hs": 2}}, "limit_smc_hs: 2 is out of range; use 0 to 1"),
        ({"settings": {"wmen": 65536}}, "there is no setting 'wmen'; use wmem, "),
        ({"settings": ["wmem"]}, "settings"),
        ({"wmem": 65536}, "Unsupported parameters"),
        ({"state": "absent"}, "value of state must be one of: present, restored"),
    ],
)
def test_bad_input_fails_with_one_sentence_and_changes_nothing(host, sysctls, arguments, words):
    result = sysctls(**arguments)
    assert result["failed"] and words in result["msg"]
    assert host.log == [] and not host.exists("/var/lib/zpower_sap_tuning")


@pytest.fixture
def system(tmp_path, monkeypatch):
    found = SmcSapHost(tmp_path)
    monkeypatch.setattr(entry_point, "Host", lambda: found)
    return found


@pytest.fixture
def of_instances(monkeypatch, capsys):
    return caller(smc.main, monkeypatch, capsys)


def test_an_instance_is_stored_predicted_and_restored(system, of_instances):
    before = system.data(D00)
    predicted = of_instances(instances=["PRD_00"], _ansible_check_mode=True)
    assert predicted["changed"] and system.data(D00) == before
    result = of_instances(instances=["PRD_00"])
    assert result["diff"] == predicted["diff"]
    subjects = {record["subject"]: (record["verdict"], record["restart"]) for record in result["tuning"]}
    assert subjects[D00] == ("pending_restart", "instance") and subjects["kernel"][1] == "none"
    assert of_instances(instances=["PRD_00"])["changed"] is False
    assert of_instances(state="restored")["changed"] and system.data(D00) == before


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"instances": ["PRD"]}, "instances: 'PRD' is no instance"),
        ({"instances": ["PRD_00"], "restart": ["D00"]}, "restart: 'D00' is no instance"),
        ({"instances": ["PRD_00"], "restart_timeout": 0}, "restart_timeout: 0 is out of range"),
        ({"instances": ["PRD_00"], "change": "a\nb"}, "change: "),
        ({"pnet_ids": [{"interface": "enc1"}]}, "name"),
        ({"ueids": ["a b"]}, "ueids: "),
    ],
)
def test_a_wrong_request_fails_with_one_sentence_and_changes_nothing(system, of_instances, arguments, words):
    before = system.profiles()
    result = of_instances(**arguments)
    assert result["failed"] and words in result["msg"]
    assert system.profiles() == before and not system.exists("/var/lib")


def test_every_sysctl_is_documented(sysctls):
    yaml = pytest.importorskip("yaml")
    text = " ".join(yaml.safe_load(smc_sysctls.DOCUMENTATION)["options"]["settings"]["description"])
    assert [name for name in SmcSysctls.table if "C(%s)" % name not in text] == []
    # and each of them is taken: the machine of the tests has no net.smc
    settings = {name: lowest for name, (lowest, highest) in SmcSysctls.table.items()}
    result = sysctls(_ansible_check_mode=True, settings=settings)
    assert not result["changed"] and result["tuning"][0]["verdict"] in ("unsupported", "not_applicable", "drifted")


def test_the_check_takes_peers(monkeypatch, capsys):
    monkeypatch.setattr(smc_sockets, "kernel_has_smc", lambda host: False)
    records = caller(platform_settings_info.main, monkeypatch, capsys)(smc_peers=["127.0.0.1"])["tuning"]
    assert [record["subject"] for record in records] == ["SMT", "SMC"]
    assert records[1]["wanted"] == {"smc_peers": ["127.0.0.1"]}


def test_a_server_without_smc_is_one_sentence(monkeypatch, capsys):
    def refuse(family):
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr(smc_sockets, "stream", refuse)
    result = caller(niping.main, monkeypatch, capsys)(
        side="server", address="127.0.0.1", tool="pingpong", transport="smc"
    )
    assert result["failed"] and "transport smc needs SMC sockets (AF_SMC)" in result["msg"]


def test_niping_over_smc_is_refused_before_anything_starts(monkeypatch, capsys):
    result = caller(niping.main, monkeypatch, capsys)(side="server", tool="niping", transport="smc")
    assert result["failed"] and "transport smc takes tool pingpong" in result["msg"]
