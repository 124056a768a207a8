# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's side of the tuning smc: its module, PNET IDs and UEIDs are set, kept at boot, and taken back."""

import contextlib
import errno
import os
import re
import subprocess
import sys
import zipfile

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import routes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._smc import boot as smc_boot
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._smc import network as smc_network
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._smc import requests as smc_requests
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._smc.network import Network, kernel_ready
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc import Smc
from runs import FOLDER, Dead, everything, records, runner, verdicts
from smckernel import PROTOCOLS, RELEASE, LoadingHost, attribute

DEP = "/lib/modules/%s/modules.dep" % RELEASE
MODULES = "/etc/modules-load.d/91-zpower-sap-tuning-smc.conf"
UNIT = "/etc/systemd/system/zpower-sap-tuning-smc.service"
WANTS = "/etc/systemd/system/multi-user.target.wants"
PROGRAM = "/var/lib/zpower_sap_tuning/smc.pyz"
ASKED = {
    "pnet_ids": [{"name": "sapnet", "interface": "enc1"}, {"name": "SAPNET", "device": "mlx5_0", "port": 2}],
    "ueids": ["SAP.UEID-1"],
}


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setattr(smc_network, "is_live", lambda host: True)
    return LoadingHost(tmp_path)


run = runner(Smc, instances=[], restart=[], restart_timeout=60, **ASKED)


def found_files(host):
    return {path: text for path, text in everything(host).items() if not path.startswith("/proc/net/")}


def test_all_is_set_kept_and_taken_back(host, tables):
    tables.add("SAPNET", ethernet="enc7")
    tables.eids = ["BEFORE"]
    before = found_files(host)
    predicted = run(host, check=True)
    assert predicted["changed"] and found_files(host) == before and tables.asked == [] and host.calls == []
    result = run(host)
    assert set(verdicts(result).values()) == {"changed"}, result
    assert ["modprobe", "smc"] in host.calls
    assert set(tables.entries) == {
        ("SAPNET", "enc7", "n/a", 255),
        ("SAPNET", "enc1", "n/a", 255),
        ("SAPNET", "n/a", "mlx5_0", 2),
    }
    assert tables.eids == ["BEFORE", "SAP.UEID-1"]
    values = {"interface enc1": "SAPNET", "device mlx5_0": "SAPNET port 2"}
    stored = {item + " at boot": value for item, value in values.items()}
    assert records(result)["PNET IDs"]["after"] == {"running": values, "stored": stored, "next_boot": values}
    assert records(result)["UEIDs"]["after"]["next_boot"] == {"SAP.UEID-1": "present"}
    start = records(result)["kernel"]["after"]["stored"]["start"]
    before_what, program = start.split(": ", 1)
    assert before_what == "before sapinit.service saphostagent.service pacemaker.service SAP.slice"
    # in quotes if there is a blank in the path
    assert program.startswith(("/", '"/'))
    assert "\nsmc\n" in host.read(MODULES) and "\nsmc_diag\n" in host.read(MODULES)
    assert os.readlink(host.path(WANTS + "/zpower-sap-tuning-smc.service")) == "../zpower-sap-tuning-smc.service"
    again = run(host)
    assert not again["changed"] and set(verdicts(again).values()) == {"compliant"}
    for lost in (WANTS + "/zpower-sap-tuning-smc.service", UNIT, PROGRAM, MODULES):
        os.unlink(host.path(lost))
        assert verdicts(run(host, check=True))["kernel"] == "drifted"
        run(host)
        assert set(verdicts(run(host, check=True)).values()) == {"compliant"}
    kept = tables.entries[:1], tables.eids[:1]
    tables.entries, tables.eids = map(list, kept)
    assert verdicts(run(host)) == {"kernel": "compliant", "PNET IDs": "changed", "UEIDs": "changed"}
    restored = run(host, state="restored")
    assert set(verdicts(restored).values()) == {"changed"}, restored
    assert tables.entries == [("SAPNET", "enc7", "n/a", 255)] and tables.eids == ["BEFORE"]
    assert found_files(host) == before and not host.exists(WANTS)
    assert not any("rmmod" in argv for argv in host.calls)


