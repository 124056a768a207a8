# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""sw_siblings: s390.topology of a guest, proved by what the scheduler sees, and the kernel command line."""

import errno

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_topology import CpuTopology
from runs import everything, only, runner
from zkernel import FACILITY, LPAR, TOPOLOGY, ZHost

SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-cpu-topology.conf"


@pytest.fixture
def guest(tmp_path):
    return ZHost(tmp_path, facility=False)


run = runner(CpuTopology, sw_siblings=True)


def record(host, check=False, **changes):
    return only(run(host, check, **changes))


def test_siblings_are_set_kept_and_taken_back(guest):
    before = everything(guest)
    predicted = run(guest, check=True)
    assert predicted["changed"] and everything(guest) == before
    result = run(guest)
    assert result["diff"] == predicted["diff"]
    assert "s390.topology (running): 1 (all CPUs are siblings)" in result["diff"]["after"]
    found = result["tuning"][0]
    assert found["verdict"] == "changed" and guest.log == [(TOPOLOGY, "1")]
    assert found["after"] == {
        "running": {"s390.topology": "1"},
        "stored": {"sysctl.d": "1"},
        "next_boot": {"s390.topology": "1"},
    }
    assert found["remarks"] == ["the scheduler takes CPUs 0-3 for cores of one socket"]
    assert "\ns390.topology = 1\n" in guest.read(SYSCTL)
    assert not run(guest)["changed"]
    guest.fill("/etc/sysctl.d/99-site.conf", "s390.topology=0")
    found = record(guest, check=True)
    assert [(other["wins"], other["value"]) for other in found["conflicts"]] == [("yes", "0")]
    assert found["verdict"] == "drifted"
    guest.remove("/etc/sysctl.d/99-site.conf")
    found = record(guest, sw_siblings=False)
    assert found["after"]["stored"] == {"sysctl.d": "0"}
    assert found["remarks"] == ["the scheduler takes each of the 4 online CPUs for a socket of its own"]
    record(guest, state="restored")
    assert everything(guest) == before


def test_a_kernel_that_says_1_without_siblings_is_not_believed(guest):
    run(guest)
    guest.fill("/sys/devices/system/cpu/cpu3/topology/core_siblings_list", "3")
    assert "1, siblings mixed" in record(guest, check=True)["reason"]
    guest.siblings(False)
    found = record(guest, check=True)
    assert found["verdict"] == "drifted" and "1, siblings 0, wanted 1" in found["reason"]
    guest.siblings = lambda together: None
    result = run(guest)
    assert result["failed"] and "the siblings that the scheduler sees did not follow" in result["msg"]


@pytest.mark.parametrize("digit, together", [("0", True), ("1", False)])
@pytest.mark.parametrize("wanted", [False, True])
def test_siblings_at_odds_with_the_kernels_value_are_seen_and_no_obstacle_to_the_rollback(
    guest, digit, together, wanted
):
    guest.fill(TOPOLOGY, digit)
    guest.siblings(together)
    shown = "%s, siblings %d" % (digit, together)
    assert record(guest, check=True, sw_siblings=wanted)["reason"].startswith(
        "s390.topology: %s, wanted %d" % (shown, wanted)
    )
    found = record(guest, sw_siblings=wanted)
    assert (found["verdict"], found["before"]["running"]) == ("changed", {"s390.topology": shown})
    assert found["after"]["running"] == {"s390.topology": str(int(wanted))}
    result = run(guest, state="restored")
    assert not result["failed"], result["msg"]
    assert guest.value(TOPOLOGY) == digit and not guest.exists("/var/lib/zpower_sap_tuning")
    assert {value for _path, value in guest.log} <= {"0", "1"}


def test_one_cpu_has_no_siblings_to_prove_anything(guest):
    guest.fill("/sys/devices/system/cpu/online", "0")
    guest.siblings(False)
    assert record(guest)["verdict"] == "changed"
    assert record(guest, check=True)["verdict"] == "compliant"
    # two have
    guest.fill("/sys/devices/system/cpu/online", "0-1")
    guest.siblings(False)
    assert "1, siblings 0, wanted 1" in record(guest, check=True)["reason"]


