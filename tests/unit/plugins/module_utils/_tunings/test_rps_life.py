# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a tuning, seen on RPS: apply, second run, check mode, restore, and everything that goes wrong between."""

import errno
import os
import shutil

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._rps.stored import RULES
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from kernel import QUEUE, FullDisk, KernelHost, masks, rps_params
from runs import FOLDER, only, refusal, runner, verdicts


@pytest.fixture
def host(tmp_path):
    return KernelHost(tmp_path).interface("hsi0", queues=2).interface("lo")


run = runner(Rps, **rps_params())


def rps_tree(host):
    """All that a run can read or write, but what the kernel only shows."""
    return host.tree("/sys", "/etc", "/var")


def test_predicted_applied_seen_again_and_taken_back(host):
    host.fill(QUEUE % 1, "2")
    before = rps_tree(host)
    predicted = run(host, check=True)
    assert rps_tree(host) == before and host.log == []
    assert only(predicted)["verdict"] == "drifted"
    assert "hsi0 rx-0: off (mask 0), wanted CPUs 0-3 (mask f)" in only(predicted)["reason"]
    result = run(host)
    record = only(result)
    assert result["changed"] and not result["failed"] and masks(host) == ["f", "f"]
    assert predicted["changed"] and predicted["diff"] == result["diff"] and only(predicted)["after"] == record["after"]
    assert record["verdict"] == "changed" and record["restart"] == "none"
    assert record["before"] == {"running": {"rx-0": "0", "rx-1": "2"}, "stored": None, "next_boot": {"rps_cpus": "0"}}
    assert record["after"] == {
        "running": {"rx-0": "f", "rx-1": "f"},
        "stored": {"udev rule": "rps_cpus=f"},
        "next_boot": {"rps_cpus": "f"},
    }
    # the diff speaks of CPUs
    lines = "hsi0 rx-0 (running): %s\nhsi0 rx-1 (running): %s\nhsi0 udev rule (stored): %s\n"
    assert result["diff"]["before"] == lines % ("off (mask 0)", "CPUs 1 (mask 2)", "absent")
    assert result["diff"]["after"] == lines % (*["CPUs 0-3 (mask f)"] * 2, "rps_cpus=f for 4 queues")
    # a second run changes and writes nothing, also if the kernel spells the mask otherwise
    host.fill(QUEUE % 0, "0000000f")
    tuned, host.log = rps_tree(host), []
    again = run(host)
    assert not again["changed"] and only(again)["verdict"] == "compliant"
    assert not run(host, check=True)["changed"] and host.log == [] and rps_tree(host) == tuned
    back = run(host, check=True, state="restored")
    assert back["changed"] and rps_tree(host) == tuned
    assert only(back)["after"]["running"] == {"rx-0": "0", "rx-1": "2"} and only(back)["after"]["stored"] is None
    result = run(host, state="restored")
    assert result["changed"] and only(result)["verdict"] == "changed" and rps_tree(host) == before
    again = run(host, state="restored")
    assert not again["changed"] and only(again)["reason"] == "nothing to take back: the journal is empty"


def test_restore_leaves_alone_what_someone_else_changed_and_says_so(host):
    run(host)
    run(host, cpus="0")
    run(host)
    host.fill(QUEUE % 1, "8")
    result = run(host, state="restored")
    record = only(result)
    assert masks(host) == ["0", "8"] and not result["failed"] and record["verdict"] == "drifted"
    assert "hsi0 rx-1 was changed by someone else and is left alone: it is CPUs 3 (mask 8)" in record["reason"]
    assert "this collection set CPUs 0-3 (mask f), before that" in record["reason"]
    # the first value of one queue is never given to another one
    assert list(Journal(host, "rps", FOLDER).entries) == [QUEUE % 0, QUEUE % 1]
    assert run(host, state="restored", force=True)["changed"]
    assert masks(host) == ["0", "0"] and Journal(host, "rps", FOLDER).entries == {}


@pytest.mark.parametrize("force", [False, True])
def test_a_second_rollback_leaves_restored_queues_alone(host, force):
    host.fill(QUEUE % 0, "f")
    host.fill(QUEUE % 1, "3")
    run(host)
    host.fill(QUEUE % 1, "8")
    run(host, state="restored")
    assert masks(host) == ["f", "8"]
    predicted = run(host, check=True, state="restored", force=force)
    assert run(host, state="restored", force=force)["diff"] == predicted["diff"]
    assert masks(host) == ["f", "3" if force else "8"]


