# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a reboot, UEID and buffers are restored, and the instance uses SMC-D from its start."""


def test_the_guest_has_rebooted_and_has_the_stored_values(boot, stored, smc, sysctls, remembered):
    assert boot != remembered["boot"]
    assert stored == remembered["kept"]
    assert (smc()["ueids"], sysctls["rmem"]) == (["LAB.ONE"], "262144")


def test_the_instance_uses_smc_d_again_with_the_system_eid(record, tables):
    """While the system EID is enabled, the kernel prefers it to UEIDs (smc_clc_match_eid in net/smc/smc_clc.c)."""
    _status, text = record()
    assert "connections of PRD_00 now: 2 SMCD" in text, text
    found = tables()
    assert {(entry["eid"], entry["chid"], entry["version"]) for entry in found["groups"]} == {
        (found["seid"][0], 0xFFFF, 2)
    }
    assert (found["seid"][1], found["client_v2"] >= 2) == (1, True)
