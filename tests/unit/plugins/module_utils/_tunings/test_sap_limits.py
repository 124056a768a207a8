# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits for real-time priorities that the tuning writes, and /dev/shm where es/implementation = map is chosen."""

import os

import captures
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures.opening import open_capture
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._profiles import files as sap_restarts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import shared_memory as memory
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from kernel import KernelHost
from runs import only, runner, verdicts
from sapsystem import D00, DEFAULT, SapHost

UNIT = "/etc/systemd/system/SAPPRD_00.service"
DROP_IN = UNIT + ".d/zpower-sap-tuning.conf"
LIMITS = "/etc/security/limits.d"
USER = LIMITS + "/zpower-sap-tuning-prdadm.conf"
JOURNAL = "/var/lib/zpower_sap_tuning"
NOTE = (
    "# Written by the role zpower.sap_tuning.sap_profile and taken back by the playbook zpower.sap_tuning.rollback.\n"
)
TEXTS = {DROP_IN: NOTE + "[Service]\nLimitRTPRIO=40\n", USER: NOTE + "prdadm - rtprio 40\n"}
# as version 0.1.0 wrote them
OLD = {path: text.replace("40", "99") for path, text in TEXTS.items()}
run = runner(SapProfile, restart=[], restart_timeout=5, sid=None, instance=None, profile=None, manage_rtprio=True)


class Systemd(SapHost):
    says = Result(0, "", "")

    def __init__(self, root):
        super().__init__(root)
        self.reloads = []
        self.fill(UNIT, b"[Service]\nUser=prdadm\n")
        os.makedirs(self.path(LIMITS))
        os.makedirs(self.path("/run/systemd/system"))

    def run(self, argv, timeout=30, user=None, env=None):
        if argv[0] != "systemctl":
            return super().run(argv, timeout, user, env)
        assert argv == ["systemctl", "daemon-reload"] and user is None
        self.reloads.append(self.read(DROP_IN))
        if isinstance(self.says, HostError):
            raise HostError(str(self.says), self.says.errno)
        return self.says

    def limits(self):
        """{path: text} of both files, without what is not there."""
        texts = {path: self.read(path) for path in (DROP_IN, USER)}
        return {path: text for path, text in texts.items() if text is not None}


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setattr(sap_restarts, "_PAUSE", 0)
    return Systemd(tmp_path)


def realtime(host, check=False, **changes):
    return run(host, check, sid="PRD", instance="D00", presets=["realtime_scheduler"], **changes)


def test_they_are_predicted_written_kept_and_taken_back(host):
    before = host.profiles()
    predicted = realtime(host, check=True)
    assert verdicts(predicted) == {D00: "drifted", DROP_IN: "drifted", USER: "drifted"}
    assert "%s: absent, wanted LimitRTPRIO=40" % DROP_IN in [record["reason"] for record in predicted["tuning"]]
    assert host.limits() == {} and not host.exists(JOURNAL)
    result = realtime(host)
    assert result["diff"] == predicted["diff"] and "%s (stored): prdadm - rtprio 40\n" % USER in result["diff"]["after"]
    assert verdicts(result) == {D00: "pending_restart", DROP_IN: "changed", USER: "changed"}
    assert host.limits() == TEXTS and host.reloads == [TEXTS[DROP_IN]]
    assert host.calls and not [call for call in host.calls if call.endswith(("Stop", "RestartService", "Start"))]
    again = realtime(host)
    assert not again["changed"] and verdicts(again)[DROP_IN] == verdicts(again)[USER] == "compliant"
    kept = {DROP_IN: "LimitRTPRIO=40"}
    assert again["tuning"][2]["after"] == {"running": None, "stored": kept, "next_boot": kept}
    assert run(host, state="restored", restart=["PRD_00"])["failed"] is False
    assert not host.exists(os.path.dirname(DROP_IN)) and host.exists(LIMITS) and not host.exists(JOURNAL)
    assert host.limits() == {} and host.profiles() == before and host.reloads == [TEXTS[DROP_IN], None]


def test_the_limit_that_a_run_writes_makes_its_restart_worth_while(host):
    host.work_process(41, parent=1)
    host.work_process(42)
    realtime(host, manage_rtprio=False, restart=["PRD_00"])
    start = host.start_instance

    def as_the_limit_allows(number):
        start(number)
        host.work_process(42, *((40, 2) if host.exists(DROP_IN) else (0, 0)))

    host.start_instance = as_the_limit_allows
    host.calls.clear()
    result = realtime(host, restart=["PRD_00"])
    assert verdicts(result) == {D00: "changed", DROP_IN: "changed", USER: "changed"}, result["msg"]
    assert len([call for call in host.calls if call.endswith("Stop")]) == 1