def test_a_late_queue_that_is_not_set_is_found_mended_and_taken_back(host):
    run(host)
    host.fill(QUEUE % 2, "0")
    found = run(host, check=True)
    assert found["changed"] and "hsi0 rx-2: off" in only(found)["reason"]
    run(host)
    assert host.value(QUEUE % 2) == "f" and not run(host, check=True)["changed"]
    shutil.copytree(host.path("/sys/class/net/hsi0/queues/rx-1"), host.path("/sys/class/net/hsi0/queues/rx-3"))
    run(host, state="restored")
    assert [host.value(QUEUE % number) for number in range(4)] == ["0"] * 4


def test_restore_goes_to_the_first_value_also_if_it_was_the_wanted_one(host):
    host.fill(QUEUE % 0, "f")
    before = rps_tree(host)
    run(host)
    assert masks(host) == ["f", "f"]
    run(host, every=2)
    assert masks(host) == ["5", "5"]
    run(host, state="restored")
    assert masks(host) == ["f", "0"] and rps_tree(host) == before


def test_restore_of_an_interface_that_is_gone_takes_back_its_rule(host):
    run(host)
    shutil.rmtree(host.path("/sys/class/net/hsi0"))
    result = run(host, state="restored")
    assert result["changed"] and not result["failed"] and not host.exists(RULES)
    # its queues may come back with it, so their first values stay
    assert only(result)["verdict"] == "drifted"
    assert "no longer has an interface hsi0, nor its device under another name" in only(result)["reason"]
    assert sorted(Journal(host, "rps", FOLDER).entries) == [QUEUE % 0, QUEUE % 1]
    again = run(host, state="restored")
    assert not again["changed"] and "the journal keeps 2 of its first values" in only(again)["reason"]
    dropped = run(host, state="restored", force=True)
    assert not dropped["changed"] and only(dropped)["verdict"] == "compliant" and not host.exists(FOLDER)
    assert "its values in the journal are dropped" in only(dropped)["reason"]


@pytest.mark.parametrize("interfaces", [["auto"], ["hsi0"]])
def test_off_sets_zero_now_and_at_boot(host, interfaces):
    off = {"state": "off", "interfaces": interfaces}
    run(host)
    assert run(host, check=True, **off)["changed"]
    # it is not reached while a rule of ours still stores a mask
    for number in range(2):
        host.fill(QUEUE % number, "0")
    record = only(run(host, check=True, **off))
    assert (record["subject"], record["verdict"]) == ("hsi0", "drifted")
    assert "udev rule: rps_cpus=f for 4 queues, wanted rps_cpus=0 for 4 queues" in record["reason"]
    host.fill(QUEUE % 0, "f")
    result = run(host, **off)
    assert masks(host) == ["0", "0"] and only(result)["after"]["next_boot"] == {"rps_cpus": "0"}
    assert 'rps_cpus}="0"' in host.read(RULES) and '="f"' not in host.read(RULES)
    assert not run(host, **off)["changed"]


def test_a_full_disk_changes_nothing(tmp_path):
    host = FullDisk(tmp_path).interface("hsi0", queues=2)
    # also the next run is told of the disk, not of another run: no lock is left
    for _time in range(2):
        with pytest.raises(HostError, match="nothing was changed: the journal could not be written.*No space left"):
            run(host)
    assert host.log == [] and masks(host) == ["0", "0"] and not host.exists(RULES)
    host.full = ("/etc",)
    result = run(host)
    assert result["failed"] and "cannot write %s: No space left on device" % RULES in result["msg"]
    assert masks(host) == ["0", "0"]
    host.full = ()
    run(host, state="restored")
    assert Journal(host, "rps", FOLDER).entries == {}


