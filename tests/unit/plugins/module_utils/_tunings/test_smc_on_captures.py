# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tuning smc on captures: what they lack is unknown, and this machine is not asked."""

import functools
import platform
import shutil
import socket

import captures
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.drop_ins import DropIn
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._smc import boot as smc_boot
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc import Smc
from captures import look, looked, written
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
        raise AssertionError("a socket of this machine")

    monkeypatch.setattr(socket, "socket", refuse)
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
