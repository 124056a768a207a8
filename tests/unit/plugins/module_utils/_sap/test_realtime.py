# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What real-time scheduling needs beside the profile, and what start times prove of a running instance."""

import errno
import os
import subprocess
import time

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import processes, realtime, start_times
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.instances import Instance
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.sapcontrol import ListedProcess
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.start_times import ANSWER, STORED, UNPROVED
from waiting import until

UNIT = "SAPPRD_00.service"
DROP_IN = "/etc/systemd/system/SAPPRD_00.service.d/zpower-sap-tuning.conf"
PROFILE = "pf=/usr/sap/PRD/SYS/profile/PRD_D00_app1"
RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
# CAP_SYS_NICE alone is bit 23
NICE, NONE = "0000000000800000", "0000000000000000"


def instance(unit=UNIT, **changes):
    values = dict.fromkeys(Instance._fields)
    values.update(sid="PRD", name="D00", number="00", type="D", user="prdadm", unit=unit)
    return Instance(**dict(values, **changes))


def process(pid, arguments, parent=1, scheduling=(0, 0), limit=0, effective=NONE, ambient=NONE, group=None, state="S"):
    """The files of one process; scheduling: the kernel's number of the policy, and the priority."""
    policy, priority = scheduling
    # fields 5 to 39 of proc(5), all of which matter to others
    between = " ".join(str(1000 + field) for field in range(5, 40))
    base = "/proc/%d/" % pid
    files = {
        base + "cmdline": "\0".join(arguments) + "\0",
        base + "stat": "%d (a) b (c) %s %d %s %d %d 0 0\n" % (pid, state, parent, between, priority, policy),
        base + "limits": "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max nice priority         0                    0                    \n"
        "Max realtime priority     %-20s 99                   \n" % limit,
        base + "status": "Name:\tx\nCapPrm:\t%s\nCapEff:\t%s\nCapAmb:\t%s\n" % (NICE, effective, ambient),
    }
    if group is not None:
        files[base + "cgroup"] = group
    return files


def server(pid=4711, profile=PROFILE, **options):
    return process(pid, ["/usr/sap/PRD/D00/exe/sapstartsrv", profile, "-D", "-u", "prdadm"], **options)


def work(pid, **options):
    return process(pid, ["dw.sapPRD_D00", PROFILE], **options)


@pytest.fixture
def machine(tmp_path):
    """A function from dicts of files to the Host that has them."""

    def grown(*parts):
        found = {RUNTIME: "950000\n", "/proc/sys/kernel/sched_rt_period_us": "1000000\n"}
        for part in parts:
            found.update(part)
        captured.grow(tmp_path, found)
        return Host(str(tmp_path))

    return grown


def service(text, drop_in=None, unit=UNIT):
    files = {"/etc/systemd/system/" + unit: "[Service]\nUser=prdadm\n" + text}
    if drop_in is not None:
        files[DROP_IN] = drop_in
    return files


@pytest.mark.parametrize(
    ("found", "unit", "enough"),
    [
        # without a unit the running sapstartsrv counts
        (server(limit=99), None, True),
        (server(limit="unlimited"), None, True),
        (server(limit=98), None, False),
        (server(ambient=NICE, effective=NICE), None, True),
        # what the next program loses is none
        (server(effective=NICE), None, False),
        # of the program's file, so that it comes with every start
        (dict(server(), **work(4800, effective=NICE)), None, True),
        (dict(server(), **work(4800, effective=NICE)), UNIT, True),
        (dict(server(), **work(4800, limit=99)), None, False),
        (work(4800, limit=99), None, True),
        # a unit counts more than what its sapstartsrv still has
        (server(limit=99), UNIT, False),
        # the sapstartsrv of another instance says nothing
        (server(profile="pf=/sapmnt/PRD/profile/START_D00_app1", limit=99), None, True),
        (server(profile="pf=/usr/sap/PRD/SYS/profile/PRD_D01_app1", limit=99), None, False),
        (server(profile="pf=/usr/sap/QAS/SYS/profile/QAS_D00_app1", limit=99), None, False),
        (server(profile="pf=/sapmnt/QAS/profile/START_D00_app1", limit=99), None, False),
        (server(profile="-D", limit=99), None, False),
    ],
)
def test_whose_limits_and_capabilities_count(machine, found, unit, enough):
    host = machine(found, service("") if unit else {})
    assert (realtime.prerequisites(host, instance(unit=unit), "99") == []) is enough