@pytest.mark.parametrize(
    "sysinfo, words",
    [
        (LPAR + FACILITY, "real topology"),
        (LPAR + FACILITY + "VM00 Name: LNX1\nVM00 Control Program: KVM/Linux\n", "a guest with the topology"),
        (None, ""),
    ],
)
def test_other_machines_are_not_applicable(tmp_path, sysinfo, words):
    host = ZHost(tmp_path)
    host.fill("/proc/sysinfo", sysinfo or "")
    if sysinfo is None:
        host.remove("/proc/sysinfo")
    found = record(host)
    assert found["verdict"] == "not_applicable" and words in found["reason"] and host.log == []


def test_a_kernel_without_it_is_unsupported_and_names_the_first_that_have_it_and_the_way_out(guest, tmp_path):
    guest.errors[TOPOLOGY] = errno.EROFS
    result = run(guest)
    assert result["failed"] and "read-only" in result["msg"] and not guest.exists(SYSCTL)
    guest.remove(TOPOLOGY)
    found = record(guest)
    assert found["verdict"] == "unsupported"
    assert found["wanted"]["state"] == "present" and found["before"]["running"] is None
    assert "6.1.0-s390x" in found["reason"] and "4.4.92 of SLES 12 SP3" in found["reason"]
    host = ZHost(tmp_path / "lpar")
    host.fill("/proc/cmdline", "topology=off")
    host.remove(TOPOLOGY)
    found = record(host)
    assert found["verdict"] == "unsupported" and "remove it from the kernel command line" in found["reason"]


@pytest.mark.parametrize("parameters, boots", [("topology=on", "1"), ("quiet topology=on topology=off ro", "0")])
@pytest.mark.parametrize("wanted", [False, True])
def test_the_command_line_is_the_next_boot_until_something_is_stored(guest, parameters, boots, wanted):
    guest.fill("/proc/cmdline", "root=/dev/dasda1 " + parameters)
    found = record(guest, check=True, sw_siblings=wanted)
    assert found["before"]["next_boot"] == {"s390.topology": boots}
    agrees = boots == str(int(wanted))
    assert [(other["what"], other["file"], other["value"], other["wins"]) for other in found["conflicts"]] == (
        [] if agrees else [("kernel command line", "/proc/cmdline", boots, "no")]
    )
    found = record(guest, sw_siblings=wanted)
    assert found["after"]["next_boot"] == {"s390.topology": str(int(wanted))}
    assert guest.exists(SYSCTL) is (found["after"]["stored"] is not None) is not agrees
    assert record(guest, check=True, sw_siblings=wanted)["verdict"] == "compliant"


def test_a_guest_that_moved_to_an_lpar_still_loses_its_file(guest):
    run(guest)
    guest.fill("/proc/sysinfo", LPAR + FACILITY)
    assert record(guest)["verdict"] == "compliant" and guest.exists(SYSCTL)
    assert record(guest, state="restored")["verdict"] == "changed"
    # its first value, 0, would hide the topology of the LPAR
    assert not guest.exists(SYSCTL) and guest.value(TOPOLOGY) == "1"


HIDDEN = {
    "command line": ("/proc/cmdline", "root=/dev/dasda1 topology=off"),
    "sysctl.d": ("/etc/sysctl.d/10-site.conf", "s390.topology = 0\n"),
    "by hand": ("/proc/cmdline", "root=/dev/dasda1"),
}


@pytest.mark.parametrize("how", list(HIDDEN))
def test_an_lpar_that_hides_its_topology_is_drifted_and_shows_it_again(tmp_path, how):
    host = ZHost(tmp_path)
    host.fill(TOPOLOGY, "0")
    host.siblings(False)
    host.fill(*HIDDEN[how])
    before = everything(host)
    found = record(host, check=True)
    assert found["verdict"] == "drifted" and everything(host) == before
    assert "s390.topology: 0 (each CPU for itself), wanted 1 (the real topology)" in found["reason"]
    assert found["remarks"] == ["the scheduler does not see the real topology of this machine"]
    found = record(host)
    assert found["verdict"] == "changed" and found["after"]["next_boot"] == {"s390.topology": "1"}
    assert found["remarks"] == ["the scheduler sees the real topology of this machine"]
    # which need not make all CPUs siblings
    host.siblings(False)
    found = record(host, check=True)
    assert found["verdict"] == "compliant" and bool(found["conflicts"]) is (how != "by hand")
    record(host, state="restored")
    assert everything(host) == before
