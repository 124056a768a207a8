# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tuning of sysctls is a table: here of two that are always there, in different folders below /proc/sys."""

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._sysctls import SysctlTuning
from kernel import KernelHost
from runs import everything, only, runner

AUTOGROUP, BACKLOG = "/proc/sys/kernel/sched_autogroup_enabled", "/proc/sys/kernel/sched/backlog"
FILE = "/etc/sysctl.d/91-zpower-sap-tuning-scheduler.conf"


class Scheduler(SysctlTuning):
    name = "scheduler"
    subject = "kernel"
    header = "# Scheduler, kept by a test.\n"
    table = {"sched_autogroup_enabled": (0, 1), "sched.backlog": (-1, 100)}


run = runner(Scheduler, settings={"sched_autogroup_enabled": 0, "sched.backlog": -1})


@pytest.fixture
def host(tmp_path):
    found = KernelHost(tmp_path)
    found.fill(AUTOGROUP, "1")
    found.fill(BACKLOG, "7")
    return found


def test_it_is_set_kept_and_taken_back(host):
    before = everything(host)
    assert run(host, check=True)["changed"] and everything(host) == before
    values = {"kernel.sched_autogroup_enabled": "0", "kernel.sched.backlog": "-1"}
    record = only(run(host))
    assert (record["subject"], record["verdict"]) == ("kernel", "changed")
    assert record["after"] == {"running": values, "stored": values, "next_boot": values}
    assert (host.value(AUTOGROUP), host.value(BACKLOG)) == ("0", "-1")
    assert "\nkernel.sched.backlog = -1\n" in host.read(FILE) and not host.exists("/etc/modules-load.d")
    assert not run(host)["changed"]
    run(host, state="restored")
    assert everything(host) == before


def test_a_kernel_without_one_of_them_is_unsupported(host):
    host.remove(BACKLOG)
    record = only(run(host))
    assert record["verdict"] == "unsupported" and record["reason"].endswith("has no kernel.sched.backlog")
    assert host.value(AUTOGROUP) == "1"


def test_another_system_is_not_applicable(tmp_path):
    record = only(run(KernelHost(tmp_path)))
    assert (record["verdict"], record["reason"]) == ("not_applicable", "these sysctls exist on Linux only")


def test_a_later_file_wins(host):
    run(host)
    host.fill("/etc/sysctl.d/99-site.conf", "kernel/sched_autogroup_enabled = 1")
    record = only(run(host, check=True))
    assert record["verdict"] == "drifted" and record["after"]["next_boot"]["kernel.sched_autogroup_enabled"] == "1"
