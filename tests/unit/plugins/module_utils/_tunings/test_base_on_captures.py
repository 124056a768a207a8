# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tuning system_base on captures: what they lack is unknown, neither drift nor unsupported."""

import os

import captures
import pytest
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
    return captures.looked(SystemBase, captures.written(folder, data), **given)


PROC_SYS = {"/proc/sys/" + name.replace(".", "/"): value + "\n" for name, value in VALUES.items()}


def dbginfo(without=(), **changed):
    files = {path: FILES[path] for path in FILES if path not in without}
    return captures.dbginfo(dict(files, **changed), values=VALUES)


def sos():
    files = {path: FILES[path] for path in FILES if path not in ("/proc/meminfo", "/proc/mounts", HUGE)}
    return captures.sos(dict(files, **PROC_SYS))


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
    # a right value that another file may store is not a drift
    found = records(tmp_path, data(), state="present")
    assert found[MAPS]["verdict"] == "unknown"
    assert "what others store is not known" in found[MAPS]["reason"]
    assert found["kernel.pid_max"]["verdict"] == "drifted"


@pytest.mark.parametrize("state", ["observe", "present"])
@pytest.mark.parametrize(
    "item, row", [("nofile", "nofile"), ("uuidd.socket", "uuidd"), ("io_scheduler", "I/O scheduler")]
)
def test_what_is_set_on_request_is_not_judged(tmp_path, item, row, state):
    found = records(tmp_path, dbginfo(), state=state, items=[item])[item]
    reason = "not judged in a capture; what it holds of %s is a row of the platform" % row
    assert (found["verdict"], found["reason"]) == ("unknown", reason)


@pytest.mark.parametrize("state", ["observe", "present"])
def test_what_a_capture_lacks_is_unknown(tmp_path, state):
    for data in (sos(), supportconfig()):
        found = records(tmp_path, data, state=state)
        assert {found[subject]["verdict"] for subject in (SHM, "vm.dirty", "transparent_hugepage")} == {"unknown"}
    record = records(tmp_path, dbginfo(), state=state)[SHM]
    assert (record["verdict"], record["reason"]) == ("unknown", "/dev/shm (stored): dbginfo.sh does not copy it")
    assert record["before"]["running"] == {SHM: "13000000k"}
    found = records(tmp_path, dbginfo(without=["/etc/os-release"]), state=state)
    assert found["kernel.pid_max"]["verdict"] == found["kernel.sem"]["verdict"] == "unknown"
    assert found[MAPS]["verdict"] == ("compliant" if state == "observe" else "unknown")


MOUNTS = "/proc/mounts"


@pytest.mark.parametrize(
    "build, changed, words",
    [
        # what is only observed is said beside what is unknown
        (dbginfo, {MOUNTS: "tmpfs /dev/shm tmpfs rw 0 0\n"}, "only observed: /dev/shm is 8.0 GiB"),
        (None, {"/proc/meminfo": None}, "/proc/meminfo"),
        # a link that was copied without its file
        (None, {MOUNTS: {"link": "self/mounts"}}, "the tree has no /proc/mounts, which every Linux has"),
    ],
)
def test_what_a_capture_does_not_hold_of_the_tmpfs_is_unknown(tmp_path, build, changed, words):
    plain = dict(FILES, **dict(PROC_SYS, **{"/etc/fstab": "\n", "/sys/kernel/x": "1"}))
    plain.update(changed)
    data = build(**changed) if build else captures.plain({path: text for path, text in plain.items() if text})
    record = records(tmp_path, data)[SHM]
    assert record["verdict"] == "unknown" and words in record["reason"]
