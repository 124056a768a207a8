# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes of AIX devices, those of SMC-R with presets among them."""

import platform

import pytest
from aix import BUSY, SMCR_FOUND, AixHost, Device
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import _aix_devices
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.aix_device_attributes import (
    AixDeviceAttributes,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_r import PRESETS, SmcR
from runs import FOLDER, only, runner, verdicts

ENT0 = {"jumbo_frames": "no", "rx_hog": "1000", "alt_addr": "", "label": "two  words"}
pytestmark = pytest.mark.usefixtures("aix")
run = runner(AixDeviceAttributes, devices={}, when_busy="fail")


@pytest.fixture
def host(tmp_path):
    made = AixHost(tmp_path)
    made.devices["ent0"] = Device(ENT0, text="00-00 Adapter")
    return made


def ent0(host, check=False, **changes):
    changes.setdefault("devices", {"ent0": {"jumbo_frames": "yes", "rx_hog": 500}})
    return run(host, check, **changes)


def test_set_read_back_and_taken_back(host):
    found = host.values()
    # a compliant device is not asked for legal values
    wanted = {"rx_hog": "1000", "label": "two  words", "alt_addr": ""}
    record = only(ent0(host, devices={"ent0": wanted}))
    assert record["verdict"] == "compliant" and record["after"]["stored"] == record["after"]["next_boot"] == wanted
    assert not any("-Rl" in call for call in host.calls)
    predicted = ent0(host, check=True)
    assert predicted["changed"] and host.values() == found and not host.exists(FOLDER)
    result = ent0(host)
    record = only(result)
    assert record["verdict"] == "changed" and record["restart"] == "device" and record["subject"] == "ent0"
    assert result["diff"] == predicted["diff"]
    assert result["diff"]["after"] == "ent0 jumbo_frames (stored): yes\nent0 rx_hog (stored): 500\n"
    assert record["before"]["running"] == record["before"]["next_boot"] == {"jumbo_frames": "no", "rx_hog": "1000"}
    new = {"jumbo_frames": "yes", "rx_hog": "500"}
    assert record["after"] == {"running": new, "stored": new, "next_boot": new}
    assert host.changes() == [["chdev", "-l", "ent0", "-a", "jumbo_frames=yes", "-a", "rx_hog=500"]]
    assert not ent0(host)["changed"] and only(ent0(host, check=True))["verdict"] == "compliant"
    assert len(host.changes()) == 1
    assert run(host, state="restored")["changed"]
    assert host.values() == found and not host.exists(FOLDER)


def test_an_empty_value_can_be_filled_and_comes_back_empty(host):
    hostile = "; rm -rf / $(reboot)"
    result = ent0(host, devices={"ent0": {"alt_addr": hostile}})
    assert result["diff"]["before"] == "ent0 alt_addr (stored): empty\n"
    assert host.changes() == [["chdev", "-l", "ent0", "-a", "alt_addr=" + hostile]]
    assert host.devices["ent0"].in_force["alt_addr"] == hostile
    run(host, state="restored")
    assert host.changes()[-1] == ["chdev", "-l", "ent0", "-a", "alt_addr="]
    assert host.devices["ent0"].stored == ENT0


def test_a_busy_device_fails_is_deferred_configured_anew_and_taken_back(host):
    found = host.values()
    host.devices["ent0"].busy = True
    result = ent0(host)
    assert result["failed"] and not result["changed"] and host.values() == found and len(host.changes()) == 1
    assert "0514-062 Cannot perform the requested function because the specified device is busy." in result["msg"]
    assert "when_busy: defer" in result["msg"]
    record = only(ent0(host, when_busy="defer"))
    assert record["verdict"] == "pending_restart"
    assert "rx_hog: 1000 is in force, 500 once the device is configured again" in record["reason"]
    assert record["after"]["running"] == {"jumbo_frames": "no", "rx_hog": "1000"}
    assert record["after"]["next_boot"] == {"jumbo_frames": "yes", "rx_hog": "500"}
    assert "ent0 is busy: only its database was changed (chdev -P)" in record["remarks"]
    assert [argv[3] for argv in host.changes()[1:]] == ["-a", "-P"]
    again = ent0(host, when_busy="defer")
    assert not again["changed"] and only(again)["verdict"] == "pending_restart" and len(host.changes()) == 3
    # what waits is taken back without touching the device
    assert only(run(host, state="restored"))["verdict"] == "changed" and host.changes()[-1][3] == "-P"
    assert host.values() == found and not host.exists(FOLDER)
    ent0(host, when_busy="defer")
    host.configure("ent0")
    assert only(ent0(host, check=True))["verdict"] == "compliant"
    assert run(host, state="restored")["failed"]
    back = run(host, state="restored", when_busy="defer")
    assert only(back)["verdict"] == "pending_restart" and host.devices["ent0"].stored == ENT0
    # what is not in force yet stays in the journal
    assert only(run(host, True, state="restored"))["verdict"] == "pending_restart"
    host.configure("ent0")
    run(host, state="restored")
    assert host.values() == found and not host.exists(FOLDER)


def test_what_someone_else_left_pending_or_wants_of_the_next_boot(host):
    ent0(host)
    host.devices["ent0"].in_force["rx_hog"] = "1000"
    record = only(ent0(host, check=True))
    assert record["verdict"] == "pending_restart" and record["restart"] == "device"
    assert record["reason"] == "ent0 rx_hog: 1000 is in force, 500 once the device is configured again"
    host.devices["ent0"].in_force["rx_hog"] = "500"
    host.devices["ent0"].stored["rx_hog"] = "7"
    host.devices["ent0"].busy = True
    assert only(ent0(host, check=True))["reason"] == "ent0 rx_hog: 7, wanted 500"
    host.answers["chdev", "-l"] = Result(1, "", BUSY)
    result = ent0(host)
    # nothing more can be deferred
    assert result["failed"] and "0514-062" in result["msg"] and "when_busy" not in result["msg"]
    host.answers.clear()
    assert only(ent0(host))["verdict"] == "changed"
    assert host.changes()[-1] == ["chdev", "-l", "ent0", "-P", "-a", "rx_hog=500"]


def test_what_is_in_force_may_be_unknown(host):
    host.knows_p = False
    record = only(ent0(host))
    assert record["verdict"] == "changed" and record["after"]["running"] is None
    assert record["remarks"] == ["lsattr -P does not show the value in force of ent0 jumbo_frames, rx_hog"]


def test_other_errors_are_failures_shown_whole_and_the_others_go_on(host):
    host.answers["lsattr", "-E"] = Result(1, "", "lsattr: 0514-500 The database is locked.\n")
    with pytest.raises(HostError, match="0514-500 The database is locked"):
        ent0(host)
    host.answers.clear()
    host.answers["chdev", "-l"] = Result(1, "", "Method error (/usr/lib/methods/chgent):\n\t0514-018\n\tNot valid: x\n")
    result = run(host, devices={"ent0": {"rx_hog": 5}, "sys0": {"maxuproc": 4096}})
    assert result["failed"] and len(host.changes()) == 2
    assert "Method error (/usr/lib/methods/chgent): 0514-018 Not valid: x" in result["msg"]
    assert [record["verdict"] for record in result["tuning"]] == ["failed", "failed"]
    host.answers.clear()
    host.ignores = {"rx_hog"}
    result = ent0(host)
    assert result["failed"] and "ent0 rx_hog is 1000, although 500 was written" in result["msg"]


@pytest.mark.parametrize("locked", [False, True])
def test_what_a_failing_chdev_did_all_the_same_is_undone_or_said(host, locked):
    host.devices["ent0"].busy = True
    host.leaves = {"rx_hog": "500"}
    chdev = host._chdev

    def once(words):
        if locked:
            host.answers["chdev", "-l"] = Result(1, "", "chdev: 0514-500 The database is locked.\n")
        return chdev(words)

    host._chdev = once
    result = ent0(host)
    assert result["failed"] and host.changes()[-1] == ["chdev", "-l", "ent0", "-P", "-a", "rx_hog=1000"]
    told = "could not be put back: chdev did not change ent0: chdev: 0514-500"
    assert (told in result["msg"]) is ("put back" in result["msg"]) is locked
    stored = host.devices["ent0"].stored["rx_hog"]
    assert stored == only(result)["after"]["stored"]["rx_hog"] == ("500" if locked else "1000")


@pytest.mark.parametrize(
    "devices, words",
    [
        ({"ent0": {"rx_hog": 5000}}, "ent0 rx_hog: '5000' is not legal; lsattr -R has 1...1000 (+1)"),
        ({"ent0": {"alt_addr": 32}}, "ent0 alt_addr: '32' is not legal; lsattr -R has 0x10, 0x30; write hexadecimal"),
        ({"ent0": {"jumbo_frames": "on"}}, "ent0 jumbo_frames: 'on' is not legal; lsattr -R has yes, no"),
        ({"ent0": {"rx_hogs": 5}, "sys0": {"maxuproc": 4096}}, "ent0 has alt_addr, jumbo_frames, label, rx_hog"),
    ],
)
def test_values_that_are_not_legal_are_refused_before_anything_is_changed(host, devices, words):
    host.devices["ent0"].legal = {
        "rx_hog": "1...1000 (+1)\n", "jumbo_frames": "yes\nno\n", "alt_addr": "0x10\n0x30\n"
    }  # fmt: skip
    with pytest.raises(InputError) as error:
        run(host, devices=devices)
    assert words in str(error.value) and ("rx_hogs" in str(error.value)) is ("rx_hogs" in str(devices))
    assert host.changes() == []
    assert only(ent0(host))["verdict"] == "changed"
    # unquoted 0x30 of YAML
    assert only(run(host, devices={"ent0": {"alt_addr": 48}}))["after"]["stored"]["alt_addr"] == "0x30"
    assert only(run(host, devices={"ent0": {"alt_addr": 48}}))["verdict"] == "compliant"


@pytest.mark.parametrize(
    "how", [{"hidden": {"rx_hog", "jumbo_frames"}}, {"legal": {"rx_hog": "a number of packets\n", "jumbo_frames": ""}}]
)
def test_what_no_listing_shows_or_nobody_understands_is_left_to_chdev(host, how):
    vars(host.devices["ent0"]).update(how)
    assert only(ent0(host))["verdict"] == "changed"


def test_an_attribute_that_users_cannot_set_is_unsupported_only_where_it_would_change(host):
    host.devices["sys0"].fixed = {"fwversion"}
    record = only(run(host, devices={"sys0": {"fwversion": "x", "maxuproc": 4096}}))
    assert record["verdict"] == "unsupported" and record["reason"].endswith("users cannot set sys0 fwversion")
    assert host.changes() == []
    same = run(host, devices={"sys0": {"fwversion": "IBM,FW830.00 (SV830_048)", "maxuproc": 4096}})
    assert only(same)["verdict"] == "changed"


def test_a_device_that_is_not_there_or_went(host):
    records = run(host, devices={"ent9": {"rx_hog": 5}, "ent0": {"rx_hog": 5}})["tuning"]
    assert [(one["subject"], one["verdict"]) for one in records] == [("ent0", "changed"), ("ent9", "not_applicable")]
    assert records[1]["reason"].startswith("there is no device ent9 on this host")
    del host.devices["ent0"]
    result = run(host, state="restored")
    assert only(result)["verdict"] == "drifted" and not result["changed"]
    assert only(result)["reason"].startswith("this host no longer has a device ent0: the journal keeps ")
    assert only(run(host, state="restored", force=True))["verdict"] == "compliant"
    assert not host.exists(FOLDER)


def test_an_attribute_that_went_is_forgotten_and_the_others_come_back(host):
    run(host, devices={"ent0": {"rx_hog": 5, "jumbo_frames": "yes"}, "sys0": {"maxuproc": 4096}})
    run(host, devices={"sys0": {}}, state="restored")
    assert host.devices["sys0"].stored["maxuproc"] == "2048" and host.devices["ent0"].stored["rx_hog"] == "5"
    for values in (host.devices["ent0"].stored, host.devices["ent0"].in_force):
        del values["rx_hog"]
    record = only(run(host, state="restored"))
    assert record["verdict"] == "changed" and "nothing to take back: lsattr fails for rx_hog" in record["remarks"][0]
    assert host.devices["ent0"].stored["jumbo_frames"] == "no" and not host.exists(FOLDER)


@pytest.mark.parametrize("busy", [False, True])
def test_the_system_itself_waits_for_a_reboot(host, busy):
    host.devices["sys0"].busy = busy
    alone = only(run(host, when_busy="defer", devices={"sys0": {"maxuproc": 4096}}))
    assert alone["restart"] == "reboot" and ("after a reboot" in alone["reason"]) is busy
    back = only(run(host, True, state="restored"))
    assert back["restart"] == "reboot"
    both = run(host, when_busy="defer", devices={"sys0": {"maxuproc": 8192}, "ent0": {"rx_hog": 5}})["tuning"]
    assert [one["restart"] for one in both] == ["device", "reboot"]


def test_scripts_that_set_the_same_are_conflicts_and_read_once_for_all_devices(host, monkeypatch):
    host.fill("/etc/rc.net", "chdev -l ent0 -a rx_hog=1\nchdev -l sys0 -a fwversion=1\n")
    read, seen = AixHost.read, []
    monkeypatch.setattr(AixHost, "read", lambda self, path: seen.append(path) or read(self, path))
    found = ent0(host, devices={"ent0": {"rx_hog": 5}, "sys0": {"maxuproc": 4096}})["tuning"]
    assert [record["verdict"] for record in found] == ["changed", "changed"]
    conflicts = [one for record in found for one in record["conflicts"]]
    assert [(one["file"], one["line"], one["wins"]) for one in conflicts] == [("/etc/rc.net", 1, "possible")]
    assert seen.count("/etc/rc.net") == 1


@pytest.mark.parametrize(
    "devices, words",
    [
        ({}, "devices: nothing to set, give devices"),
        ({"ent0": {}}, "nothing to set on ent0"),
        ({"ent0": "rx_hog=5"}, "give attributes with their values"),
        ({"ent0;reboot": {"rx_hog": 5}}, "'ent0;reboot' is not a name of AIX"),
        ({"-l": {"rx_hog": 5}}, "'-l' is not a name of AIX"),
        ({"ent0": {"rx_hog\n": 5}}, "is not a name of AIX"),
        ({"ent0": {"jumbo_frames": True}}, "jumbo_frames is neither text nor a number: write it in quotes"),
        ({"ent0": {"rx_hog": "5\n6"}}, "has a line break"),
        ({"ent0": {"rx_hog": "5 jumbo_frames=yes"}}, "chdev would read 'jumbo_frames=' in the value of rx_hog"),
    ],
)
def test_bad_input(host, devices, words):
    with pytest.raises(InputError) as error:
        run(host, devices=devices)
    assert words in str(error.value)
    assert host.changes() == [] and not host.exists(FOLDER)


@pytest.mark.parametrize("devices, names", [({}, ["devices"]), ({"sys0": {"a": 1}, "ent0": {}}, ["ent0", "sys0"])])
def test_a_host_that_is_not_aix_is_not_applicable(host, monkeypatch, devices, names):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    result = run(host, devices=devices)
    assert verdicts(result) == dict.fromkeys(names, "not_applicable") and "AIX only" in result["tuning"][0]["reason"]
    assert only(run(host, state="restored"))["verdict"] == "compliant" and host.calls == []


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
smc_r = runner(SmcR, device=None, preset=None, attributes={}, sap_ports=[], database_ports=[], when_busy="fail")


@pytest.fixture
def partition(tmp_path):
    return AixHost(tmp_path)


def test_on_tuned_off_and_back(partition):
    # those of the study
    changed = {name: value for name, value in PRESETS["optimized"].items() if ENABLED[name] != value}
    assert changed == {"conns_per_lg": "64", "init_snd_pools": "16", "rx_intr_packets": "256"}
    found = partition.values()
    predicted = smc_r(partition, True, preset="enabled")
    assert only(predicted)["verdict"] == "drifted" and partition.values() == found
    result = smc_r(partition, preset="enabled")
    assert only(result)["verdict"] == "changed" and result["diff"] == predicted["diff"]
    assert partition.changes() == [
        ["chdev", "-l", "smcr0", "-a", "enabled=1", "-a", "ip_addr_list=any", "-a", "port_range=any"]
    ]
    assert partition.devices["smcr0"].stored == partition.devices["smcr0"].in_force == ENABLED
    assert not smc_r(partition, preset="enabled")["changed"]
    assert only(smc_r(partition, preset="optimized"))["after"]["running"] == PRESETS["optimized"]
    assert only(smc_r(partition, preset="disabled"))["verdict"] == "changed"
    assert partition.devices["smcr0"].stored["enabled"] == "0"
    assert len(partition.changes()) == 3
    # the rollback asks for nothing but the device
    partition.level = "7100-03-04-1441"
    del partition.devices["ent0"], found["ent0"]
    assert only(smc_r(partition, state="restored"))["verdict"] == "changed"
    assert partition.values() == found and not partition.exists(FOLDER)


def test_values_of_the_site_win_over_the_preset(partition):
    record = only(smc_r(partition, attributes={"conns_per_lg": "64"}))
    assert record["wanted"] == {"state": "present", "attributes": {"conns_per_lg": "64"}}
    assert partition.devices["smcr0"].stored == dict(SMCR_FOUND, conns_per_lg="64")
    smc_r(partition, preset="optimized", attributes={"conns_per_lg": 32, "port_range": "3200"})
    assert partition.devices["smcr0"].stored == dict(PRESETS["optimized"], conns_per_lg="32", port_range="3200")


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
def test_mistakes_are_refused(partition, asked, words):
    with pytest.raises(InputError, match=words):
        smc_r(partition, **asked)
    assert partition.changes() == []


def test_what_someone_else_has_emptied_is_drift_and_not_an_error(partition):
    smc_r(partition, preset="enabled")
    with pytest.raises(InputError, match="ip_addr_list of smcr0 would be empty"):
        smc_r(partition, attributes={"ip_addr_list": ""})
    assert only(smc_r(partition, True, attributes={"ip_addr_list": "", "enabled": 0}))["verdict"] == "drifted"
    for values in (partition.devices["smcr0"].stored, partition.devices["smcr0"].in_force):
        values["port_range"] = ""
    record = only(smc_r(partition, True, attributes={"conns_per_lg": 16}))
    assert record["verdict"] == "drifted"
    assert record["reason"] == "SMC-R is not used, because smcr0 port_range is empty"
    # the preset puts it right, so there is only the difference to tell
    record = only(smc_r(partition, True, preset="enabled"))
    assert record["reason"] == "smcr0 port_range: empty, wanted any"
    assert only(smc_r(partition, preset="enabled"))["verdict"] == "changed"


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
def test_ports_of_instances_and_of_the_database(partition, instances, database, ports):
    (remark,) = only(smc_r(partition, True, preset="enabled"))["remarks"]
    assert "all TCP of this partition" in remark
    remarks = only(smc_r(partition, preset="enabled", sap_ports=instances, database_ports=database))["remarks"]
    assert partition.devices["smcr0"].stored["port_range"] == ports
    assert "how port_range takes several ports is not published" in remarks[0]
    assert ["the port of the database is not among" in remark for remark in remarks[1:]] == [True][bool(database) :]


def test_which_device_is_meant(partition):
    record = only(smc_r(partition, preset="enabled", device="smcr7"))
    assert (record["subject"], record["verdict"]) == ("smcr7", "unsupported")
    assert record["reason"] == "there is no device smcr7; lsdev lists smcr0"
    partition.devices["smcr3"] = partition.devices.pop("smcr0")
    assert only(smc_r(partition, preset="enabled"))["subject"] == "smcr3"
    smc_r(partition, state="restored")
    assert partition.devices["smcr3"].stored == SMCR_FOUND
    partition.devices["smcr1"] = Device(SMCR_FOUND)
    with pytest.raises(InputError, match="there is no smcr0; choose one of smcr1, smcr3"):
        smc_r(partition, preset="enabled")
    assert only(smc_r(partition, preset="enabled", device="smcr3"))["verdict"] == "changed"
    assert partition.devices["smcr1"].stored == SMCR_FOUND
    partition.devices["smcr0"] = Device(SMCR_FOUND)
    assert only(smc_r(partition, preset="enabled"))["subject"] == "smcr0"
    smc_r(partition, state="restored", device="smcr3")
    assert [partition.devices[name].stored["enabled"] for name in ("smcr0", "smcr3")] == ["1", "0"]
    smc_r(partition, state="restored")
    assert partition.devices["smcr0"].stored == SMCR_FOUND


@pytest.mark.parametrize("level", ["7200-02-00-1731", "7300-00-00-2148", ""])
def test_newer_ones_and_those_that_do_not_tell_are_taken(partition, level):
    partition.level = level
    assert only(smc_r(partition, preset="enabled"))["verdict"] == "changed"
    asked = [argv for argv in partition.calls if argv[0] == "oslevel"]
    # it is slow: once in a smc_r, whatever the smc_r does
    assert asked == ([["oslevel", "-s"]] if level else [["oslevel", "-s"], ["oslevel", "-r"]])


@pytest.mark.parametrize("level", ["7200-01-06-1845", "7100-05-12-2320"])
def test_an_older_aix_is_unsupported(partition, level):
    partition.level = level
    record = only(smc_r(partition, preset="enabled"))
    assert record["verdict"] == "unsupported" and level in record["reason"] and "7200-02 or later" in record["reason"]
    assert record["wanted"]["state"] == "present" and record["wanted"]["attributes"]


def test_a_device_that_is_missing_or_not_available_is_unsupported(partition):
    partition.devices["smcr0"].state = "Defined"
    record = only(smc_r(partition, preset="enabled"))
    assert record["verdict"] == "unsupported" and "mkdev -l smcr0" in record["reason"]
    del partition.devices["smcr0"]
    record = only(smc_r(partition, preset="enabled"))
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
def test_a_roce_adapter_is_needed(partition, name, text, verdict):
    partition.devices = {"smcr0": Device(SMCR_FOUND, text="SMC-R over RoCE"), name: Device({}, text=text)}
    record = only(smc_r(partition, preset="enabled"))
    assert record["verdict"] == verdict
    assert ("give this partition a RoCE adapter" in record["reason"]) is (verdict == "unsupported")


def test_published_attributes_may_be_missing_and_mistyped_ones_not(partition):
    both = (partition.devices["smcr0"].stored, partition.devices["smcr0"].in_force)
    for values in both:
        del values["tx_intr_time"]
    record = only(smc_r(partition, preset="enabled"))
    assert record["verdict"] == "unsupported"
    assert record["reason"].startswith("SMC-R of this AIX has no attribute tx_intr_time (lsattr fails for tx_intr_time")
    with pytest.raises(InputError, match="con_per_lg.*smcr0 has conns_per_lg, enabled"):
        smc_r(partition, attributes={"con_per_lg": 5})
    assert partition.changes() == []
    for values in both:
        del values["enabled"]
        values["ip_addr_list"] = values["port_range"] = "any"
    assert only(smc_r(partition, attributes={"conns_per_lg": 5}))["verdict"] == "changed"


def test_an_attribute_that_the_other_tuning_has_set_is_left_to_it(partition, monkeypatch):
    monkeypatch.setattr(_aix_devices, "Journal", lambda host, name: Journal(host, name, FOLDER))
    asked = {"devices": {"smcr0": {"conns_per_lg": 32}}}
    run(partition, **asked)
    for check in (True, False):
        result = smc_r(partition, check, preset="optimized")
        assert result["failed"] and not result["changed"]
        assert "smcr0 conns_per_lg was set by the tuning aix_device_attributes: take that back first" in result["msg"]
    assert verdicts(smc_r(partition, attributes={"conns_per_lg": 32})) == {"smcr0": "compliant"}
    run(partition, state="restored")
    smc_r(partition, preset="optimized", checkpoint="exp1")
    assert run(partition, check=True, **asked)["failed"]
    smc_r(partition, state="restored", checkpoint="exp1")
    assert partition.devices["smcr0"].stored == SMCR_FOUND and run(partition, **asked)["changed"]