def test_the_unit_has_one_line_per_entry(host, tables, monkeypatch):
    monkeypatch.setattr(smc_boot.sys, "executable", "/usr/bin/python3")
    host.fill("/etc/systemd/system/SAPABC_01.service", "[Service]")
    host.fill("/etc/systemd/system/SAPstuff.service", "[Service]")
    run(host)
    # each line is in the section in which systemd expects it
    unit, service = re.search(r"(?ms)^\[Unit\]\n(.*)^\[Service\]\n(.*)", host.read(UNIT)).groups()
    assert "Before=sapinit.service saphostagent.service pacemaker.service SAP.slice SAPABC_01.service\n" in unit
    assert "ExecStart=/usr/bin/python3 -I %s %s\n" % (PROGRAM, UNIT) in service
    lines = ["device mlx5_0 SAPNET 2", "interface enc1 SAPNET 0", "ueid SAP.UEID-1"]
    assert re.findall("(?m)^X-SMC=(.*)$", service) == lines
    host.write(UNIT, host.read(UNIT).replace("interface enc1 SAPNET 0", "interface enc1 SAPNET 0 # mine"))
    found = records(run(host, check=True))["PNET IDs"]
    assert found["verdict"] == "drifted" and "edited by hand" in found["reason"]


def test_the_program_runs_without_the_collection(host, tables, tmp_path):
    run(host)
    # without entries, so that it needs no SMC
    (tmp_path / "empty").write_text("[Service]\n")
    argv = [sys.executable, "-I", host.path(PROGRAM), str(tmp_path / "empty")]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, cwd="/")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert os.stat(host.path(PROGRAM)).st_mode & 0o777 == 0o600
    host.replace(PROGRAM, b"older")
    assert verdicts(run(host, check=True))["kernel"] == "drifted"
    assert run(host)["changed"] and zipfile.is_zipfile(host.path(PROGRAM))
    host.replace(PROGRAM, b"newer")
    run(host, state="restored")
    assert not host.exists(PROGRAM)


def test_an_entry_of_someone_else_is_replaced_and_comes_back(host, tables):
    tables.add("THEIRS", ethernet="enc1")
    host.fill("/proc/net/protocols", PROTOCOLS)
    run(host)
    assert ("SAPNET", "enc1", "n/a", 255) in tables.entries
    run(host, state="restored")
    assert tables.entries == [("THEIRS", "enc1", "n/a", 255)]
    run(host, ueids=[])
    tables.entries = [("OTHERS", "enc1", "n/a", 255), ("SAPNET", "n/a", "mlx5_0", 2)]
    result = run(host, state="restored")
    assert "changed by someone else" in records(result)["PNET IDs"]["reason"]
    assert tables.entries == [("OTHERS", "enc1", "n/a", 255)]


def test_a_refused_module_or_entry_is_explained(host, tables):
    host.modprobe = Result(1, "", "modprobe: ERROR: could not insert 'smc': Operation not permitted\n")
    result = run(host)
    assert result["failed"] and "could not insert 'smc'" in records(result)["kernel"]["reason"]
    assert tables.entries == []
    host.modprobe = Result(0, "", "")
    tables.hardware = {"enc1"}
    result = run(host)
    assert result["failed"]
    assert "cannot set the PNET ID of interface enc1 to SAPNET" in records(result)["PNET IDs"]["reason"]
    assert tables.entries == [] and tables.eids == ["SAP.UEID-1"]
    assert "interface enc1" not in host.read(UNIT)


def test_a_built_in_module_needs_no_file_and_a_host_without_systemd_and_ueids_no_unit(host, tables):
    host.fill("/lib/modules/%s/modules.builtin" % RELEASE, "kernel/net/smc/smc.ko")
    os.rmdir(host.path("/run/systemd/system"))
    tables.no_ueids = True
    result = run(host)
    assert "no systemd" in " ".join(records(result)["kernel"]["remarks"])
    assert verdicts(result)["UEIDs"] == "unsupported"
    assert len(tables.entries) == 2 and not host.exists(MODULES) and not host.exists(UNIT)


def test_a_fifth_ueid_is_refused_before_anything_changes(host, tables):
    host.fill("/proc/net/protocols", PROTOCOLS)
    tables.eids = list("ABCD")
    with pytest.raises(InputError, match="keeps 4 and has A, B, C, D, so there is no room for SAP.UEID-1"):
        run(host)
    assert tables.changes == []


