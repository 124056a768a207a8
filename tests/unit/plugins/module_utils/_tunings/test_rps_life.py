# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a tuning, seen on RPS: apply, second run, check mode, restore, and everything that goes wrong between."""

import errno
import os
import shutil

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.run import Run
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._rps.stored import RULES
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from kernel import QUEUE, FullDisk, KernelHost, masks, rps_params
from runs import only

FOLDER = "/var/lib/zpower_sap_tuning"


@pytest.fixture
def host(tmp_path):
    host = KernelHost(tmp_path)
    host.interface("hsi0", queues=2)
    host.interface("lo")
    return host


def run(host, check=False, **params):
    params = rps_params(**params)
    return Run(Rps(host, params), Journal(host, "rps", FOLDER), params["state"], check, params["force"]).run()


def test_apply_sets_every_queue_stores_it_and_proves_it(host):
    result = run(host)
    record = only(result)
    assert result["changed"] and not result["failed"]
    assert masks(host) == ["f", "f"]
    assert record["verdict"] == "changed"
    assert record["before"] == {"running": {"rx-0": "0", "rx-1": "0"}, "stored": None, "next_boot": {"rps_cpus": "0"}}
    assert record["after"] == {
        "running": {"rx-0": "f", "rx-1": "f"},
        "stored": {"udev rule": "rps_cpus=f"},
        "next_boot": {"rps_cpus": "f"},
    }
    assert record["restart"] == "none"
    assert any("5.8" in source for source in record["sources"])


def test_a_second_run_changes_and_writes_nothing(host):
    run(host)
    host.log = []
    before = host.tree("/sys", "/etc", "/var")
    result = run(host)
    assert not result["changed"]
    assert only(result)["verdict"] == "compliant"
    assert host.log == []
    assert host.tree("/sys", "/etc", "/var") == before


def test_a_mask_that_the_kernel_spells_otherwise_is_the_same_mask(host):
    run(host)
    host.fill(QUEUE % 0, "0000000f")
    assert not run(host)["changed"]


def test_check_mode_predicts_exactly_what_the_run_does_and_writes_nothing(host):
    before = host.tree("/sys", "/etc", "/var")
    predicted = run(host, check=True)
    assert host.tree("/sys", "/etc", "/var") == before and host.log == []
    done = run(host)
    assert predicted["changed"] is done["changed"] is True
    assert predicted["diff"] == done["diff"]
    assert only(predicted)["after"] == only(done)["after"]
    assert only(predicted)["verdict"] == "drifted"
    assert "hsi0 rx-0, rx-1: off (mask 0), wanted CPUs 0-3 (mask f)" in only(predicted)["reason"]
    assert run(host, check=True)["changed"] is False


def test_the_diff_speaks_of_cpus(host):
    diff = run(host)["diff"]
    assert "hsi0 rx-0 (running): off (mask 0)\n" in diff["before"]
    assert "hsi0 rx-0 (running): CPUs 0-3 (mask f)\n" in diff["after"]
    assert "hsi0 udev rule (stored): absent\n" in diff["before"]
    assert "hsi0 udev rule (stored): rps_cpus=f for 4 queues\n" in diff["after"]


def test_restore_brings_back_every_file_and_leaves_no_journal(host):
    host.fill(QUEUE % 1, "2")
    before = host.tree("/sys", "/etc", "/var")
    run(host)
    assert masks(host) == ["f", "f"]
    result = run(host, state="restored")
    assert result["changed"]
    assert only(result)["verdict"] == "changed"
    assert host.tree("/sys", "/etc", "/var") == before
    again = run(host, state="restored")
    assert not again["changed"]
    assert only(again)["reason"] == "nothing to take back: the journal is empty"


def test_restore_goes_to_the_first_value_not_to_the_last(host):
    host.fill(QUEUE % 0, "1")
    run(host, cpus="0-1")
    run(host, every=2)
    assert masks(host) == ["5", "5"]
    run(host, state="restored")
    assert masks(host) == ["1", "0"]


def test_restore_in_check_mode_predicts_it(host):
    run(host)
    before = host.tree("/sys", "/etc", "/var")
    predicted = run(host, check=True, state="restored")
    assert host.tree("/sys", "/etc", "/var") == before
    assert predicted["changed"]
    assert only(predicted)["after"]["running"] == {"rx-0": "0", "rx-1": "0"}
    assert only(predicted)["after"]["stored"] is None


