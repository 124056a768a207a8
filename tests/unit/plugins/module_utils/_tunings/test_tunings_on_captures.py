# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tunings on captures of real and made machines: what these do not hold is unknown, and this machine is not asked."""

import functools
import os
import platform
import shutil
import socket

import captured
import captures
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.drop_ins import DropIn
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._smc import boot as smc_boot
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_polarization import MIXED, CpuPolarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_topology import CpuTopology
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.hiperdispatch import Hiperdispatch
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc import Smc
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.system_base import SystemBase
from basekernel import HUGE, RELEASES, SYSCTLS
from captures import look, looked, written
from kernel import rps_params
from runs import only, runner
from sapsystem import D00
from smcsystem import SmcSapHost

NO_SMC = "protocol  size sockets\nTCP       2432      5\n"
SMC = NO_SMC + "SMC       1234      1\n"
FILES = {
    "/proc/version": "Linux version 6.4.0-150600 (x) #1\n",
    "/proc/cpuinfo": "vendor_id : IBM/S390\n",
    "/proc/net/protocols": SMC,
    "/sys/class/net/enc600/flags": "0x1003\n",
    "/etc/modules-load.d/91-zpower-sap-tuning-smc.conf": (
        "# zpower.sap_tuning begin smc\nsmc\n# zpower.sap_tuning end smc\n"
    ),
}
ENTRIES = [dict(name="SAPNET", interface="enc600", device=None, pci=None, port=None)]
ENTRIES.append(dict(name="SAPNET", interface=None, device="mlx5_0", pci=None, port=None))


