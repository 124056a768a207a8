# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SAP asks of the system: observed, set, left to other tools, kept over a boot, and taken back."""

import json

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import (
    shared_memory as base_shared_memory,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.system_base import ITEMS, OPTIONAL, SystemBase
from ansible_collections.zpower.sap_tuning.plugins.modules import system_base
from basekernel import FSTAB, GIB, HUGE, RELEASES, BaseHost, path_of
from modules import caller
from runs import everything, runner
from runs import records as by_subject

SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf"
JOURNAL = "/var/lib/zpower_sap_tuning/system_base.json"
MAPS = "vm.max_map_count"
DEFAULT = [item for item in ITEMS if item not in OPTIONAL]
LINE = "tmpfs /dev/shm tmpfs defaults,nosuid,nodev,size=40894464k 0 0\n"

run = runner(SystemBase, state="observe", items=DEFAULT)


@pytest.fixture
def host(tmp_path):
    return BaseHost(tmp_path)


def records(host, check=False, **changes):
    """{subject: record} of one call."""
    return by_subject(run(host, check, **changes))


def present(host, check=False, **changes):
    return records(host, check, state="present", **changes)


def test_observing_names_differences_and_changes_nothing(host):
    before = everything(host)
    result = run(host)
    assert not result["changed"] and not result["failed"] and everything(host) == before and host.log == []
    found = by_subject(result)
    assert list(found) == DEFAULT
    assert {name: record["verdict"] for name, record in found.items() if record["verdict"] != "not_applicable"} == {
        MAPS: "observed",
        "kernel.shm": "observed",
        "kernel.pid_max": "observed",
        "vm.dirty": "observed",
        "/dev/shm": "observed",
        "transparent_hugepage": "compliant",
    }
    for name, words in (
        (MAPS, "only observed: vm.max_map_count is 65530, SAP asks for at least 2147483647 (SAP Note 900929, quoted"),
        ("kernel.shm", "only observed: kernel.shmmni is 4096, SAP asks for at least 32768 (SAP Notes 941735 and"),
        ("vm.dirty", "vm.dirty_bytes is ratio 20, SAP asks for 629145600"),
        ("kernel.sem", "no public source names a value for SLES 15"),
    ):
        assert words in found[name]["reason"]
    assert found[MAPS]["wanted"]["state"] == "observe"
    assert found["kernel.pid_max"]["before"]["running"] == {"kernel.pid_max": "32768"}
    # a right value that someone has set by hand is lost at boot
    host.fill(path_of(MAPS), "2147483647")
    assert "only observed: vm.max_map_count is 65530 after the next boot, SAP asks" in records(host)[MAPS]["reason"]
    host.fill("/etc/sysctl.d/sap.conf", "vm.max_map_count=2147483647")
    assert records(host)[MAPS]["reason"] == ""
    # it writes nothing, so it needs no file
    assert SystemBase(host, dict(state="observe", items=DEFAULT, force=False)).drop_ins == ()


def test_transparent_hugepages_are_only_observed(host):
    host.fill("/proc/cmdline", "root=/dev/dasda1 transparent_hugepage=madvise")
    found = present(host)["transparent_hugepage"]
    assert (found["verdict"], found["before"]["running"]) == ("compliant", {"transparent_hugepage": "always"})
    assert "only observed" in found["remarks"][0] and found["wanted"] == {}
    assert [(one["what"], one["value"]) for one in found["conflicts"]] == [("kernel command line", "madvise")]
    assert not [path for path, *_value in host.log if path == HUGE]


def test_values_are_set_kept_and_taken_back(host):
    host.fill("/etc/sysctl.d/50-site.conf", "vm.swappiness = 10")
    before, fstab = everything(host), host.bytes_of("/etc/fstab")
    predicted = run(host, check=True, state="present")
    assert predicted["changed"] and everything(host) == before
    result = run(host, state="present")
    assert not result["failed"] and result["diff"] == predicted["diff"]
    found = by_subject(result)
    assert {name: record["verdict"] for name, record in found.items()} == {
        MAPS: "changed",
        "kernel.shm": "changed",
        "kernel.sem": "not_applicable",
        "kernel.pid_max": "changed",
        "vm.dirty": "changed",
        "/dev/shm": "changed",
        "transparent_hugepage": "compliant",
    }
    assert found[MAPS]["after"]["next_boot"] == {MAPS: "2147483647"}
    assert "shmmax" not in host.read(SYSCTL) and "\nkernel.shmmni = 32768\n" in host.read(SYSCTL)
    assert host.value(path_of("vm.dirty_bytes")) == "629145600" and host.value(path_of("vm.dirty_ratio")) == "0"
    # three quarters of 52 GiB
    assert "\ntmpfs /dev/shm tmpfs defaults,nosuid,nodev,size=40894464k 0 0" in host.read("/etc/fstab")
    assert ("mount", "-o", "remount,nosuid,nodev,size=40894464k", "/dev/shm") in host.log
    again = run(host, state="present")
    assert not again["changed"] and {one["verdict"] for one in again["tuning"]} == {"compliant", "not_applicable"}
    # the rollback knows the values of other releases
    release = host.read("/etc/os-release")
    host.fill("/etc/os-release", RELEASES["RHEL 9"])
    restored = run(host, state="restored", items=[])
    host.write("/etc/os-release", release)
    assert not restored["failed"] and {one["verdict"] for one in restored["tuning"]} == {"changed"}
    assert host.bytes_of("/etc/fstab") == fstab and host.read(JOURNAL) is None
    after = everything(host)
    # the kernel shows options in an order of its own
    after["/proc/mounts"] = before["/proc/mounts"]
    assert after == before and host.value(path_of("vm.dirty_ratio")) == "20"


def test_higher_limits_are_left_alone(tmp_path):
    host = BaseHost(tmp_path, "RHEL 9")
    host.fill(path_of("kernel.sem"), "64000\t32000\t500\t100")
    found = present(host)["kernel.sem"]
    assert found["after"]["running"] == {"kernel.sem": "64000 1024000000 500 32000"}
    host.fill(path_of("kernel.sem"), "64000\t2048000000\t600\t64000")
    assert present(host, check=True, items=["kernel.sem"])["kernel.sem"]["verdict"] == "compliant"
    # a lower value in a later file is drift, and a higher limit is not
    host.fill("/etc/sysctl.d/99-sap.conf", "kernel.sem=1250 256000 100 1024\nkernel.shmmni = 65536")
    found = present(host, check=True)
    assert found["kernel.sem"]["verdict"] == "drifted" and found["kernel.shm"]["verdict"] == "compliant"


@pytest.mark.parametrize(
    "release, subject, expected",
    [
        ("SLES 12", "vm.dirty", {"vm.dirty_bytes": "629145600", "vm.dirty_background_bytes": "314572800"}),
        ("SLES 16", "kernel.pid_max", None),
        ("RHEL 7", "kernel.sem", {"kernel.sem": "1250 256000 100 1024"}),
        ("RHEL 8", "kernel.sem", {"kernel.sem": "32000 1024000000 500 32000"}),
        ("RHEL 10", "kernel.sem", {"kernel.sem": "32000 1024000000 500 32000"}),
        ("Debian", "kernel.sem", None),
        ("Debian", MAPS, {MAPS: "2147483647"}),
    ],
)
def test_values_are_those_of_the_release(tmp_path, release, subject, expected):
    host = BaseHost(tmp_path, release)
    found = present(host, items=[subject])[subject]
    if expected is None:
        assert found["verdict"] == "not_applicable" and found["reason"].startswith("no public source names a value")
    else:
        assert (found["verdict"], found["after"]["running"]) == ("changed", expected)


def test_keepalive_is_set_only_if_it_is_named_and_larger_limits_than_the_kernels_not(tmp_path):
    host = BaseHost(tmp_path, memory=2 * GIB, swap=0)
    found = present(host)
    assert not set(OPTIONAL) & set(found)
    assert found["vm.dirty"]["verdict"] == "not_applicable" and "limit nothing" in found["vm.dirty"]["reason"]
    found = present(host, items=OPTIONAL[:1])[OPTIONAL[0]]
    assert found["verdict"] == "changed" and found["after"]["running"]["net.ipv4.tcp_keepalive_time"] == "300"
    # also those that the kernel has already
    assert "net.ipv4.tcp_keepalive_probes = 9" in host.read(SYSCTL)


def test_a_kernel_without_the_sysctl_is_unsupported_and_another_system_not_applicable(host, tmp_path):
    (tmp_path / "proc/sys/vm/max_map_count").unlink()
    host.fill("/proc/sys/kernel/osrelease", "5.14.21-s390x")
    found = present(host)[MAPS]
    assert (found["verdict"], found["reason"]) == ("unsupported", "the kernel 5.14.21-s390x has no vm.max_map_count")
    assert found["wanted"]["state"] == "present" and found["wanted"][MAPS] == "at least 2147483647"
    host.exists = lambda path: not path.startswith("/proc") and type(host).exists(host, path)
    (found,) = run(host)["tuning"]
    assert (found["subject"], found["verdict"]) == ("all", "not_applicable")


@pytest.mark.parametrize(
    "path, line, verdict",
    [
        ("/etc/sysctl.d/99-site.conf", "vm.dirty_ratio = 40", "drifted"),
        ("/etc/sysctl.d/99-site.conf", "vm.dirty_bytes = 629145600", "compliant"),
        ("/etc/sysctl.d/50-site.conf", "vm/dirty_ratio = 40", "compliant"),
    ],
)
def test_bytes_and_ratio_are_one_knob_for_other_files_too(host, path, line, verdict):
    host.fill(path_of("vm.dirty_background_ratio"), "5")
    present(host)
    host.fill(path, line)
    found = present(host, check=True)["vm.dirty"]
    assert found["verdict"] == verdict and found["conflicts"][0]["item"] == "vm.dirty_bytes"
    told = "at the next boot /etc/sysctl.d/99-site.conf line 1 sets vm.dirty_bytes to ratio 40"
    assert (told in found["reason"]) is (verdict == "drifted")
    run(host, state="restored")
    assert host.value(path_of("vm.dirty_background_ratio")) == "5"
    assert host.value(path_of("vm.dirty_background_bytes")) == "0"


def test_sapconf_keeps_its_values(host):
    host.sapconf()
    found = present(host)
    assert found[MAPS]["verdict"] == "drifted"
    assert found[MAPS]["reason"].startswith("vm.max_map_count is 65530, SAP asks for at least 2147483647")
    assert found[MAPS]["remarks"] == ["vm.max_map_count is left to sapconf (/etc/sysconfig/sapconf line 2: 2147483647)"]
    assert found[MAPS]["before"]["next_boot"] == {MAPS: "2147483647"}
    assert [one["what"] for one in found[MAPS]["conflicts"]] == ["sapconf"]
    # an empty value is not set by sapconf
    assert found["vm.dirty"]["after"]["running"]["vm.dirty_bytes"] == "629145600"
    assert host.value(path_of("vm.dirty_background_bytes")) == "0"
    assert "max_map_count" not in host.read(SYSCTL) and host.bytes_of("/etc/fstab") == FSTAB.encode()
    assert found["/dev/shm"]["remarks"] == ["/dev/shm is left to sapconf (/etc/sysconfig/sapconf line 8: 75)"]
    host.fill(path_of(MAPS), "2147483647")
    assert present(host, check=True)[MAPS]["verdict"] == "compliant"
    # keys of an older one count too, and only while it runs
    host.fill("/etc/sysconfig/sapconf", "MAX_MAP_COUNT_DEF=1000000\nMAX_MAP_COUNT_DEF='2000000' # ours")
    assert "left to sapconf (/etc/sysconfig/sapconf line 2: 2000000)" in records(host)[MAPS]["remarks"][0]
    (unit,) = host.glob("/etc/systemd/system/multi-user.target.wants", "sapconf*")
    host.remove(unit)
    assert present(host)[MAPS]["verdict"] == "changed"


@pytest.mark.parametrize("line", ["[sysctl]\nvm.dirty_ratio=40", "[vm]\ndirty_ratio=40%"])
def test_a_dirty_ratio_of_tuned_is_in_charge_of_the_bytes(host, line):
    host.tuned("virtual-guest", line)
    found = present(host)["vm.dirty"]
    assert "vm.dirty_bytes is left to tuned" in found["remarks"][0]
    assert host.value(path_of("vm.dirty_bytes")) == "0"
    assert host.value(path_of("vm.dirty_background_bytes")) == "314572800"


def test_tuned_keeps_its_values(tmp_path):
    host = BaseHost(tmp_path, "RHEL 9")
    host.tuned()
    host.fill(path_of(MAPS), "2147483647")
    found = present(host)
    assert found[MAPS]["verdict"] == "compliant"
    (remark,) = found[MAPS]["remarks"]
    assert "left to tuned (/usr/lib/tuned/sap-netweaver/tuned.conf line 7: 2147483647)" in remark
    assert found["kernel.sem"]["verdict"] == "drifted" and not host.exists(SYSCTL)
    assert found["kernel.sem"]["before"]["next_boot"] == {"kernel.sem": "32000 1024000000 500 32000"}
    host.fill("/etc/tuned/sap-netweaver/tuned.conf", "[sysctl]\nvm.max_map_count=>2000000")
    host.fill(path_of(MAPS), "2000000")
    assert "vm.max_map_count is 2000000, SAP asks for" in present(host)[MAPS]["reason"]


SITE = "[main]\ninclude=sap-netweaver\n[sysctl]\n%s\nvm.swappiness=5"
NOTE = "[version]\nVERSION=1\n[sysctl%s]\nvm.max_map_count=262144"
CONFIG, SLES_16 = "/etc/sysconfig/saptune", "/var/lib/saptune/config/saptune"
EXTRA, OVERRIDE = "/etc/saptune/extra/S.conf", "/etc/saptune/override/S"


@pytest.mark.parametrize(
    "files, boot, left",
    [
        # systemd-sysctl writes the text, and the kernel reads the number
        ({"/etc/sysctl.d/99-sap.conf": MAPS + " = 2147483647   # SAP Note 900929"}, "2147483647", ""),
        ({"/etc/sysctl.d/99-sap.conf": MAPS + ' = "2147483647"'}, '"2147483647" (not a number', ""),
        ({"/etc/sysctl.d/99-sap.conf": "vm.* = 70000\n-%s" % MAPS}, "the kernel's own value", ""),
        # profiles of tuned
        ({"/etc/tuned/site/tuned.conf": SITE % "drop=vm.max_map_count"}, "65530", ""),
        ({"/etc/tuned/site/tuned.conf": SITE % "kernel.sem=1"}, "2147483647", "tuned"),
        ({"/etc/tuned/site/tuned.conf": SITE % "enabled=false"}, "65530", ""),
        ({"/etc/tuned/site/tuned.conf": "[sysctl]\n%s=>60000" % MAPS}, "65530", "tuned"),
        ({"/etc/tuned/site/tuned.conf": "[sysctl]\nuname_regex=aarch64\n%s=9" % MAPS}, "65530", ""),
        ({"/etc/tuned/site/tuned.conf": "[main]\ninclude=gone\n[sysctl]\n%s=9" % MAPS}, "65530", ""),
        # it applies /etc/sysctl.d again, and never /usr
        ({"/etc/sysctl.d/50-a.conf": MAPS + "=7", "/etc/tuned/site/tuned.conf": SITE % ""}, "7", ""),
        (
            {
                "/etc/sysctl.d/50-a.conf": MAPS + "=7",
                "/etc/tuned/site/tuned.conf": SITE % "",
                "/etc/tuned/tuned-main.conf": "reapply_sysctl = 0",
            },
            "2147483647",
            "tuned",
        ),
        ({"/usr/lib/sysctl.d/99-a.conf": MAPS + "=7", "/etc/tuned/site/tuned.conf": SITE % ""}, "2147483647", "tuned"),
        # notes of saptune: the last one, its tags, its override
        ({CONFIG: 'NOTE_APPLY_ORDER="900929 S" # ours', EXTRA: NOTE % ""}, "262144", "saptune"),
        ({SLES_16: 'NOTE_APPLY_ORDER="S 900929"', EXTRA: NOTE % ""}, "2147483647", "saptune"),
        ({CONFIG: 'NOTE_APPLY_ORDER="S"', EXTRA: NOTE % "", OVERRIDE: "[sysctl]\n%s=" % MAPS}, "65530", ""),
        ({CONFIG: 'NOTE_APPLY_ORDER="S"', EXTRA: NOTE % "", OVERRIDE: "[sysctl]\n%s = '8'" % MAPS}, "8", "saptune"),
        ({CONFIG: 'NOTE_APPLY_ORDER="S"', EXTRA: NOTE % ":os=15-SP1:arch=ppc64le"}, "65530", ""),
        ({CONFIG: 'NOTE_APPLY_ORDER="S"', EXTRA: NOTE % ":os=15-SP6:arch=s390x"}, "262144", "saptune"),
        ({CONFIG: 'NOTE_APPLY_ORDER="S"', EXTRA: NOTE % ":os=15-[2,4-5,7-]"}, "65530", ""),
        ({CONFIG: 'NOTE_APPLY_ORDER="S"', EXTRA: NOTE % ":os=15-[-6]:kernel=6.4"}, "65530", ""),
        ({CONFIG: 'NOTE_APPLY_ORDER="S"', EXTRA: NOTE % ":os=15-*"}, "262144", "saptune"),
        # whether it is so is not judged
        ({CONFIG: 'NOTE_APPLY_ORDER="S"', EXTRA: NOTE % ":virt=zvm"}, "65530", ""),
    ],
)
def test_other_tools_merge_their_files_as_they_do(host, files, boot, left):
    host.fill("/usr/lib/systemd/systemd", "")
    host.fill("/proc/sys/kernel/arch", "s390x")
    host.fill("/var/lib/saptune/working/notes/900929", "[sysctl]\nvm.max_map_count=2147483647")
    host.tuned(text="[sysctl]\nvm.max_map_count = 2147483647")
    host.enable("saptune")
    host.fill("/etc/tuned/active_profile", "site")
    for path, text in files.items():
        host.fill(path, text)
    found = present(host, check=True)[MAPS]
    assert found["before"]["next_boot"][MAPS].startswith(boot)
    assert [left] == ([words.split("left to ")[1].split(" ")[0] for words in found["remarks"]] or [""])
    wins = [other["wins"] for other in found["conflicts"] if other["what"] == "saptune"]
    assert "yes" not in wins[:-1], "only the last note says that it wins"


@pytest.mark.parametrize(
    "note, override, size, words",
    [
        ("ShmFileSystemSizeMB=0\nVSZ_TMPFS_PERCENT=50", "", 26 * GIB, "line 3: 50"),
        ("ShmFileSystemSizeMB=0\nVSZ_TMPFS_PERCENT=0", "", 39 * GIB, "line 3: 75"),
        ("ShmFileSystemSizeMB=2048\nVSZ_TMPFS_PERCENT=75", "", 2 * GIB, "line 2: 2048"),
        ("ShmFileSystemSizeMB=0\nVSZ_TMPFS_PERCENT=75", "VSZ_TMPFS_PERCENT=25", 13 * GIB, "override/941735 line 2: 25"),
        ("ShmFileSystemSizeMB=0\nVSZ_TMPFS_PERCENT=75", "ShmFileSystemSizeMB=", 16 * GIB, ""),
        ("VSZ_TMPFS_PERCENT=75", "", 16 * GIB, ""),
    ],
)
def test_saptune_gives_dev_shm_a_size_or_a_percentage(host, note, override, size, words):
    host.enable("saptune")
    host.fill("/etc/sysconfig/saptune", 'NOTE_APPLY_ORDER="941735"')
    host.fill("/var/lib/saptune/working/notes/941735", "[mem]\n" + note)
    host.fill("/etc/saptune/override/941735", "[mem]\n" + override)
    found = records(host)["/dev/shm"]
    assert found["before"]["next_boot"] == {"/dev/shm": "%dk" % size}
    assert words in "".join(found["remarks"]) and bool(found["remarks"]) is bool(words)


@pytest.mark.parametrize(
    "before, after",
    [
        (
            "# first\ntmpfs\t/dev/shm  tmpfs noexec,size=8G,mode=1777\t0 0 # ours\n/x /y ext4 a 0 0\n",
            "# first\ntmpfs\t/dev/shm  tmpfs noexec,mode=1777,size=40894464k\t0 0 # ours\n/x /y ext4 a 0 0\n",
        ),
        ("", LINE),
        ("#tmpfs /dev/shm tmpfs size=1G\r\n", "#tmpfs /dev/shm tmpfs size=1G\r\n" + LINE),
        # bytes that are no text
        ("# gr\xfc\xdfe\r\n/x / ext4 a 0 1\x0c\n", "# gr\xfc\xdfe\r\n/x / ext4 a 0 1\x0c\n" + LINE),
        ("none /dev/shm tmpfs defaults,size=40G 0 0\n", "none /dev/shm tmpfs defaults,size=40G 0 0\n"),
        # the first of two lines counts
        (
            "tmpfs /dev/shm/ tmpfs size=2G 0 0\ntmpfs /dev/shm tmpfs size=50G 0 0\n",
            "tmpfs /dev/shm/ tmpfs size=40894464k 0 0\ntmpfs /dev/shm tmpfs size=50G 0 0\n",
        ),
    ],
)
def test_only_the_line_of_fstab_changes_and_comes_back(host, before, after):
    with open(host.path("/etc/fstab"), "wb") as stream:
        stream.write(before.encode("latin-1"))
    found = present(host)["/dev/shm"]
    assert found["verdict"] == "changed" and ("lines 1, 2" in "".join(found["remarks"])) is (before.count("/shm") == 2)
    assert host.bytes_of("/etc/fstab").decode("latin-1") == after
    assert present(host, check=True)["/dev/shm"]["verdict"] == "compliant"
    run(host, state="restored")
    assert host.bytes_of("/etc/fstab").decode("latin-1") == before


def test_of_other_peoples_lines_only_the_value_is_shown(host):
    host.fill("/etc/fstab", "tmpfs /dev/shm tmpfs size=8G,password=geheim 0 0 # geheim")
    host.fill("/proc/mounts", "tmpfs /dev/shm tmpfs rw,size=8388608k,password=geheim 0 0")
    host.fill("/etc/sysctl.d/zz.conf", "vm.max_map_count = 65530 # geheim")
    told = [run(host, check=True, state="present"), run(host, state="present"), run(host, state="restored")]
    assert "geheim" not in json.dumps(told) and "password=geheim" in host.read("/etc/fstab")
    found = by_subject(told[1])
    assert found["/dev/shm"]["before"]["stored"] == {"/dev/shm": "size=8G"}
    assert [one["value"] for one in found[MAPS]["conflicts"]] == ["65530"]


def test_which_sizes_are_enough(host):
    host.fill("/proc/mounts", "tmpfs /dev/shm tmpfs rw,nosuid,nodev 0 0")
    found = records(host)["/dev/shm"]
    assert found["before"]["running"] == {"/dev/shm": "%dk" % (16 * GIB)}
    assert "is 16.0 GiB, SAP asks for 75 % of memory and swap, at least 38.0 GiB" in found["reason"]
    # a larger one is never shrunk
    host.fill("/proc/mounts", "tmpfs /dev/shm tmpfs rw,size=%dk 0 0" % (60 * GIB))
    found = present(host)["/dev/shm"]
    assert found["verdict"] == "changed" and found["after"]["running"] == {"/dev/shm": "%dk" % (60 * GIB)}
    assert not [entry for entry in host.log if entry[0] == "mount"]
    run(host, state="restored")
    host.fill("/proc/mounts", "tmpfs /dev/shm tmpfs rw,size=%dk 0 0" % (38 * GIB))
    host.fill("/etc/fstab", "tmpfs /dev/shm tmpfs size=38g 0 0")
    assert present(host)["/dev/shm"]["verdict"] == "compliant"


@pytest.mark.parametrize(
    "size, shown, said",
    [("1T", "1073741824k", "1048576 MB"), ("2e", "2251799813685248k", "MB"), ("0", "0k", "no limit")],
)
def test_a_larger_size_in_any_unit_and_no_limit_stay(host, size, shown, said):
    host.fill("/etc/fstab", "tmpfs /dev/shm tmpfs size=%s 0 0" % size)
    host.fill("/proc/mounts", "tmpfs /dev/shm tmpfs rw,size=%s 0 0" % shown)
    found = present(host)["/dev/shm"]
    assert (found["verdict"], found["after"]["next_boot"]) == ("compliant", {"/dev/shm": shown})
    assert "size=%s 0 0" % size in host.read("/etc/fstab")
    told = base_shared_memory.remarks(host)[-1]
    assert told.startswith("/dev/shm has") and said in told and "too small" not in told
    assert base_shared_memory.SharedMemory(host).parse("1") == 1


@pytest.mark.parametrize(
    "command, name, boot",
    [
        ("sysctl -w vm.max_map_count=0x7fffffff", MAPS, None),
        ("sh -c 'echo 017777777777 > /proc/sys/vm/max_map_count'", MAPS, None),
        ("sysctl -w vm.dirty_bytes=0x25800000", "vm.dirty_bytes", None),
        ("sysctl -w vm.dirty_ratio=0x14", "vm.dirty_bytes", "ratio 20"),
    ],
)
def test_a_number_in_a_unit_is_that_of_the_kernel(host, command, name, boot):
    host.fill("/etc/systemd/system/site.service", "[Service]\nExecStart=/sbin/%s\n" % command)
    host.enable("site")
    for verdict in ("changed", "compliant"):
        found = present(host)[name.replace("_bytes", "")]
        assert found["verdict"] == ("drifted" if boot else verdict)
        assert found["after"]["next_boot"][name] == (boot or found["after"]["running"][name])


def test_a_refused_remount_leaves_fstab_as_it_was_and_a_used_tmpfs_its_size(host, monkeypatch):
    host.refuses = "mount: /dev/shm: permission denied."
    result = run(host, state="present")
    assert result["failed"] and "size=40894464k /dev/shm: mount: /dev/shm: permission denied." in result["msg"]
    assert host.bytes_of("/etc/fstab") == FSTAB.encode()
    assert {one["subject"]: one["verdict"] for one in result["tuning"]}[MAPS] == "changed"
    host.refuses = None
    with pytest.raises(HostError, match="has no options; write 'defaults' there"):
        base_shared_memory.SharedMemory(host).line("tmpfs /dev/shm tmpfs")
    present(host)
    monkeypatch.setattr(base_shared_memory.SharedMemory, "used", lambda _self: True)
    found = records(host, state="restored")["/dev/shm"]
    assert found["verdict"] == "changed" and "keeps its size until the next boot" in found["remarks"][0]
    assert "/dev/shm" not in host.read("/etc/fstab") and "size=40894464k" in host.read("/proc/mounts")
    assert host.read(JOURNAL) is None


@pytest.mark.parametrize(
    "mounts", ["", "none /dev/shm ramfs rw 0 0", "tmpfs /dev/shm tmpfs rw,size=1k 0 0\nnone /dev/shm ramfs rw 0 0"]
)
def test_a_host_without_the_tmpfs_is_unsupported(host, mounts):
    host.fill("/proc/mounts", mounts)
    assert present(host)["/dev/shm"]["verdict"] == "unsupported"


def test_a_damaged_name_in_a_journal_does_not_stop_the_rollback(host):
    present(host, items=list(ITEMS))
    text = host.read(JOURNAL)
    # all values of a real journal are legible
    assert text.count('"first"') > 15 and records(host, state="restored", check=True)
    host.fill(JOURNAL, text.replace('"subject": "kernel.pid_max"', '"subject": "kernel.no_max"').rstrip("\n"))
    assert not run(host, state="restored")["failed"]
    assert host.value(path_of(MAPS)) == "65530"


@pytest.fixture
def module(host, monkeypatch, capsys):
    monkeypatch.setattr(entry_point, "Host", lambda: host)
    return caller(system_base.main, monkeypatch, capsys)


def test_values_of_an_earlier_call_are_no_longer_asked_for(host, module):
    module(state="present")
    found = by_subject(module(complete=True))
    for name, words in (
        (MAPS, "vm.max_map_count: 2147483647, wanted 65530"),
        ("vm.dirty", "vm.dirty_bytes: 629145600, wanted ratio 20"),
        ("/dev/shm", "size=40894464k, wanted absent"),
    ):
        assert found[name]["verdict"] == "drifted" and words in found[name]["reason"]
        assert "set by this collection and no longer asked for; ansible-playbook" in found[name]["reason"]
        # what the host has is shown
        assert found[name]["before"]["stored"]
    assert found["transparent_hugepage"]["verdict"] == "compliant"
    # nor is what a tool takes over later
    host.sapconf()
    found = by_subject(module(state="present", complete=True))
    assert found[MAPS]["verdict"] == "drifted" and "no longer asked for" in found[MAPS]["reason"]
    assert "left to sapconf" in found[MAPS]["remarks"][0] and found["kernel.pid_max"]["verdict"] == "compliant"
    module(state="restored")
    assert {one["verdict"] for one in module(complete=True)["tuning"]} == {"compliant", "observed", "not_applicable"}