def test_a_limit_is_enough_for_the_priorities_up_to_it(machine):
    host = machine(service("LimitRTPRIO=49\n"))
    assert realtime.prerequisites(host, instance(), 49) == []
    assert realtime.prerequisites(host, instance(), None) == []
    assert realtime.prerequisites(host, instance(), "$(prio)") == []
    assert realtime.prerequisites(host, instance(), "50") == [
        "PRD D00 may not use real-time priority 50, because SAPPRD_00.service allows 49: "
        "set LimitRTPRIO=50 of SAPPRD_00.service (sap_profile_manage_rtprio does it)"
    ]


def test_a_drop_in_acts_from_the_next_start_of_sapstartsrv_on(machine):
    assert realtime.waiting(machine(service("LimitRTPRIO=98\n")), instance(), 98) == []
    host = machine(server(), service("", "[Service]\nLimitRTPRIO=98\n"))
    assert realtime.prerequisites(host, instance(), 98) == []
    assert realtime.waiting(host, instance(), 98) == [
        "SAPPRD_00.service allows PRD D00 real-time priority 98 from the next start of sapstartsrv on: "
        "its sapstartsrv (process 4711) is older"
    ]
    assert realtime.waiting(host, instance(), 99) == []
    assert len(realtime.prerequisites(host, instance(), 99)) == 1
    assert realtime.waiting(machine(server(limit=98)), instance(), 98) == []


def test_an_entry_in_limits_d_does_not_reach_a_running_sapstartsrv(machine):
    host = machine(server(), {"/etc/security/limits.conf": "prdadm - rtprio 99\n"})
    assert realtime.waiting(host, instance(unit=None), 99) == []
    assert realtime.prerequisites(host, instance(unit=None), 99) == [
        "PRD D00 may not use real-time priority 99, because its sapstartsrv (process 4711) may use none: "
        "/etc/security/limits.conf allows 99 to login sessions: start sapstartsrv from one"
    ]


SYSTEMD, VENDOR = "/etc/systemd/system.conf", "/usr/lib/systemd/system.conf"
DEFAULT = "[Manager]\nDefaultLimitRTPRIO=%s\n"


@pytest.mark.parametrize(
    ("text", "drop_in", "files", "enough"),
    [
        ("", None, {}, False),
        ("LimitRTPRIO=99\n", None, {}, True),
        ("LimitRTPRIO=infinity\n", None, {}, True),
        ("LimitRTPRIO=10:99\n", None, {}, False),
        ("LimitRTPRIO=0\n", "[Service]\nLimitRTPRIO=99\n", {}, True),
        ("LimitRTPRIO=99\n", "[Service]\nLimitRTPRIO=10\n", {}, False),
        ("LimitRTPRIO=99\n", "[Service]\nLimitRTPRIO=\n", {}, False),
        ("# LimitRTPRIO=99\n", "[Service]\n;LimitRTPRIO=99\n", {}, False),
        ("AmbientCapabilities=CAP_NET_RAW CAP_SYS_NICE\n", None, {}, True),
        ("AmbientCapabilities=CAP_SYS_NICE\n", "[Service]\nAmbientCapabilities=\n", {}, False),
        # systemd's own default
        ("", None, {SYSTEMD: DEFAULT % 99}, True),
        ("LimitRTPRIO=\n", None, {VENDOR: DEFAULT % 99}, True),
        ("LimitRTPRIO=5\n", None, {SYSTEMD: DEFAULT % 99}, False),
        ("", None, {SYSTEMD: "[Manager]\n#DefaultLimitRTPRIO=99\n"}, False),
        ("", None, {VENDOR: DEFAULT % 99, SYSTEMD: "[Manager]\n"}, False),
        ("", None, {SYSTEMD: DEFAULT % 5, SYSTEMD + ".d/rt.conf": DEFAULT % 99}, True),
    ],
)
def test_what_systemd_gives_at_the_next_start(machine, text, drop_in, files, enough):
    # the other unit's limit is not this one's
    host = machine(service(text, drop_in), service("LimitRTPRIO=99\n", unit="SAPPRD_01.service"), files)
    assert (realtime.prerequisites(host, instance(), 99) == []) is enough