@pytest.fixture(autouse=True)
def this_machine_is_not_asked(monkeypatch):
    def refuse(*dummy, **more):
        raise AssertionError("this machine was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(os, "statvfs", refuse)
    monkeypatch.setattr(platform, "system", lambda: "Darwin")


records = functools.partial(looked, Smc)


@pytest.fixture
def machine(tmp_path):
    """The tree of a machine with SAP, without processes, and the line in its profile."""
    host = SmcSapHost(tmp_path)
    for number in ("00", "01"):
        host.end(number)
    for path in ("/sys/devices/system/cpu/online", "/etc/modules-load.d/x.conf"):
        host.write_text(path, "0\n")
    host.fill(D00, host.data(D00) + b"\nSETENV_00 = LD_PRELOAD=libsmc-preload.so\n")
    return host


@pytest.mark.parametrize("build", [captures.sos, captures.plain])
def test_tables_of_the_kernel_and_devices_are_unknown(tmp_path, build):
    found = records(written(tmp_path, build(FILES)), pnet_ids=ENTRIES[:1], ueids=["UE1"])
    for subject in ("PNET IDs", "UEIDs"):
        assert found[subject]["verdict"] == "unknown"
        assert "(running): no capture holds the kernel's table" in found[subject]["reason"]
    assert "no device" not in found["kernel"]["reason"] and "PNET ID SAPNET" not in found["kernel"]["reason"]
    # nor is an interface that a capture lacks drift
    files = {path: FILES[path] for path in FILES if not path.startswith("/sys/")}
    reason = records(written(tmp_path, captures.sos(files)), pnet_ids=ENTRIES)["kernel"]["reason"]
    assert "there is no device mlx5_0" not in reason


@pytest.mark.parametrize("build", [captures.sos, captures.dbginfo])
def test_modules_that_a_capture_lacks_leave_the_kernel_unknown(tmp_path, build):
    root = written(tmp_path, build(dict(FILES, **{"/proc/net/protocols": NO_SMC})))
    found = records(root, pnet_ids=ENTRIES, ueids=["UE1"])
    assert {record["verdict"] for record in found.values()} == {"unknown"}
    assert all(record["reason"].startswith("whether the kernel has SMC is not known") for record in found.values())


def test_the_boot_unit_keeps_the_python_of_the_captured_machine(tmp_path):
    def lines(python):
        drop_in = smc_boot.BootService(SmcSapHost(tmp_path / python.strip("/").replace("/", "-")))
        command = "%s -I %s %s" % (python, drop_in._archive, smc_boot.UNIT)
        unit = DropIn(drop_in._host, smc_boot.UNIT, "")
        before = " ".join(smc_boot._BEFORE)
        unit.put("start", "[Unit]\nBefore=%s\n[Service]\nExecStart=%s" % (before, command))
        return drop_in._host.read(smc_boot.UNIT)

    files = dict(FILES, **{smc_boot.UNIT: lines("/usr/bin/python3.6"), "/run/systemd/system/x": "y"})
    found = records(written(tmp_path, captures.sos(files)), pnet_ids=ENTRIES[:1])
    assert "start" not in found["kernel"]["reason"]
    files[smc_boot.UNIT] = files[smc_boot.UNIT].replace("sapinit", "another")
    found = records(written(tmp_path, captures.sos(files)), pnet_ids=ENTRIES[:1])
    assert "start: before another.service" in found["kernel"]["reason"]


def test_processes_that_a_capture_lacks_are_unknown(machine):
    record = records(machine.root, instances=["PRD_00"])[D00]
    assert record["verdict"] == "unknown"
    assert record["before"]["stored"] == {"LD_PRELOAD": "libsmc-preload.so"}
    assert not any("no running process" in remark for remark in record["remarks"])
    # so are those without their maps
    machine.process(100, "dw.sapPRD_D00", D00, "libsmc-preload.so")
    machine.remove("/proc/100/maps")
    assert records(machine.root, instances=["PRD_00"])[D00]["verdict"] == "unknown"
    # and libraries and modules that a capture lacks are no danger
    for folder in ("/lib", "/usr/lib64"):
        shutil.rmtree(machine.path(folder))
    record = records(machine.root, instances=["PRD_00"])[D00]
    assert record["verdict"] == "unknown" and "DANGER" not in record["reason"] and "is gone" not in record["reason"]


@pytest.mark.parametrize("build", [captures.sos, captures.dbginfo, captures.plain])
def test_an_instance_that_a_capture_cannot_hold_is_unknown(tmp_path, build):
    root = written(tmp_path, build(FILES))
    found = records(root, instances=["PRD_00"])["all"]
    assert found["verdict"] == "unknown" and "this host has no instance PRD_00" in found["reason"]
    (profile,) = look(SapProfile, root, sid="PRD", instance="D00", parameters={"rdisp/wp_no_btc": "8"})["tuning"]
    assert profile["verdict"] == "unknown"
    result = look(Smc, root, pnet_ids=[dict(ENTRIES[0], name="no id")])
    assert result["failed"] and "'no id' is not a PNET ID" in result["msg"]


MAPS, SHM = "vm.max_map_count", "/dev/shm"
GIB_16 = "MemTotal:       16777216 kB\nSwapTotal:       0 kB\n"
VALUES = dict(SYSCTLS, **{MAPS: "2147483647"})
BASE_FILES = {
    "/etc/os-release": RELEASES["SLES 15"] + "\n",
    "/proc/version": "Linux version 6.4.0-150600 (x) #1\n",
    "/proc/meminfo": GIB_16,
    "/proc/mounts": "tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=13000000k 0 0\n",
    "/proc/cpuinfo": "vendor_id : IBM/S390\n",
    HUGE: "always [madvise] never\n",
    "/etc/sysctl.d/99-site.conf": "vm.swappiness = 10\n",
}


MANY = "9" * 5000
WORK_PROCESS = {
    "/etc/passwd": "prdadm:x:1001:1001::/:/bin/sh\n",
    "/usr/sap/PRD/SYS/profile/PRD_D00_h": "SAPSYSTEMNAME=PRD\n",
    "/usr/sap/PRD/SYS/profile/DEFAULT.PFL": "a=1\n",
    "/usr/sap/PRD/D00/work/dev_w0": "",
    "/proc/77/cmdline": "dw.sapPRD_D00\0pf=/usr/sap/PRD/SYS/profile/PRD_D00_h\0",
    "/proc/77/stat": "77 (x) S " + " ".join(["1"] * 48),
    "/proc/77/status": "Uid:\t1001\t1001\n",
    "/sys/x": "",
}


# Python 3.11 and later refuse to read them
@pytest.mark.parametrize(
    "path, text",
    [
        ("/proc/meminfo", "MemTotal: %s kB\n" % MANY),
        ("/proc/sys/vm/max_map_count", MANY),
        ("/etc/fstab", "tmpfs /dev/shm tmpfs size=%sk 0 0\n" % MANY),
        ("/proc/77/status", "Uid:\t%s\t%s\n" % (MANY, MANY)),
        ("/proc/sys/kernel/osrelease", "%s.%s" % (MANY, MANY)),
    ],
)
def test_numbers_of_thousands_of_digits_are_none(tmp_path, path, text):
    root = written(tmp_path, captures.plain(dict(BASE_FILES, **dict(WORK_PROCESS, **{path: text}))))
    request = dict(sid="PRD", instance="D00", presets=["realtime_scheduler", "memory_map"], accept_realtime=True)
    for kind, given in ((SystemBase, {}), (SapProfile, request)):
        assert not look(kind, root, **given)["failed"]


def of_base(folder, data, **given):
    return captures.looked(SystemBase, captures.written(folder, data), **given)


PROC_SYS = {"/proc/sys/" + name.replace(".", "/"): value + "\n" for name, value in VALUES.items()}


def dbginfo(without=(), **changed):
    files = {path: BASE_FILES[path] for path in BASE_FILES if path not in without}
    return captures.dbginfo(dict(files, **changed), values=VALUES)


def sos():
    files = {path: BASE_FILES[path] for path in BASE_FILES if path not in ("/proc/meminfo", "/proc/mounts", HUGE)}
    return captures.sos(dict(files, **PROC_SYS))


def supportconfig():
    env = captures.section("Command", "/usr/sbin/sysctl -a", captures.sysctl(VALUES))
    basic = captures.section("Configuration File", "/etc/os-release", RELEASES["SLES 15"])
    return captures.supportconfig({"env.txt": env, "basic-environment.txt": basic, "etc.txt": ""})


@pytest.mark.parametrize("data", [dbginfo, sos, supportconfig])
def test_observed_values_of_a_capture_are_judged(tmp_path, data):
    found = of_base(tmp_path, data())
    assert found[MAPS]["verdict"] == "compliant" and found[MAPS]["reason"] == ""
    observed = found["kernel.pid_max"]
    assert observed["verdict"] == "observed"
    assert observed["reason"].startswith("only observed: kernel.pid_max is 32768, SAP asks for at least 4194304")
    # a right value that another file may store is not a drift
    found = of_base(tmp_path, data(), state="present")
    assert found[MAPS]["verdict"] == "unknown"
    assert "what others store is not known" in found[MAPS]["reason"]
    assert found["kernel.pid_max"]["verdict"] == "drifted"


@pytest.mark.parametrize("state", ["observe", "present"])
@pytest.mark.parametrize(
    "item, row", [("nofile", "nofile"), ("uuidd.socket", "uuidd"), ("io_scheduler", "I/O scheduler")]
)
def test_what_is_set_on_request_is_not_judged(tmp_path, item, row, state):
    found = of_base(tmp_path, dbginfo(), state=state, items=[item])[item]
    reason = "not judged in a capture; what it holds of %s is a row of the platform" % row
    assert (found["verdict"], found["reason"]) == ("unknown", reason)


@pytest.mark.parametrize("state", ["observe", "present"])
def test_what_a_capture_lacks_is_unknown(tmp_path, state):
    for data in (sos(), supportconfig()):
        found = of_base(tmp_path, data, state=state)
        assert {found[subject]["verdict"] for subject in (SHM, "vm.dirty", "transparent_hugepage")} == {"unknown"}
    record = of_base(tmp_path, dbginfo(), state=state)[SHM]
    assert (record["verdict"], record["reason"]) == ("unknown", "/dev/shm (stored): dbginfo.sh does not copy it")
    assert record["before"]["running"] == {SHM: "13000000k"}
    found = of_base(tmp_path, dbginfo(without=["/etc/os-release"]), state=state)
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
    plain = dict(BASE_FILES, **dict(PROC_SYS, **{"/etc/fstab": "\n", "/sys/kernel/x": "1"}))
    plain.update(changed)
    data = build(**changed) if build else captures.plain({path: text for path, text in plain.items() if text})
    record = of_base(tmp_path, data)[SHM]
    assert record["verdict"] == "unknown" and words in record["reason"]


LPARS = [name for name in captured.names() if name.startswith("lpar-")]
GUESTS = [name for name in captured.names() if name.startswith("kvm-")]


look_rps = runner(Rps, **rps_params())
look_hiperdispatch = runner(Hiperdispatch, enabled=True, steal_threshold=20, delay_factor=None)
look_polarization, look_topology = runner(CpuPolarization, wait_timeout=1), runner(CpuTopology, sw_siblings=True)


def polarization(host, mode):
    return only(look_polarization(host, check=True, mode=mode))


def topology(host):
    return only(look_topology(host, check=True))


@pytest.mark.parametrize("name", LPARS)
def test_polarization_of_an_lpar_is_what_its_cpus_show(tmp_path, name):
    host = captured.plant(name, tmp_path)
    mode = "horizontal" if name.endswith("horizontal") else "vertical"
    other = "vertical" if mode == "horizontal" else "horizontal"
    for wanted in (mode, other):
        record = polarization(host, wanted)
        assert record["before"]["running"] == {"dispatching": mode}
        running = "dispatching: %s, wanted %s" % (mode, other)
        assert (running in record["reason"]) is (wanted == other)
    assert record["after"]["next_boot"] == {"dispatching": other}
    # old kernels boot horizontally by themselves; whether new ones do these captures do not tell
    stored = {"sysctl.d": other} if "6.12" in name else {"tmpfiles.d": other} if other == "vertical" else None
    assert record["after"]["stored"] == stored
    if name.endswith("unknown"):
        assert record["verdict"] == "drifted" and "CPU 0-3 does not show its polarization yet" in record["reason"]
    online = 2 if "deconfigured" in name else 4
    split = mode == "vertical" and not name.endswith("unknown")
    idle = ["s390.hiperdispatch is 1, and does nothing while the CPUs are horizontal"]
    remarks = {"lpar-linux-6.12-horizontal": idle, "lpar-linux-6.1-horizontal": [MIXED]}.get(name, [])
    # one or two medium cores fit the rule of PR/SM, more do not
    told = " (at least 1.0 of 2 online cores)" if online == 2 else ""
    assert record["remarks"] == (
        ["entitlement of the %d online CPUs: %d medium%s" % (online, online, told)] if split else remarks
    )


@pytest.mark.parametrize("name", LPARS)
def test_topology_and_hiperdispatch_of_an_lpar(tmp_path, name):
    host = captured.plant(name, tmp_path)
    assert topology(host)["verdict"] == "not_applicable"
    record = only(look_hiperdispatch(host, check=True))
    if "6.1-" in name:
        assert record["verdict"] == "unsupported" and "has no s390.hiperdispatch" in record["reason"]
        return
    assert record["before"]["running"] == {"s390.hiperdispatch": "1", "hd_steal_threshold": "30"}
    assert "hd_steal_threshold: 30, wanted 20" in record["reason"]
    assert ("the CPUs are horizontal now" in record["reason"]) is name.endswith("horizontal")


@pytest.mark.parametrize("name", GUESTS)
def test_a_guest_of_kvm_has_topology_and_no_polarization(tmp_path, name):
    host = captured.plant(name, tmp_path)
    record = polarization(host, "vertical")
    assert record["verdict"] == "unsupported" and "guest of KVM" in record["reason"]
    record = topology(host)
    value = host.value("/proc/sys/s390/topology")
    assert record["before"]["running"] == {"s390.topology": value}
    assert ("s390.topology: " in record["reason"]) is (value == "0")


def test_a_guest_of_zvm_and_an_lpar_of_200_cpus_with_gaps_and_vlans(tmp_path):
    assert len(LPARS) >= 6 and GUESTS
    captured.grow(tmp_path / "zvm", synthetic.zvm_guest())
    host = Host(str(tmp_path / "zvm"))
    record = polarization(host, "vertical")
    assert record["verdict"] == "unsupported" and "guest of z/VM" in record["reason"]
    assert topology(host)["verdict"] == "drifted"
    captured.grow(tmp_path, synthetic.large_lpar(8))
    host = Host(str(tmp_path))
    record = polarization(host, "vertical")
    assert record["before"]["running"] == {"dispatching": "vertical"} and "low" in record["remarks"][0]
    assert topology(host)["verdict"] == "not_applicable"
    records = look_rps(host, check=True)["tuning"]
    assert [record["subject"] for record in records] == ["enc100%d" % number for number in (0, 1, 2, 4, 5, 6)]
    mask = "00000000,00003fff,ffffffff,ffffffff,ffffff00,ffffffff,ffffffff,fffff3ff"
    assert {record["wanted"]["rps_cpus"] for record in records} == {mask}


@pytest.mark.parametrize(
    "name", [name for name in captured.names() if "/sys/class/net/lo/mtu" in captured.entries(name)]
)
def test_rps_takes_the_interface_that_carries_traffic(tmp_path, name):
    record = only(look_rps(captured.plant(name, tmp_path), check=True))
    assert record["subject"] == ("enc1" if name in GUESTS else "ctc0")
    cpus, mask = ("0-1,3", "b") if "offline" in name else ("0-3", "f")
    assert record["verdict"] == "drifted"
    assert "rx-0: off (mask 0), wanted CPUs %s (mask %s)" % (cpus, mask) in record["reason"]
