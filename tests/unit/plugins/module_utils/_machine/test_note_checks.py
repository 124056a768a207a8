# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SAP notes ask and nothing sets: the rows of a host whose SAP processes, units and disks a test has made up."""

import errno
import os

import captured
import captures
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import checks, note_checks
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost, host_and_system

ROWS = ["nofile", "nproc", "tasks", "uuidd", "sysstat", "sysctl-logger", "I/O scheduler"]
SLES_15_6 = 'ID="sles"\nVERSION_ID="15.6"\n'
PASSWD = "root:x:0:0::/root:/bin/sh\nprdadm:x:1001:79::/home/prdadm:/bin/csh\n"
SYSTEMCTL = ["systemctl", "show", "-p", "Id,LoadState,ActiveState,UnitFileState"]
UNITS = ["uuidd.socket", "uuidd.service", "sysstat.service", "sysctl-logger.service"]


def release(name, version):
    return {"/etc/os-release": 'ID="%s"\nVERSION_ID="%s"\n' % (name, version)}


def limits(soft, hard, processes="127961"):
    """As kernels print it: fs/proc/base.c, proc_pid_limits()."""
    rows = (
        ("Limit", "Soft Limit", "Hard Limit", "Units"),
        ("Max cpu time", "unlimited", "unlimited", "seconds"),
        ("Max processes", processes, processes, "processes"),
        ("Max open files", soft, hard, "files"),
        ("Max nice priority", "0", "0", ""),
    )
    return "".join("%-25s %-20s %-20s %-10s\n" % row for row in rows)


def process(pid, text=None, program="dw.sapPRD_D00", instance="D00", uid=1001, group=None):
    base, after = "/proc/%d/" % pid, " ".join(["0"] * 48)
    files = {
        base + "cmdline": "%s\0pf=/usr/sap/PRD/SYS/profile/PRD_%s_app1\0" % (program, instance),
        base + "stat": "%d (x) S 1 %s\n" % (pid, after),
        base + "status": "Name:\tx\nUid:\t%d\t%d\t0\t0\n" % (uid, uid),
    }
    if text is not None:
        files[base + "limits"] = text
    if group is not None:
        files[base + "cgroup"] = group
    return files


def disks(**schedulers):
    """Disks by name with the text of their scheduler; one of SCSI has its type."""
    found = {}
    for name, text in schedulers.items():
        found["/sys/block/%s/queue/scheduler" % name] = text + "\n"
        if name.startswith("sd"):
            found["/sys/block/%s/device/type" % name] = "0\n"
    return found


class Machine(ReadingHost):
    states = {}
    refuses = ()
    asked = ()

    def run(self, argv, timeout=30, user=None, env=None):
        self.asked += (argv,)
        for error in self.refuses:
            raise error
        blocks = []
        for unit in argv[4:]:
            load, active, enablement = self.states.get(unit, ("not-found", "inactive", ""))
            blocks.append("Id=%s\nLoadState=%s\nActiveState=%s\nUnitFileState=%s\n" % (unit, load, active, enablement))
        return Result(0, "\n".join(blocks), "")


@pytest.fixture
def machine(tmp_path):
    """A function from trees to a host of SLES 15 SP6 with the instance PRD D00."""

    def grown(*trees):
        found = {"/etc/os-release": SLES_15_6, "/usr/sap/PRD/D00/work/x": "", "/etc/passwd": PASSWD}
        for tree in trees:
            found.update(tree)
        captured.grow(tmp_path, found)
        return Machine(str(tmp_path))

    return grown


def rows(host, system="Linux"):
    return {record["subject"]: record for record in note_checks.of_notes(host, system)}


def running(record):
    return record["before"]["running"]


def test_an_sap_host_of_sles_or_rhel_has_each_row_in_the_order_of_the_table(machine):
    host = machine()
    assert list(rows(host)) == ROWS == [row.subject for row in note_checks.ROWS]
    assert host.asked == (SYSTEMCTL + UNITS,)
    assert [one["subject"] for one in checks.records(host, "Linux", None, None)] == ["SMT"] + ROWS
    for record in rows(host).values():
        assert record["name"] == "platform" and record["before"] == record["after"]
        assert (record["undo"], record["conflicts"], record["restart"]) == (None, [], "none")