@pytest.mark.parametrize(
    "path, text, reason",
    [
        (DEP, "kernel/net/smcx.ko:", "the kernel 6.12.1-s390x has no module smc (CONFIG_SMC)"),
        ("/etc/modprobe.d/site.conf", "install smc /bin/false", "site.conf:1 keeps the module smc from being loaded"),
        ("/etc/modprobe.d/site.conf", "# no\nblacklist smc", "site.conf:2 keeps the module"),
        ("/proc/cmdline", "quiet module_blacklist=rds,smc", "module_blacklist on the kernel command line"),
        ("/proc/sys/kernel/osrelease", "6.1.0", "there are no modules of the running kernel 6.1.0"),
    ],
)
def test_a_kernel_without_smc(host, tables, path, text, reason):
    host.fill(path, text)
    assert reason in kernel_ready(host)
    result = run(host)
    assert set(verdicts(result).values()) == {"unsupported"} and reason in records(result)["kernel"]["reason"]
    assert all(found["wanted"] for found in result["tuning"]) and records(result)["UEIDs"]["wanted"]["ueids"]
    assert host.calls == [] and tables.asked == []


def test_a_block_at_the_next_boot_is_told_although_the_module_is_loaded(host, tables):
    assert kernel_ready(host) == ""
    run(host)
    host.fill("/etc/modprobe.d/site.conf", "install smc /bin/false")
    found = records(run(host, check=True))["kernel"]
    assert found["verdict"] == "drifted" and "keeps the module smc from being loaded" in found["reason"]
    host.fill(DEP, "")
    assert kernel_ready(host) == ""


def kernel_row(host, **changes):
    return records(run(host, check=True, **changes))["kernel"]


def ebcdic(*names):
    return b"".join(name.encode("cp037").ljust(16, b"\0") for name in names).ljust(64, b"\0")


def binary(host, path, data):
    host.fill(path, "")
    with open(host.path(path), "wb") as stream:
        stream.write(data)


def osa(host, name, pnet_id, port="0"):
    host.fill("/sys/class/net/%s/device/chpid" % name, "B4")
    host.fill("/sys/class/net/%s/device/portno" % name, port)
    binary(host, "/sys/devices/css0/chp0.b4/util_string", ebcdic(*[""] * int(port), pnet_id))


def ism(host, pci, pnet_id=""):
    host.fill("/sys/bus/pci/devices/%s/vendor" % pci, "0x1014")
    host.fill("/sys/bus/pci/devices/%s/device" % pci, "0x04ed")
    host.fill("/sys/bus/pci/devices/%s/driver/module" % pci, "")
    binary(host, "/sys/bus/pci/devices/%s/util_string" % pci, ebcdic(pnet_id))


def test_ids_of_the_hardware_are_left_alone(host, tables):
    osa(host, "enc1", "SAPNET", "1")
    found = records(run(host, ueids=[]))["PNET IDs"]
    assert found["remarks"] == ["the hardware gives interface enc1 the PNET ID SAPNET, so nothing is set"]
    assert tables.entries == [("SAPNET", "n/a", "mlx5_0", 2)]
    osa(host, "enc1", "OTHER")
    found = records(run(host, check=True, ueids=[]))["PNET IDs"]
    assert found["verdict"] == "drifted"
    assert "gives interface enc1 the PNET ID OTHER, which no table overrides" in found["reason"]
    osa(host, "enc1", "SAPNET")
    # the ID of a VLAN is that of its base, and ports of one RoCE adapter have their own
    host.interface("vlan7")
    os.symlink(host.path("/sys/class/net/enc1"), host.path("/sys/class/net/vlan7/lower_enc1"))
    binary(host, "/sys/class/infiniband/mlx5_0/device/util_string", ebcdic("ONE", "SAPNET"))
    run(host, state="restored")
    entries = [*ASKED["pnet_ids"], {"name": "SAPNET", "interface": "vlan7"}]
    found = records(run(host, pnet_ids=entries, ueids=[], check=True))["PNET IDs"]
    assert found["verdict"] == "compliant" and found["wanted"]["interface enc1"] == "SAPNET"
    for name in ("interface enc1", "interface vlan7", "device mlx5_0"):
        assert "the hardware gives %s the PNET ID SAPNET" % name in found["reason"]


