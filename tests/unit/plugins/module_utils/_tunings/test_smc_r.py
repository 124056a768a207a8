# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC-R on AIX: presets, the device that is meant, what must be there for it, and when it is not used at all."""

import platform

import pytest
from aix import SMCR_FOUND, AixHost, Device
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_r import PRESETS, SmcR
from runs import FOLDER, only, runner

ENABLED = {
    "conns_per_lg": "16",
    "enabled": "1",
    "init_snd_pools": "2",
    "ip_addr_list": "any",
    "max_memory": "512",
    "port_range": "any",
    "rx_intr_packets": "128",
    "tx_intr_cnt": "128",
    "tx_intr_time": "10000",
}
pytestmark = pytest.mark.usefixtures("aix")
run = runner(SmcR, device=None, preset=None, attributes={}, sap_ports=[], database_ports=[], when_busy="fail")


@pytest.fixture
def host(tmp_path):
    return AixHost(tmp_path)


def test_on_tuned_off_and_back(host):
    # those of the study
    changed = {name: value for name, value in PRESETS["optimized"].items() if ENABLED[name] != value}
    assert changed == {"conns_per_lg": "64", "init_snd_pools": "16", "rx_intr_packets": "256"}
    found = host.values()
    predicted = run(host, True, preset="enabled")
    assert only(predicted)["verdict"] == "drifted" and host.values() == found
    result = run(host, preset="enabled")
    assert only(result)["verdict"] == "changed" and result["diff"] == predicted["diff"]
    assert host.changes() == [
        ["chdev", "-l", "smcr0", "-a", "enabled=1", "-a", "ip_addr_list=any", "-a", "port_range=any"]
    ]
    assert host.devices["smcr0"].stored == host.devices["smcr0"].in_force == ENABLED
    assert not run(host, preset="enabled")["changed"]
    assert only(run(host, preset="optimized"))["after"]["running"] == PRESETS["optimized"]
    assert only(run(host, preset="disabled"))["verdict"] == "changed"
    assert host.devices["smcr0"].stored["enabled"] == "0"
    assert len(host.changes()) == 3
    # the rollback asks for nothing but the device
    host.level = "7100-03-04-1441"
    del host.devices["ent0"], found["ent0"]
    assert only(run(host, state="restored"))["verdict"] == "changed"
    assert host.values() == found and not host.exists(FOLDER)


def test_values_of_the_site_win_over_the_preset(host):
    record = only(run(host, attributes={"conns_per_lg": "64"}))
    assert record["wanted"] == {"state": "present", "attributes": {"conns_per_lg": "64"}}
    assert host.devices["smcr0"].stored == dict(SMCR_FOUND, conns_per_lg="64")
    run(host, preset="optimized", attributes={"conns_per_lg": 32, "port_range": "3200"})
    assert host.devices["smcr0"].stored == dict(PRESETS["optimized"], conns_per_lg="32", port_range="3200")


@pytest.mark.parametrize(
    "asked, words",
    [
        ({}, "give a preset, attributes, sap_ports or database_ports"),
        ({"attributes": {"enabled": 1}}, "attributes: ip_addr_list and port_range of smcr0 would be empty"),
        ({"attributes": {"enabled": 1, "port_range": "any"}}, "ip_addr_list of smcr0 would be empty"),
        ({"attributes": {"enabled": 1, "port_range": " ", "ip_addr_list": "any"}}, "port_range of smcr0 would be emp"),
        ({"attributes": {"port_range": "any"}, "preset": "enabled", "sap_ports": ["00"]}, "both give port_range"),
        ({"device": "smcr0 -a", "preset": "enabled"}, "device: 'smcr0 -a' is not a name"),
        *(
            ({"preset": "enabled", "sap_ports": instances}, "is not an instance number")
            for instances in (["D00"], ["100"], ["00\n"])
        ),
        *(
            ({"preset": "enabled", "database_ports": [port]}, "is not a port or a range of ports")
            for port in ("0", "65536", "30015-30013", "http", "1521\n")
        ),
    ],
)
def test_mistakes_are_refused(host, asked, words):
    with pytest.raises(InputError, match=words):
        run(host, **asked)
    assert host.changes() == []


def test_what_someone_else_has_emptied_is_drift_and_not_an_error(host):
    run(host, preset="enabled")
    with pytest.raises(InputError, match="ip_addr_list of smcr0 would be empty"):
        run(host, attributes={"ip_addr_list": ""})
    assert only(run(host, True, attributes={"ip_addr_list": "", "enabled": 0}))["verdict"] == "drifted"
    for values in (host.devices["smcr0"].stored, host.devices["smcr0"].in_force):
        values["port_range"] = ""
    record = only(run(host, True, attributes={"conns_per_lg": 16}))
    assert record["verdict"] == "drifted"
    assert record["reason"] == "SMC-R is not used, because smcr0 port_range is empty"
    # the preset puts it right, so there is only the difference to tell
    record = only(run(host, True, preset="enabled"))
    assert record["reason"] == "smcr0 port_range: empty, wanted any"
    assert only(run(host, preset="enabled"))["verdict"] == "changed"