def test_restore_leaves_alone_what_someone_else_changed_and_says_so(host):
    run(host)
    host.fill(QUEUE % 1, "8")
    result = run(host, state="restored")
    record = only(result)
    assert masks(host) == ["0", "8"]
    assert not result["failed"]
    assert record["verdict"] == "drifted"
    assert "hsi0 rx-1 was changed by someone else and is left alone" in record["reason"]
    assert "it is CPUs 3 (mask 8), this collection set CPUs 0-3 (mask f)" in record["reason"]
    assert "before that it was off (mask 0)" in record["reason"]
    assert list(Journal(host, "rps", FOLDER).entries) == [QUEUE % 1]
    assert run(host, state="restored", force=True)["changed"]
    assert masks(host) == ["0", "0"]
    assert Journal(host, "rps", FOLDER).entries == {}


def test_restore_takes_back_a_queue_that_came_later(host):
    run(host)
    shutil.copytree(host.path("/sys/class/net/hsi0/queues/rx-1"), host.path("/sys/class/net/hsi0/queues/rx-2"))
    assert host.value(QUEUE % 2) == "f"
    run(host, state="restored")
    assert host.value(QUEUE % 2) == "0"


def test_a_queue_that_had_the_wanted_mask_all_along_keeps_it(host):
    host.fill(QUEUE % 0, "f")
    before = host.tree("/sys", "/etc", "/var")
    run(host)
    assert masks(host) == ["f", "f"]
    run(host, state="restored")
    assert masks(host) == ["f", "0"]
    assert host.tree("/sys", "/etc", "/var") == before


def test_a_late_queue_that_is_not_set_is_found_and_mended(host):
    run(host)
    host.fill(QUEUE % 2, "0")
    found = run(host, check=True)
    assert found["changed"]
    assert "hsi0 rx-2: off" in only(found)["reason"]
    run(host)
    assert host.value(QUEUE % 2) == "f"
    assert not run(host, check=True)["changed"]


def test_restore_of_an_interface_that_is_gone_takes_back_its_rule(host):
    run(host)
    shutil.rmtree(host.path("/sys/class/net/hsi0"))
    result = run(host, state="restored")
    assert result["changed"] and not result["failed"]
    assert not host.exists(RULES)
    # its queues may come back with it, so their first values stay
    assert only(result)["verdict"] == "drifted"
    assert "this host no longer has an interface hsi0, nor its device under another name" in only(result)["reason"]
    assert sorted(Journal(host, "rps", FOLDER).entries) == [QUEUE % 0, QUEUE % 1]
    again = run(host, state="restored")
    assert not again["changed"] and "the journal keeps 2 of its first values" in only(again)["reason"]
    dropped = run(host, state="restored", force=True)
    assert not dropped["changed"] and only(dropped)["verdict"] == "compliant"
    assert "its values in the journal are dropped" in only(dropped)["reason"]
    assert not host.exists(FOLDER)


def test_off_sets_zero_now_and_at_boot(host):
    run(host)
    result = run(host, state="off")
    assert masks(host) == ["0", "0"]
    assert only(result)["after"]["next_boot"] == {"rps_cpus": "0"}
    assert 'rps_cpus}="0"' in host.read(RULES)
    assert not run(host, state="off")["changed"]


@pytest.mark.parametrize("interfaces", [["auto"], ["hsi0"]])
def test_off_is_not_reached_while_a_rule_of_ours_still_stores_a_mask(host, interfaces):
    run(host)
    for number in range(2):
        host.fill(QUEUE % number, "0")
    record = only(run(host, check=True, state="off", interfaces=interfaces))
    assert (record["subject"], record["verdict"]) == ("hsi0", "drifted")
    assert "udev rule: rps_cpus=f for 4 queues, wanted rps_cpus=0 for 4 queues" in record["reason"]
    assert run(host, state="off", interfaces=interfaces)["changed"]
    assert 'rps_cpus}="0"' in host.read(RULES) and '="f"' not in host.read(RULES)


def killed(self, subject, knob):
    raise KeyboardInterrupt()