@pytest.mark.parametrize("second", ["", "SAPNET"])
def test_the_first_port_of_a_device_does_not_hide_the_second(host, tables, second):
    host.fill("/sys/class/net/enc1/operstate", "up")
    binary(host, "/sys/class/infiniband/mlx5_0/device/util_string", ebcdic("ONE", second))
    found = records(run(host, ueids=[]))["kernel"]
    assert found["verdict"] == "changed" and "PNET ID SAPNET: enc1 with mlx5_0" in found["remarks"], found


@pytest.mark.parametrize(("state", "verdict"), [("up", "changed"), ("unknown", "changed"), ("down", "drifted")])
def test_an_interface_with_an_id_of_the_hardware_is_a_side_unless_it_is_down(host, tables, state, verdict):
    osa(host, "enc1", "SAPNET")
    host.fill("/sys/class/net/enc1/operstate", state)
    found = records(run(host, ueids=[], pnet_ids=ASKED["pnet_ids"][1:]))["kernel"]
    assert found["verdict"] == verdict, found


def test_no_device_or_loopback_alone_serves_no_other_host(host, tables, monkeypatch):
    os.unlink(host.path("/sys/class/infiniband/mlx5_0/node_type"))
    os.rmdir(host.path("/sys/class/infiniband/mlx5_0"))
    found = kernel_row(host, pnet_ids=[])
    assert found["verdict"] == "drifted" and "neither ISM nor RoCE" in found["reason"]
    loopback = {"type": "SMCD", "name": "loopback", "pci_id": None, "pnet_id": None}
    monkeypatch.setattr(smc_network.Preconditions, "_devices", lambda self: ([], [], [loopback]))
    found = kernel_row(host, pnet_ids=[])
    told = "this host has no device for SMC but loopback, so every connection to another host falls back to TCP"
    assert found["verdict"] == "drifted" and told in found["reason"]
    assert not any("SMC-D version 1 is impossible" in remark for remark in found["remarks"])


def test_both_sides_need_the_same_id(host, tables):
    found = kernel_row(host, pnet_ids=[{"name": "NET1", "interface": "enc1"}, {"name": "NET2", "device": "mlx5_0"}])
    assert "PNET ID NET1: no ISM or RoCE device has it, only enc1" in found["reason"]
    assert "PNET ID NET2: no interface has it, only mlx5_0" in found["reason"]
    host.fill("/proc/meminfo", "MemAvailable: 4096 kB")
    for name in ("wmem", "rmem"):
        host.fill("/proc/sys/net/smc/" + name, "65536")
    found = kernel_row(host, pnet_ids=[*ASKED["pnet_ids"], {"name": "SAPNET", "interface": "enc9"}])
    assert "there is no interface enc9 now" in found["reason"]
    assert "PNET ID SAPNET: enc1 with mlx5_0" in found["remarks"]
    assert any("takes up to 128 KiB of memory" in remark for remark in found["remarks"])


def test_ids_of_ism_devices_decide_on_the_versions(host, tables):
    def remarked(words, **asked):
        return any(words in remark for remark in kernel_row(host, **asked)["remarks"])

    ism(host, "0009:00:00.0", "NET25")
    assert remarked("SMC-D version 1 is impossible", pnet_ids=[])
    osa(host, "enc1", "NET25")
    assert remarked("PNET ID NET25: enc1 with 0009:00:00.0", pnet_ids=[])
    ism(host, "0009:00:00.0")
    entries = [{"name": "SAPNET", "interface": "enc1"}, {"name": "SAPNET", "pci": "0009:00:00.0"}]
    assert remarked("SMC-D uses it in version 1 only", pnet_ids=entries)


def test_sizes_mtu_limits_and_other_kernels_are_remarks(host, tables):
    host.fill("/proc/sys/net/smc/wmem", "1048576")
    host.fill("/proc/sys/net/smc/rmem", "65536")
    host.fill("/proc/sys/net/smc/limit_smc_hs", "1")
    host.fill("/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 2097152 kB")
    host.fill("/sys/class/infiniband/mlx5_0/device/net/eno5/x", "")
    host.fill("/sys/class/net/eno5/mtu", "1500")
    host.fill("/lib/modules/7.2.13/modules.dep", "kernel/net/tls/tls.ko:")
    said = " / ".join(kernel_row(host)["remarks"])
    assert "takes up to 576 KiB for SMC-R or 1088 KiB for SMC-D of memory; 2048 MiB are available" in said
    assert "RoCE device mlx5_0: MTU 1500 of eno5" in said
    assert "limit_smc_hs is 1" in said and "the installed kernel 7.2.13 has no SMC" in said


