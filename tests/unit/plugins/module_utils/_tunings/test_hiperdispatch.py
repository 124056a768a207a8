# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HiperDispatch and the topology of a guest: set, kept and taken back, who else sets them, and other machines."""

import errno

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_polarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_topology import CpuTopology
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.hiperdispatch import Hiperdispatch
from runs import everything, only, recorded, runner
from zkernel import (
    DELAY_FACTOR,
    FACILITY,
    HIPERDISPATCH,
    LPAR,
    POLARIZATION,
    STEAL_THRESHOLD,
    TOPOLOGY,
    ZHost,
    vertical_lpar,
)

SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-hiperdispatch.conf"
TMPFILES = "/etc/tmpfiles.d/91-zpower-sap-tuning-hiperdispatch.conf"

KEY = "s390.hiperdispatch"
run = runner(Hiperdispatch, enabled=True, steal_threshold=None, delay_factor=None)
record = recorded(run)
polarize = runner(cpu_polarization.CpuPolarization, mode="vertical", wait_timeout=1)


@pytest.fixture
def lpar(tmp_path):
    return vertical_lpar(tmp_path)


def test_thresholds_and_off_are_set_kept_and_taken_back(lpar):
    before = everything(lpar)
    # a kernel that has it on needs no file
    found = record(lpar)
    assert (found["verdict"], found["subject"]) == ("compliant", KEY)
    assert found["after"] == {"running": {KEY: "1"}, "stored": None, "next_boot": {KEY: "1"}}
    assert everything(lpar) == before and lpar.log == []
    predicted = run(lpar, check=True, steal_threshold=15, delay_factor=8)
    assert predicted["changed"] and everything(lpar) == before
    result = run(lpar, steal_threshold=15, delay_factor=8)
    assert result["diff"] == predicted["diff"]
    found = result["tuning"][0]
    assert found["verdict"] == "changed" and lpar.log == [(STEAL_THRESHOLD, "15"), (DELAY_FACTOR, "8")]
    values = {"hd_steal_threshold": "15", "hd_delay_factor": "8"}
    assert found["after"]["stored"] == values
    assert found["after"]["running"] == found["after"]["next_boot"] == dict(values, **{KEY: "1"})
    assert "w %s - - - - 15\n" % STEAL_THRESHOLD in lpar.read(TMPFILES) and not lpar.exists(SYSCTL)
    assert not run(lpar, steal_threshold=15, delay_factor=8)["changed"]
    # a threshold that is no longer asked for is left alone
    assert record(lpar)["verdict"] == "compliant"
    assert lpar.value(STEAL_THRESHOLD) == "15" and lpar.exists(TMPFILES)
    # off is stored, because the kernel starts with it on
    result = run(lpar, enabled=False, steal_threshold=50)
    assert "s390.hiperdispatch (running): 0 (off)" in result["diff"]["after"]
    assert only(result)["after"]["next_boot"][KEY] == "0" and "\ns390.hiperdispatch = 0\n" in lpar.read(SYSCTL)
    assert record(lpar, enabled=False, check=True)["verdict"] == "compliant"
    assert record(lpar, state="restored")["verdict"] == "changed"
    assert everything(lpar) == before


@pytest.mark.parametrize("known", [True, False], ids=["off by configuration", "no configuration to read"])
def test_on_is_stored_unless_the_kernel_is_known_to_start_so(tmp_path, known):
    host = ZHost(tmp_path, sysctl=True, vertical=True)
    host.hiperdispatch(on=not known)
    if known:
        host.boots_vertical(hiperdispatch=False)
    found = record(host)
    assert found["verdict"] == "changed" and found["after"]["stored"] == {KEY: "1"}
    assert found["before"]["next_boot"] == ({KEY: "0"} if known else None)


def test_horizontal_cpus_are_drift_and_writing_does_not_move_them(tmp_path):
    host = ZHost(tmp_path, sysctl=True)
    host.hiperdispatch(on=False)
    host.boots_vertical(False, hiperdispatch=False)
    assert record(host, enabled=False)["verdict"] == "compliant"
    host.hiperdispatch()
    host.boots_vertical(False)
    found = record(host)
    assert found["verdict"] == "drifted" and host.value(POLARIZATION) == "0" and host.log == []
    assert "the CPUs are horizontal now, and HiperDispatch acts on vertical CPUs only" in found["reason"]
    assert polarize(host)["changed"]
    assert record(host, check=True)["verdict"] == "compliant"


