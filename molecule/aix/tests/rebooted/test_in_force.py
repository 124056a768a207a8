# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the stand-in's reboot, the deferred values are active and nothing is left to do."""

OPTIMIZED = {"conns_per_lg": "64", "init_snd_pools": "16", "rx_intr_packets": "256", "tx_intr_time": "10000"}
WANTED = ("-e", "smc_r_preset=optimized")


def test_the_values_are_active(only_app1, values, nodelayack):
    assert OPTIMIZED.items() <= values("smcr0", "in_force").items()
    assert values("smcr0", "in_force") == values("smcr0", "odm")
    assert nodelayack() == "1", "the tunable has the value in nextboot"


def test_verify_agrees_although_the_device_is_in_use(name, told, verdicts, state):
    status, text, changed = told("verify", *WANTED)
    assert (status, changed[name]) == (0, 0), text
    assert verdicts(text)["smc_r", "smcr0"] == {"app1": "compliant", "app2": "unsupported"}[name]
    assert name == "app2" or state()["devices"]["smcr0"]["busy"]