@pytest.mark.parametrize("address, router", [("10.1.2.3", None), ("10.2.0.9", "10.1.0.1"), ("db", None), ("::1", None)])
def test_the_router_on_the_way(monkeypatch, host, address, router):
    def question(protocol, kind, payload):
        if payload.endswith(bytes((10, 2, 0, 9))):
            return [b"\0" * 12 + attribute(5, bytes((10, 1, 0, 1)))]
        return [b"\0" * 12]

    def refuse(*_arguments):
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    monkeypatch.setattr(routes.netlink, "question", question)
    assert routes.router_to(Host(), address) == router
    # no other machine is asked
    assert routes.router_to(host, address) is None
    monkeypatch.setattr(routes.netlink, "question", refuse)
    assert routes.router_to(Host(), address) is None


@pytest.mark.parametrize(
    "entries, sentence",
    [
        ([{"name": "SAP_NET", "interface": "enc1"}], "'SAP_NET' is not a PNET ID"),
        ([{"name": "NET"}], "NET: give one of interface, device and pci"),
        ([{"name": "NET", "interface": "enc1 x"}], "interface is 'enc1 x'"),
        ([{"name": "NET", "device": "../x"}], "device is '../x'"),
        ([{"name": "NET", "pci": "00:00.0"}], "give a PCI address such as 0001:00:00.0"),
        ([{"name": "NET", "interface": "enc1", "port": 1}], "only a device has a port"),
        ([{"name": "A", "device": "mlx5_0", "port": port} for port in (1, 2)], "device mlx5_0 is named twice"),
    ],
)
def test_a_wrong_entry_is_explained(entries, sentence):
    with pytest.raises(InputError, match=sentence):
        smc_requests.parse_pnet_ids(entries)


def test_entries_and_ueids():
    entries = [{"name": " net ", "pci": "000A:00:00.0"}, {"name": "NET", "device": "mlx5_0", "interface": None}]
    devices = {("device", name): ("NET", 1) for name in ("000a:00:00.0", "mlx5_0")}
    assert smc_requests.parse_pnet_ids(entries) == devices
    assert smc_requests.parse_ueids(["A", "B.1-X", "A"]) == ["A", "B.1-X"]
    with pytest.raises(InputError, match="5 are too many"):
        smc_requests.parse_ueids(list("ABCDE"))
    for text in ("", "lower", ".A", "A..B", "A B", "A" * 33, "A\n", "A_B"):
        with pytest.raises(InputError, match="is not a UEID"):
            smc_requests.parse_ueids([text])


@pytest.mark.parametrize(
    "key, text, legible",
    [
        ("smc pnet interface enc1", None, True),
        ("smc pnet device mlx5_0", "SAPNET port 2", True),
        ("smc pnet device mlx5_0", "sapnet", False),
        ("smc ueid A", "absent", False),
        ("smc program", "0123", True),
    ],
)
def test_values_of_the_journal(host, key, text, legible):
    network = Network(host, dict(ASKED, state="restored"))
    assert network.legible(key, text) is legible and network.owns_key(key)


# The kernel takes away all entries of a PNET ID at once: whatever stops a run then, entries of others come back.


TAKEN = FOLDER + "/smc.pnet_ids"
PNET_IDS = [{"name": "SAPNET", "interface": "enc1"}, {"name": "SAPNET", "device": "mlx5_0", "port": 2}]

run_pnet_ids = runner(Smc, pnet_ids=PNET_IDS, ueids=[], instances=[], restart=[], restart_timeout=60)


def shared(tables, host):
    """Two entries of someone else with one PNET ID, and one with the PNET ID that is asked for."""
    tables.add("THEIRS", ethernet="enc1")
    tables.add("THEIRS", ethernet="enc8")
    tables.add("SAPNET", ethernet="enc7")
    host.fill("/proc/net/protocols", PROTOCOLS)
    return sorted(tables.entries)


