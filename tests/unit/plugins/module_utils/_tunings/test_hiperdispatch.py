# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HiperDispatch: the sysctl and its thresholds, what boots, who else sets them, and horizontal CPUs."""

import errno

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_polarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.hiperdispatch import Hiperdispatch
from runs import everything, only, recorded, runner
from zkernel import DELAY_FACTOR, HIPERDISPATCH, POLARIZATION, STEAL_THRESHOLD, ZHost, vertical_lpar

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