@pytest.mark.parametrize("text", ["debian 13", "sles 11.4", "rhel 6.10", "sles 150", ""])
def test_other_systems_have_none_and_nothing_is_asked(machine, text):
    host = machine(release(*text.split()) if text else {"/etc/os-release": ""})
    assert rows(host) == {} and host.asked == ()


def test_aix_and_a_host_without_an_instance_have_none(machine, tmp_path):
    host = machine()
    assert rows(host, "AIX") == {}
    os.rename(str(tmp_path / "usr/sap/PRD"), str(tmp_path / "usr/sap/hostctrl"))
    assert rows(host) == {}


@pytest.mark.parametrize(
    "version, unjudged, notes",
    [
        ("sles 12.5", {"nproc", "sysctl-logger"}, {"1771258", "1984787"}),
        ("sles 15.3", {"nproc", "sysctl-logger", "tasks"}, {"1771258", "2578899"}),
        ("sles_sap 15.4", {"nproc", "tasks"}, {"1771258", "2578899"}),
        ("sles 15.7", {"nproc", "tasks"}, {"1771258", "2578899"}),
        ("sles 16.0", {"nofile", "nproc", "tasks"}, {"3565382"}),
        ("rhel 7.9", {"tasks", "sysstat", "sysctl-logger", "I/O scheduler"}, {"1771258", "1391070"}),
        ("rhel 10.0", {"tasks", "sysstat", "sysctl-logger", "I/O scheduler"}, {"1771258", "1391070"}),
    ],
)
def test_only_what_a_source_names_for_the_release_is_judged(machine, version, unjudged, notes):
    tree = process(7, limits(1024, 1024), group="0::/x\n")
    found = rows(machine(release(*version.split()), tree, disks(vda="[bfq] none")))
    said = "no public source names a value for"
    assert {name for name, one in found.items() if said in one["reason"]} == unjudged
    for name in unjudged:
        one = found[name]
        assert (one["verdict"], one["wanted"], one["sources"]) == ("not_applicable", {}, [])
    said = " ".join(source for one in found.values() for source in one["sources"])
    assert {word for word in said.replace(",", "").split() if word.isdigit() and len(word) > 5} == notes
    assert all(one["sources"] and one["wanted"] for name, one in found.items() if name not in unjudged)


def test_the_lowest_limit_of_any_process_counts_and_is_named(machine):
    host = machine(
        {"/usr/sap/PRD/ASCS01/work/x": ""},
        # a helper does not count
        process(5, limits(1, 1), program="sapcontrol"),
        process(6, limits(1048576, "unlimited"), program="ms.sapPRD_ASCS01", instance="ASCS01"),
        process(7, limits(1048576, 1048576)),
        process(8, limits(1024, 524288), program="/usr/sap/PRD/D00/exe/gwrd"),
        process(9, limits(1024, 1048576), program="icman"),
        process(10, limits("unlimited", "unlimited"), program="/usr/sap/PRD/D00/exe/sapstartsrv"),
        # another user's process with the name of the instance's
        process(11, limits(1, 1), uid=65534),
    )
    found = rows(host)["nofile"]
    assert found["verdict"] == "observed"
    assert running(found) == {
        "PRD ASCS01": "1048576 soft, unlimited hard (ms.sapPRD_ASCS01, process 6)",
        "PRD D00": "1024 soft, 524288 hard (gwrd, process 8)",
    }
    assert found["wanted"] == {"nofile": "at least 1048576, soft and hard"}
    assert found["reason"] == (
        "only observed: PRD D00: 1024 soft, 524288 hard (gwrd, process 8), SAP asks for at least 1048576, soft and hard"
        " (SAP Note 1771258 v8, quoted by saptune 3.2 (2026-03))"
    )


@pytest.mark.parametrize(
    "version, value, verdict",
    [
        ("rhel 9.4", "unlimited", "compliant"),
        ("rhel 9.4", "127961", "observed"),
        # values that no note asks for are shown
        ("sles 15.6", "127961", "not_applicable"),
    ],
)
def test_processes_are_unlimited_on_rhel(machine, version, value, verdict):
    found = rows(machine(release(*version.split()), process(7, limits(1, 1, value))))["nproc"]
    assert found["verdict"] == verdict
    assert running(found) == {"PRD D00": "%s soft, %s hard (dw.sapPRD_D00, process 7)" % (value, value)}
    asked = ["community.sap_install 1.9.0, role sap_general_preconfigure"]
    assert found["sources"] == (asked if version == "rhel 9.4" else [])


