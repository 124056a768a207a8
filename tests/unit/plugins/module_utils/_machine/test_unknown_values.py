# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a capture does not hold is unknown, and what cannot be read stops no facts."""

import errno
import os

import captured
import captures
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import checks, facts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import (
    ReadingHost,
    host_and_system,
    opened,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_polarization import CpuPolarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.hiperdispatch import Hiperdispatch
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.qeth import Qeth
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc import Smc
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_sysctls import SmcSysctls
from captures import look, written
from qethhost import rules_text

VERTICAL = "lpar-linux-6.1-vertical"
TMPFILES = "/etc/tmpfiles.d/91-zpower-sap-tuning-cpu-polarization.conf"
SYSCTL_D = "/etc/sysctl.d/91-zpower-sap-tuning-smc-sysctls.conf"
LINE = "w /sys/devices/system/cpu/dispatching - - - - 1"
OURS = "# zpower.sap_tuning begin dispatching\n%s\n# zpower.sap_tuning end dispatching\n" % LINE


def vertical(folder):
    """The path of a packed tree of an LPAR, without anything below /etc."""
    return written(folder, captures.plain(captured.entries(VERTICAL)))


def only(result):
    assert not result["failed"], result
    (record,) = result["tuning"]
    return record


def polarization(root, **given):
    return only(look(CpuPolarization, root, **dict(dict(mode="vertical", wait_timeout=1), **given)))


def test_a_stored_value_that_the_capture_cannot_hold_is_unknown(tmp_path):
    record = polarization(vertical(tmp_path))
    assert record["verdict"] == "unknown"
    assert record["reason"] == "dispatching tmpfiles.d (stored): the tree has no /etc: it was not copied"
    assert record["before"]["running"] == {"dispatching": "vertical"}
    assert record["after"]["next_boot"] is None
    (remark,) = [text for text in record["remarks"] if text.startswith("not in this capture, so settings there are")]
    assert ": /etc, /lib, /run, " in remark
    record = polarization(vertical(tmp_path), mode="horizontal")
    assert record["verdict"] == "drifted"
    assert record["reason"].startswith("dispatching: vertical, wanted horizontal")
    captured.grow(tmp_path, captured.entries(VERTICAL))
    assert polarization(str(tmp_path))["verdict"] == "unknown"


def test_a_tree_with_all_values_is_judged_as_the_machine(tmp_path):
    entries = dict(captured.entries(VERTICAL), **{TMPFILES: OURS, "/etc/hostname": "prdapp1\n"})
    folders = ("/usr/lib/tmpfiles.d", "/run/tmpfiles.d", "/lib/tmpfiles.d", "/usr/local/lib/tmpfiles.d")
    entries.update(dict.fromkeys(folders, {"folder": True}))
    record = polarization(written(tmp_path, captures.plain(entries)))
    assert record["after"]["stored"] == {"tmpfiles.d": "vertical"}
    assert record["verdict"] == "compliant"


def test_a_block_without_its_marks_is_unknown(tmp_path):
    values = {"net.smc.wmem": "131072", "kernel.ostype": "Linux"}
    env = captures.section("Command", "/usr/sbin/sysctl -a", captures.sysctl(values))
    env += captures.section("Configuration File", SYSCTL_D, "net.smc.wmem = 131072")
    root = written(tmp_path, captures.supportconfig({"env.txt": env}))
    record = only(look(SmcSysctls, root, settings={"wmem": 131072}))
    assert record["verdict"] == "unknown" and "a supportconfig has no comments" in record["reason"], record
    assert record["before"]["running"] == {"net.smc.wmem": "131072"}


def test_an_interface_that_may_exist_is_unknown(tmp_path):
    root = written(tmp_path, captures.sos({"/proc/cpuinfo": "vendor_id : IBM/S390\n", "/sys/kernel/x": "1"}))
    record = only(look(Rps, root, interfaces=["hsi0"], cpus="all"))
    assert record["verdict"] == "unknown" and "not in this capture: " in record["reason"]


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (SmcSysctls, dict(settings={"vmem": 1}), "there is no setting 'vmem'"),
        (CpuPolarization, dict(mode="vertical", check=False), "give the task check_mode: true"),
        (CpuPolarization, dict(mode="vertical", state="restored"), "leave out state and checkpoint"),
        (CpuPolarization, dict(mode="vertical", checkpoint="x"), "leave out state and checkpoint"),
        (CpuPolarization, dict(mode="vertical", root="nowhere"), "the capture"),
        (CpuPolarization, dict(mode="vertical", root="\ud800"), "the capture"),
        (CpuPolarization, dict(mode="vertical", root="a\0b"), "the capture"),
    ],
)
def test_a_mistake_in_the_request_stays_a_mistake(tmp_path, kind, given, said):
    result = look(kind, **dict({"root": vertical(tmp_path)}, **given))
    assert result["failed"] and said in result["msg"]


