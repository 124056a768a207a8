# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LPARs after rollback: each is as found, including the CPUs that were missing."""


def test_the_cpus_come_back_with_the_original_mode(host, kernel, stored, remembered):
    host.check_output("chcpu --configure 3 && chcpu --enable 2,3")
    assert kernel() == remembered["kernel"]
    assert stored == remembered["stored"]