@pytest.mark.parametrize(
    "text",
    [
        "Max open files\n",
        "Max open files            many                 1048576              files\n",
        "Max open files            -1                   -1                   files\n",
        "Max open files            %s 1 files\n" % ("9" * 100),
        "\0\x1b[2J\n" * 1000,
    ],
)
def test_a_damaged_limits_file_is_unknown_and_never_a_value(machine, text):
    found = rows(machine(process(7, text)))["nofile"]
    assert (found["verdict"], running(found)) == ("unknown", None)
    assert found["reason"] == "PRD D00: the files of process 7 cannot be read"


def test_a_low_limit_is_seen_beside_files_that_cannot_be_read(machine):
    trees = [process(pid, None) for pid in (7, 8, 9)]
    found = rows(machine(process(6, limits(1048576, 1048576)), *trees))["nofile"]
    assert found["verdict"] == "unknown"
    assert found["reason"] == "PRD D00: the files of process 7 and of 2 more cannot be read"
    found = rows(machine(process(10, limits(5, 5))))["nofile"]
    assert found["verdict"] == "observed" and "5 soft" in found["reason"]


def test_a_process_that_ends_meanwhile_does_not_make_a_value_unknown(machine, monkeypatch):
    host = machine(process(7, limits(1048576, 1048576)), process(8, None))
    exists = host.exists
    # process 8 has ended when its limits are read
    monkeypatch.setattr(host, "exists", lambda path: path != "/proc/8" and exists(path))
    assert rows(host)["nofile"]["verdict"] == "compliant"


@pytest.mark.parametrize(
    "program", ["\x1b[31mred", "a\u2028b\u202ec", "x" * 5000, "%s%d{0}", "\ufffd\ufffd", "a,b:;(process 1)"]
)
def test_a_hostile_name_is_a_short_printable_one(machine, program):
    found = rows(machine(process(7, limits(1, 1), program=program)))["nofile"]
    text = running(found)["PRD D00"]
    assert text.isprintable() and len(text) < 110 and text.endswith(", process 7)")
    assert found["verdict"] == "observed"


@pytest.mark.parametrize("stat", ["", "7", "7 (x) S " + "z " * 50, "7 (x)) S 1" + " \u00b2" * 48, "(((())"])
def test_a_process_with_a_damaged_stat_is_skipped(machine, stat):
    host = machine(dict(process(7, limits(1, 1)), **{"/proc/7/stat": stat}))
    found = rows(host)["nofile"]
    assert (found["verdict"], running(found)) == ("not_applicable", None)


def test_a_user_without_rights_does_not_say_that_nothing_runs(machine, monkeypatch):
    host = note_checks.Once(machine())
    assert note_checks._unseen(host, "") is None
    host._host.root = "/"
    host = note_checks.Once(host._host)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "or this user may not see it: use become" in note_checks._unseen(host, "")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert note_checks._unseen(host, "") is None


def groups(limits):
    """The files of these limits of tasks: {path of the group: its limit}."""
    return {"/sys/fs/cgroup%s/pids.max" % path: value + "\n" for path, value in limits.items()}


USER = "/user.slice/user-1001.slice"
SCOPE = USER + "/session-4.scope"
UNIT = "/system.slice/sapinit.service"


