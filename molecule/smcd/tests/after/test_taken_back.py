# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guest after rollback: no UEID, and the kernel has its system EID on again; the instance is on TCP."""


def test_the_ueid_is_gone_and_the_system_eid_is_on(smc, tables):
    assert (smc()["ueids"], smc()["sockets"]) == ([], [])
    assert tables()["seid"][1] == 1


def test_the_kernel_has_its_first_values(sysctls, stored, remembered):
    assert sysctls["rmem"] == "65536"
    assert stored == remembered["stored"]


def test_the_instance_is_on_tcp_again(profile, preloaded):
    assert "LD_PRELOAD" not in profile() and preloaded == {False}


def test_a_second_rollback_changes_nothing(play):
    status, text, changed = play("rollback")
    assert (status, changed) == (0, {"guest": 0}), text