def test_a_contradicting_cpu_polarization_is_named_with_its_line(lpar):
    polarize(lpar, mode="horizontal")
    found = record(lpar)
    assert found["verdict"] == "drifted" and "the CPUs are horizontal now" in found["reason"]
    (other,) = found["conflicts"]
    assert (other["file"], other["value"]) == (cpu_polarization.SYSCTL, "horizontal")
    assert "acts on vertical ones only" in other["effect"]
    # neither moves what the other has set
    assert only(polarize(lpar, True, mode="horizontal"))["verdict"] == "compliant"
    remarks = only(polarize(lpar, True, mode="horizontal"))["remarks"]
    assert remarks == ["s390.hiperdispatch is 1, and does nothing while the CPUs are horizontal"]


def test_a_polarization_that_only_the_next_boot_brings(lpar):
    lpar.fill("/etc/sysctl.d/95-site.conf", "s390.polarization = 0\n")
    found = record(lpar)
    assert found["verdict"] == "drifted"
    assert "at the next boot the CPUs are horizontal, by /etc/sysctl.d/95-site.conf line 1" in found["reason"]
    assert found["after"]["next_boot"] == {KEY: "1"}
    lpar.boots_vertical(False)
    lpar.fill("/etc/sysctl.d/95-site.conf", "# nothing\n")
    assert "as this kernel boots" in record(lpar)["reason"]
    assert record(lpar, state="restored")["verdict"] == "compliant"


@pytest.mark.parametrize(
    "split, remark",
    [
        ("high low", "it acts on the vertical:low CPUs 1,3"),
        ("medium", "no online CPU is vertical:low, so it has nothing to do now"),
        ("low", "no online CPU is entitled (vertical:high, vertical:medium), so it does nothing now"),
    ],
)
def test_what_the_cpus_leave_it_to_do(tmp_path, split, remark):
    host = ZHost(tmp_path, sysctl=True, vertical=True, split=split.split())
    host.hiperdispatch()
    host.boots_vertical()
    assert record(host)["remarks"] == [remark]


@pytest.mark.parametrize(
    "path, text, item, value, wins",
    [
        ("/etc/sysctl.d/95-site.conf", "s390.hiperdispatch=0\n", KEY, "0", "yes"),
        ("/etc/tmpfiles.d/10-a.conf", "w %s - - - - 1\n" % STEAL_THRESHOLD, "hd_steal_threshold", "1", "yes"),
        ("/etc/tmpfiles.d/99-a.conf", "w %s - - - - 40\n" % DELAY_FACTOR, "hd_delay_factor", "40", "no"),
        ("/etc/udev/rules.d/9.rules", 'ATTR{hiperdispatch/hd_delay_factor}="9"\n', "hd_delay_factor", "9", "possible"),
    ],
)
def test_other_settings_are_found(lpar, path, text, item, value, wins):
    lpar.fill(path, text)
    found = record(lpar, steal_threshold=15, delay_factor=8)
    (other,) = found["conflicts"]
    assert (other["item"], other["value"], other["wins"], other["file"]) == (item, value, wins, path)
    assert found["verdict"] == ("drifted" if wins == "yes" else "changed")
    if item == KEY:
        assert lpar.exists(SYSCTL)


def test_older_kernels_guests_and_other_machines(tmp_path):
    found = record(ZHost(tmp_path, vertical=True))
    assert found["verdict"] == "unsupported"
    assert found["reason"] == "the kernel 6.1.0-s390x has no s390.hiperdispatch; Linux has it from 6.12 on"
    host = ZHost(tmp_path / "guest", facility=False, sysctl=True)
    host.hiperdispatch()
    found = record(host)
    assert found["verdict"] == "unsupported" and "guest of z/VM" in found["reason"] and host.log == []
    host.remove("/proc/sysinfo")
    assert record(host)["verdict"] == "not_applicable"


