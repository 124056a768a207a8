# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sysctls net.smc: set, kept also for a module that is loaded late, and taken back."""

import shutil

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_sysctls import SmcSysctls
from runs import everything, recorded, runner
from smckernel import SYSCTLS, SmcHost

WMEM, RMEM = SYSCTLS + "wmem", SYSCTLS + "rmem"
SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-smc-sysctls.conf"
MODULES = "/etc/modules-load.d/91-zpower-sap-tuning-smc-sysctls.conf"


@pytest.fixture
def host(tmp_path):
    return SmcHost(tmp_path)


run = runner(SmcSysctls, settings={"wmem": 262144, "rmem": 131072})
record = recorded(run)


def test_values_are_set_and_kept_with_the_module(host):
    host.fill(SYSCTLS + "hs_ctrl", "\n")
    # modules of other names
    host.fill("/etc/modules-load.d/site.conf", "smc_diag\n#smc\nismc\nsmcs")
    before = everything(host)
    result = run(host)
    assert "net.smc net.smc.wmem (running): 262144" in result["diff"]["after"] and result["tuning"][0]["remarks"] == []
    (found,) = result["tuning"]
    assert (found["subject"], found["verdict"], found["restart"]) == ("net.smc", "changed", "none")
    values = {"net.smc.rmem": "131072", "net.smc.wmem": "262144"}
    assert found["after"] == {"running": values, "stored": dict(values, module="smc"), "next_boot": values}
    assert found["before"]["running"] == dict.fromkeys(values, "65536") and found["before"]["next_boot"] is None
    assert sorted(host.log) == [(RMEM, "131072"), (WMEM, "262144")]
    assert "\nsmc\n" in host.read(MODULES)
    # what is not asked for is left alone; a number may be a text, as templates make it
    host.fill(SYSCTLS + "hs_ctrl", "linux_hs_ctrl\n")
    found = record(host, settings={"smcr_testlink_time": "0", "rmem": None})
    assert found["remarks"][0].startswith("net.smc.hs_ctrl is linux_hs_ctrl")
    assert host.log[2:] == [(SYSCTLS + "smcr_testlink_time", "0")] and "net.smc.wmem" not in found["after"]["stored"]
    host.fill(SYSCTLS + "hs_ctrl", "\n")
    assert record(host, state="restored")["verdict"] == "changed" and everything(host) == before


@pytest.mark.parametrize(
    "file, text",
    [
        ("/etc/modules-load.d/smc.conf", "# by the site\nsmc"),
        ("/usr/lib/modules-load.d/vendor.conf", "smc"),
        ("/lib/modules/6.12.1-s390x/modules.builtin", "kernel/net/rds/rds.ko\nkernel/net/smc/smc.ko"),
        ("/proc/cmdline", "root=/dev/dasda1 modules-load=af_iucv,smc"),
    ],
)
def test_a_module_that_comes_at_boot_anyway_needs_no_file(host, file, text):
    host.fill(file, text)
    found = record(host)
    assert (found["verdict"], host.exists(MODULES)) == ("changed", False)
    assert found["after"]["next_boot"] == {"net.smc.rmem": "131072", "net.smc.wmem": "262144"}


def test_values_without_the_module_at_boot_are_lost(host, tmp_path):
    run(host)
    host.remove(MODULES)
    found = record(host, check=True)
    assert found["verdict"] == "drifted" and "module: absent, wanted smc" in found["reason"]
    assert found["before"]["next_boot"] is None
    assert record(host)["verdict"] == "changed"
    shutil.rmtree(str(tmp_path / "proc/sys/net/smc"))
    assert record(host, state="restored")["verdict"] == "changed"
    assert not host.exists(SYSCTL) and not host.exists(MODULES)


def test_a_kernel_without_the_module_is_unsupported_and_nothing_is_loaded_for_it(host, tmp_path):
    found = record(host, settings={"wmem": 262144, "smcr_max_send_wr": 64})
    assert found["reason"] == "the kernel 6.12.1-s390x has no net.smc.smcr_max_send_wr" and host.log == []
    shutil.rmtree(str(tmp_path / "proc/sys/net/smc"))
    host.fill("/proc/sys/net/core/somaxconn", "4096")
    found = record(host)
    assert found["verdict"] == "unsupported" and "modprobe smc" in found["reason"]
    assert found["wanted"]["state"] == "present" and len(found["wanted"]) > 1, "a request that somebody can meet"
    assert not host.exists(SYSCTL) and not host.exists(MODULES)
    shutil.rmtree(str(tmp_path / "proc/sys/net"))
    found = record(host)
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
def test_a_mistake_is_one_sentence_and_changes_nothing(host, settings, words):
    before = everything(host)
    for state in ("present", "restored"):
        with pytest.raises(InputError) as caught:
            run(host, settings=settings, state=state)
        assert str(caught.value).startswith("settings: " + words) and everything(host) == before
    if "; use " in words:
        assert set(str(caught.value).split("; use ")[1].split(", ")) == set(SmcSysctls.table)
