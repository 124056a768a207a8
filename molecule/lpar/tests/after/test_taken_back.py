# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LPARs after rollback: each is as it was found, and so are the CPUs that were missing meanwhile."""


def test_the_cpus_come_back_with_the_mode_that_was_found(host, kernel, stored, remembered):
    host.check_output("chcpu --configure 3 && chcpu --enable 2,3")
    assert kernel() == remembered["kernel"]
    assert stored == remembered["stored"]