@pytest.mark.parametrize(
    "number, words", [(errno.EROFS, "read-only"), (errno.ENODEV, "receive queue"), (errno.EINVAL, "isolcpus")]
)
def test_what_the_kernel_refuses_gets_one_sentence_and_the_rest_goes_on(host, number, words):
    host.errors[QUEUE % 1] = number
    before = host.tree("/sys", "/etc")
    result = run(host)
    assert result["failed"] and not result["changed"] and host.tree("/sys", "/etc") == before
    host.interface("eth9")
    result = run(host, interfaces=["hsi0", "eth9"])
    assert verdicts(result) == {"hsi0": "failed", "eth9": "changed"}
    assert result["failed"] and result["changed"]
    assert words in result["msg"] and os.strerror(number) in result["msg"]
    # the refused interface is as it was, running and stored
    assert masks(host) == ["0", "0"] and "hsi0" not in host.read(RULES)
    host.errors = {}
    run(host, state="restored")
    assert masks(host) == ["0", "0"] and host.value("/sys/class/net/eth9/queues/rx-0/rps_cpus") == "0"


def test_an_interface_that_vanishes_while_it_is_looked_at(host, monkeypatch):
    observe = Rps.observe

    def gone(self, name):
        shutil.rmtree(host.path("/sys/class/net/hsi0"))
        return observe(self, name)

    monkeypatch.setattr(Rps, "observe", gone)
    with pytest.raises(InputError, match="this host has no interface hsi0 with receive queues; it has lo"):
        run(host, interfaces=["hsi0"])
    assert not host.exists(RULES)


def test_what_cannot_be_put_back_is_named_and_restore_ends_it(host, monkeypatch):
    real = KernelHost.put

    def put(self, path, value):
        self.errors = {QUEUE % 1: errno.EIO, QUEUE % 0: errno.EIO} if path == QUEUE % 1 else self.errors
        real(self, path, value)

    monkeypatch.setattr(KernelHost, "put", put)
    result = run(host)
    assert result["failed"] and result["changed"]
    assert "hsi0 rx-0 could not be put back: cannot write 0 to %s: Input/output error" % (QUEUE % 0) in result["msg"]
    assert masks(host) == ["f", "0"]
    monkeypatch.undo()
    host.errors = {}
    run(host, state="restored")
    assert masks(host) == ["0", "0"] and Journal(host, "rps", FOLDER).entries == {}


@pytest.mark.parametrize(
    "params, words",
    [
        ({"interfaces": ["eth7"]}, "this host has no interface eth7 with receive queues; it has"),
        ({"interfaces": ["lo"]}, "lo is the loopback interface"),
        ({"interfaces": ["*"]}, "cannot be named in a udev rule"),
        ({"interfaces": []}, "interfaces: the list is empty"),
        ({"cpus": "0-9"}, "cpus: this machine has no CPU 4-9; it has 0-3"),
        ({"cpus": "255"}, "no CPU 255; it has 0-3; if that was a mask, write '0xff' in quotes"),
        ({"cpus": "0xff"}, "no CPU 4-7; it has 0-3"),
        ({"cpus": "two"}, "cpus: 'two' is not a CPU list: write numbers and ranges, such as 0-3,8; or a mask with 0x"),
        ({"flow_steering": True, "flow_cnt": 1024}, "flow_cnt: flow_steering derives it from the number of receive"),
        ({"every": 0}, "every: 0 is out of range; use 1 to 8192"),
        ({"cpus": "1", "every": 2}, "cpus: '1' with every: 2 leaves no CPU"),
        ({"sock_flow_entries": 1 << 30}, "sock_flow_entries: 1073741824 is out of range"),
    ],
)
def test_bad_input_gets_one_sentence_before_anything_is_changed(host, params, words):
    host.interface('a",RUN+="x')
    before = rps_tree(host)
    with pytest.raises(InputError) as error:
        run(host, **params)
    assert words in str(error.value) and rps_tree(host) == before


def test_an_offline_cpu_is_refused_by_name_and_left_out_of_all(tmp_path):
    host = KernelHost(tmp_path, online="0-1,3").interface("hsi0", queues=2)
    with pytest.raises(InputError) as error:
        run(host, cpus="1-2")
    assert "cpus: CPU 2 is offline, and the kernel would silently leave it out" in str(error.value)
    assert "online: 0-1,3" in str(error.value)
    run(host)
    assert masks(host) == ["b", "b"]
    # the CPU comes back: the mask written meanwhile lacks it for good, and the next check says so
    host.fill("/sys/devices/system/cpu/online", "0-3")
    assert "hsi0 rx-0, rx-1: CPUs 0-1,3 (mask b), wanted CPUs 0-3 (mask f)" in only(run(host, check=True))["reason"]
    # an isolated one fails the proof
    host.isolated = 0b1000
    result = run(host)
    assert result["failed"]
    assert "rx-0 is CPUs 0-2 (mask 7), although CPUs 0-3 (mask f) was written" in result["msg"]
    assert "the kernel left out CPU 3, which is offline or isolated" in result["msg"]


