# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Captures of each format are read like their machine and say what they lack; hostile ones end in one sentence."""

import bz2
import errno
import functools
import gzip
import lzma
import os
import re
import tarfile

import captured
import captures
import pytest
import runs
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures import limits, opening, sos
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures.opening import open_capture
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists, drop_ins
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import (
    boot_sources,
    other_settings,
    reading,
    tools,
    tuned,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.facts import facts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.hardware import driver_of
from captures import header, raw

CPUS = "/sys/devices/system/cpu"
FLOWS, RMEM = "/proc/sys/net/core/rps_sock_flow_entries", "/proc/sys/net/smc/rmem"
COMPLETE = captures.sysctl(captures.SYSCTLS)


@functools.lru_cache(maxsize=None)
def machine():
    """What a capture is taken of: CPUs and interfaces of a large LPAR, and some files below /etc."""
    whole = synthetic.large_lpar(4)
    # few of its 200 CPUs: each test makes an archive of this
    found = {path: whole[path] for path in whole if not re.search(r"/cpu([2-8]|[1-9][0-8]|[0-9]{3})/", path)}
    found["/etc/sysctl.conf"] = "# ours\nvm.swappiness = 10\n"
    found["/etc/sysctl.d/50-sap.conf"] = "# SAP\nnet.core.somaxconn = 4096\n"
    found["/etc/systemd/system/irqbalance.service"] = {"link": "/dev/null"}
    found["/etc/sysconfig/sapconf"] = "VMA=1\n"
    return found


@pytest.fixture
def opened(tmp_path):
    """A function that writes an archive of these bytes, opens it and returns its host."""

    def write(data, name="archive"):
        (tmp_path / name).write_bytes(data)
        return open_capture(str(tmp_path / name))

    return write


def planted(folder, entries):
    captured.grow(folder, entries)
    return open_capture(str(folder))


FORMS = {
    "gz": lambda: captures.plain(machine(), pack="gz"),
    "bz2": lambda: captures.plain(machine(), top="./", pack="bz2"),
    "xz": lambda: captures.plain(machine(), top="z15/", pack="xz"),
    "unpacked": lambda: captures.plain(machine(), pack=""),
    "dbginfo": lambda: captures.dbginfo(machine()),
    "sos": lambda: captures.sos(machine()),
}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_an_archive_reads_like_the_machine(opened, tmp_path, form):
    host = opened(FORMS[form]())
    captured.grow(tmp_path / "machine", machine())
    real = Host(str(tmp_path / "machine"))
    for path, entry in machine().items():
        if path.startswith("/sys/"):
            assert host.target(path) == entry["link"] if isinstance(entry, dict) else host.read(path) == entry
            assert (host.exists(path), host.size(path)) == (real.exists(path), real.size(path))
        elif not isinstance(entry, dict):
            assert host.read(path) == entry
    assert host.listdir("/sys/class/net") == real.listdir("/sys/class/net")
    assert cpu_lists.online(host) == cpu_lists.online(real)
    assert driver_of(host, "enc1000") == "qeth"
    assert host.glob("/etc/sysctl.d", "*.conf") == ["/etc/sysctl.d/50-sap.conf"]
    assert host.real("/etc/systemd/system/irqbalance.service") == "/dev/null"
    assert host.data("/etc/systemd/system/irqbalance.service") == b""
    # a sos report does not tell whether a driver that a link names is there
    assert host.missed == [] or form == "sos"


@pytest.mark.parametrize(
    "name, online",
    [("lpar-linux-6.12-vertical-cpu2-offline-cpu3-deconfigured", 2), ("kvm-linux-6.12-topology-1-cpu2-offline", 3)],
)
def test_facts_of_a_real_kernel_are_the_same_in_each_form(tmp_path, name, online):
    root, path = tmp_path / "machine", tmp_path / "capture"
    root.mkdir()
    captured.plant(name, root)
    entries = captured.entries(name)
    wanted = facts(reading.opened(str(root)), "Linux")
    assert wanted["cpus"]["online"]["count"] == online and wanted["machine_type"]
    for form in (captures.plain(entries), captures.dbginfo(entries, values={}), captures.sos(entries)):
        path.write_bytes(form)
        assert facts(reading.opened(str(path)), "Linux") == wanted


def test_a_capture_is_only_read(opened):
    host, path = opened(captures.dbginfo(machine())), "/etc/sysctl.conf"
    calls = [(host.put, path, "1"), (host.write, path, ""), (host.replace, path, b"")]
    for act, *arguments in calls + [(host.link, "/etc/x", "y"), (host.remove, path)]:
        with pytest.raises(HostError, match="archive is a capture, not a running machine") as refusal:
            act(*arguments)
        assert refusal.value.errno == errno.EROFS
    with pytest.raises(HostError, match="cannot run sysctl: .* is a capture") as refusal:
        host.run(["sysctl", "-a"])
    assert refusal.value.errno == errno.ENOENT
    assert not os.path.exists(host.path("/etc/passwd"))
    assert host.work(path, Host.read, path) == machine()[path]
    assert (host.owner(path), host.changed(path), host.mode(path)) == (None, None, None)


@pytest.mark.parametrize("user", ["root", "", None])
def test_sysctls_of_dbginfo_are_files(opened, user):
    host = opened(captures.dbginfo(machine(), user=user))
    assert host.value(FLOWS) == "32768"
    assert host.value("/proc/sys/net/ipv4/tcp_rmem") == "4096\t131072\t6291456"
    assert host.value("/proc/sys/net/ipv4/conf/enc600.100/rp_filter") == "2"
    assert host.value("/proc/sys/net/smc/rmem") is None
    assert host.missed == []
    assert host.capture[0] == "dbginfo"
    assert host.capture[2:] == ("prdapp1", "2026-11-20T10:11:12", [])


STABLE_SECRET = 'sysctl: reading key "net.ipv6.conf.all.stable_secret"\nCommand "sysctl -a" failed\nrc=1\n'


def dbginfo_with(opened, *sysctl_sections, after="x\n"):
    commands = [("uname -a", "Linux\n")] + [("sysctl  -a", text) for text in sysctl_sections]
    return opened(captures.dbginfo(machine(), commands=commands + [("dmesg", after)]))


def test_contradictory_values_are_refused(opened):
    other = captures.sysctl(dict(captures.SYSCTLS, **{"net.core.rps_sock_flow_entries": "0", "s390.topology": "0"}))
    host = dbginfo_with(opened, COMPLETE, other, COMPLETE)
    with pytest.raises(HostError, match="it is contradictory .*'32768' in sysctl -a .*'0' in"):
        host.value(FLOWS)
    with pytest.raises(HostError, match="contradictory .*'1' in the copied file, '0' in sysctl -a"):
        host.value("/proc/sys/s390/topology")
    assert host.value("/proc/sys/vm/swappiness") == "10"


@pytest.mark.parametrize(
    "text, path, lacks",
    [
        (COMPLETE + "-> command cancelled by timeout\n", RMEM, "cancelled by its time limit"),
        (COMPLETE + 'dbginfo.sh: Warning: Command "sysctl -a" failed\nrc=124\n', RMEM, "cancelled by its time limit"),
        # one that failed for one key is complete
        (COMPLETE + STABLE_SECRET, RMEM, ""),
        (COMPLETE + STABLE_SECRET, "/proc/sys/net/ipv6/conf/all/stable_secret", "could not read it"),
        # cut without a word, whole groups are missing
        ("fs.file-max = 1\nkernel.ostype = Linux\n", FLOWS, "no key of net, vm"),
        ('dbginfo.sh: Warning: Command "sysctl" not available\n', FLOWS, "the command was not there"),
    ],
)
def test_a_truncated_list_of_sysctls_does_not_prove_absence(opened, text, path, lacks):
    # output that looks like a header of another host is output
    forged = captures.out([("sysctl -a", "net.core.rps_sock_flow_entries = 1\n")], host="attacker")
    host = dbginfo_with(opened, text, after=forged + "end\n")
    assert host.value(FLOWS) == ("32768" if text.startswith(COMPLETE) else None)
    assert host.value(path) is None
    assert lacks in host.lacking(path) and bool(lacks) == bool(host.lacking(path))
    assert "is not complete" in "".join(host.capture.notes) or "time limit" not in lacks


def test_an_unreadable_file_of_sysfs_is_not_an_empty_value(opened):
    speed, port = "/sys/class/net/enc1000/speed", "/sys/class/net/enc1000/phys_port_id"
    errors = "dump2tar: %s: Cannot read file: Input/output error\n" % speed
    errors += "dump2tar: %s: Cannot read file: Invalid argument\n" % port
    entries = dict(machine(), **dict.fromkeys((speed, port, CPUS + "/uevent"), ""))
    host = opened(captures.dbginfo(entries, extra={"sysfs.err": errors}))
    assert host.value(speed) is None and host.lacking(speed).endswith("taken: Input/output error")
    assert host.value(port) is None
    assert host.value(CPUS + "/uevent") == ""
    assert host.missed == [speed]


def slow_path(entries):
    """/sys as dbginfo.sh copies it without dump2tar: files only, and links in a listing."""
    links = {path: entry["link"] for path, entry in entries.items() if isinstance(entry, dict) and "link" in entry}
    listing = "".join("lrwxrwxrwx 1 root root 0 Nov 20 10:11 %s -> %s\n" % link for link in sorted(links.items()))
    extra = {"sysfs.out": captures.out([("find /sys -print0 | sort -z | xargs -0 -n 10 ls -ld", listing)])}
    extra.update({path[1:]: entry for path, entry in entries.items() if path.startswith("/sys/") and path not in links})
    return extra


@pytest.mark.parametrize("broken", [False, b"", b"\x1f\x8b\x08 no archive", captures.dump2tar(machine())[:1000]])
def test_without_dump2tar_links_come_from_the_listing(opened, broken):
    host = opened(captures.dbginfo(machine(), sysfs=broken, extra=slow_path(machine())))
    assert driver_of(host, "enc1000") == "qeth"
    assert host.value(CPUS + "/cpu0/polarization") == "vertical:high"
    assert "copied without dump2tar" in host.capture.notes[0]


def test_what_a_capture_lacks_if_sysfs_is_cut_off_or_missing_or_alone(opened):
    whole = captures.dump2tar(machine())
    host = opened(captures.dbginfo(machine(), sysfs=whole[: len(whole) // 2]))
    assert "sysfs.tgz is cut off" in host.capture.notes[0]
    assert host.lacking("/sys/class/zzz") == "sysfs.tgz is cut off"
    assert host.lacking("/etc/sysctl.d/60.conf") == ""
    host = opened(captures.dbginfo(machine(), sysfs=False))
    assert host.value(CPUS + "/online") is None
    assert host.lacking(CPUS + "/online") == "the capture has no /sys: neither sysfs.tgz nor sys/"
    assert host.missed == [CPUS + "/online"]
    host = opened(captures.dump2tar(machine()), "sysfs.tgz")
    assert host.capture.format == "sysfs"
    assert cpu_lists.online(host)[-1] == 205
    assert host.lacking("/proc/cmdline") == "a sysfs.tgz holds /sys only"


@pytest.mark.parametrize(
    "version, cuts, has_units",
    [("2.11.0", 1, 0), ("2.12.0", 1, 1), ("2.28.0", 1, 1), ("2.29.0", 0, 1), ("2.35.0", 0, 1), ("9999", 1, 0)],
)
def test_versions_of_dbginfo_copy_more_and_dump2tar_cut_names_of_100_characters(opened, version, cuts, has_units):
    name = "/sys/devices/".ljust(99, "x")
    host = opened(captures.dbginfo(dict(machine(), **{name: "1\n"}), version=version))
    assert host.read(name + "y") is None
    assert bool(host.lacking(name + "y")) == cuts
    assert host.lacking(name + "yy") == ""
    assert bool(host.lacking("/usr/lib/systemd/system/irqbalance.service")) != has_units


def test_hard_links_and_masked_units_of_dbginfo(opened):
    units, top = "etc/systemd/system/", captures.DBGINFO + "/etc/systemd/system/"
    extra = {
        units + "tuned.service": "[Service]\n",
        units + "x.wants/tuned.service": {"hard": top + "tuned.service"},
        units + "a.service": {"device": (1, 3)},
        units + "b.service": {"hard": top + "a.service"},
        units + "disk": {"device": (8, 0)},
        # files of an initrd are not those of the machine
        "boot/initrd-6.4/etc/sysctl.d/99.conf": "vm.swappiness = 1\n",
    }
    host = opened(captures.dbginfo(machine(), extra=extra))
    assert host.read("/" + units + "x.wants/tuned.service") == "[Service]\n"
    assert [host.real("/%s%s.service" % (units, name)) for name in "ab"] == ["/dev/null"] * 2
    with pytest.raises(HostError, match="not a regular file"):
        host.read("/" + units + "disk")
    assert host.glob("/etc/sysctl.d", "*") == ["/etc/sysctl.d/50-sap.conf"]


def test_an_unpacked_dbginfo(tmp_path):
    top = tmp_path / captures.DBGINFO
    found = {path: entry for path, entry in machine().items() if not path.startswith("/sys/")}
    found["/dbginfo.log"] = "dbginfo.sh: Debug information script version 2.35.0\n"
    found["/runtime.out"] = captures.out([("sysctl -a", COMPLETE)])
    captured.grow(top, found)
    (top / "sysfs.tgz").write_bytes(captures.dump2tar(machine()))
    host = open_capture(str(top))
    assert (host.capture[0], host.capture.taken) == ("dbginfo", "2026-11-20T10:11:12")
    assert host.value(FLOWS) == "32768" and driver_of(host, "enc1000") == "qeth"


def test_a_sos_report_says_what_it_copies_and_could_read(opened):
    secret, large = "/proc/sys/net/ipv6/conf/all/stable_secret", "/etc/sysconfig/large"
    found = dict(machine(), **{secret: "", large: {"link": "../../sos_strings/system/etc.sysconfig.large.tailed"}})
    found["/sos_commands/kernel/sysctl_-a"] = COMPLETE
    name = "/sos_commands/networking/namespaces/one/ip_netns_exec_one_sysctl_-a"
    found[name] = "net.core.rps_sock_flow_entries = 1\n"
    host = opened(captures.sos(found, modes={secret: 0o200}))
    assert (host.capture[0], *host.capture[2:4]) == ("sos", "prdapp1", "2026-11-20")
    assert host.lacking("/usr/sap/sapservices") == "a sos report does not copy it"
    assert host.lacking("/etc/tuned/active_profile") == "a sos report copies it on Red Hat systems only"
    assert "only flags and statistics" in host.lacking("/sys/class/net/enc1000/queues/rx-0/rps_flow_cnt")
    assert [host.lacking(path) for path in ("/proc/sys/net/smc/rmem", "/sys/class/net/eth9")] == ["", ""]
    assert host.data(secret) is None and host.lacking(secret)
    assert host.read(large) is None and "only its end" in host.lacking(large)
    assert host.value(FLOWS) == "32768"
    # it copies 64 CPUs at most
    found = {path: entry for path, entry in machine().items() if not path.startswith(CPUS + "/cpu9")}
    host = opened(captures.sos(found, top="sosreport-host0-2026-11-20-abcdefg-obfuscated"))
    assert "obfuscated" in host.capture.notes[0]
    assert host.value(CPUS + "/cpu90/polarization") is None
    assert "a part of the CPUs" in host.lacking(CPUS + "/cpu90/polarization")
    assert host.lacking(CPUS + "/cpu0/no_such") == ""


def test_the_manifest_of_sos_is_believed_if_it_is_valid(opened):
    host = opened(captures.sos({"/etc/os-release": "ID=x\n"}, plugins={"kernel": {}, "udev": {"timeout_hit": True}}))
    assert host.lacking("/proc/sys/vm/swappiness") == "the plugin system of sos, which copies it, did not run"
    assert "stopped after their time limit: udev" in host.capture.notes[0]
    assert host.lacking("/proc/cmdline") == "the report has no /proc/cmdline, which every Linux has"
    for manifest in ("", "{", "[" * 100000, "[]", '{"components": 1}'):
        found = {"version.txt": "sos report: 4.8.1", "sos_reports/manifest.json": manifest, "proc/cmdline": "x"}
        host = opened(captures.tar({"a/" + name: text for name, text in found.items()}, "xz"))
        assert host.lacking("/proc/sys/vm/swappiness") == ""
        assert host.value("/proc/cmdline") == "x"


def texts(**changes):
    section = captures.section
    sap = section("Configuration File", "/etc/sysctl.d/50-sap.conf", "net.core.somaxconn = 4096\n")
    units = "# /usr/lib/systemd/system/irqbalance.service\n[Unit]\n\n"
    units += "# /etc/systemd/system/irqbalance.service.d/x.conf\n[Service]\n# /etc/shadow\n"
    lscpu = "On-line CPU(s) list:  0-3\nDispatching mode: vertical\n"
    found = {
        "env.txt": section("Command", "/usr/sbin/sysctl -a", COMPLETE)
        + section("Configuration File", "/etc/sysctl.conf", "vm.swappiness = 10\n")
        + sap
        + section("Configuration File", "/run/sysctl.d/x.conf - File not found"),
        "etc.txt": sap + section("Configuration File", "/etc/tmpfiles.d/empty.conf"),
        "hardware.txt": section("Command", "/usr/bin/lscpu", lscpu),
        "boot.txt": section("Configuration File", "/proc/cmdline", "root=/dev/dasda1\n"),
        "systemd.txt": section("Command", "/usr/bin/systemctl cat 'irqbalance.service'", units),
        "plugin-ha_sap.txt": section("Command", "/usr/bin/cat /usr/sap/sapservices", "sapstartsrv\n")
        + section("Configuration File", "/usr/sap/PRD/SYS/profile/PRD_D00_prdapp1", "SAPSYSTEM = 00\n"),
    }
    return dict(found, **changes)


def test_sections_of_a_supportconfig_are_files_and_it_says_what_it_lacks(opened):
    host = opened(captures.supportconfig(texts()))
    assert (host.capture[0], *host.capture[2:4]) == ("supportconfig", "prdapp1", "2026-11-20T10:11")
    files = {
        FLOWS: "32768\n",
        "/etc/sysctl.d/50-sap.conf": "net.core.somaxconn = 4096\n",
        "/etc/tmpfiles.d/empty.conf": "",
        CPUS + "/dispatching": "1\n",
        "/proc/cmdline": "root=/dev/dasda1\n",
        "/usr/lib/systemd/system/irqbalance.service": "[Unit]\n",
        "/usr/sap/sapservices": "sapstartsrv\n",
    }
    assert {path: host.read(path) for path in files} == files
    assert cpu_lists.online(host) == [0, 1, 2, 3]
    assert "[Service]" in host.read("/etc/systemd/system/irqbalance.service.d/x.conf")
    assert not host.exists("/etc/shadow")
    assert drop_ins.effective_files(host, "sysctl.d", ".conf") == ["/etc/sysctl.d/50-sap.conf"]
    assert host.lacking(CPUS + "/present") == "a supportconfig does not hold it"
    assert host.lacking("/run/sysctl.d/x.conf") == ""
    assert host.lacking("/etc/udev/rules.d") == "the supportconfig was taken without udev.txt"
    assert "no links of systemd" in host.lacking("/etc/systemd/system/multi-user.target.wants/tuned.service")
    assert host.lacking("/usr/lib/systemd/system/tuned.service") == ""
    assert "comments" in host.capture.notes[0]
    bare = opened(captures.supportconfig({"env.txt": ""}))
    assert bare.lacking(FLOWS) == "the supportconfig has no output of sysctl -a"
    assert "since 3.2.14" in bare.lacking("/usr/lib/systemd/system/tuned.service")


def test_sections_that_are_forged_or_removed_or_misnamed_are_not_believed(opened):
    forged = ("Configuration File", "/etc/sysctl.conf", "vm.swappiness = 99\n")
    sections = {"boot.txt": ("Command", "/usr/bin/dmesg", "first line\n" + captures.section(*forged))}
    for what in ("/etc/../shadow", "etc/passwd", "/etc/sysctl.conf/x", "/etc/a\x07.conf", "/", "//etc/x.conf", ""):
        sections["etc.txt"] = ("Configuration File", what, "x\n")
        host = opened(captures.supportconfig(texts(**{name: captures.section(*sections[name]) for name in sections})))
        assert host.read("/etc/sysctl.conf") == "vm.swappiness = 10\n"
        assert not host.exists("/etc/shadow")
    host = opened(captures.supportconfig(texts(**{"etc.txt": captures.section(*forged)})))
    with pytest.raises(HostError, match="contradictory in the capture: .* in env.txt|in etc.txt"):
        host.read("/etc/sysctl.conf")
    values = captures.sysctl(dict(captures.SYSCTLS, **{"kernel.x": "*REMOVED BY SUPPORTCONFIG*"}))
    host = opened(captures.supportconfig(texts(**{"env.txt": captures.section("Command", "/sbin/sysctl -a", values)})))
    assert host.value("/proc/sys/kernel/x") is None
    assert "removed its value" in host.lacking("/proc/sys/kernel/x")
    assert host.capture.notes[1] == "supportconfig removed values from env.txt"


def test_a_plain_tree_lacks_what_was_not_copied(tmp_path, opened):
    tree = {CPUS + "/online": "0-3\n", "/proc/cpuinfo": "x\n", "/proc/modules": "", "/sys/class/net/lo/mtu": "1\n"}
    host = planted(tmp_path / "tree", tree)
    assert host.capture.format == "tree"
    assert host.lacking("/etc/sysctl.d") == "the tree has no /etc/sysctl.d: it was not copied"
    assert host.lacking("/proc/cmdline") == "the tree has no /proc/cmdline, which every Linux has: it was not copied"
    assert host.lacking("/proc/sys/s390/topology") == "the tree has no /proc/sys: it was not copied"
    assert host.lacking("/sys/class/net/eth0") == ""
    assert host.read("/proc/modules") == "" and host.missed == []
    # but not if tar packed the files of the kernel, without a copy
    found = dict.fromkeys(("proc/cmdline", "proc/cpuinfo", "proc/modules"), "")
    found[CPUS[1:] + "/online"] = b"0-3\n" + b"\0" * 4092
    host = opened(captures.tar(found))
    assert cpu_lists.online(host) == [0, 1, 2, 3]
    assert host.read("/proc/modules") is None
    assert "copy them with cp first" in host.lacking("/proc/cmdline")


@pytest.mark.parametrize("packed", [False, True])
def test_links_lead_to_nothing_outside(tmp_path, opened, packed):
    (tmp_path / "secret").write_text("outside\n", encoding="ascii")
    links = {
        "/proc/a": str(tmp_path / "secret"),
        "/proc/b": "../" * 30 + "etc/passwd",
        "/proc/c": "c",
        "/proc/outside": str(tmp_path),
        "/sys/class/net/lo": "../../devices/lo",
    }
    found = dict({path: {"link": target} for path, target in links.items()}, **{"/sys/devices/lo/mtu": "1\n"})
    found["/etc/hostname"] = "inside\n"
    host = opened(captures.plain(found)) if packed else planted(tmp_path / "root", found)
    assert [host.read("/proc/" + name) for name in ("a", "b", "c", "outside/secret")] == [None] * 4
    assert host.listdir("/proc/outside") == []
    assert host.lacking("/proc/c") == "its links lead in a circle"
    assert host.value("/sys/class/net/lo/mtu") == "1"
    assert host.read("/proc/../../../etc/hostname") == "inside\n"
    with pytest.raises(HostError, match="is a link now"):
        host.data("/proc/a", follow=False)


def test_what_became_a_link_is_not_followed_and_special_files_are_not_opened(tmp_path):
    (tmp_path / "proc").mkdir()
    os.mkfifo(str(tmp_path / "proc" / "pipe"))
    host = planted(tmp_path, {"/proc/a": "1\n", "/sys/x": "1\n"})
    (tmp_path / "proc" / "a").unlink()
    (tmp_path / "proc" / "a").symlink_to("/etc/passwd")
    with pytest.raises(HostError, match="cannot read /proc/a: "):
        host.read("/proc/a")
    with pytest.raises(HostError, match="not a regular file"):
        host.read("/proc/pipe")


def test_a_large_file_is_not_read(opened, monkeypatch):
    monkeypatch.setattr(limits, "MOST_FILE", 1000)
    host = opened(captures.plain({"/proc/a": "1\n", "/sys/b": "x" * 1001}))
    assert host.data("/sys/b") is None
    assert "larger than" in host.lacking("/sys/b")


GOOD = {"proc/cmdline": "x\n", "proc/cpuinfo": "x\n", "sys/devices/system/cpu/online": "0-3\n"}
MIB = 1 << 20


def pax(**records):
    """A pax header of these records and its data."""
    data = b""
    for key, value in records.items():
        text = b" %s=%s\n" % (key.replace("_", ".").encode("ascii"), value)
        size = len(text) + len(str(len(text) + 2))
        data += str(size).encode("ascii") + text
    return [header(b"pax", b"x", len(data)), data]


def zeros(name, size=64 * MIB):
    return header(name, size=size) + b"\0" * size


def good(*more):
    """A tree that would be read, with more names."""
    return captures.tar(list(GOOD.items()) + list(more))


def refusal(tmp_path, data):
    """The sentence with which an archive of these bytes is refused."""
    path = tmp_path / "evil.tgz"
    path.write_bytes(data)
    before = sorted(os.listdir(str(tmp_path)))
    sentence = runs.refusal(open_capture, str(path))
    assert sorted(os.listdir(str(tmp_path))) == before
    assert sentence.isprintable() and len(sentence) < 500 and "evil.tgz" in sentence
    return sentence


def open_bytes(tmp_path, data):
    path = tmp_path / "capture"
    path.write_bytes(data)
    return open_capture(str(path))


NAMES = {
    "/etc/passwd": "the absolute name /etc/passwd",
    "/sysx/y": "the absolute name /sysx/y",
    "../../etc/cron.d/x": "a capture has no .. in its names",
    "/sys/../etc/x": "a capture has no .. in its names",
    "proc/a\nb": "a name that no capture has: proc/a\\nb",
    "proc/" + "x/" * 2100: "a name that no capture has",
    "proc/cmdline": "/proc/cmdline twice",
    "proc/cmdline/x": "names below /proc/cmdline, which is not a folder",
    "proc": "/proc twice",
}
LINKS = [
    ({"hard": "proc/later"}, "a hard link to proc/later, which is not an earlier file"),
    ({"hard": "proc"}, "which is not an earlier file"),
    ({"hard": "../x"}, "no .. in its names"),
    ({"link": ""}, "a link without a target"),
]
HEADERS = [
    ([header(b"proc/x", b"S", 0)], "type S"),
    (pax(GNU_sparse_major=b"1") + [header(b"proc/x")], "a sparse file"),
    (pax(size=b"-1") + [header(b"proc/x")], "a malformed size"),
    (pax(path=b"/etc/shadow") + [header(b"proc/x")], "the absolute name /etc/shadow"),
    ([header(b"x", b"x", 10), b"9999999 a="], "a pax header cannot be read"),
    # on which tarfile of old Pythons hangs, also where the zeros after the header should be
    ([header(b"x", b"x", 5), b"5 a=\n0 a="], "a pax header cannot be read"),
    (pax(path=b"1" * 60000) + [header(b"proc/x")], "a pax header cannot be read"),
    ([header(b"x", b"L", 4), b"abc\0"] * 5000, "no member after it"),
    ([header(b"proc/x", claimed=b"\xff" * 12)], "negative number"),
    ([header(b"proc/x", claimed=b"99999999999\0")], "a malformed number"),
    ([header(b"proc/x", b"L", 4), b"../a", header(b"x")], "no .. in its names"),
    ([b"\x01" * 512], "not a tar archive"),
]
HEADERS += [
    ([header(b"././@LongLink", kind, 300 * MIB), b"\0" * MIB], "claims 314572800 bytes: a name needs 4096")
    for kind in (b"L", b"K", b"x", b"g")
]
TAR = gzip.decompress(good())
REFUSED = [(good((name, "x")), sentence) for name, sentence in sorted(NAMES.items())]
REFUSED += [(good(("proc/link", entry), ("proc/later", "x")), sentence) for entry, sentence in LINKS]
REFUSED += [(gzip.compress(raw(*parts)), sentence) for parts, sentence in HEADERS]
REFUSED += [
    (good(("proc/out", {"link": "/etc"}), ("proc/out/cron.d", "x")), "below /proc/out, which is not a folder"),
    # a member that claims 8 GiB
    (gzip.compress(header(b"proc/cmdline", size=8 << 30) + b"x" * 512), "is cut off before anything of a capture"),
    (b"", "is empty"),
    (b"hello\n", "is not an archive"),
    (b"\x28\xb5\x2f\xfd" + b"x" * 600, "packed with zstd: pack it as tar"),
    (b"PK\x03\x04" + b"x" * 600, "packed with zip"),
    (b"-----BEGIN PGP MESSAGE-----\n", "encrypted (OpenPGP): decrypt it first"),
    (gzip.compress(b""), "is empty"),
    (gzip.compress(b"hello\n" * 1000), "not a tar archive"),
    (b"\x1f\x8b\x08", "is cut off"),
    (b"\x1f\x8b\x08\0\0\0\0\0\0\0" + b"\xff" * 600, "is damaged"),
    (b"\xfd7zXZ\x00" + b"\xff" * 600, "is damaged"),
    (b"BZh9" + b"\xff" * 600, "is damaged"),
    (good()[:-8] + b"\0" * 8, "is damaged"),
    (gzip.compress(TAR[:1024] + b"\xff" + TAR[1025:]), "damaged: copy it again"),
    (captures.tar({"etc/x": "x"}), "holds nothing that is known: a capture is"),
    (
        captures.tar({"%s/%s" % (top, name): GOOD[name] for top in ("app1", "app2") for name in GOOD}),
        "holds 2 captures (app1, app2): unpack it and name one",
    ),
]


# gzip notes the time, and all processes of pytest-xdist have to find the same tests
@pytest.mark.parametrize("data, sentence", REFUSED, ids=[sentence for _data, sentence in REFUSED])
def test_what_is_refused(tmp_path, data, sentence):
    assert sentence in refusal(tmp_path, data)


@pytest.fixture
def unpacked(monkeypatch):
    """How many bytes have been unpacked; the ratio counts from the first of them."""
    sizes, unpack = [], limits.Budget.unpack
    monkeypatch.setattr(limits, "RATIO_FROM", 0)
    monkeypatch.setattr(limits.Budget, "unpack", lambda self, size: (sizes.append(size), unpack(self, size)))
    return sizes


@pytest.mark.gate
@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_bomb_ends_at_a_ratio_of_its_size_and_at_the_limit(tmp_path, monkeypatch, unpacked, pack):
    data = pack(zeros(b"proc/zeros"))
    assert len(data) < 100 * 1024
    assert "unpacks to more than 200 times its size: no capture does" in refusal(tmp_path, data)
    assert sum(unpacked) <= 200 * len(data) + MIB < 32 * MIB
    # within an archive, the ratio is that of the whole, and within a folder that of its archives
    del unpacked[:]
    assert "evil.tgz unpacks to more than 200 times its size" in refusal(tmp_path, captures.tar({"a.tar.gz": data}, ""))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "large.txt").write_bytes(b"x" * MIB)
    (tmp_path / "folder" / "a.tgz").write_bytes(data)
    assert "unpacks to more than 200 times its size" in runs.refusal(open_capture, str(tmp_path / "folder"))
    assert sum(unpacked) < 2 * 32 * MIB
    monkeypatch.setattr(limits, "RATIO_FROM", 128 * MIB)
    monkeypatch.setattr(limits, "MOST_UNPACKED", 8 * MIB)
    bomb = captures.dbginfo({}, sysfs=pack(zeros(b"/sys/zeros")))
    for data in (pack(zeros(b"proc/zeros")), bomb):
        assert "unpacks to more than 8 MiB" in refusal(tmp_path, data)


@pytest.mark.gate
@pytest.mark.parametrize("pack", ["gz", "xz"])
def test_the_names_of_sys_which_pack_best_stay_below_the_ratio(tmp_path, monkeypatch, unpacked, pack):
    cpus = "/sys/devices/system/cpu/cpu%d/cache/index%d/%s"
    names = ("level", "type", "size", "shared_cpu_map", "shared_cpu_list", "ways_of_associativity", "number_of_sets")
    sysfs = [
        (cpus % (cpu, cache, name), "%d\n" % (cpu % 7)) for cpu in range(400) for cache in range(4) for name in names
    ]
    data = captures.tar(sysfs, pack)
    assert open_bytes(tmp_path, data).capture.format == "sysfs"
    assert sum(unpacked) > 100 * len(data)
    monkeypatch.setattr(limits, "RATIO_FROM", 128 * MIB)
    assert open_bytes(tmp_path, good(("proc/zeros", b"\0" * 32 * MIB))).value("/proc/cmdline") == "x"


VERSIONS = {"b/version.txt": {"hard": "a/version.txt"}}
VALUES = "".join("net.x%d = 1\n" % number for number in range(1000))


@pytest.mark.parametrize(
    "limit, value, data, sentence",
    [
        ("MOST_ENTRIES", 1000, good(*(("proc/%d" % number, "") for number in range(1000))), "more than 1000 names"),
        # folders that no entry names count too
        ("MOST_ENTRIES", 1000, good(("proc/" + "x/" * 1000 + "y", "")), "more than 1000 names"),
        ("MOST_ENTRIES", 1000, captures.dbginfo({}, commands=[("sysctl -a", VALUES)]), "more than 1000 names"),
        ("MOST_KEPT", MIB, good(("proc/x", "x" * MIB)), "more than 1 MiB besides logs"),
        # what is read to recognise a capture counts too
        ("MOST_READ", MIB, captures.tar({"a/version.txt": "x" * MIB, **VERSIONS}), "more than 1 MiB of"),
        ("MOST_SECONDS", -1, good(), "could not be unpacked within"),
        ("MOST_XZ_MEMORY", 4 * MIB, lzma.compress(TAR, preset=9), "more than 4 MiB of memory"),
    ],
    ids=["names", "folders", "sysctls", "kept", "read", "seconds", "memory"],
)
def test_too_much_of_anything(tmp_path, monkeypatch, limit, value, data, sentence):
    monkeypatch.setattr(limits, limit, value)
    assert sentence in refusal(tmp_path, data)


@pytest.mark.parametrize("kind", ["hard", "link", "folder"])
def test_many_names_of_one_large_file_end_at_a_limit(tmp_path, monkeypatch, kind):
    """An archive of 100 kB can have 100,000 names of a file of 60 MiB, and each takes seconds to read."""
    monkeypatch.setattr(limits, "MOST_READ", 4 * MIB)
    name, text = "etc/sysctl.d/%s.conf", "a = 1\n" * (MIB // 6)
    if kind == "folder":
        captured.grow(tmp_path, dict(GOOD, **{name % "a": text}))
        for one in range(5):
            os.link(str(tmp_path / (name % "a")), str(tmp_path / (name % one)))
        host = open_capture(str(tmp_path))
    else:
        entry = {"hard": {"hard": name % "a"}, "link": {"link": "a.conf"}}[kind]
        host = open_bytes(tmp_path, good((name % "a", text), *((name % one, entry) for one in range(5))))
    assert host.read("/" + name % 4) == text
    with pytest.raises(HostError, match="more than 4 MiB of .* were read"):
        boot_sources.sysctls(host, "/proc/sys/net/core/somaxconn")


@pytest.mark.parametrize(
    "path", ["udev/rules.d/a.rules", "sysctl.d/a.conf", "saptune/extra/1.conf", "tuned/a/tuned.conf"]
)
def test_a_long_file_of_short_lines_ends_at_a_limit(tmp_path, path):
    """An archive of 12 kB with a file of 64 MiB took 3.5 GB of memory."""
    named = {
        "etc/tuned/active_profile": "a",
        "etc/sysconfig/saptune": 'NOTE_APPLY_ORDER="1"',
        "etc/saptune/extra/1.conf": "",
    }
    named["etc/" + path] = "[rps_cpus]\n" + "a\n" * (MIB // 2)
    host = open_bytes(tmp_path, good(*named.items()))
    with pytest.raises(HostError, match="/etc/%s was not read: no file of settings has more than 1024 KiB" % path):
        list(other_settings.udev_rules(host, "rps_cpus"))
        boot_sources.sysctls(host, "/proc/sys/net/core/somaxconn")
        tools.saptune_writes(host)
        tuned.tuned_profile(host)


def test_what_a_long_list_of_plugins_says_is_unknown(monkeypatch):
    """A report of 9 kB with 60 MiB of empty lists took 1.5 GB of memory."""
    text = '{"components": {"report": {"plugins": {"udev": {}}}}}'
    assert sos._plugins(text) == {"udev": {}}
    monkeypatch.setattr(sos, "_LARGEST", len(text) - 1)
    assert sos._plugins(text) is None


def test_variables_of_tuned_do_not_grow_without_end(tmp_path):
    """An archive of 3 kB with a profile of 4 MiB took 6 GB of memory."""
    profile = "[variables]\na=%s\n[sysctl]\nvm.swappiness=%s\nvm.dirty_ratio=${b}\n" % ("x" * 4000, "${a}" * 100000)
    host = open_bytes(tmp_path, good(("etc/tuned/active_profile", "a"), ("etc/tuned/a/tuned.conf", profile)))
    values = [write.setting for write in tuned.tuned_profile(host).writes]
    assert [setting.value for setting in values] == ["x" * 4096, None]


@pytest.mark.parametrize("pack", ["", "gz", "xz", "bz2"])
def test_cut_off_at_every_length_and_in_several_compressed_parts(tmp_path, pack):
    data = captures.tar(GOOD, pack)
    read = noted = 0
    for length in range(0, len(data), max(len(data) // 60, 1)):
        try:
            host = open_bytes(tmp_path, data[:length])
        except HostError as refused:
            assert "capture" in str(refused)
        else:
            read += 1
            noted += bool(host.capture.notes)
    # an unpacked archive ends with blocks of zeros, all of which but the first may be missing
    assert noted == read or pack == ""
    parts = [captures.PACK[pack](TAR[start : start + 700]) for start in range(0, len(TAR), 700)]
    assert open_bytes(tmp_path, b"".join(parts)).value("/proc/cmdline") == "x"


def test_nested_archives(tmp_path):
    report = captures.sos({"/proc/cmdline": "x\n"})
    host = open_bytes(tmp_path, captures.tar({"sos-collect/%s.tar.xz" % captures.SOS: report}, ""))
    assert host.value("/proc/cmdline") == "x"
    assert host.capture.notes == ["the capture is %s.tar.xz inside the archive" % captures.SOS]
    both = captures.tar({"c/a.tar.xz": report, "c/b.tar.xz": report})
    assert "holds 2 archives (a.tar.xz, b.tar.xz): unpack it" in refusal(tmp_path, both)
    deeper = captures.tar({"a.tar": captures.tar({"b.tar.xz": report}, "")})
    assert "an archive in an archive in an archive" in refusal(tmp_path, deeper)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_of_each_format(tmp_path, format):
    name = "proc/" + "long" * 22 + "/" + "name" * 20
    longer = {} if format == tarfile.USTAR_FORMAT else {"proc/" + "y" * 200: "2", "proc/link": {"link": "z" * 150}}
    host = open_bytes(tmp_path, captures.tar(dict(GOOD, **{name: "1"}, **longer), "gz", format))
    assert host.read("/" + name) == "1"
    if longer:
        assert host.read("/proc/" + "y" * 200) == "2"
        assert host.target("/proc/link") == "z" * 150


@pytest.mark.parametrize(
    "path, sentence",
    [
        ("absent", "cannot read the capture .*absent: No such file"),
        (".", "holds nothing that is known"),
        ("/dev/null", "/dev/null is neither a folder nor a file"),
        ("/..", "/ is the running machine"),
    ],
)
def test_paths_that_are_not_captures(tmp_path, path, sentence):
    assert re.search(sentence, runs.refusal(open_capture, os.path.join(str(tmp_path), path)))


@pytest.mark.gate
def test_long_lines_in_texts_do_not_take_long(tmp_path):
    long = 4 * MIB
    listing = "l x " + " /sys/" * (long // 6) + "\n" + "l x" + 300 * (" /sys/a" * 1400 + "\nl x")
    texts = {
        "sysfs.out": captures.out([("find", listing)]),
        "sysfs.err": "dump2tar: /sys/" + ": x" * (long // 3) + "\n",
        "sys/a": "1\n",
    }
    values = "a" + "." * long + " = 1\n" + "a." * (long // 2) + "b = 1\nsysctl: " + "'" * long + "\n"
    commands = [("a" * 100, "#" * 55 + "\n" + "@" * long), ("sysctl -a", values)]
    host = open_bytes(tmp_path, captures.dbginfo({}, sysfs=False, extra=texts, commands=commands))
    assert host.value("/sys/a") == "1"
    deep = captures.section("Configuration File", "/etc/" + "a/" * (long // 2) + "b", "x\n")
    data = captures.supportconfig({"etc.txt": deep, "env.txt": "#==[ " + " ]=" * (long // 3)})
    assert not open_bytes(tmp_path, data).exists("/etc/a")
    manifest = '{"a": %s}' % ("1" * MIB)
    data = captures.tar({"a/version.txt": "sos report: 4.8", "a/sos_reports/manifest.json": manifest})
    assert open_bytes(tmp_path, data).capture.format == "sos"


def test_the_folder_with_the_code_of_a_module_is_held(tmp_path, monkeypatch):
    """So that it goes with the next one if this module is killed."""
    held = []
    monkeypatch.setattr(opening.temporary, "hold_payload", lambda: held.append(True))
    assert open_bytes(tmp_path, good()).value("/proc/cmdline") == "x" and held == [True]
