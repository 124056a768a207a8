# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guests after rollback: the settings are the kernel's own, and no file is left."""


def test_the_kernel_has_its_first_values(sysctls):
    assert (sysctls["rmem"], sysctls["wmem"]) == ("65536", "65536")


def test_nothing_is_stored_any_more(stored, modules_at_boot, remembered):
    assert stored == remembered["stored"]
    assert modules_at_boot == ""


def test_a_second_rollback_changes_nothing(play):
    status, text, changed = play("rollback")
    assert (status, changed) == (0, {"smc1": 0, "smc2": 0}), text
