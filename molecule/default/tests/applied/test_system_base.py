# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The system base beside another tuning. Of its sysctls, only those of the network are a host's own in the lab."""

import json

VARIABLES = {
    "zpower_tunings": ["rps", "system_base"],
    "system_base_items": ["net.ipv4.tcp_keepalive", "vm.max_map_count"],
}
KEEPALIVE = {"system_base_items": ["net.ipv4.tcp_keepalive"]}
STORED = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf"


def times(host):
    return [host.sysctl(f"net.ipv4.tcp_keepalive_{name}") for name in ("time", "intvl", "probes")]


def test_it_observes_and_changes_nothing(host, play):
    name = host.backend.get_hostname()
    status, text, changed = play("site", "--limit", name, "-e", json.dumps(VARIABLES))
    assert (status, changed) == (0, {name: 0}), text
    assert "net.ipv4.tcp_keepalive_time is 7200, SAP asks for 300" in " ".join(text.split())
    assert times(host)[0] == 7200 and not host.file(STORED).exists


def test_it_is_set_verified_and_taken_back(host, play):
    name = host.backend.get_hostname()
    asked = json.dumps({**VARIABLES, **KEEPALIVE, "system_base_state": "present"})
    status, text, changed = play("site", "--limit", name, "-e", asked)
    assert (status, changed) == (0, {name: 1}), text
    assert times(host) == [300, 75, 9]
    assert "net.ipv4.tcp_keepalive_time = 300" in host.file(STORED).content_string
    status, text, changed = play("verify", "--limit", name, "-e", asked)
    assert (status, changed) == (0, {name: 0}), text
    status, text, changed = play("rollback", "--limit", name, "--tags", "system_base", "-e", asked)
    assert (status, changed) == (0, {name: 1}), text
    assert times(host)[0] == 7200 and not host.file(STORED).exists
