# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Untouched LPARs: the older kernel boots horizontal, the newer one vertical."""

import json

CPUS = [f"cpu{number}" for number in range(4)]


def test_the_state_of_an_untouched_lpar_is_saved(host, name, kernel, stored, memory):
    found = kernel()
    shown = {"lpar61": ("0", "horizontal"), "lpar612": ("1", "vertical:medium")}[name]
    assert found["dispatching"] == shown[0]
    assert [found[f"{cpu}/polarization"] for cpu in CPUS] == [shown[1]] * 4
    assert "CPU Topology" in host.check_output("cat /proc/sysinfo")
    assert "zpower" not in stored
    memory.write_text(json.dumps({"kernel": found, "stored": stored}))