@pytest.mark.parametrize(
    "asked, said",
    [
        ({"steal_threshold": 101}, "steal_threshold: 101 is out of range; use 0 to 100"),
        ({"delay_factor": 0}, "delay_factor: 0 is out of range; use 1 to 4294967295"),
    ],
)
def test_values_that_the_kernel_would_refuse_are_refused_first(lpar, asked, said):
    with pytest.raises(InputError, match=said):
        run(lpar, **asked)


def test_a_missing_knob_a_refusal_and_a_value_that_someone_else_puts_back(lpar):
    lpar.remove(DELAY_FACTOR)
    found = record(lpar, enabled=False, steal_threshold=15, delay_factor=8)
    assert found["verdict"] == "unsupported" and "hd_delay_factor" in found["reason"]
    assert lpar.log == [] and not lpar.exists(SYSCTL) and not lpar.exists(TMPFILES)
    # one that is not chosen may be missing
    lpar.errors[STEAL_THRESHOLD] = errno.ERANGE
    result = run(lpar, steal_threshold=15)
    assert result["failed"] and "the kernel does not take this value" in result["msg"]
    assert lpar.value(STEAL_THRESHOLD) == "30" and not lpar.exists(TMPFILES)
    real = lpar.put
    lpar.put = lambda path, value: real(path, "1" if path == HIPERDISPATCH else value)
    result = run(lpar, enabled=False)
    assert result["failed"] and "is 1 (on), although 0 (off) was written" in result["msg"]


TOPOLOGY_SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-cpu-topology.conf"


@pytest.fixture
def guest(tmp_path):
    return ZHost(tmp_path, facility=False)


run_topology = runner(CpuTopology, sw_siblings=True)
topology = recorded(run_topology)


def test_siblings_are_set_kept_and_taken_back(guest):
    before = everything(guest)
    predicted = run_topology(guest, check=True)
    assert predicted["changed"] and everything(guest) == before
    result = run_topology(guest)
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
    assert "\ns390.topology = 1\n" in guest.read(TOPOLOGY_SYSCTL)
    assert not run_topology(guest)["changed"]
    guest.fill("/etc/sysctl.d/99-site.conf", "s390.topology=0")
    found = topology(guest, check=True)
    assert [(other["wins"], other["value"]) for other in found["conflicts"]] == [("yes", "0")]
    assert found["verdict"] == "drifted"
    guest.remove("/etc/sysctl.d/99-site.conf")
    found = topology(guest, sw_siblings=False)
    assert found["after"]["stored"] == {"sysctl.d": "0"}
    assert found["remarks"] == ["the scheduler takes each of the 4 online CPUs for a socket of its own"]
    topology(guest, state="restored")
    assert everything(guest) == before


def test_a_kernel_that_says_1_without_siblings_is_not_believed(guest):
    run_topology(guest)
    guest.fill("/sys/devices/system/cpu/cpu3/topology/core_siblings_list", "3")
    assert "1, siblings mixed" in topology(guest, check=True)["reason"]
    guest.siblings(False)
    found = topology(guest, check=True)
    assert found["verdict"] == "drifted" and "1, siblings 0, wanted 1" in found["reason"]
    guest.siblings = lambda together: None
    result = run_topology(guest)
    assert result["failed"] and "the siblings that the scheduler sees did not follow" in result["msg"]


@pytest.mark.parametrize("digit, together", [("0", True), ("1", False)])
@pytest.mark.parametrize("wanted", [False, True])
def test_siblings_at_odds_with_the_kernels_value_are_seen_and_no_obstacle_to_the_rollback(
    guest, digit, together, wanted
):
    guest.fill(TOPOLOGY, digit)
    guest.siblings(together)
    shown = "%s, siblings %d" % (digit, together)
    assert topology(guest, check=True, sw_siblings=wanted)["reason"].startswith(
        "s390.topology: %s, wanted %d" % (shown, wanted)
    )
    found = topology(guest, sw_siblings=wanted)
    assert (found["verdict"], found["before"]["running"]) == ("changed", {"s390.topology": shown})
    assert found["after"]["running"] == {"s390.topology": str(int(wanted))}
    result = run_topology(guest, state="restored")
    assert not result["failed"], result["msg"]
    assert guest.value(TOPOLOGY) == digit and not guest.exists("/var/lib/zpower_sap_tuning")
    assert {value for _path, value in guest.log} <= {"0", "1"}