def test_a_stopped_instance_is_told_what_to_set(machine):
    assert realtime.prerequisites(machine(service("")), instance(), 99) == [
        "PRD D00 may not use real-time priority 99, because SAPPRD_00.service allows none: "
        "set LimitRTPRIO=99 of SAPPRD_00.service (sap_profile_manage_rtprio does it)"
    ]
    assert realtime.prerequisites(machine(), instance(unit=None), 99) == [
        "PRD D00 may not use real-time priority 99, because /etc/security/limits.conf allows none: write "
        "'prdadm - rtprio 99' to /etc/security/limits.conf and start sapstartsrv from a login session"
    ]


PEOPLE = {
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\nprdadm:x:1001:79:SAP:/home/prdadm:/bin/csh\n",
    "/etc/group": "sapinst:x:78:root,prdadm\ndba:x:79:\nother:x:80:root\n",
}


CONF, CONF_D = "/etc/security/limits.conf", "/etc/security/limits.d/90-sap.conf"


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({CONF: "prdadm - rtprio 99"}, 99),
        ({CONF: "prdadm soft rtprio 99"}, 99),
        ({CONF: "prdadm hard rtprio 99"}, 0),
        ({CONF: "prdadm - nofile 99"}, 0),
        ({CONF: "#prdadm - rtprio 99"}, 0),
        ({CONF: "prdadm - rtprio 99 # for SAP"}, 99),
        ({CONF: "prdadm - rtprio unlimited"}, 99),
        ({CONF: "qasadm - rtprio 99"}, 0),
        ({CONF: "* - rtprio 20"}, 20),
        ({CONF: "@sapsys - rtprio 99"}, 99),
        ({CONF: "@sapinst - rtprio 99"}, 99),
        ({CONF: "@dba - rtprio 99"}, 99),
        ({CONF: "@other - rtprio 99"}, 0),
        # his own entry wins wherever it stands, and among equals the last one
        ({CONF: "prdadm - rtprio 10\n@sapsys - rtprio 99\n* - rtprio 99"}, 10),
        ({CONF: "@sapsys - rtprio 99\n* - rtprio 10"}, 99),
        ({CONF: "prdadm - rtprio 99\nprdadm - rtprio 10"}, 10),
        # limits.d comes after limits.conf
        ({CONF_D: "@sapsys - rtprio 99\n* - rtprio 10"}, 99),
        ({CONF: "prdadm - rtprio 99", CONF_D: "prdadm - rtprio 0"}, 0),
    ],
)
def test_what_pam_gives_where_there_is_no_unit(machine, files, limit):
    host = machine(PEOPLE, {path: text + "\n" for path, text in files.items()})
    for priority in (10, 20, 99):
        assert (realtime.prerequisites(host, instance(unit=None), priority) == []) is (limit >= priority)


# control groups

V1 = "12:pids:/SAP.slice\n4:cpu,cpuacct:/SAP.slice/SAPPRD_00.service\n1:name=systemd:/SAP.slice\n"
RAISED = "LimitRTPRIO=99\n"
V2 = "0::/SAP.slice/SAPPRD_00.service\n"
GROUP_FILE = "/sys/fs/cgroup/%s/SAP.slice/SAPPRD_00.service/cpu.rt_runtime_us"
KERNEL = {"/proc/sys/kernel/osrelease": "5.14.21\n"}


def config(*options):
    return dict(KERNEL, **{"/boot/config-5.14.21": "".join("CONFIG_%s=y\n" % option for option in options)})


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({GROUP_FILE % "cpu,cpuacct": "0\n"}, True),
        ({GROUP_FILE % "cpu": "0\n"}, True),
        ({GROUP_FILE % "cpu": "950000\n"}, False),
        # a kernel without groups
        ({}, False),
        # without throttling the kernel does not ask the group
        ({GROUP_FILE % "cpu": "0\n", RUNTIME: "-1\n"}, False),
    ],
)
def test_groups_of_version_1(machine, files, missing):
    host = machine(server(group=V1), service(RAISED), files)
    expected = (
        "PRD D00 may not use real-time priority in the control group /SAP.slice/SAPPRD_00.service, whose "
        "cpu.rt_runtime_us is 0: give it and those above it a share, such as 950000"
    )
    assert realtime.prerequisites(host, instance(), 99) == [expected] * missing