@pytest.mark.parametrize(
    "text, limits, shown, verdict",
    [
        ("0::%s\n" % SCOPE, {SCOPE: "max", USER: "12288"}, "12288 in " + USER, "observed"),
        ("0::%s\n" % SCOPE, {SCOPE: "max", USER: "max"}, "no limit", "compliant"),
        ("0::%s\n" % SCOPE, {SCOPE: "max", "/user.slice": "9"}, "9 in /user.slice", "observed"),
        # version 1, and both beside each other
        (
            "8:pids:%s\n1:name=systemd:/x\n" % SCOPE,
            {"/pids" + SCOPE: "max", "/pids" + USER: "512"},
            "512 in " + USER,
            "observed",
        ),
        ("8:pids:%s\n0::%s\n" % (SCOPE, SCOPE), {"/pids" + SCOPE: "max", SCOPE: "7"}, "no limit", "compliant"),
        # the note is on sessions only
        ("0::%s\n" % UNIT, {UNIT: "512"}, "512 in " + UNIT, "compliant"),
        ("0::/\n", {"": "5"}, "no limit", "compliant"),
        ("2:cpu,cpuacct:/x\n", {}, "no limit", "compliant"),
        ("0::%s\n" % SCOPE, {SCOPE: "9" * 50, USER: "\0many"}, "no limit", "compliant"),
    ],
)
def test_the_smallest_limit_of_tasks_on_the_way_up_counts(machine, text, limits, shown, verdict):
    found = rows(machine(release("sles", "12.5"), process(7, "", group=text), groups(limits)))["tasks"]
    assert (found["verdict"], running(found)) == (verdict, {"PRD D00": "%s (dw.sapPRD_D00, process 7)" % shown})


@pytest.mark.parametrize("text", ["", "garbage", "0::/../../etc\n", "0::/not/there\n", "::\n0::no\n", None])
def test_a_control_group_that_is_not_there_is_unknown(machine, text):
    found = rows(machine(release("sles", "12.5"), process(7, "", group=text)))["tasks"]
    assert (found["verdict"], running(found)) == ("unknown", None)


ON, DISABLED = "loaded active enabled", "loaded active disabled"


@pytest.mark.parametrize(
    "version, socket, service, verdict, shown",
    [
        ("sles 15.6", ON, "", "compliant", ["active, enabled"]),
        # sapconf starts it without enabling it
        ("sles 15.6", DISABLED, "", "compliant", ["active, disabled"]),
        ("sles 15.6", "loaded inactive enabled", "", "observed", ["inactive, enabled"]),
        ("sles 12.5", "masked inactive masked", "", "observed", ["inactive, masked"]),
        ("sles 16.0", "", "", "observed", ["not installed"]),
        ("rhel 9.4", ON, ON, "compliant", ["active, enabled"] * 2),
        ("rhel 9.4", ON, DISABLED, "observed", ["active, enabled", "active, disabled"]),
    ],
)
def test_uuidd_is_as_systemd_says(machine, version, socket, service, verdict, shown):
    host = machine(release(*version.split()))
    units = ("uuidd.socket", "uuidd.service")
    host.states = {unit: state.split() for unit, state in zip(units, (socket, service)) if state}
    found = rows(host)["uuidd"]
    assert (found["verdict"], running(found)) == (verdict, dict(zip(units, shown)))
    assert ("only observed: uuidd.s" in found["reason"]) is (verdict == "observed")


@pytest.mark.parametrize("name", ["sysstat", "sysctl-logger"])
@pytest.mark.parametrize(
    "state, verdict",
    [("loaded active enabled", "compliant"), ("loaded failed enabled", "observed"), (None, "observed")],
)
def test_the_services_of_sles(machine, name, state, verdict):
    host = machine()
    host.states = {name + ".service": state.split()} if state else {}
    assert rows(host)[name]["verdict"] == verdict


def test_without_systemctl_the_links_are_shown_and_the_state_is_unknown(machine):
    host = machine({"/etc/systemd/system/sockets.target.wants/uuidd.socket": {"link": "/usr/lib/x"}})
    host.refuses = [HostError("cannot run systemctl: No such file or directory", errno.ENOENT)]
    found = rows(host)
    assert (found["uuidd"]["verdict"], running(found["uuidd"])) == ("unknown", {"uuidd.socket": "enabled"})
    assert found["uuidd"]["reason"] == "cannot run systemctl: No such file or directory"
    assert (found["sysstat"]["verdict"], running(found["sysstat"])) == ("unknown", None)


@pytest.mark.parametrize(
    "answer, said",
    [
        (Result(0, "", ""), "systemctl does not tell the state"),
        (Result(0, "garbage\n\n\n=\n==\n", ""), "systemctl does not tell the state"),
        (Result(1, "", "not been booted\nwith \x1b systemd\n"), ".service: not been booted with ? systemd"),
    ],
)
def test_other_output_of_systemctl_is_not_a_state(machine, monkeypatch, answer, said):
    host = machine()
    monkeypatch.setattr(host, "run", lambda *_argv, **_more: answer)
    found = rows(host)["uuidd"]
    assert found["verdict"] == "unknown" and found["reason"].endswith(said)


