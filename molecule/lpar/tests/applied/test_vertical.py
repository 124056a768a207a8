# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Both LPARs are vertical; only the one that boots horizontal has a file for it. A threshold is set."""


def test_every_cpu_is_vertical(kernel):
    found = kernel()
    assert found["dispatching"] == "1"
    assert [found[f"cpu{number}/polarization"] for number in range(4)] == ["vertical:medium"] * 4


def test_only_values_that_differ_from_the_kernel_s_own_at_boot_are_stored(name, stored, remembered):
    added = [line.split()[1] for line in stored.splitlines() if line not in remembered["stored"]]
    tuning = {"lpar61": "cpu_polarization", "lpar612": "hiperdispatch"}[name]
    assert added == [
        f"/etc/tmpfiles.d/91-zpower-sap-tuning-{tuning.replace('_', '-')}.conf",
        f"/var/lib/zpower_sap_tuning/{tuning}.json",
        f"/var/lib/zpower_sap_tuning/{tuning}.lock",
    ]


def test_only_the_newer_kernel_has_hiperdispatch(name, kernel):
    found = {path.rpartition("/")[2]: text for path, text in kernel().items() if "hiperdispatch" in path}
    wanted = {"hiperdispatch": "1", "hd_steal_threshold": "15", "hd_delay_factor": "4"}
    assert found == (wanted if name == "lpar612" else {})
