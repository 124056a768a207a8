# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""buffer_count of qeth devices: stored by chzdev, never live; what boots, who else sets it, and the rollback."""

import json
import os
import shutil
import tempfile

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.places import own_files
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import reading
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.qeth import Qeth
from kernel import KernelHost
from qethhost import RULES, QethHost, rules_text
from runs import FOLDER, everything, only, runner, verdicts

OSA, HSI, VSWITCH = "0.0.0600", "0.0.7000", "0.0.0800"
FILE = RULES % OSA
run = runner(Qeth, devices=["auto"], buffer_count=128)


@pytest.fixture
def host(tmp_path):
    host = QethHost(tmp_path)
    host.card("enc600", OSA)
    return host


def write(host, path, data):
    target = host.path(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as stream:
        stream.write(data if isinstance(data, bytes) else data.encode())


def running(host):
    return host.value("/sys/devices/qeth/%s/buffer_count" % OSA)


def never_live(host):
    """Nothing wrote to the kernel, and no command touched the running device."""
    devices = host.glob("/sys/devices/qeth", "*")
    return host.log == [] and all(host.value(device + "/state") == "UP (LAN ONLINE)" for device in devices)


def test_it_is_predicted_stored_found_and_taken_back(host):
    before = everything(host)
    predicted = run(host, check=True)
    assert predicted["changed"] and everything(host) == before and host.calls == []
    found = only(predicted)
    assert found["verdict"] == "drifted" and "needs re-activation" in found["reason"]
    assert found["after"]["stored"] == {"buffer_count": "128"} == found["after"]["next_boot"]
    # the rest is only observed
    observed = {"card": "OSD_10GIG", "inbuf_size": "64k", "interface": "enc600", "mtu": "1500"}
    observed["queues"] = "1 receive, 2 transmit"
    assert found["before"]["running"] == dict(observed, buffer_count="64")
    result = run(host)
    assert result["changed"] and not result["failed"]
    assert only(result)["after"] == found["after"] and only(result)["verdict"] == "pending_restart"
    assert host.calls == [["chzdev", OSA, "buffer_count=128", "-p", "--no-root-update"]]
    assert host.read(FILE) == rules_text(OSA, buffer_count="128")
    assert running(host) == "64" and never_live(host)
    stored = everything(host)
    again = run(host)
    assert not again["changed"] and everything(host) == stored and len(host.calls) == 1
    reason = only(again)["reason"]
    assert reason.startswith("needs re-activation") and "64 is in force, 128 once the device" in reason
    assert run(host, check=True, state="restored")["changed"] and everything(host) == stored
    assert run(host, state="restored")["changed"]
    assert everything(host) == before and never_live(host)


def test_after_the_re_activation_it_is_compliant_and_the_rollback_waits_for_another(host):
    before = host.data(FILE)
    run(host)
    host.boot(OSA)
    assert running(host) == "128" and only(run(host))["verdict"] == "compliant"
    tuned = host.data(FILE)
    run(host, buffer_count=64, checkpoint="trial")
    assert b'buffer_count}="64"' in host.data(FILE)
    run(host, state="restored", checkpoint="trial")
    assert host.data(FILE) == tuned
    host.log.clear()
    found = only(run(host, state="restored"))
    assert (found["verdict"], host.data(FILE)) == ("pending_restart", before)
    assert "128 is in force, 64 once the device is configured again" in found["reason"] and never_live(host)
    assert host.exists(FOLDER + "/qeth.json")
    host.activate(OSA, False)
    host.put("/sys/devices/qeth/%s/buffer_count" % OSA, "64")
    run(host, state="restored")
    assert not host.exists(FOLDER + "/qeth.json")


def test_vswitch_gets_it_and_hipersockets_keep_their_default(host):
    host.card("enc800", VSWITCH, card="Virt.NIC QDIO")
    host.card("enc7000", HSI, card="HiperSockets", buffers=128, mtu=57344)
    host.card("enc900", "0.0.0900", card="OSM_1000")
    result = run(host)
    assert verdicts(result) == {OSA: "pending_restart", VSWITCH: "pending_restart", HSI: "compliant"}
    (found,) = [record for record in result["tuning"] if record["subject"] == HSI]
    assert found["after"]["next_boot"] == {"buffer_count": "128"}
    assert found["after"]["stored"] == {"buffer_count": "unset"}
    assert [call[1] for call in host.calls] == [OSA, VSWITCH] and host.read(RULES % HSI) == rules_text(HSI)


@pytest.mark.parametrize("rule", [True, False])
def test_hipersockets_that_a_rule_or_another_way_lowers_are_stored_too(host, rule):
    host.card("enc7000", HSI, card="HiperSockets", buffers=16)
    more = {"layer2": "0"} if rule else {}
    if rule:
        write(host, RULES % HSI, rules_text(HSI, buffer_count="16", **more))
    else:
        write(host, IFCFG.replace("600", "7000"), "SUBCHANNELS=0.0.7000\nOPTIONS='buffer_count=16'\n")
    found = only(run(host, devices=["hipersockets"]))
    assert found["before"]["next_boot"] == {"buffer_count": "16"} and found["verdict"] == "pending_restart"
    assert host.read(RULES % HSI) == rules_text(HSI, buffer_count="128", **more)


@pytest.mark.parametrize(
    "first",
    [
        rules_text(OSA, buffer_count="16", layer2="0").replace("\n", "\r\n").encode(),
        rules_text(OSA, layer2="0").encode() + b"# caf\xe9, by hand\n\n\n",
        rules_text(OSA, portno="1").encode()[:-1],
    ],
)
def test_the_rollback_restores_the_exact_bytes(host, first):
    write(host, FILE, first)
    host.boot(OSA)
    os.chmod(host.path(FILE), 0o640)
    assert only(run(host))["verdict"] == "pending_restart"
    assert host.data(FILE) != first and b'buffer_count}="128"' in host.data(FILE)
    assert run(host, state="restored")["changed"] and host.data(FILE) == first
    assert os.stat(host.path(FILE)).st_mode & 0o777 == 0o640 and not host.exists(FOLDER + "/qeth.json")


@pytest.mark.parametrize("first", [rules_text(OSA), rules_text(OSA, buffer_count="16")])
def test_what_somebody_else_has_changed_since_is_left_and_named(host, first):
    write(host, FILE, first)
    run(host)
    # a second value of the same file, which a rollback to the first bytes would lose
    theirs = rules_text(OSA, buffer_count="128", layer2="0")
    write(host, FILE, theirs)
    assert not run(host)["changed"]
    found = only(run(host, state="restored"))
    assert found["verdict"] == "drifted" and host.read(FILE) == theirs
    assert "was changed by someone else and is left alone: it is 128 (with layer2=0)" in found["reason"]
    assert run(host, state="restored", force=True)["changed"]
    assert host.read(FILE) == first


def test_a_run_killed_behind_chzdev_is_taken_back(host):
    journal = FOLDER + "/qeth.json"
    run(host)
    data = json.loads(host.read(journal))
    entry = data["knobs"][FILE]
    assert entry["ours"] == [host.read(FILE)]
    # the journal as it was before chzdev ran
    entry["ours"] = ['ATTR{[ccwgroup/%s]buffer_count}="128"\nATTR{[ccwgroup/%s]online}="1"\n' % (OSA, OSA)]
    write(host, journal, json.dumps(data))
    assert run(host, state="restored")["changed"] and host.read(FILE) == rules_text(OSA)


@pytest.mark.parametrize("first", [rules_text(OSA), rules_text(OSA, buffer_count="16")])
@pytest.mark.parametrize(
    "lies, words",
    [
        ("64", "41-qeth-0.0.0600.rules has 64 afterwards"),
        # and leaves half a file
        ("fails", "ended with 15: chzdev: Could not write file"),
    ],
)
def test_what_chzdev_does_wrong_is_reported_and_put_back(host, first, lies, words):
    write(host, FILE, first)
    host.lies = lies
    result = run(host)
    assert result["failed"] and not result["changed"] and only(result)["verdict"] == "failed"
    assert words in result["msg"] and host.read(FILE) == first


def seen_in_a_capture(host):
    """What check mode says of a capture of a host, which is what it says of the host."""
    copy = shutil.copytree(host.path("/"), tempfile.mkdtemp() + "/capture", symlinks=True)
    found = run(reading.opened(copy), check=True)
    mine = only(run(host, check=True))
    said = {name: only(found)[name] for name in ("verdict", "reason", "after")}
    assert said == {name: mine[name] for name in said}
    return mine


def test_a_device_that_chzdev_does_not_keep_is_left_alone(host):
    os.makedirs(host.path("/proc"), exist_ok=True)
    assert seen_in_a_capture(host)["after"]["stored"] == {"buffer_count": "128"}
    theirs = 'ACTION=="add", SUBSYSTEM=="ccwgroup", KERNEL=="%s", ATTR{buffer_count}="16"\n' % OSA
    write(host, FILE, theirs)
    found = only(run(host))
    assert found["verdict"] == "drifted" and "was not written by chzdev" in found["reason"]
    assert host.read(FILE) == theirs and host.calls == []
    # chzdev -p would make a file that takes the device offline at boot, and -e one without its other settings
    assert "was not written by chzdev" in seen_in_a_capture(host)["reason"]
    host.remove(FILE)
    assert "there is no" in seen_in_a_capture(host)["reason"]
    before = everything(host)
    for check in (True, False):
        result = run(host, check)
        assert only(result)["verdict"] == "drifted" and not result["changed"] and not result["failed"]
        told = "there is no %s, so chzdev does not keep this device: set buffer_count to 128 where it is configured"
        assert only(result)["reason"] == told % FILE
    assert host.calls == [] and everything(host) == before


def test_a_temporary_file_of_a_killed_run_is_removed_and_a_damaged_journal_reaches_no_file(host):
    killed = "/etc/udev/rules.d/.zpower-41-qeth-0.0.0600.rules.k4x"
    write(host, killed, "x")
    assert own_files(host, killed=True) == {"qeth": [killed]}
    run(host)
    assert not host.exists(killed)
    tuning = Qeth(host, {"state": "restored", "devices": ["auto"], "buffer_count": 128})
    assert not tuning.legible(FILE, None) and tuning.legible(FILE, "caf\xe9")
    assert not tuning.legible("/etc/udev/rules.d/41-qeth-../../passwd.rules", "x")
    assert not tuning.legible(FILE + "\n", "x") and not tuning.legible(FILE, "\u20ac")
    assert tuning.observe("../../passwd").knobs == []


def test_a_host_without_a_device_or_without_chzdev_says_so(tmp_path):
    bare = KernelHost(tmp_path / "x86")
    bare.interface("eth0")
    found = only(run(bare))
    assert found["verdict"] == "not_applicable" and "has no qeth device" in found["reason"]
    lacking = QethHost(tmp_path / "z", tools=False)
    lacking.card("enc600", OSA)
    found = only(run(lacking))
    assert (found["subject"], found["verdict"]) == (OSA, "unsupported") and "has no chzdev" in found["reason"]
    lacking.fill("/usr/sbin/chzdev", "")
    run(lacking)
    lacking.remove("/usr/sbin/chzdev")
    assert run(lacking, state="restored")["changed"] and lacking.read(FILE) == rules_text(OSA)


def test_devices_are_named_by_bus_id_interface_glob_or_card(host):
    host.card("enc7000", HSI, card="HiperSockets", buffers=128)
    chosen = {OSA: ([OSA], ["enc600"], ["osa"], ["enc6*"], ["osa", OSA]), HSI: ([HSI], ["hipersockets"], ["0.0.7*"])}
    for device, requests in chosen.items():
        for devices in requests:
            assert only(run(host, check=True, devices=devices))["subject"] == device
    assert only(run(host, devices=["hsi*"]))["verdict"] == "not_applicable"
    for option, value in (("buffer_count", 7), ("buffer_count", 129), ("devices", [])):
        with pytest.raises(InputError, match=option):
            run(host, **{option: value})
    with pytest.raises(InputError, match=r"no qeth device enc601; it has 0\.0\.0600 \(enc600\), 0\.0\.7000 "):
        run(host, devices=["enc601"])
    run(host)
    assert run(host, state="restored", devices=["enc7000"])["tuning"][0]["subject"] == "all"
    assert run(host, state="restored", devices=["enc600"])["changed"]


IFCFG = "/etc/sysconfig/network-scripts/ifcfg-enc600"
KEYFILE = "/etc/NetworkManager/system-connections/osa.nmconnection"
UNIT = "/etc/systemd/system/buffers.service"
HWCFG = "/etc/sysconfig/hardware/hwcfg-qeth-bus-ccw-0.0.0600"
CMDLINE = "ro rd.znet=qeth,0.0.0600,0.0.0601,0.0.0602,buffer_count=16\n"


@pytest.mark.parametrize(
    ("what", "path", "text"),
    [
        ("ifcfg", IFCFG, 'SUBCHANNELS=0.0.0600,0.0.0601,0.0.0602\nOPTIONS="layer2=1 buffer_count=16"\n'),
        ("NetworkManager", KEYFILE, "[connection]\ninterface-name=enc600\n[ethernet]\ns390-options=buffer_count=16"),
        ("hwcfg", HWCFG, "buffer_count=16\n"),
        ("kernel command line", "/proc/cmdline", CMDLINE),
        ("unit", UNIT, "[Service]\nExecStart=/usr/sbin/chzdev 0.0.0600 buffer_count=16 -a\n"),
        ("boot script", "/etc/rc.d/rc.local", "chzdev 0.0.0600 buffer_count=16 -a\n"),
    ],
)
def test_other_ways_of_storing_it_are_named(host, what, path, text):
    write(host, path, text)
    (found,) = only(run(host, True))["conflicts"]
    assert (found["what"], found["file"], found["value"]) == (what, path, "16")
    assert found["wins"] == ("no" if what == "hwcfg" else "possible")
    write(host, path, text.replace("enc600", "enc6001").replace("0.0.0600", "0.0.0700"))
    named = OSA in path or "enc600" in path
    assert [one["what"] for one in only(run(host, True))["conflicts"]] == ([what] if named else [])


def test_of_two_rules_for_one_device_the_first_that_sets_it_online_decides(host):
    first, last = "/etc/udev/rules.d/40-site.rules", "/etc/udev/rules.d/51-qeth-%s.rules" % OSA
    write(host, last, 'ACTION=="add", SUBSYSTEM=="ccwgroup", KERNEL=="%s", ATTR{buffer_count}="16"\n' % OSA)
    host.remove(FILE)
    assert only(run(host, check=True))["before"]["next_boot"] == {"buffer_count": "16"}
    write(host, FILE, rules_text(OSA))
    found = only(run(host, check=True))
    assert [found[at]["next_boot"]["buffer_count"] for at in ("before", "after")] == ["64", "128"]
    assert found["conflicts"] == [{"what": "udev rule", "file": last, "line": 1, "value": "16", "wins": "no"}]
    assert only(run(host))["verdict"] == "pending_restart"
    other = 'SUBSYSTEM=="ccwgroup", KERNEL=="%s", ATTR{buffer_count}="32", ATTR{online}="1"\n'
    write(host, first, other % "0.0.0601" + other % OSA)
    found = only(run(host))
    assert found["verdict"] == "drifted" and found["after"]["next_boot"] == {"buffer_count": "32"}
    assert "at the next boot %s line 2 sets buffer_count to 32 before the stored 128" % first in found["reason"]
    assert [(one["file"], one["wins"]) for one in found["conflicts"]] == [(first, "yes"), (last, "no")]


def test_a_rule_of_someone_else_with_the_number_is_enough(host):
    path = "/etc/udev/rules.d/51-qeth-%s.rules" % OSA
    write(host, path, 'ACTION=="add", SUBSYSTEM=="ccwgroup", KERNEL=="%s", ATTR{buffer_count}="500"\n' % OSA)
    found = only(run(host))
    assert found["after"]["next_boot"] == {"buffer_count": "128"}
    # the text differs from the number, so chzdev's file says it too
    assert host.read(FILE) == rules_text(OSA, buffer_count="128")
    run(host, state="restored")
    # a device that is to be offline after a boot stays so
    write(host, FILE, rules_text(OSA, online="0", layer2="0"))
    assert only(run(host))["after"]["stored"] == {"buffer_count": "128"}
    assert host.read(FILE) == rules_text(OSA, online="0", layer2="0", buffer_count="128")
    run(host, state="restored")
    host.remove(FILE)
    write(host, path, 'ACTION=="add", SUBSYSTEM=="ccwgroup", KERNEL=="%s", ATTR{buffer_count}="128"\n' % OSA)
    host.calls.clear()
    assert only(run(host))["verdict"] == "pending_restart" and host.calls == [] and not host.exists(FILE)
