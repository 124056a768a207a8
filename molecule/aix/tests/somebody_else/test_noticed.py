# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that someone else makes with chdev are detected."""


def test_a_correct_odm_is_not_enough(name, told, verdicts, values):
    status, text, _changed = told("verify")
    assert status != 0
    assert verdicts(text)["smc_r", "smcr0"] == {"app1": "pending_restart", "app2": "unsupported"}[name]
    assert "smcr0 conns_per_lg: 64 is in force, 16 once the device is configured again" in text
    if name == "app1":
        assert (values("smcr0", "odm")["conns_per_lg"], values("smcr0", "in_force")["conns_per_lg"]) == ("16", "64")


def test_a_value_changed_now_and_for_the_next_boot_is_drift(host, name, play, edited, only_app1):
    with edited():
        host.run_expect([0], "chdev -l en0 -a mtu=1400")
        status, text, _changed = play("verify", "--limit", name)
        assert status != 0
        assert "en0 mtu: 1400, wanted 9000" in text
        status, text, changed = play("rollback", "--check", "--diff", "--limit", name)
        assert status == 0, text
        assert "en0 mtu was changed by someone else and is left alone: it is 1400" in text
        assert "+en0 mtu" not in text and "+sys0 maxuproc (stored): 128" in text
