# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guests after rollback: the settings are the kernel's defaults, and no file is left."""


def test_everything_is_as_found(sysctls, stored, modules_at_boot, remembered):
    assert (sysctls["rmem"], sysctls["wmem"]) == ("65536", "65536")
    assert stored == remembered["stored"]
    assert modules_at_boot == ""


def test_the_instance_uses_tcp_again(host, profile, preloaded):
    assert profile().splitlines()[-1] == "# last line" and "LD_PRELOAD" not in profile()
    assert preloaded == {False}
    # no SMC socket is open (see below), so these are the two work processes
    assert host.check_output("grep -c ':1389 01 ' /proc/net/tcp") == "2"


def test_the_tables_of_smc_are_empty(module):
    found = module("platform_info")["ansible_facts"]["zpower_platform"]["smc"]
    assert (found["ueids"], found["sockets"]) == ([], [])
    assert [device["pnet_id"] for device in found["devices"]] == [None]


def test_a_second_rollback_changes_nothing(play):
    status, text, changed = play("rollback")
    assert (status, changed) == (0, {"smc1": 0, "smc2": 0}), text
