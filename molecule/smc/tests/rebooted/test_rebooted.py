# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a reboot, settings and tables are back, and the instance uses SMC-R from its start."""


def test_the_guest_has_rebooted_and_has_the_settings(boot, loaded, sysctls, stored, remembered):
    assert boot != remembered["boot"] and loaded
    assert (sysctls["rmem"], sysctls["wmem"]) == ("262144", "262144")
    assert stored == remembered["kept"]


def test_the_tables_of_smc_are_restored(module):
    found = module("platform_info")["ansible_facts"]["zpower_platform"]["smc"]
    (device,) = found["devices"]
    assert (device["name"], device["pnet_id"], device["pnet_id_by_user"]) == ("rxe0", "SAPNET", True)
    assert found["ueids"] == ["SAP.EID.LAB"]


def test_the_instance_uses_smc_r_again(record, preloaded):
    status, text = record()
    assert status == 0 and preloaded == {True}, text
    assert "connections of PRD_00 now: 2 SMCR" in text, text