def refusing(tables, monkeypatch, number, error):
    """From the change with this number on, all changes raise the error."""
    left = iter(range(number - 1))

    def change(family, command, payload):
        if next(left, None) is None:
            raise error
        tables._change(family, command, payload)

    monkeypatch.setattr(netlink, "change", change)


@pytest.mark.parametrize("then", ["present", "restored"])
@pytest.mark.parametrize("first", ["present", "restored"])
@pytest.mark.parametrize(
    "number, error",
    [*((number, Dead()) for number in range(1, 7)), (2, OSError(errno.ENOMEM, "Cannot allocate memory"))],
)
def test_stopped_at_any_change_the_entries_of_others_come_back(host, tables, monkeypatch, number, error, then, first):
    before = shared(tables, host)
    if first == "restored":
        run_pnet_ids(host)
    with monkeypatch.context() as patch:
        refusing(tables, patch, number, error)
        with contextlib.suppress(Dead):
            run_pnet_ids(host, state=first)
    if then == "present":
        assert not run_pnet_ids(host)["failed"] and {("THEIRS", "enc8", "n/a", 255), *before[:1]} <= set(tables.entries)
        assert set(verdicts(run_pnet_ids(host, check=True)).values()) == {"compliant"}
    result = run_pnet_ids(host, state="restored")
    assert not result["failed"] and "someone else" not in str(result)
    assert sorted(tables.entries) == before and not host.exists(FOLDER)


@pytest.mark.parametrize("lost", ["boot", "module"])
def test_after_a_boot_the_entries_that_were_taken_away_are_not_added(host, tables, monkeypatch, lost):
    shared(tables, host)
    with monkeypatch.context() as patch:
        refusing(tables, patch, 2, Dead())
        with pytest.raises(Dead):
            run_pnet_ids(host)
    assert host.exists(TAKEN) and os.stat(host.path(TAKEN)).st_mode & 0o777 == 0o600
    tables.entries = []
    if lost == "boot":
        host.fill("/proc/sys/kernel/random/boot_id", "another")
    else:
        host.fill("/proc/net/protocols", "TCP 1\n")
        tables.asked = []
    run_pnet_ids(host, state="restored")
    assert tables.entries == [] and not host.exists(TAKEN) and (lost == "boot" or tables.asked == [])


@pytest.mark.parametrize("text", ["", "\n", "\ninterface enc8 THEIRS\ninterface enc9 THEIRS x\n", "other\ninterface"])
def test_a_damaged_note_of_entries_is_removed(host, tables, text):
    before = shared(tables, host)
    run_pnet_ids(host)
    host.write(TAKEN, text)
    assert not run_pnet_ids(host)["failed"] and not host.exists(TAKEN)
    run_pnet_ids(host, state="restored")
    assert sorted(tables.entries) == before


def test_without_room_for_the_note_nothing_is_taken_away(host, tables, monkeypatch):
    before = shared(tables, host)
    real = host.replace

    def replace(path, data, mode=0o644, check=None):
        if path == TAKEN:
            raise HostError("cannot write %s: No space left on device" % path, errno.ENOSPC)
        real(path, data, mode, check)

    monkeypatch.setattr(host, "replace", replace)
    result = run_pnet_ids(host, pnet_ids=PNET_IDS[:1])
    assert "cannot write %s: No space left" % TAKEN in records(result)["PNET IDs"]["reason"]
    assert sorted(tables.entries) == before


def test_an_entry_that_the_hardware_has_given_meanwhile_does_not_keep_the_others_away(host, tables, monkeypatch):
    shared(tables, host)
    tables.entries = [entry for entry in tables.entries if entry[0] != "THEIRS"]
    boot = host.value("/proc/sys/kernel/random/boot_id") or ""
    host.write(TAKEN, boot + "\ninterface enc1 THEIRS 255\ninterface enc8 THEIRS 255\n")

    def change(family, command, payload):
        if b"enc1\0" in payload:
            raise OSError(errno.EEXIST, "File exists")
        tables._change(family, command, payload)

    monkeypatch.setattr(netlink, "change", change)
    run_pnet_ids(host, pnet_ids=[])
    assert sorted(tables.entries) == [("SAPNET", "enc7", "n/a", 255), ("THEIRS", "enc8", "n/a", 255)]
    assert not host.exists(TAKEN)