def test_one_cpu_has_no_siblings_to_prove_anything(guest):
    guest.fill("/sys/devices/system/cpu/online", "0")
    guest.siblings(False)
    assert topology(guest)["verdict"] == "changed"
    assert topology(guest, check=True)["verdict"] == "compliant"
    # two have
    guest.fill("/sys/devices/system/cpu/online", "0-1")
    guest.siblings(False)
    assert "1, siblings 0, wanted 1" in topology(guest, check=True)["reason"]


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
    found = topology(host)
    assert found["verdict"] == "not_applicable" and words in found["reason"] and host.log == []


def test_a_kernel_without_it_is_unsupported_and_names_the_first_that_have_it_and_the_way_out(guest, tmp_path):
    guest.errors[TOPOLOGY] = errno.EROFS
    result = run_topology(guest)
    assert result["failed"] and "read-only" in result["msg"] and not guest.exists(TOPOLOGY_SYSCTL)
    guest.remove(TOPOLOGY)
    found = topology(guest)
    assert found["verdict"] == "unsupported"
    assert found["wanted"]["state"] == "present" and found["before"]["running"] is None
    assert "6.1.0-s390x" in found["reason"] and "4.4.92 of SLES 12 SP3" in found["reason"]
    host = ZHost(tmp_path / "lpar")
    host.fill("/proc/cmdline", "topology=off")
    host.remove(TOPOLOGY)
    found = topology(host)
    assert found["verdict"] == "unsupported" and "remove it from the kernel command line" in found["reason"]


@pytest.mark.parametrize("parameters, boots", [("topology=on", "1"), ("quiet topology=on topology=off ro", "0")])
@pytest.mark.parametrize("wanted", [False, True])
def test_the_command_line_is_the_next_boot_until_something_is_stored(guest, parameters, boots, wanted):
    guest.fill("/proc/cmdline", "root=/dev/dasda1 " + parameters)
    found = topology(guest, check=True, sw_siblings=wanted)
    assert found["before"]["next_boot"] == {"s390.topology": boots}
    agrees = boots == str(int(wanted))
    assert [(other["what"], other["file"], other["value"], other["wins"]) for other in found["conflicts"]] == (
        [] if agrees else [("kernel command line", "/proc/cmdline", boots, "no")]
    )
    found = topology(guest, sw_siblings=wanted)
    assert found["after"]["next_boot"] == {"s390.topology": str(int(wanted))}
    assert guest.exists(TOPOLOGY_SYSCTL) is (found["after"]["stored"] is not None) is not agrees
    assert topology(guest, check=True, sw_siblings=wanted)["verdict"] == "compliant"


def test_a_guest_that_moved_to_an_lpar_still_loses_its_file(guest):
    run_topology(guest)
    guest.fill("/proc/sysinfo", LPAR + FACILITY)
    assert topology(guest)["verdict"] == "compliant" and guest.exists(TOPOLOGY_SYSCTL)
    assert topology(guest, state="restored")["verdict"] == "changed"
    # its first value, 0, would hide the topology of the LPAR
    assert not guest.exists(TOPOLOGY_SYSCTL) and guest.value(TOPOLOGY) == "1"


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
    found = topology(host, check=True)
    assert found["verdict"] == "drifted" and everything(host) == before
    assert "s390.topology: 0 (each CPU for itself), wanted 1 (the real topology)" in found["reason"]
    assert found["remarks"] == ["the scheduler does not see the real topology of this machine"]
    found = topology(host)
    assert found["verdict"] == "changed" and found["after"]["next_boot"] == {"s390.topology": "1"}
    assert found["remarks"] == ["the scheduler sees the real topology of this machine"]
    # which need not make all CPUs siblings
    host.siblings(False)
    found = topology(host, check=True)
    assert found["verdict"] == "compliant" and bool(found["conflicts"]) is (how != "by hand")
    topology(host, state="restored")
    assert everything(host) == before
