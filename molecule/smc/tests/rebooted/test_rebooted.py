# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a reboot settings and tables are back, and the instance uses SMC-R again from its start on."""


def test_it_has_rebooted_and_the_settings_are_back(boot, loaded, sysctls, stored, remembered):
    assert boot != remembered["boot"] and loaded
    assert (sysctls["rmem"], sysctls["wmem"]) == ("262144", "262144")
    assert stored == remembered["kept"]


def test_the_tables_of_smc_are_back(module):
    found = module("platform_info")["ansible_facts"]["zpower_platform"]["smc"]
    (device,) = found["devices"]
    assert (device["name"], device["pnet_id"], device["pnet_id_by_user"]) == ("rxe0", "SAPNET", True)
    assert found["ueids"] == ["SAP.EID.LAB"]


def test_the_instance_uses_smc_r_again(record, preloaded):
    status, text = record()
    assert status == 0 and preloaded == {True}, text
    assert "connections of PRD_00 now: 2 SMCR" in text, text