def test_killed_between_journal_and_write(host, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Rps, "set", killed)
        with pytest.raises(KeyboardInterrupt):
            run(host)
    assert Journal(host, "rps", FOLDER).entries[QUEUE % 0]["first"] == "0"
    assert masks(host) == ["0", "0"]
    # the next run ends well
    assert run(host)["changed"] and masks(host) == ["f", "f"]
    assert Journal(host, "rps", FOLDER).entries[QUEUE % 0]["first"] == "0"


def test_killed_between_journal_and_write_then_restored(host, monkeypatch):
    before = host.tree("/sys", "/etc", "/var")
    with monkeypatch.context() as patch:
        patch.setattr(Rps, "set", killed)
        with pytest.raises(KeyboardInterrupt):
            run(host)
    result = run(host, state="restored")
    assert not result["changed"]
    assert host.tree("/sys", "/etc", "/var") == before


def test_killed_on_the_way_to_a_second_value_then_restored(host, monkeypatch):
    run(host)
    with monkeypatch.context() as patch:
        patch.setattr(Rps, "set", killed)
        with pytest.raises(KeyboardInterrupt):
            run(host, every=2)
    assert masks(host) == ["f", "f"]
    run(host, state="restored")
    assert masks(host) == ["0", "0"]


def test_disk_full_while_journalling_changes_nothing(tmp_path):
    host = FullDisk(tmp_path)
    host.interface("hsi0", queues=2)
    with pytest.raises(HostError) as error:
        run(host)
    assert "nothing was changed: the journal could not be written" in str(error.value)
    assert "No space left on device" in str(error.value)
    assert host.log == [] and masks(host) == ["0", "0"]
    assert not host.exists(RULES)
    # and no lock is left: the next run is told of the disk, not of another run
    with pytest.raises(HostError) as error:
        run(host)
    assert "No space left" in str(error.value)


def test_disk_full_while_storing_leaves_the_running_values(tmp_path):
    host = FullDisk(tmp_path)
    host.full = ("/etc",)
    host.interface("hsi0", queues=2)
    result = run(host)
    assert result["failed"]
    assert "cannot write %s: No space left on device" % RULES in result["msg"]
    assert masks(host) == ["0", "0"]
    host.full = ()
    run(host, state="restored")
    assert Journal(host, "rps", FOLDER).entries == {}


@pytest.mark.parametrize(
    "number, words",
    [
        (errno.EPERM, "run with become: true"),
        (errno.EACCES, "run with become: true"),
        (errno.EROFS, "/sys is read-only here, as in a container"),
        (errno.ENODEV, "the interface or its receive queue vanished meanwhile"),
        (errno.EINVAL, "isolated (isolcpus, nohz_full)"),
        (errno.EIO, "the old value stands"),
    ],
)
def test_what_the_kernel_refuses_is_one_sentence_and_the_rest_goes_on(host, number, words):
    host.interface("eth9")
    host.errors[QUEUE % 1] = number
    result = run(host, interfaces=["hsi0", "eth9"])
    verdicts = {record["subject"]: record["verdict"] for record in result["tuning"]}
    assert verdicts == {"hsi0": "failed", "eth9": "changed"}
    assert result["failed"] and result["changed"]
    assert words in result["msg"] and os.strerror(number) in result["msg"]
    # the refused interface is as it was, running and stored
    assert masks(host) == ["0", "0"] and "hsi0" not in host.read(RULES)
    host.errors = {}
    run(host, state="restored")
    assert masks(host) == ["0", "0"] and host.value("/sys/class/net/eth9/queues/rx-0/rps_cpus") == "0"


def test_an_interface_that_vanishes_while_it_is_looked_at(host, monkeypatch):
    real = Rps.observe

    def observe(self, name):
        shutil.rmtree(self.host.path("/sys/class/net/hsi0"))
        return real(self, name)

    monkeypatch.setattr(Rps, "observe", observe)
    with pytest.raises(InputError) as error:
        run(host, interfaces=["hsi0"])
    assert "this host has no interface hsi0 with receive queues; it has lo" in str(error.value)
    assert host.log == [] and not host.exists(RULES)


def test_a_name_that_would_break_out_of_a_udev_rule_is_refused(host):
    host.interface('a",RUN+="x')
    with pytest.raises(InputError) as error:
        run(host, interfaces=["*"])
    assert "cannot be named in a udev rule" in str(error.value)
    assert host.log == [] and not host.exists(RULES)


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


