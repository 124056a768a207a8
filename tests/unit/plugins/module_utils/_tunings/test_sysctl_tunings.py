# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tunings that are tables of sysctls, each of them in the same way, and what the module smc needs beside."""

import shutil

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._sysctls import SysctlTuning
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system import sysctl_path
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_sysctls import SmcSysctls
from kernel import KernelHost
from runs import everything, only, recorded, runner
from smckernel import SYSCTLS, SmcHost
from sysctls import TABLES, fill, first_value, request


class Scheduler(SysctlTuning):
    name = "scheduler"
    subject = "kernel"
    header = "# Scheduler, kept by a test.\n"
    table = {"sched_autogroup_enabled": (0, 1), "sched.backlog": (-1, 100)}


KINDS = [*TABLES, Scheduler]
EVERY = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


@pytest.fixture
def host(tmp_path, kind):
    found = KernelHost(tmp_path)
    fill(found, kind)
    return found


@EVERY
def test_values_are_set_kept_and_taken_back(host, kind):
    run, asked = runner(kind, settings=None), request(kind)
    wanted = {"%s.%s" % (kind.subject, name): str(value) for name, value in asked["settings"].items()}
    before = everything(host)
    predicted = run(host, check=True, **asked)
    assert predicted["changed"] and everything(host) == before
    result = run(host, **asked)
    assert result["diff"] == predicted["diff"]
    found = only(result)
    assert found["verdict"] == "changed" and found["after"]["running"] == found["after"]["next_boot"] == wanted
    assert found["after"]["stored"].items() >= wanted.items()
    text = host.read(kind.file("sysctl.d"))
    assert text.startswith(kind.header) and all("\n%s = %s\n" % one in text for one in wanted.items())
    assert not run(host, **asked)["changed"]
    assert only(run(host, state="restored"))["verdict"] == "changed"
    assert everything(host) == before


@EVERY
def test_the_value_of_the_kernel_needs_no_file_unless_another_setting_differs(host, kind):
    run = runner(kind, settings={name: first_value(kind, name) for name in kind.table})
    known = {name for name in kind.table if "%s.%s" % (kind.subject, name) in kind.defaults}
    found = only(run(host))
    stored = found["after"]["stored"] or {}
    assert {name for name in kind.table if "%s.%s" % (kind.subject, name) not in stored} == known
    for name in known:
        host.fill("/etc/sysctl.d/10-site.conf", "%s.%s = %d" % (kind.subject, name, kind.table[name][0]))
        assert only(run(host))["verdict"] == "changed" and host.exists(kind.file("sysctl.d"))


@EVERY
@pytest.mark.parametrize("file, wins", [("99-site", "yes"), ("10-site", "no")])
def test_another_setting_is_named(host, kind, file, wins):
    name = sorted(kind.table)[0]
    path = "/etc/sysctl.d/%s.conf" % file
    host.fill(path, "%s.%s = %s" % (kind.subject, name, first_value(kind, name)))
    found = only(runner(kind, **request(kind))(host))
    (other,) = found["conflicts"]
    assert (other["file"], other["value"], other["wins"]) == (path, first_value(kind, name), wins)
    assert found["verdict"] == ("drifted" if wins == "yes" else "changed")


@EVERY
def test_a_later_file_with_our_value_wins_once_that_changes(host, kind):
    name, (lowest, highest) = sorted(kind.table.items())[0]
    host.fill("/etc/sysctl.d/99-site.conf", "%s.%s = %d" % (kind.subject, name, highest))
    for value, verdict in ((highest, "changed"), (highest, "compliant"), (lowest, "drifted"), (lowest, "drifted")):
        calls = [runner(kind, settings={name: value})(host, check=check) for check in (True, False)]
        found = [only(one) for one in calls]
        assert found[1]["verdict"] == verdict and found[0]["after"] == found[1]["after"]
        assert found[1]["after"]["next_boot"] == {"%s.%s" % (kind.subject, name): str(highest)}


@EVERY
def test_nothing_is_set_where_nothing_can_be(host, kind):
    run, values = runner(kind, **request(kind)), list(everything(host))
    assert only(run(host, settings={}))["reason"] == "no value is asked for"
    name = sorted(kind.table)[-1]
    host.remove(sysctl_path("%s.%s" % (kind.subject, name)))
    found = only(run(host))
    assert found["verdict"] == "unsupported" and found["reason"].endswith("has no %s.%s" % (kind.subject, name))
    for name in sorted(kind.table)[:-1]:
        host.remove(sysctl_path("%s.%s" % (kind.subject, name)))
    before = everything(host)
    assert set(before) < set(values)
    found = only(run(host))
    assert found["verdict"] in ("not_applicable", "unsupported") and found["reason"]
    assert only(run(host, state="restored"))["verdict"] == "compliant"
    assert everything(host) == before


def test_another_system_is_not_applicable(tmp_path):
    record = only(runner(Scheduler, **request(Scheduler))(KernelHost(tmp_path)))
    assert (record["verdict"], record["reason"]) == ("not_applicable", "these sysctls exist on Linux only")


@EVERY
@pytest.mark.parametrize("state", ["present", "restored"])
def test_a_value_out_of_range_changes_nothing(host, kind, state):
    before = everything(host)
    for name, (lowest, highest) in kind.table.items():
        for value in (lowest - 1, highest + 1):
            with pytest.raises(InputError, match="settings: %s: %d is out of range; use %d to" % (name, value, lowest)):
                runner(kind, settings={name: value})(host, state=state)
    assert everything(host) == before