@pytest.mark.parametrize(
    "tree, shown",
    [
        (disks(sda="[none] mq-deadline", vda="none"), {"none": "sda, vda"}),
        (disks(sda="noop deadline [cfq]", sdb="[noop] cfq"), {"cfq": "sda", "noop": "sdb"}),
        (disks(dasda="[mq-deadline] none", sr0="[bfq] none", loop0="none"), None),
        (dict(disks(sr0="[bfq]"), **{"/sys/block/sr0/device/type": "5\n"}), None),
        (disks(nvme0n1="[kyber] none", xvda="[none]"), {"kyber": "nvme0n1", "none": "xvda"}),
        (dict(disks(**{"dm-0": "[bfq] none"}), **{"/sys/block/dm-0/dm/uuid": "mpath-36\n"}), {"bfq": "dm-0"}),
        (dict(disks(**{"dm-0": "[bfq] none"}), **{"/sys/block/dm-0/dm/uuid": "LVM-x\n"}), None),
        ({"/sys/block/vda/size": "1\n"}, None),
        (disks(**{"vd" + letter: "[bfq]" for letter in "abcdefgh"}), {"bfq": "vda, vdb, vdc, vdd, vde, and 3 more"}),
        (disks(vda="\x1b[31m" + "x" * 500), {"?[31m" + "x" * 55: "vda"}),
    ],
)
def test_disks_by_their_scheduler(machine, tree, shown):
    found = rows(machine(tree))["I/O scheduler"]
    verdict = "compliant" if set(shown or ()) == {"none"} else "observed" if shown else "not_applicable"
    assert (running(found), found["verdict"]) == (shown, verdict)
    assert found["wanted"] == {"I/O scheduler": "none or noop"}


def of_capture(folder, data):
    host, system = host_and_system(captures.written(folder, data))
    return {record["subject"]: record for record in checks.records(host, system, None, None)}


ZLINUX = {"/etc/os-release": SLES_15_6, "/proc/sysinfo": synthetic.sysinfo()}


def test_a_copied_tree_tells_what_it_holds(tmp_path):
    tree = dict(ZLINUX, **{"/etc/passwd": PASSWD, "/proc/cpuinfo": "x\n", "/usr/sap/PRD/D00/work/x": ""})
    tree.update(process(7, limits(1024, 4096)), **disks(vda="[bfq] none"))
    tree["/etc/systemd/system/multi-user.target.wants/sysstat.service"] = ""
    found = of_capture(tmp_path, captures.plain(tree))
    assert found["nofile"]["verdict"] == found["I/O scheduler"]["verdict"] == "observed"
    assert running(found["sysstat"]) == {"sysstat.service": "enabled"}
    for name in ("uuidd", "sysstat"):
        assert found[name]["verdict"] == "unknown" and "is a capture" in found[name]["reason"]


def test_a_capture_without_the_instances_and_processes_is_unknown(tmp_path):
    tree = dict(ZLINUX, **{"/sys/block/vda/size": "5\n", "/sys/block/vda/queue/scheduler": "[none] bfq\n"})
    found = of_capture(tmp_path, captures.dbginfo(tree))
    assert found["nofile"]["verdict"] == "unknown" and found["I/O scheduler"]["verdict"] == "compliant"
    start = "not in this capture: /usr/sap (dbginfo.sh does not copy it"
    assert found["nofile"]["reason"].startswith(start)
    found = of_capture(tmp_path, captures.sos(ZLINUX))
    assert found["nofile"]["verdict"] == found["I/O scheduler"]["verdict"] == "unknown"
    assert found["I/O scheduler"]["reason"] == "there is no /sys/block (a sos report does not copy it)"
    tree = dict(ZLINUX, **{"/usr/sap/PRD/D00/work/x": "", "/proc/cpuinfo": "processor : 0\n", "/sys/x/y": ""})
    found = of_capture(tmp_path, captures.plain(tree))
    assert found["nofile"]["verdict"] == found["I/O scheduler"]["verdict"] == "unknown"
    assert found["nofile"]["reason"] == "not in this capture: processes of SAP instances"
    assert found["I/O scheduler"]["reason"] == "there is no /sys/block"