def rows(root, **given):
    host, system = host_and_system(root)
    asked = dict(dict(threads_per_core=None, database_host=None, smc_peers=[], tunings=[]), **given)
    return {record["subject"]: record for record in checks.records(host, system, **asked)}


def test_the_platform_and_the_facts_of_a_capture(tmp_path):
    root = written(tmp_path, captures.dbginfo(captured.entries(VERTICAL)))
    found = rows(root, database_host=["sapdb1"], smc_peers=["sapdb1"])
    assert found["capture"]["verdict"] == "compliant"
    assert found["capture"]["reason"].startswith("dbginfo of prdapp1, taken 2026-11-20")
    assert found["SMT"]["verdict"] == "compliant"
    assert found["HiperSockets"]["verdict"] == found["SMC"]["verdict"] == "unknown"
    host, system = host_and_system(root)
    found = facts.facts(host, system)
    assert (found["virtualization"], found["dispatching"]) == ("lpar", "vertical")
    assert found["smc"] is None and host.summary() == []
    # an SAP instance that the capture cannot hold
    record = only(look(Smc, root, instances=["PRD_00"]))
    assert record["verdict"] == "unknown"
    assert "not in this capture: /usr" in record["reason"] and "has no instance PRD_00" in record["reason"]


def test_smt_that_the_capture_does_not_tell_is_unknown(tmp_path):
    root = written(tmp_path, captures.supportconfig({"env.txt": captures.section("Command", "/sbin/sysctl -a")}))
    assert rows(root)["SMT"]["verdict"] == "unknown"


def test_a_kernel_whose_own_value_is_unknown_needs_no_stored_one(tmp_path):
    values = {"s390.hiperdispatch": "1", "kernel.ostype": "Linux"}
    root = written(tmp_path, captures.dbginfo(captured.entries("lpar-linux-6.12-vertical"), values=values))
    record = only(look(Hiperdispatch, root))
    assert record["verdict"] == "unknown" and "no configuration of the kernel" in record["reason"], record
    assert record["before"]["running"]["s390.hiperdispatch"] == "1"
    record = only(look(Hiperdispatch, root, enabled=False))
    assert record["verdict"] == "drifted"


