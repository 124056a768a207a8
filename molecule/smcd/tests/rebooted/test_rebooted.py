# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a reboot, the UEID and the buffers are back, and the instance uses SMC-D from its start on."""


def test_it_has_rebooted_and_has_what_is_stored(boot, stored, smc, sysctls, remembered):
    assert boot != remembered["boot"]
    assert stored == remembered["kept"]
    assert (smc()["ueids"], sysctls["rmem"]) == (["LAB.ONE"], "262144")


def test_the_instance_uses_smc_d_again_by_the_system_eid(record, tables):
    """The kernel takes its system EID before any UEID (smc_clc_match_eid in net/smc/smc_clc.c) while that is on."""
    _status, text = record()
    assert "connections of PRD_00 now: 2 SMCD" in text, text
    found = tables()
    assert {(entry["eid"], entry["chid"], entry["version"]) for entry in found["groups"]} == {
        (found["seid"][0], 0xFFFF, 2)
    }
    assert (found["seid"][1], found["client_v2"] >= 2) == (1, True)