@pytest.mark.parametrize(
    ("options", "cmdline", "group", "controller", "missing"),
    [
        (["RT_GROUP_SCHED"], "", V2, "SAP.slice/SAPPRD_00.service", True),
        # the nearest group above with CPU time of its own counts
        (["RT_GROUP_SCHED"], "", V2, "SAP.slice", True),
        (["RT_GROUP_SCHED"], "", V2, "system.slice", False),
        (["RT_GROUP_SCHED"], "", "0::/\n", "", False),
        ([], "", V2, "SAP.slice", False),
        (["RT_GROUP_SCHED"], "quiet rt_group_sched=0", V2, "SAP.slice", False),
        (["RT_GROUP_SCHED", "RT_GROUP_SCHED_DEFAULT_DISABLED"], "quiet", V2, "SAP.slice", False),
        (["RT_GROUP_SCHED", "RT_GROUP_SCHED_DEFAULT_DISABLED"], "rt_group_sched=1", V2, "SAP.slice", True),
    ],
)
def test_groups_of_version_2(machine, options, cmdline, group, controller, missing):
    files = {"/proc/cmdline": cmdline + "\n", "/sys/fs/cgroup/%s/cpu.weight" % controller: "100\n"}
    host = machine(server(group=group), service(RAISED), config(*options), files)
    found = realtime.prerequisites(host, instance(), 99)
    assert ["CONFIG_RT_GROUP_SCHED" in sentence for sentence in found] == [True] * missing


def test_everything_that_is_missing_is_named_at_once(machine):
    host = machine(server(group=V1), {GROUP_FILE % "cpu": "0\n", RUNTIME: "0\n"}, service(""))
    found = realtime.prerequisites(host, instance(), 99)
    assert len(found) == 3
    assert found[2].startswith("kernel.sched_rt_runtime_us is 0")


@pytest.mark.parametrize(
    ("runtime", "words"),
    [("950000", ["leave 5 % of the CPU time"]), ("-1", ["block all other processes"]), ("0", []), ("", [])],
)
def test_what_realtime_leaves_to_others_is_reported(machine, runtime, words):
    # kernels before 6.12, and those that group real-time processes
    found = realtime.remarks(machine({RUNTIME: runtime + "\n"}))
    assert [word in sentence for word, sentence in zip(words, found)] == [True] * len(words) == [True] * len(found)
    grouping = {"/proc/sys/kernel/osrelease": "6.12.0\n", "/boot/config-6.12.0": "CONFIG_RT_GROUP_SCHED=y\n"}
    assert realtime.remarks(machine({RUNTIME: runtime + "\n"}, grouping)) == found


@pytest.mark.parametrize(
    ("servers", "words"),
    [
        ([], "leave 5 % of the CPU time to all other processes (fair server, by default"),
        ([50, 50], "leave 5 % of the CPU time to all other processes (fair server)"),
        ([50, 20], "leave 2 % of the CPU time to all other processes (fair server)"),
        ([50, 0], "the fair server is off"),
    ],
)
@pytest.mark.parametrize("runtime", ["950000", "-1", "0"])
def test_from_linux_6_12_on_the_fair_server_limits_them(machine, servers, words, runtime):
    files = {"/proc/sys/kernel/osrelease": "6.12.0-160000.5-default\n", RUNTIME: runtime + "\n"}
    for cpu, milliseconds in enumerate(servers):
        folder = "/sys/kernel/debug/sched/fair_server/cpu%d/" % cpu
        files.update({folder + "runtime": "%d000000\n" % milliseconds, folder + "period": "1000000000\n"})
    host = machine(server(limit=99), files)
    (found,) = realtime.remarks(host)
    assert words in found and "sched_rt" not in found
    assert realtime.prerequisites(host, instance(unit=None), 99) == []


class Vanishing(Host):
    """Every process ends between the listing and the reading, as the kernel tells it of an open file."""

    def read(self, path):
        raise HostError("cannot read %s" % path, errno.ESRCH)