def test_a_run_that_put_everything_back_changed_nothing(host):
    before = host.tree("/sys", "/etc")
    host.errors[QUEUE % 1] = errno.EROFS
    result = run(host)
    assert result["failed"] and not result["changed"]
    assert host.tree("/sys", "/etc") == before


def test_an_interface_that_vanishes_during_the_write(host, monkeypatch):
    real = KernelHost.put

    def put(self, path, value):
        if path == QUEUE % 1:
            shutil.rmtree(self.path("/sys/class/net/hsi0"))
        real(self, path, value)

    monkeypatch.setattr(KernelHost, "put", put)
    result = run(host)
    assert result["failed"]
    assert only(result)["verdict"] == "failed"
    assert "the interface or its receive queue vanished meanwhile" in result["msg"]
    monkeypatch.undo()
    assert not run(host, state="restored")["failed"]
    assert not host.exists(RULES)


def test_isolated_cpus_that_the_kernel_leaves_out_fail_the_proof(host):
    host.isolated = 0b1000
    result = run(host)
    assert result["failed"]
    assert "rx-0 is CPUs 0-2 (mask 7), although CPUs 0-3 (mask f) was written" in result["msg"]
    assert "the kernel left out CPU 3, which is offline or isolated" in result["msg"]


def test_a_second_run_at_the_same_time_changes_nothing(host):
    other = Journal(host, "rps", FOLDER)
    other.lock()
    with pytest.raises(HostError) as error:
        run(host)
    assert "another run" in str(error.value)
    assert masks(host) == ["0", "0"]
    assert run(host, check=True)["changed"]
    other.close()
    assert run(host)["changed"]