@pytest.mark.parametrize(
    "request_, instances",
    [
        (dict(instance="D00", presets=["update_local"]), []),
        (dict(instance="D00", parameters={"rdisp/linux/os_scheduler": "SCHED_OTHER"}), []),
        (dict(instance="D00", parameters={"rdisp/linux/os_scheduler": "SCHED_FIFO"}), [USER, DROP_IN]),
        # ASCS01 reads it too, and has no work processes
        (dict(instance="DEFAULT", presets=["realtime_scheduler"]), [USER, DROP_IN]),
        (dict(instance="ASCS01", presets=["realtime_scheduler"]), []),
        # a host that shares the profile gets its own
        (dict(instance="DEFAULT", presets=["realtime_scheduler"], left_to="app2"), [USER, DROP_IN]),
    ],
)
def test_who_gets_them(host, request_, instances):
    host.fill("/etc/systemd/system/SAPPRD_01.service", b"[Service]\nUser=prdadm\n")
    result = run(host, profiles=[dict(request_, sid="PRD")])
    assert [record["subject"] for record in result["tuning"][1:]] == instances
    assert sorted(host.limits()) == instances


def test_without_being_asked_or_unit_and_pam_it_writes_none(host):
    assert list(verdicts(realtime(host, manage_rtprio=False))) == [D00] and host.limits() == {}
    os.rmdir(host.path(LIMITS))
    host.remove(UNIT)
    assert list(verdicts(realtime(host))) == [D00] and host.limits() == {}


def test_a_file_that_was_there_comes_back_unless_someone_else_changed_it(host):
    host.fill(USER, b"prdadm - nofile 4096\n")
    realtime(host)
    assert host.limits() == TEXTS
    host.fill(DROP_IN, b"[Service]\nLimitRTPRIO=50\n")
    result = run(host, state="restored")
    told = [record["reason"] for record in result["tuning"] if record["subject"] == DROP_IN]
    assert "it is LimitRTPRIO=50, this collection set LimitRTPRIO=40, before that it was absent" in told[0]
    run(host, state="restored", force=True)
    assert host.limits() == {USER: "prdadm - nofile 4096\n"}


def test_files_of_version_0_1_0_are_taken_over_and_taken_back_without_a_journal(host):
    other = "/etc/systemd/system/SAPhostagent.service.d/zpower-sap-tuning.conf"
    for path, text in [*OLD.items(), (other, OLD[DROP_IN])]:
        host.fill(path, text.encode())
    assert run(host, True, state="restored")["changed"] and host.limits() == OLD
    assert not run(host, state="restored", checkpoint="other")["changed"]
    assert verdicts(run(host, state="restored")) == {DROP_IN: "changed", USER: "changed"}
    assert host.limits() == {} and host.reloads == [None] and not host.exists(JOURNAL)
    assert not run(host, state="restored")["changed"] and host.exists(other)
    host.fill(USER, OLD[USER].replace("99", "50").encode())
    result = run(host, state="restored")
    assert verdicts(result) == {USER: "drifted"} and "prdadm - rtprio 50" in result["tuning"][0]["reason"]
    run(host, state="restored", force=True)
    assert host.limits() == {}
    for path, text in OLD.items():
        host.fill(path, text.encode())
    more = {"parameters": {"rdisp/linux/os_priority": 99}}
    assert [verdicts(realtime(host, **more))[path] for path in OLD] == ["compliant"] * 2 and host.reloads == [None]
    assert verdicts(realtime(host, check=True))[USER] == "drifted"
    assert verdicts(realtime(host))[USER] == "changed" and host.limits() == TEXTS
    back = verdicts(run(host, state="restored"))
    assert [back[path] for path in OLD] == ["changed"] * 2 and host.limits() == {}


def test_the_rollback_of_one_profile_takes_the_files_of_its_readers(host):
    realtime(host)
    run(host, sid="PRD", instance="DEFAULT", parameters={"rdisp/mshost": "ascs"})
    run(host, state="restored", sid="PRD", instance="ASCS01")
    assert host.limits() == {DROP_IN: TEXTS[DROP_IN]}
    run(host, state="restored", sid="PRD", instance="D00")
    assert host.limits() == {} and b"mshost" in host.data(DEFAULT)


@pytest.mark.parametrize(
    "says, words",
    [
        (Result(1, "", "Failed to reload daemon:\nAccess denied\n"), "Failed to reload daemon: Access denied"),
        (Result(1, "", ""), "exit code 1"),
        (HostError("systemctl did not answer within 60 s"), "did not answer within 60 s"),
    ],
)
def test_a_drop_in_that_systemd_does_not_read_is_put_back(host, says, words):
    host.says = says
    result = realtime(host)
    assert result["failed"] and words in result["msg"]
    assert "%s was put back, because systemd does not read its units again" % DROP_IN in result["msg"]
    assert list(host.limits()) == [USER]
    os.rmdir(host.path("/run/systemd/system"))
    reloads = len(host.reloads)
    assert verdicts(realtime(host))[DROP_IN] == "changed" and host.limits() == TEXTS
    assert len(host.reloads) == reloads