WMEM, RMEM = SYSCTLS + "wmem", SYSCTLS + "rmem"
SMC_SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-smc-sysctls.conf"
MODULES = "/etc/modules-load.d/91-zpower-sap-tuning-smc-sysctls.conf"


@pytest.fixture
def smc(tmp_path):
    return SmcHost(tmp_path)


run = runner(SmcSysctls, settings={"wmem": 262144, "rmem": 131072})
record = recorded(run)


def test_values_are_set_and_kept_with_the_module(smc):
    smc.fill(SYSCTLS + "hs_ctrl", "\n")
    # modules of other names
    smc.fill("/etc/modules-load.d/site.conf", "smc_diag\n#smc\nismc\nsmcs")
    before = everything(smc)
    result = run(smc)
    assert "net.smc net.smc.wmem (running): 262144" in result["diff"]["after"] and result["tuning"][0]["remarks"] == []
    (found,) = result["tuning"]
    assert (found["subject"], found["verdict"], found["restart"]) == ("net.smc", "changed", "none")
    values = {"net.smc.rmem": "131072", "net.smc.wmem": "262144"}
    assert found["after"] == {"running": values, "stored": dict(values, module="smc"), "next_boot": values}
    assert found["before"]["running"] == dict.fromkeys(values, "65536") and found["before"]["next_boot"] is None
    assert sorted(smc.log) == [(RMEM, "131072"), (WMEM, "262144")]
    assert "\nsmc\n" in smc.read(MODULES)
    # what is not asked for is left alone; a number may be a text, as templates make it
    smc.fill(SYSCTLS + "hs_ctrl", "linux_hs_ctrl\n")
    found = record(smc, settings={"smcr_testlink_time": "0", "rmem": None})
    assert found["remarks"][0].startswith("net.smc.hs_ctrl is linux_hs_ctrl")
    assert smc.log[2:] == [(SYSCTLS + "smcr_testlink_time", "0")] and "net.smc.wmem" not in found["after"]["stored"]
    smc.fill(SYSCTLS + "hs_ctrl", "\n")
    assert record(smc, state="restored")["verdict"] == "changed" and everything(smc) == before


@pytest.mark.parametrize(
    "file, text",
    [
        ("/etc/modules-load.d/smc.conf", "# by the site\nsmc"),
        ("/usr/lib/modules-load.d/vendor.conf", "smc"),
        ("/lib/modules/6.12.1-s390x/modules.builtin", "kernel/net/rds/rds.ko\nkernel/net/smc/smc.ko"),
        ("/proc/cmdline", "root=/dev/dasda1 modules-load=af_iucv,smc"),
    ],
)
def test_a_module_that_comes_at_boot_anyway_needs_no_file(smc, file, text):
    smc.fill(file, text)
    found = record(smc)
    assert (found["verdict"], smc.exists(MODULES)) == ("changed", False)
    assert found["after"]["next_boot"] == {"net.smc.rmem": "131072", "net.smc.wmem": "262144"}


def test_values_without_the_module_at_boot_are_lost(smc, tmp_path):
    run(smc)
    smc.remove(MODULES)
    found = record(smc, check=True)
    assert found["verdict"] == "drifted" and "module: absent, wanted smc" in found["reason"]
    assert found["before"]["next_boot"] is None
    assert record(smc)["verdict"] == "changed"
    shutil.rmtree(str(tmp_path / "proc/sys/net/smc"))
    assert record(smc, state="restored")["verdict"] == "changed"
    assert not smc.exists(SMC_SYSCTL) and not smc.exists(MODULES)


def test_a_kernel_without_the_module_is_unsupported_and_nothing_is_loaded_for_it(smc, tmp_path):
    found = record(smc, settings={"wmem": 262144, "smcr_max_send_wr": 64})
    assert found["reason"] == "the kernel 6.12.1-s390x has no net.smc.smcr_max_send_wr" and smc.log == []
    shutil.rmtree(str(tmp_path / "proc/sys/net/smc"))
    smc.fill("/proc/sys/net/core/somaxconn", "4096")
    found = record(smc)
    assert found["verdict"] == "unsupported" and "modprobe smc" in found["reason"]
    assert found["wanted"]["state"] == "present" and len(found["wanted"]) > 1, "a request that somebody can meet"
    assert not smc.exists(SMC_SYSCTL) and not smc.exists(MODULES)
    shutil.rmtree(str(tmp_path / "proc/sys/net"))
    found = record(smc)
    assert found["verdict"] == "not_applicable" and "smc_r" in found["reason"]


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"wmen": 65536}, "there is no setting 'wmen'; use wmem, rmem, "),
        ({"net.smc.rmem": 65536}, "there is no setting 'net.smc.rmem'; use rmem, "),
        ({"wmem": "much"}, "wmem is 'much'; give a whole number"),
        ({"limit_smc_hs": True}, "limit_smc_hs is 'True'; give a whole number"),
        ({"rmem": 65536.5}, "rmem is '65536.5'; give a whole number"),
    ],
)
def test_a_mistake_gets_one_sentence_and_changes_nothing(smc, settings, words):
    before = everything(smc)
    for state in ("present", "restored"):
        with pytest.raises(InputError) as caught:
            run(smc, settings=settings, state=state)
        assert str(caught.value).startswith("settings: " + words) and everything(smc) == before
    if "; use " in words:
        assert set(str(caught.value).split("; use ")[1].split(", ")) == set(SmcSysctls.table)
