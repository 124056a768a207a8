# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU polarization: the switch and the wait, what the kernel refuses, what it boots into, who else sets it."""

import errno

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import services
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_polarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_polarization import (
    SYSCTL,
    TMPFILES,
    CpuPolarization,
)
from runs import everything, only, recorded, runner
from zkernel import DISPATCHING, FACILITY, HIPERDISPATCH, LPAR, POLARIZATION, STEAL_THRESHOLD, ZVM, ZHost


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """The clock of the waits: each look takes 0.1 s of it, and none of ours."""
    now = [0.0]
    monkeypatch.setattr(cpu_polarization.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(cpu_polarization.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now


run = runner(CpuPolarization, mode="vertical", wait_timeout=75)
record = recorded(run)


def test_an_old_kernel_is_switched_kept_by_tmpfiles_and_taken_back(tmp_path):
    host = ZHost(tmp_path, late=3)
    before = everything(host)
    predicted = run(host, check=True)
    assert predicted["changed"] and everything(host) == before
    result = run(host)
    assert result["changed"] and result["diff"] == predicted["diff"]
    assert result["diff"]["after"] == "dispatching (running): vertical\ndispatching tmpfiles.d (stored): vertical\n"
    found = result["tuning"][0]
    assert found["verdict"] == "changed"
    assert found["before"]["running"] == {"dispatching": "horizontal"}
    assert found["after"] == {
        "running": {"dispatching": "vertical"},
        "stored": {"tmpfiles.d": "vertical"},
        "next_boot": {"dispatching": "vertical"},
    }
    assert "\nw /sys/devices/system/cpu/dispatching - - - - 1\n" in host.read(TMPFILES)
    assert host.log == [(DISPATCHING, "1")]
    tuned = everything(host)
    result = run(host)
    assert not result["changed"] and only(result)["verdict"] == "compliant"
    assert everything(host) == tuned and len(host.log) == 1
    assert run(host, check=True, state="restored")["changed"]
    assert record(host, state="restored")["verdict"] == "changed"
    assert everything(host) == before
    assert not run(host, state="restored")["changed"]


def test_a_kernel_that_boots_vertical_is_compliant_from_the_start(tmp_path):
    host = ZHost(tmp_path, sysctl=True, vertical=True)
    host.boots_vertical()
    before = everything(host)
    found = record(host)
    assert found["verdict"] == "compliant" and everything(host) == before
    assert found["after"]["next_boot"] == {"dispatching": "vertical"}
    found = record(host, mode="horizontal")
    assert found["verdict"] == "changed" and found["after"]["next_boot"] == {"dispatching": "horizontal"}
    assert host.value(DISPATCHING) == "0" and "s390.polarization = 0" in host.read(SYSCTL)
    record(host, state="restored")
    assert everything(host) == before
    host.fill("/etc/sysctl.d/50-site.conf", "s390.polarization = 0")
    found = record(host)
    assert found["before"]["next_boot"] == {"dispatching": "horizontal"}
    assert found["verdict"] == "changed" and found["after"]["next_boot"] == {"dispatching": "vertical"}


@pytest.mark.parametrize("boots", [None, False], ids=["no configuration to read", "a kernel that boots horizontal"])
def test_a_new_kernel_that_may_not_boot_vertical_gets_a_file(tmp_path, boots):
    host = ZHost(tmp_path, sysctl=True, vertical=True)
    if boots is not None:
        host.boots_vertical(boots)
    found = record(host)
    assert found["verdict"] == "changed" and host.log == []
    assert found["before"]["next_boot"] == (None if boots is None else {"dispatching": "horizontal"})
    assert host.exists(SYSCTL)


def test_the_file_of_an_earlier_kernel_gives_way_to_sysctl_d(tmp_path):
    host = ZHost(tmp_path)
    run(host)
    assert host.exists(TMPFILES)
    host.fill(POLARIZATION, "1")
    found = record(host)
    assert found["verdict"] == "changed" and found["after"]["stored"] == {"sysctl.d": "vertical"}
    assert not host.exists(TMPFILES)
    record(host, state="restored")
    assert not host.exists(SYSCTL) and not host.exists(TMPFILES) and host.value(DISPATCHING) == "0"


def test_cpus_that_report_late_are_waited_for_and_those_offline_are_not(tmp_path, impatient):
    host = ZHost(tmp_path, late=300)
    assert record(host)["verdict"] == "changed"
    assert 30 <= impatient[0] <= 75
    for late, verdict in ((50, "compliant"), (5000, "drifted")):
        host.put(DISPATCHING, "0")
        host.late = late
        host.put(DISPATCHING, "1")
        found = record(host, check=True)
        assert found["verdict"] == verdict
    assert "CPU 0-3 does not show its polarization yet" in found["reason"]
    host = ZHost(tmp_path / "offline")
    host.offline(2)
    impatient[0] = 0
    for check, verdict in ((False, "changed"), (True, "compliant")):
        host.fill("/sys/devices/system/cpu/cpu2/polarization", "unknown")
        assert record(host, check)["verdict"] == verdict
    assert impatient[0] < 1


def test_cpus_that_never_report_are_a_failure_and_the_host_is_put_back(tmp_path):
    host = ZHost(tmp_path, late=1000)
    result = run(host, wait_timeout=5)
    assert result["failed"]
    assert "5 s after the switch to vertical CPU 0-3 still shows unknown" in result["msg"]
    assert host.value(DISPATCHING) == "0" and not host.exists(TMPFILES)
    real = host.put

    def put(path, value):
        real(path, value)
        host.errors[DISPATCHING] = errno.EIO

    host.put = put
    result = run(host, wait_timeout=5)
    assert "still shows unknown" in result["msg"] and "it could not be switched back" in result["msg"]


# what the kernel refuses


KVM = ZVM.replace("z/VM    7.3.0", "KVM/Linux")
FROM_QEMU_8_2 = "guest of KVM without it: QEMU from 8.2"


@pytest.mark.parametrize(
    "facility, sysinfo, file, words",
    [
        (False, ZVM, True, "guest of z/VM"),
        (False, ZVM, False, "guest of z/VM"),
        (False, KVM, True, FROM_QEMU_8_2),
        # as where /proc/sysinfo is another machine's, in a container: it is only said at the write
        (False, LPAR + FACILITY, True, "no CPU topology facility"),
        (True, LPAR + FACILITY, False, ""),
    ],
)
def test_a_machine_that_cannot_be_switched_is_unsupported(tmp_path, facility, sysinfo, file, words):
    host = ZHost(tmp_path, facility=facility)
    host.fill("/proc/sysinfo", sysinfo)
    if not file:
        host.remove(DISPATCHING)
    before = everything(host)
    result = run(host)
    assert not result["changed"] and not result["failed"]
    found = only(result)
    assert found["verdict"] == "unsupported" and found["reason"] and words in found["reason"]
    assert found["wanted"] == {"state": "present", "mode": "vertical"}
    assert everything(host) == before


def test_a_guest_of_kvm_with_the_facility_is_switched_and_another_machine_is_not(tmp_path):
    host = ZHost(tmp_path)
    host.fill("/proc/sysinfo", KVM + FACILITY)
    found = record(host)
    assert found["verdict"] == "changed"
    assert found["remarks"] == ["entitlement of the 4 online CPUs: 1 high, 1 medium, 2 low"]
    host.remove("/proc/sysinfo")
    found = record(host)
    assert found["verdict"] == "not_applicable" and found["reason"]


def test_busy_with_cpus_that_are_vertical_already_is_success(tmp_path):
    host = ZHost(tmp_path)
    host.firmware = "1"
    real = host.put

    def put(path, value):
        # the machine was switched between the look and the write
        host._polarize(True)
        real(path, value)

    host.put = put
    found = record(host)
    assert found["verdict"] == "changed" and found["after"]["running"] == {"dispatching": "vertical"}
    # before it an old kernel needs no switch
    host = ZHost(tmp_path / "before")
    host._polarize(True)
    result = run(host, mode="horizontal")
    assert result["failed"] and "before 6.14 do not notice" in result["msg"] and host.log == []
    found = record(host)
    assert found["before"]["running"] == {"dispatching": "vertical"} and host.log == []
    assert found["verdict"] == "changed" and found["after"]["stored"] == {"tmpfiles.d": "vertical"}
    # what someone else switches is left alone by the rollback
    host.fill(DISPATCHING, "1")
    record(host, mode="horizontal")
    host.put(DISPATCHING, "1")
    found = record(host, state="restored")
    assert found["after"]["running"] == {"dispatching": "vertical"} and not host.exists(TMPFILES)


@pytest.mark.parametrize(
    "number, words",
    [
        (errno.EROFS, "as in a container"),
        (errno.ENOENT, "vanished"),
        (errno.EIO, "the old value stands"),
        (errno.EBUSY, "Device or resource busy: the machine refuses it now"),
    ],
)
def test_refusals_are_one_sentence_and_change_nothing(tmp_path, number, words):
    host = ZHost(tmp_path)
    with pytest.raises(InputError, match="wait_timeout: 0 is out of range; use 1 to 3600"):
        run(host, wait_timeout=0)
    host.errors[DISPATCHING] = number
    result = run(host)
    assert result["failed"] and not result["changed"] and words in result["msg"]
    assert result["tuning"][0]["verdict"] == "failed"
    assert host.value(DISPATCHING) == "0" and not host.exists(TMPFILES)


FOUR_HIGH = "entitlement of the 4 online CPUs: 4 high (at least 4.0 of 4 online cores)"


def test_the_split_and_hiperdispatch_settings_worth_knowing(tmp_path):
    host = ZHost(tmp_path / "shared")
    # before the switch, and as long as the CPUs are of several types
    (warning,) = record(host, check=True)["remarks"]
    assert "significant performance degradation" in warning and "deconfigure" in warning
    assert record(host, check=True, mode="horizontal")["remarks"] == []
    remarks = record(host)["remarks"]
    assert remarks.pop(0) == warning
    split = "1 high, 1 medium, 2 low (between 1.5 and 2.0 of 4 online cores)"
    assert remarks[0] == "entitlement of the 4 online CPUs: " + split
    assert "shared CPUs" in remarks[1] and "vertical:low" in remarks[1]
    host = ZHost(tmp_path, sysctl=True, vertical=True, split=("high",))
    host.hiperdispatch()
    for release, threshold, words in (
        ("6.12.117+deb13-s390x", 30, ""),
        ("6.12.117+deb13-s390x", 80, "hd_steal_threshold is 80 (the kernel's default is 30)"),
        ("7.3.4", 80, "hd_steal_threshold is 80 (the kernel's default is 10)"),
        # no default is known of the releases between
        ("6.18.1", 80, ""),
    ):
        host.fill("/proc/sys/kernel/osrelease", release)
        host.fill(STEAL_THRESHOLD, str(threshold))
        assert record(host, check=True)["remarks"] == [FOUR_HIGH] + ([words] if words else [])
    host.fill(HIPERDISPATCH, "0")
    assert "s390.hiperdispatch is 0" in record(host, check=True)["remarks"][1]


CPU, CHCPU = "/sys/devices/system/cpu/", "ExecStart=/usr/sbin/chcpu "
RULE = 'SUBSYSTEM=="cpu", RUN+="/sbin/chcpu -p horizontal"'


@pytest.mark.parametrize(
    "file, line, wins, value",
    [
        ("/etc/tmpfiles.d/10-site.conf", "w %sdispatching - - - - 0" % CPU, "yes", "horizontal"),
        ("/etc/tmpfiles.d/95-site.conf", "w %sdispatching - - - - 0" % CPU, "no", "horizontal"),
        ("/etc/tmpfiles.d/10-site.conf", "w %sdisp* - - - - 0" % CPU, "possible", "horizontal"),
        ("/etc/udev/rules.d/99-site.rules", RULE, "possible", "horizontal"),
        ("/etc/systemd/system/z.service", CHCPU + "-p horizontal", "possible", "horizontal"),
        ("/etc/systemd/system/z.service", CHCPU + "--dispatching=vertical", "possible", "vertical"),
        ("/etc/systemd/system/z.service", CHCPU + "-e 3", None, None),
        ("/etc/rc.d/rc.local", "echo 0 > %sdispatching" % CPU, "possible", "horizontal"),
    ],
)
def test_others_on_an_old_kernel(tmp_path, file, line, wins, value):
    host = ZHost(tmp_path)
    run(host)
    host.fill(file, "# site\n" + line)
    found = record(host, check=True)
    others = [(other["file"], other["line"], other["wins"], other["value"]) for other in found["conflicts"]]
    assert others == ([] if wins is None else [(file, 2, wins, value)])
    assert found["verdict"] == ("drifted" if wins == "yes" else "compliant")
    if wins == "yes":
        assert "at the next boot %s line 2 sets dispatching to horizontal" % file in found["reason"]
        assert found["after"]["next_boot"] == {"dispatching": "horizontal"}


TUNED = {
    "/etc/tuned/active_profile": "site",
    "/etc/tuned/site/tuned.conf": "[script]\nscript=go.sh",
    "/etc/tuned/site/go.sh": "chcpu -p horizontal",
    "/etc/systemd/system/multi-user.target.wants/tuned.service": "",
}
UNIT_OF_A_PROGRAM = {
    "/etc/systemd/system/z.service": "ExecStart=/usr/local/sbin/tune --all",
    "/usr/local/sbin/tune": "sysctl -w s390.polarization=0",
    "/etc/systemd/system/multi-user.target.wants/z.service": "",
}


@pytest.mark.parametrize(
    "files, wins",
    [
        ({"/etc/sysctl.d/95-site.conf": "s390.polarization = 0"}, "yes"),
        ({"/etc/sysctl.d/10-site.conf": "s390/polarization = 0"}, "no"),
        (UNIT_OF_A_PROGRAM, "yes"),
        (TUNED, "yes"),
    ],
)
def test_a_new_kernel_is_kept_by_sysctl_d_which_others_may_overrule(tmp_path, files, wins):
    host = ZHost(tmp_path, sysctl=True)
    assert record(host)["verdict"] == "changed" and host.log == [(POLARIZATION, "1")]
    assert "\ns390.polarization = 1\n" in host.read(SYSCTL) and not host.exists(TMPFILES)
    for path, text in files.items():
        host.fill(path, text)
    found = record(host, check=True)
    others = [(other["wins"], other["value"]) for other in found["conflicts"]]
    assert others == [(wins, "horizontal")]
    assert found["verdict"] == ("drifted" if wins == "yes" else "compliant")


def test_a_unit_that_only_looks_or_is_hidden_does_not_win(tmp_path):
    host = ZHost(tmp_path)
    run(host)
    host.fill("/usr/lib/systemd/system/z.service", "ExecStart=/bin/cat /sys/devices/system/cpu/dispatching")
    host.fill("/etc/systemd/system/multi-user.target.wants/z.service", "")
    found = record(host, check=True)
    assert [other["wins"] for other in found["conflicts"]] == ["possible"] and found["verdict"] == "compliant"
    host.fill("/etc/systemd/system/z.service", "# masked")
    assert record(host, check=True)["conflicts"] == []


@pytest.mark.parametrize("version, found", [("2.34.0", 2), (None, 2), ("2.35.0", 0), ("2.4.0", 2), ("3.0.1", 0)])
def test_cpuplugd_before_2_35_0(tmp_path, monkeypatch, version, found):
    host = ZHost(tmp_path)
    host.fill("/etc/cpuplugd.conf", '# c\nUPDATE="10"\nHOTPLUG = "(loadavg > onumcpus)"\nHOTUNPLUG="(idle > 1)"')
    monkeypatch.setattr(services, "services", lambda host: [{"service": "cpuplugd", "version": version}])
    conflicts = record(host, check=True)["conflicts"]
    assert [other["line"] for other in conflicts] == [3, 4][:found]
    assert all(other["wins"] == "possible" and other["effect"] for other in conflicts)
    assert record(host)["verdict"] == "changed"