@pytest.mark.parametrize(
    "params, words",
    [
        ({"interfaces": ["eth7"]}, "this host has no interface eth7 with receive queues; it has hsi0, lo"),
        ({"interfaces": ["lo"]}, "lo is the loopback interface"),
        ({"interfaces": []}, "interfaces: the list is empty"),
        ({"cpus": "0-9"}, "cpus: this machine has no CPU 4-9; it has 0-3"),
        ({"cpus": "two"}, "cpus: 'two' is not a CPU list: write numbers and ranges, such as 0-3,8"),
        ({"every": 0}, "every: 0 is out of range; use 1 to 8192"),
        ({"cpus": "1", "every": 2}, "cpus: '1' with every: 2 leaves no CPU"),
        ({"flow_cnt": -1}, "flow_cnt: -1 is out of range"),
        ({"sock_flow_entries": 1 << 30}, "sock_flow_entries: 1073741824 is out of range"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_is_changed(host, params, words):
    before = host.tree("/sys", "/etc", "/var")
    with pytest.raises(InputError) as error:
        run(host, **params)
    assert words in str(error.value)
    assert host.tree("/sys", "/etc", "/var") == before


def test_an_offline_cpu_is_refused_by_name_and_left_out_of_all(tmp_path):
    host = KernelHost(tmp_path, online="0-1,3")
    host.interface("hsi0", queues=2)
    with pytest.raises(InputError) as error:
        run(host, cpus="1-2")
    assert "cpus: CPU 2 is offline, and the kernel would silently leave it out" in str(error.value)
    assert "online: 0-1,3" in str(error.value)
    run(host)
    assert masks(host) == ["b", "b"]
    # the CPU comes back: the mask written meanwhile lacks it for good, and the next check says so
    host.fill("/sys/devices/system/cpu/online", "0-3")
    assert "hsi0 rx-0, rx-1: CPUs 0-1,3 (mask b), wanted CPUs 0-3 (mask f)" in only(run(host, check=True))["reason"]


@pytest.mark.parametrize("every, mask", [(1, "ffff"), (2, "5555"), (4, "1111")])
def test_the_published_masks_of_16_cpus(tmp_path, every, mask):
    host = KernelHost(tmp_path, online="0-15", possible="0-15")
    host.interface("hsi0", queues=2)
    run(host, every=every)
    assert masks(host) == [mask, mask]


def test_200_cpus_with_gaps(tmp_path):
    host = KernelHost(tmp_path, online="0-63,96-199", possible="0-255")
    host.interface("hsi0", queues=2)
    run(host)
    assert masks(host)[0] == "00000000,000000ff,ffffffff,ffffffff,ffffffff,00000000,ffffffff,ffffffff"
    assert not run(host)["changed"]


def test_flow_counts_are_rounded_as_the_kernel_does(host):
    host.fill("/proc/sys/net/core/rps_sock_flow_entries", "0")
    result = run(host, flow_cnt=1000, sock_flow_entries=30000)
    assert host.value("/sys/class/net/hsi0/queues/rx-0/rps_flow_cnt") == "1024"
    assert host.value("/proc/sys/net/core/rps_sock_flow_entries") == "32768"
    assert "net.core.rps_sock_flow_entries = 32768" in host.read("/etc/sysctl.d/91-zpower-sap-tuning-rps.conf")
    assert [record["verdict"] for record in result["tuning"]] == ["changed", "changed"]
    assert not run(host, flow_cnt=1000, sock_flow_entries=30000)["changed"]
    run(host, state="restored")
    assert host.value("/proc/sys/net/core/rps_sock_flow_entries") == "0"
    assert host.value("/sys/class/net/hsi0/queues/rx-0/rps_flow_cnt") == "0"
    assert not host.exists("/etc/sysctl.d/91-zpower-sap-tuning-rps.conf")


def test_a_namespace_without_flow_entries_is_unsupported_and_no_failure(host):
    result = run(host, sock_flow_entries=32768)
    verdicts = {record["subject"]: record["verdict"] for record in result["tuning"]}
    assert verdicts == {"hsi0": "changed", "net.core.rps_sock_flow_entries": "unsupported"}
    assert not result["failed"]


def test_a_kernel_without_rps_is_unsupported(host):
    for number in range(2):
        os.unlink(host.path(QUEUE % number))
    record = only(run(host, interfaces=["hsi0"]))
    assert record["verdict"] == "unsupported" and "CONFIG_RPS" in record["reason"]
    assert sorted(record["wanted"]) == ["rps_cpus", "state"]


def test_another_operating_system_is_not_applicable(tmp_path):
    record = only(run(KernelHost(tmp_path)))
    assert record["verdict"] == "not_applicable" and record["reason"]


def test_auto_takes_what_carries_traffic_and_has_fewer_queues_than_cpus(host):
    host.interface("idle0", packets=0)
    host.interface("wide0", queues=4)
    host.interface("down0")
    host.fill("/sys/class/net/down0/operstate", "down")
    host.interface("bond0")
    host.fill("/sys/class/net/bond0/lower_hsi0", "")
    assert [record["subject"] for record in run(host)["tuning"]] == ["hsi0"]


def test_auto_that_finds_nothing_says_why(tmp_path):
    host = KernelHost(tmp_path)
    host.interface("lo")
    host.interface("wide0", queues=4)
    record = only(run(host))
    assert record["verdict"] == "not_applicable"
    assert record["reason"] == "lo: loopback; wide0: its 4 receive queues reach all 4 CPUs"


def test_globs(host):
    host.interface("hsi1")
    host.interface("eth0")
    assert [record["subject"] for record in run(host, interfaces=["hsi*"])["tuning"]] == ["hsi0", "hsi1"]
    record = only(run(host, interfaces=["enc*"]))
    assert record["verdict"] == "not_applicable" and record["reason"] == "no interface matches enc*"
    host.interface("lo")
    assert [record["subject"] for record in run(host, interfaces=["*"])["tuning"]] == ["eth0", "hsi0", "hsi1"]


def test_restore_of_one_interface_leaves_the_others_tuned(host):
    host.interface("hsi1")
    run(host, interfaces=["hsi*"])
    run(host, state="restored", interfaces=["hsi1"])
    assert masks(host) == ["f", "f"]
    assert host.value("/sys/class/net/hsi1/queues/rx-0/rps_cpus") == "0"
    assert "begin hsi0" in host.read(RULES) and "hsi1" not in host.read(RULES)


def test_without_udev_the_running_value_alone_decides_and_the_record_says_so(host):
    os.rmdir(host.path("/etc/udev"))
    result = run(host)
    assert only(result)["after"] == {"running": {"rx-0": "f", "rx-1": "f"}, "stored": None, "next_boot": None}
    record = only(run(host))
    assert record["verdict"] == "compliant" and "this host has no udev" in record["reason"]