def test_qeth_devices_of_a_capture(tmp_path):
    """Without the link to its device, a bus id is not known; a stored number is shown, or unknown."""
    entries = synthetic.zvm_guest()
    records = look(Qeth, written(tmp_path, captures.plain(entries)))["tuning"]
    assert [(one["subject"], one["verdict"]) for one in records] == [("enc600", "unknown"), ("enc700", "unknown")]
    assert records[0]["reason"].endswith("not in this capture: the bus id of its device")
    device = "/sys/devices/qeth/0.0.0600"
    moved = {path.replace("/sys/class/net/enc600/device", device): entry for path, entry in entries.items()}
    moved["/sys/class/net/enc600/device"] = {"link": "../../../devices/qeth/0.0.0600"}
    bare = only(look(Qeth, written(tmp_path, captures.plain(moved)), devices=["enc600"]))
    assert bare["subject"] == "0.0.0600" and bare["verdict"] == "unknown"
    assert "(stored): the tree has no /etc: it was not copied" in bare["reason"]
    moved["/etc/udev/rules.d/41-qeth-0.0.0600.rules"] = rules_text("0.0.0600", buffer_count="16")
    found = only(look(Qeth, written(tmp_path, captures.plain(moved)), devices=["enc600"]))
    assert found["verdict"] == "drifted" and found["before"]["stored"] == {"buffer_count": "16"}


@pytest.fixture
def root(tmp_path):
    for folder in ("proc", "sys", "etc", "usr/lib"):
        (tmp_path / "tree" / folder).mkdir(parents=True)
    (tmp_path / "secret").write_text("of this machine")
    return tmp_path / "tree"


def test_links_in_a_circle_and_long_chains_and_targets_end(root):
    (root / "etc/a").symlink_to("b")
    (root / "etc/b").symlink_to("a")
    for number in range(60):
        (root / ("etc/l%d" % number)).symlink_to("/etc/l%d" % (number + 1))
    (root / "etc/l60").symlink_to(str(root.parent / "secret"))
    (root / "etc/deep").symlink_to("/".join(["x"] * 1500))
    host = opened(str(root))
    assert [host.read("/etc/" + name) for name in ("a", "l0", "l50", "deep")] == [None] * 4
    assert host.listdir("/etc/a") == []


def test_only_files_of_a_reasonable_size_are_read(root):
    os.mkfifo(str(root / "proc/sysinfo"))
    (root / "proc/cpuinfo").mkdir()
    with open(str(root / "proc/huge"), "wb") as stream:
        stream.truncate(1 << 40)
    host = ReadingHost(str(root))
    assert [host.read("/proc/" + name) for name in ("sysinfo", "cpuinfo", "huge")] == [None] * 3
    assert host.remarks == [
        "cannot read /proc/sysinfo: it is not a regular file",
        "cannot read /proc/huge: it is larger than 64 MiB",
    ]
    (root / "etc/value").write_text("x" * 5000)
    assert len(host.read("/etc/value")) == 5000 and host.value("/etc/value") is None


class Failing(ReadingHost):
    errors = {}

    def _content(self, path, target, follow):
        if path in self.errors:
            raise OSError(self.errors[path], os.strerror(self.errors[path]))
        return super()._content(path, target, follow)


@pytest.mark.parametrize(
    "number, said",
    [(number, True) for number in (errno.EIO, errno.EACCES, errno.EPERM)]
    + [(number, False) for number in (errno.ENODEV, errno.EINVAL, errno.ENOENT, errno.ENXIO)],
)
def test_what_exists_and_cannot_be_read_is_said_once(root, number, said):
    host = Failing(str(root))
    host.errors = {"/proc/sysinfo": number}
    assert [host.read("/proc/sysinfo"), host.value("/proc/sysinfo")] == [None, None]
    assert host.summary() == (["cannot read /proc/sysinfo: %s" % os.strerror(number)] if said else [])


def test_a_folder_that_cannot_be_listed(root, monkeypatch):
    def refuse(path):
        raise OSError(errno.EACCES, "no")

    monkeypatch.setattr(os, "listdir", refuse)
    host = ReadingHost(str(root))
    assert host.listdir("/usr/sap") == []
    assert host.summary() == ["cannot list /usr/sap: Permission denied"]


def test_many_remarks_are_merged_into_few(root):
    host = Failing(str(root))
    host.errors = {"/f%d" % number: errno.EIO for number in range(9)}
    for path in host.errors:
        host.read(path)
    assert len(host.summary()) == 6 and host.summary()[-1] == "4 more files could not be read"