@pytest.mark.parametrize(
    "files, words",
    [
        (["/etc/corosync/corosync.conf"], "it is a node of a cluster"),
        (["/usr/sap/HDB/HDB02/exe/sapcontrol"], "it also runs SAP HANA"),
        (["/db2/db2prd/sqllib/db2nodes.cfg"], "it also runs Db2"),
        (["/usr/sap/QAS/D10/exe/sapcontrol"], "it also runs QAS"),
        # an agent of SAP's on nearly every host, and a client of Db2
        (["/usr/sap/DAA/SMDA97/exe/sapcontrol", "/db2/db2prd/sqllib/db2cshrc"], None),
    ],
)
@pytest.mark.parametrize("parameters", [{}, {"rdisp/linux/os_priority": 99}])
def test_real_time_beside_others_takes_an_option(host, files, words, parameters):
    for path in files:
        host.fill(path, b"")
    before = host.profiles()
    for check in (True, False):
        result = realtime(host, check, parameters=parameters)
        assert result["failed"] is bool(words)
        if words:
            assert words in result["msg"] and "sap_profile_accept_realtime: true" in result["msg"]
            assert host.profiles() == before and host.limits() == {}
    result = realtime(host, parameters=parameters, accept_realtime=True)
    assert result["failed"] is False and host.profiles() != before and len(host.limits()) == 2
    # a priority beside a scheduler that the profile has, and the rollback
    if words:
        high = run(host, True, sid="PRD", instance="D00", parameters={"rdisp/linux/os_priority": 50})
        assert high["failed"] and words in high["msg"]
        low = run(host, True, sid="PRD", instance="D00", parameters={"rdisp/linux/os_priority": 49})
        assert low["failed"] is False
    run(host, state="restored")
    assert host.profiles() == before


# 32 GiB of memory and 20 GiB of swap: 75 % are 39 GiB
MEMINFO = "MemTotal:       33554432 kB\nMemFree:        20000000 kB\nSwapTotal:      20971520 kB\nHugePages_Total:  0\n"
MOUNT = "proc /proc proc rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev%s 0 0\n"


ASKED = "; SAP asks for 75 % of memory and swap, 39936 MB"
TOO_SMALL = ASKED + ": too small for map; enlarge it with the option size, also in /etc/fstab"
NO_TMPFS = " is not a tmpfs; SAP asks for one of 39936 MB (SAP Note 941735)"


@pytest.mark.parametrize(
    "mounts, said",
    [
        (MOUNT % "", " has 16384 MB" + TOO_SMALL),
        (MOUNT % ",size=40894464k", " has 39936 MB" + ASKED),
        (MOUNT % ",size=40g,inode64", " has 40960 MB" + ASKED),
        (MOUNT % ",size=39m", " has 39 MB" + TOO_SMALL),
        (MOUNT % "" + MOUNT % ",size=38g", " has 38912 MB" + ASKED),
        ("proc /proc proc rw 0 0\n", NO_TMPFS),
        (MOUNT % "" + "x /dev/shm ext4 rw,size=1k 0 0\n", NO_TMPFS),
    ],
)
def test_the_size_is_compared_with_what_sap_asks_for(tmp_path, mounts, said):
    host = KernelHost(tmp_path)
    assert memory.remarks(host) == [memory.NOT_NEEDED]
    host.fill("/proc/meminfo", MEMINFO)
    host.fill("/proc/mounts", mounts)
    assert memory.remarks(host) == [memory.NOT_NEEDED, "/dev/shm" + said]


@pytest.mark.parametrize("presets, told", [(["memory_map"], True), (["memory_std"], False)])
def test_only_map_gets_the_remark(tmp_path, presets, told):
    host = SapHost(tmp_path)
    host.fill("/proc/meminfo", MEMINFO.encode())
    host.fill("/proc/mounts", (MOUNT % "").encode())
    run = runner(SapProfile, restart=[], restart_timeout=600)
    found = only(run(host, check=True, sid="PRD", instance="D00", presets=presets, parameters={}))
    assert (memory.NOT_NEEDED in found["remarks"]) is told
    assert any("39936 MB" in remark for remark in found["remarks"]) is told
    # a capture without the mounts says nothing of the tmpfs
    path = tmp_path / "capture"
    path.write_bytes(captures.sos({"/proc/meminfo": "MemTotal:       16777216 kB\n"}))
    assert memory.remarks(open_capture(str(path))) == [memory.NOT_NEEDED]