def test_work_processes_are_the_children_of_the_dispatcher(machine):
    assert realtime.work_processes(machine(), "PRD", "D00") == []
    host = machine(
        server(10),
        work(20, parent=10),
        work(31, parent=20, scheduling=(2, 99)),
        work(100, parent=20, scheduling=(1, 5)),
        work(9, parent=20, state="Z"),
        process(40, ["dw.sapPRD_D01", PROFILE], parent=20, scheduling=(2, 1)),
        process(41, ["gwrd", "dw.sapPRD_D00"], parent=20),
        {"/proc/42/cmdline": "", "/proc/43/cmdline": "dw.sapPRD_D00\0", "/proc/self/cmdline": "dw.sapPRD_D00\0"},
    )
    assert realtime.work_processes(host, "PRD", "D00") == [(31, "SCHED_RR", 99), (100, "SCHED_FIFO", 5)]
    assert realtime.work_processes(Vanishing(host.root), "PRD", "D00") == []


def test_all_are_work_processes_where_the_dispatcher_has_another_name(machine):
    host = machine(
        process(20, ["/usr/sap/PRD/D00/exe/disp+work", PROFILE]),
        process(31, ["/usr/sap/PRD/D00/work/dw.sapPRD_D00 " + PROFILE], parent=20, scheduling=(3, 0)),
        work(32, parent=20, scheduling=(99, 0)),
    )
    assert realtime.work_processes(host, "PRD", "D00") == [(31, "SCHED_BATCH", 0), (32, "policy 99", 0)]


@pytest.mark.parametrize(
    ("processes", "text"),
    [
        ([], None),
        ([("SCHED_RR", 99)] * 3, "SCHED_RR 99"),
        ([("SCHED_RR", 99)] * 12 + [("SCHED_OTHER", 0)] * 2, "12 of 14 SCHED_RR 99, the others SCHED_OTHER"),
        ([("SCHED_RR", 99)] * 2 + [("SCHED_OTHER", 0)] * 12, "2 of 14 SCHED_RR 99, the others SCHED_OTHER"),
        (
            [("SCHED_OTHER", 0)] * 9 + [("SCHED_RR", 98)] + [("SCHED_RR", 99)] * 2,
            "2 of 12 SCHED_RR 99, 1 SCHED_RR 98, 9 SCHED_OTHER",
        ),
        ([("policy 99", 0)] + [("SCHED_RR", 1)], "1 of 2 SCHED_RR 1, the others policy 99"),
    ],
)
def test_summary(processes, text):
    assert realtime.summary([(pid,) + scheduling for pid, scheduling in enumerate(processes)]) == text