ENTRIES, SYSCTL = "/proc/sys/net/core/rps_sock_flow_entries", "/etc/sysctl.d/91-zpower-sap-tuning-rps.conf"


def test_flow_counts_are_rounded_as_the_kernel_does(host):
    asked, count = dict(flow_cnt=1000, sock_flow_entries=30000), "/sys/class/net/hsi0/queues/rx-0/rps_flow_cnt"
    # a namespace without flow entries is not a failure
    result = run(host, sock_flow_entries=32768)
    assert not result["failed"]
    assert verdicts(result) == {"hsi0": "changed", "net.core.rps_sock_flow_entries": "unsupported"}
    host.fill(ENTRIES, "0")
    assert set(verdicts(run(host, **asked)).values()) == {"changed"}
    assert (host.value(count), host.value(ENTRIES)) == ("1024", "32768")
    assert "net.core.rps_sock_flow_entries = 32768" in host.read(SYSCTL)
    assert not run(host, **asked)["changed"]
    run(host, state="restored")
    assert (host.value(count), host.value(ENTRIES)) == ("0", "0") and not host.exists(SYSCTL)


def test_without_udev_the_running_value_alone_decides_and_without_rps_nothing_does(host):
    os.rmdir(host.path("/etc/udev"))
    result = run(host)
    assert only(result)["after"] == {"running": {"rx-0": "f", "rx-1": "f"}, "stored": None, "next_boot": None}
    record = only(run(host))
    assert record["verdict"] == "compliant" and "this host has no udev" in record["reason"]
    for number in range(2):
        os.unlink(host.path(QUEUE % number))
    record = only(run(host, interfaces=["hsi0"]))
    assert record["verdict"] == "unsupported" and "CONFIG_RPS" in record["reason"]
    assert sorted(record["wanted"]) == ["rps_cpus", "state"]


def test_auto_takes_what_carries_traffic_and_has_fewer_queues_than_cpus(tmp_path):
    host = KernelHost(tmp_path)
    record = only(run(host))
    assert record["verdict"] == "not_applicable" and record["reason"]
    host.interface("lo")
    host.interface("wide0", queues=4)
    record = only(run(host))
    assert record["verdict"] == "not_applicable"
    assert record["reason"] == "lo: loopback; wide0: its 4 receive queues reach all 4 CPUs"
    for name, packets in (("hsi0", 1000), ("idle0", 0), ("down0", 1000), ("bond0", 1000)):
        host.interface(name, packets=packets)
    host.fill("/sys/class/net/down0/operstate", "down")
    host.fill("/sys/class/net/bond0/lower_hsi0", "")
    # the kernel allows such a name, and a rule with it would start a program as root
    host.interface('a",RUN+="x', packets=1000)
    assert [record["subject"] for record in run(host)["tuning"]] == ["hsi0"]


def test_globs(host):
    host.interface("hsi1")
    host.interface("eth0")
    record = only(run(host, interfaces=["enc*"]))
    assert record["verdict"] == "not_applicable" and record["reason"] == "no interface matches enc*"
    assert list(verdicts(run(host, check=True, interfaces=["*"]))) == ["eth0", "hsi0", "hsi1"]
    assert list(verdicts(run(host, interfaces=["hsi*"]))) == ["hsi0", "hsi1"]
    run(host, state="restored", interfaces=["hsi1"])
    assert masks(host) == ["f", "f"] and host.value("/sys/class/net/hsi1/queues/rx-0/rps_cpus") == "0"
    assert "begin hsi0" in host.read(RULES) and "hsi1" not in host.read(RULES)


@pytest.mark.parametrize("state", ["present", "off"])
def test_what_no_kernel_shows_is_named_with_its_file(host, state):
    host.fill(QUEUE % 1, "0-3")
    said = refusal(run, host, state=state)
    assert said == QUEUE % 1 + " has '0-3', which no kernel shows there"
