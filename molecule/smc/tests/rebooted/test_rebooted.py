# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a reboot the settings are back, because their module is loaded in time; SMC-R itself is not."""


def test_it_has_rebooted(host, remembered):
    assert host.check_output("cat /proc/sys/kernel/random/boot_id") != remembered["boot"]


def test_the_settings_are_back(loaded, sysctls, stored, remembered):
    assert loaded
    assert (sysctls["rmem"], sysctls["wmem"]) == ("262144", "262144")
    assert stored == remembered["kept"]


def test_the_tables_of_smc_are_empty(module):
    found = module("platform_info")["ansible_facts"]["zpower_platform"]["smc"]
    assert (found["devices"], found["ueids"], found["sockets"]) == ([], [], [])


def test_without_a_connection_verify_says_that_it_cannot_tell(play):
    status, text, changed = play("verify")
    assert (status, changed) == (0, {"smc1": 0, "smc2": 0}), text
    assert "no connection to 10.99.0.2 is open, so the use of SMC is unknown" in text, text