@pytest.mark.parametrize(
    "instances, database, ports",
    [
        (["00"], [], "3200,3300,3600,3900,4800,8000,8100,44300,50013-50014"),
        # YAML reads 00 and 01 as numbers
        (
            ["1", "0"],
            ["1521", "30013-30015"],
            "1521,3200-3201,3300-3301,3600-3601,3900-3901,4800-4801,8000-8001,8100-8101,30013-30015,44300-44301,"
            "50013-50014,50113-50114",
        ),
        (["99"], [], "3299,3399,3699,3999,4899,8099,8199,44399,59913-59914"),
        ([], ["30015"], "30015"),
    ],
)
def test_ports_of_instances_and_of_the_database(host, instances, database, ports):
    (remark,) = only(run(host, True, preset="enabled"))["remarks"]
    assert "all TCP of this partition" in remark
    remarks = only(run(host, preset="enabled", sap_ports=instances, database_ports=database))["remarks"]
    assert host.devices["smcr0"].stored["port_range"] == ports
    assert "how port_range takes several ports is not published" in remarks[0]
    assert ["the port of the database is not among" in remark for remark in remarks[1:]] == [True][bool(database) :]


def test_which_device_is_meant(host):
    record = only(run(host, preset="enabled", device="smcr7"))
    assert (record["subject"], record["verdict"]) == ("smcr7", "unsupported")
    assert record["reason"] == "there is no device smcr7; lsdev lists smcr0"
    host.devices["smcr3"] = host.devices.pop("smcr0")
    assert only(run(host, preset="enabled"))["subject"] == "smcr3"
    run(host, state="restored")
    assert host.devices["smcr3"].stored == SMCR_FOUND
    host.devices["smcr1"] = Device(SMCR_FOUND)
    with pytest.raises(InputError, match="there is no smcr0; choose one of smcr1, smcr3"):
        run(host, preset="enabled")
    assert only(run(host, preset="enabled", device="smcr3"))["verdict"] == "changed"
    assert host.devices["smcr1"].stored == SMCR_FOUND
    host.devices["smcr0"] = Device(SMCR_FOUND)
    assert only(run(host, preset="enabled"))["subject"] == "smcr0"
    run(host, state="restored", device="smcr3")
    assert [host.devices[name].stored["enabled"] for name in ("smcr0", "smcr3")] == ["1", "0"]
    run(host, state="restored")
    assert host.devices["smcr0"].stored == SMCR_FOUND


@pytest.mark.parametrize("level", ["7200-02-00-1731", "7300-00-00-2148", ""])
def test_newer_ones_and_those_that_do_not_tell_are_taken(host, level):
    host.level = level
    assert only(run(host, preset="enabled"))["verdict"] == "changed"
    asked = [argv for argv in host.calls if argv[0] == "oslevel"]
    # it is slow: once in a run, whatever the run does
    assert asked == ([["oslevel", "-s"]] if level else [["oslevel", "-s"], ["oslevel", "-r"]])


@pytest.mark.parametrize("level", ["7200-01-06-1845", "7100-05-12-2320"])
def test_an_older_aix_is_unsupported(host, level):
    host.level = level
    record = only(run(host, preset="enabled"))
    assert record["verdict"] == "unsupported" and level in record["reason"] and "7200-02 or later" in record["reason"]
    assert record["wanted"]["state"] == "present" and record["wanted"]["attributes"]


def test_a_device_that_is_missing_or_not_available_is_unsupported(host):
    host.devices["smcr0"].state = "Defined"
    record = only(run(host, preset="enabled"))
    assert record["verdict"] == "unsupported" and "mkdev -l smcr0" in record["reason"]
    del host.devices["smcr0"]
    record = only(run(host, preset="enabled"))
    assert (record["subject"], record["verdict"]) == ("smcr0", "unsupported")
    for words in ("SMC-R support of AIX 7200-02", "RoCE adapter", "cfgmgr"):
        assert words in record["reason"]


@pytest.mark.parametrize(
    "name, text, verdict",
    [
        ("ent0", "00-00 PCIe3 2-port 10GbE SFP+ RoCE Adapter", "changed"),
        ("ent4", "RDMA capable virtual function", "changed"),
        ("roce0", "00-00 Converged adapter", "changed"),
        ("ent0", "00-00 PCIe2 4-port 1GbE Adapter", "unsupported"),
        ("smcr1", "SMC-R over RoCE", "unsupported"),
    ],
)
def test_a_roce_adapter_is_needed(host, name, text, verdict):
    host.devices = {"smcr0": Device(SMCR_FOUND, text="SMC-R over RoCE"), name: Device({}, text=text)}
    record = only(run(host, preset="enabled"))
    assert record["verdict"] == verdict
    assert ("give this partition a RoCE adapter" in record["reason"]) is (verdict == "unsupported")


def test_published_attributes_may_be_missing_and_mistyped_ones_not(host):
    both = (host.devices["smcr0"].stored, host.devices["smcr0"].in_force)
    for values in both:
        del values["tx_intr_time"]
    record = only(run(host, preset="enabled"))
    assert record["verdict"] == "unsupported"
    assert record["reason"].startswith("SMC-R of this AIX has no attribute tx_intr_time (lsattr fails for tx_intr_time")
    with pytest.raises(InputError, match="con_per_lg.*smcr0 has conns_per_lg, enabled"):
        run(host, attributes={"con_per_lg": 5})
    assert host.changes() == []
    for values in both:
        del values["enabled"]
        values["ip_addr_list"] = values["port_range"] = "any"
    assert only(run(host, attributes={"conns_per_lg": 5}))["verdict"] == "changed"


def test_a_host_that_is_not_aix_is_not_applicable(host, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    record = only(run(host, preset="enabled"))
    assert (record["subject"], record["verdict"]) == ("smcr0", "not_applicable") and host.calls == []
