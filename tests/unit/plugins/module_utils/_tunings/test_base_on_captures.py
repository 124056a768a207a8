# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tuning system_base on captures: what they lack is unknown, neither drift nor unsupported."""

import os

import captures
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.entry_point import argument_spec, outcome
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.system_base import SystemBase
from basekernel import HUGE, RELEASES, SYSCTLS

MAPS, SHM = "vm.max_map_count", "/dev/shm"
GIB_16 = "MemTotal:       16777216 kB\nSwapTotal:       0 kB\n"
VALUES = dict(SYSCTLS, **{MAPS: "2147483647"})
FILES = {
    "/etc/os-release": RELEASES["SLES 15"] + "\n",
    "/proc/version": "Linux version 6.4.0-150600 (x) #1\n",
    "/proc/meminfo": GIB_16,
    "/proc/mounts": "tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=13000000k 0 0\n",
    "/proc/cpuinfo": "vendor_id : IBM/S390\n",
    HUGE: "always [madvise] never\n",
    "/etc/sysctl.d/99-site.conf": "vm.swappiness = 10\n",
}


@pytest.fixture(autouse=True)
def this_machine_is_not_asked(monkeypatch):
    def refuse(path):
        raise AssertionError("statvfs of %s" % path)

    monkeypatch.setattr(os, "statvfs", refuse)


def records(folder, data, **given):
    path = folder / "capture.tgz"
    path.write_bytes(data)
    params = {name: option.get("default") for name, option in argument_spec(SystemBase).items()}
    result = outcome(SystemBase, dict(params, root=str(path), **given), True)
    assert not result["failed"], result
    return {record["subject"]: record for record in result["tuning"]}


def dbginfo(without=()):
    return captures.dbginfo({path: FILES[path] for path in FILES if path not in without}, values=VALUES)


def sos():
    files = {path: FILES[path] for path in FILES if path not in ("/proc/meminfo", "/proc/mounts", HUGE)}
    files.update({"/proc/sys/" + name.replace(".", "/"): VALUES[name] + "\n" for name in VALUES})
    return captures.sos(files)


def supportconfig():
    env = captures.section("Command", "/usr/sbin/sysctl -a", captures.sysctl(VALUES))
    basic = captures.section("Configuration File", "/etc/os-release", RELEASES["SLES 15"])
    return captures.supportconfig({"env.txt": env, "basic-environment.txt": basic, "etc.txt": ""})


@pytest.mark.parametrize("data", [dbginfo, sos, supportconfig])
def test_observed_values_of_a_capture_are_judged(tmp_path, data):
    found = records(tmp_path, data())
    assert found[MAPS]["verdict"] == "compliant" and found[MAPS]["reason"] == ""
    observed = found["kernel.pid_max"]
    assert observed["verdict"] == "observed"
    assert observed["reason"].startswith("only observed: kernel.pid_max is 32768, SAP asks for at least 4194304")


@pytest.mark.parametrize("state", ["observe", "present"])
@pytest.mark.parametrize(
    "item, row", [("nofile", "nofile"), ("uuidd.socket", "uuidd"), ("io_scheduler", "I/O scheduler")]
)
def test_what_is_set_on_request_is_not_judged(tmp_path, item, row, state):
    found = records(tmp_path, dbginfo(), state=state, items=[item])[item]
    reason = "not judged in a capture; what it holds of %s is a row of the platform" % row
    assert (found["verdict"], found["reason"]) == ("unknown", reason)


@pytest.mark.parametrize("data", [sos, supportconfig])
@pytest.mark.parametrize("state", ["observe", "present"])
def test_memory_that_a_capture_lacks_is_unknown(tmp_path, data, state):
    found = records(tmp_path, data(), state=state)
    assert {found[subject]["verdict"] for subject in (SHM, "vm.dirty", "transparent_hugepage")} == {"unknown"}


@pytest.mark.parametrize("data", [dbginfo, sos, supportconfig])
def test_a_right_value_that_another_file_may_store_is_no_drift(tmp_path, data):
    found = records(tmp_path, data(), state="present")
    assert found[MAPS]["verdict"] == "unknown"
    assert "what others store is not known" in found[MAPS]["reason"]
    assert found["kernel.pid_max"]["verdict"] == "drifted"


@pytest.mark.parametrize("state", ["observe", "present"])
def test_an_fstab_that_a_capture_lacks_is_unknown(tmp_path, state):
    record = records(tmp_path, dbginfo(), state=state)[SHM]
    assert record["verdict"] == "unknown"
    assert record["reason"] == "/dev/shm (stored): dbginfo.sh does not copy it"
    assert record["before"]["running"] == {SHM: "13000000k"}


def test_what_is_only_observed_is_said_beside_what_is_unknown(tmp_path):
    data = captures.dbginfo(dict(FILES, **{"/proc/mounts": "tmpfs /dev/shm tmpfs rw 0 0\n"}), values=VALUES)
    record = records(tmp_path, data)[SHM]
    assert record["verdict"] == "unknown" and "only observed: /dev/shm is 8.0 GiB" in record["reason"]


def test_a_tmpfs_of_a_capture_without_the_memory_is_unknown(tmp_path):
    entries = dict(FILES, **{"/etc/fstab": "\n", "/sys/kernel/x": "1"})
    del entries["/proc/meminfo"]
    entries.update({"/proc/sys/" + name.replace(".", "/"): VALUES[name] + "\n" for name in VALUES})
    record = records(tmp_path, captures.plain(entries))[SHM]
    assert record["verdict"] == "unknown" and "/proc/meminfo" in record["reason"]


def test_mounts_whose_link_was_copied_without_its_file_are_unknown(tmp_path):
    entries = dict(FILES, **{"/proc/mounts": {"link": "self/mounts"}, "/etc/fstab": "\n", "/sys/kernel/x": "1"})
    entries.update({"/proc/sys/" + name.replace(".", "/"): VALUES[name] + "\n" for name in VALUES})
    record = records(tmp_path, captures.plain(entries))[SHM]
    assert record["verdict"] == "unknown"
    assert "the tree has no /proc/mounts, which every Linux has: it was not copied" in record["reason"]


def test_without_the_release_only_its_values_are_unknown(tmp_path):
    found = records(tmp_path, dbginfo(without=["/etc/os-release"]))
    assert found["kernel.pid_max"]["verdict"] == found["kernel.sem"]["verdict"] == "unknown"
    assert found[MAPS]["verdict"] == "compliant"