@pytest.mark.parametrize(
    ("policy", "priority", "text"), [("SCHED_BATCH", 0, "SCHED_BATCH"), ("SCHED_RR", 7, "SCHED_RR 7")]
)
def test_a_real_process_is_read_as_the_kernel_tells_it(policy, priority, text, monkeypatch):
    # names of this process alone: the same test may run in another session
    number, instance = os.getpid() // 100 % 1000, "D%02d" % (os.getpid() % 100)
    name = "%s%02d" % ("UVWXYZABCD"[number // 100], number % 100)
    monkeypatch.setattr(processes, "uid_of", lambda name: os.getuid())
    child = subprocess.Popen(["dw.sap%s_%s" % (name, instance), "600"], executable="/bin/sleep")
    try:
        os.sched_setscheduler(child.pid, getattr(os, policy), os.sched_param(priority))
        # /proc knows the arguments a moment after the start
        found = until(lambda: realtime.work_processes(Host(), name, instance), "the process has its arguments")
        assert [pid for pid, _policy, _priority in found] == [child.pid]
        assert realtime.summary(found) == text
    except PermissionError:
        pytest.skip("this user may not use " + policy)
    finally:
        child.kill()
        child.wait()


PROFILES = ["/sapmnt/PRD/profile/PRD_D00_app1", "/sapmnt/PRD/profile/DEFAULT.PFL"]
SOCKET = "/tmp/.sapstream50013"
D00 = Instance(**dict(dict.fromkeys(Instance._fields), sid="PRD", name="D00", number="00"))


class Times(Host):
    def __init__(self, root, times):
        super().__init__(str(root))
        self.times = times

    def changed(self, path):
        return self.times.get(path)


@pytest.mark.parametrize(
    "instance, service, profiles, expected",
    [
        (3000, 2000, (1000, 500), ANSWER),
        # RestartService long after
        (2000, 3000, (1000, 500), ANSWER),
        # Stop and Start without RestartService
        (3000, 500, (1000, 100), STORED),
        # a profile that somebody edits later
        (2000, 1000, (3000, 100), ANSWER),
        (2000, 1000, (100, 3000), ANSWER),
        # RestartService alone, after the change and before another one
        (1000, 3000, (2000, 100), UNPROVED),
        (1000, 2000, (100, 3000), UNPROVED),
        # too close to tell
        (2000, 3000, (1999, 100), UNPROVED),
        (2000, 1000, (1999, 100), ANSWER),
        # no default profile
        (3000, 2000, (1000, None), ANSWER),
        # a start service of unknown age proves nothing about an older instance
        (3000, None, (1000, 500), ANSWER),
        (1000, None, (2000, 500), "the start time of its sapstartsrv is unknown"),
    ],
)
def test_what_an_instance_runs_with(tmp_path, instance, service, profiles, expected):
    host = Times(tmp_path, dict(zip(PROFILES, profiles), **{SOCKET: service}))
    if service is None and expected != ANSWER:
        with pytest.raises(HostError, match=expected):
            start_times.basis(host, D00, instance, PROFILES)
    else:
        assert start_times.basis(host, D00, instance, PROFILES) == expected


def stat(pid, ticks):
    return "%d (a) b) S 1 %s\n" % (pid, " ".join(["0"] * 17 + [str(ticks)] + ["0"] * 30))


@pytest.mark.parametrize("age, expected", [(600, UNPROVED), (4000, ANSWER)])
def test_without_a_socket_the_process_tells_its_start(tmp_path, age, expected):
    files = {
        "/proc/uptime": "5000.00 1.00\n",
        "/proc/7/cmdline": "/usr/sap/PRD/D00/exe/sapstartsrv\0pf=/usr/sap/PRD/SYS/profile/PRD_D00_app1\0",
        "/proc/7/stat": stat(7, (5000 - age) * os.sysconf("SC_CLK_TCK")),
    }
    captured.grow(tmp_path, files)
    now = time.time()
    host = Times(tmp_path, {PROFILES[0]: now - 1000})
    assert start_times.basis(host, D00, now - 2000, PROFILES) == expected


def listed(name="disp+work", elapsed="1:00:00", pid=7):
    return ListedProcess(name, "", "GREEN", "Running", "2026 11 20 10:00:00", elapsed, pid)


@pytest.mark.parametrize(
    "processes, age",
    [
        ([listed(elapsed="27:43:21")], 27 * 3600 + 43 * 60 + 21),
        # the dispatcher counts, not what was started before or after it
        ([listed("igswd_mt", "9:00:00", 5), listed(), listed("icman", "0:00:01", 9)], 3600),
        # without one the oldest of those that run
        ([listed("msg_server", "1:00:00", 5), listed("enq_server", "2:00:00", 6)], 7200),
        ([listed("msg_server", "9:00:00", None), listed("enq_server", "2:00:00", 6)], 7200),
        ([], None),
        ([listed(elapsed="")], None),
        ([listed(elapsed="1 day")], None),
        ([listed(pid=None)], None),
    ],
)
def test_elapsed_times_tell_when_an_instance_was_started(tmp_path, processes, age):
    if age is None:
        with pytest.raises(HostError, match="the start time of its processes is unknown"):
            start_times.instance_started(Host(str(tmp_path)), processes)
    else:
        assert abs(start_times.instance_started(Host(str(tmp_path)), processes) - (time.time() - age)) < 60


def test_proc_tells_it_before_sapcontrol(tmp_path):
    files = {"/proc/uptime": "5000.25 1.00\n", "/proc/7/stat": stat(7, 1000 * os.sysconf("SC_CLK_TCK"))}
    captured.grow(tmp_path, files)
    found = start_times.instance_started(Host(str(tmp_path)), [listed()])
    assert abs(found - (time.time() - 4000.25)) < 60
    (tmp_path / "now").write_text("")
    found = start_times.instance_started(Host(), [listed(pid=os.getpid())])
    assert found <= os.stat(str(tmp_path / "now")).st_ctime + 1
    assert found > time.time() - float(Host().read("/proc/uptime").split()[0]) - 1


def test_a_copy_that_keeps_the_old_time_is_a_change(tmp_path):
    path = tmp_path / "PRD_D00_app1"
    path.write_text("old")
    before = os.stat(str(path)).st_ctime
    os.utime(str(path), (1000, 1000))
    assert Host(str(tmp_path)).changed("/PRD_D00_app1") >= before
    assert Host(str(tmp_path)).changed("/nothing") is None
