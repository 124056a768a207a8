# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guest after a reboot: systemd and udev have set the stored values."""


def test_the_guest_has_rebooted_without_a_failed_unit(host, boot, remembered):
    assert boot != remembered["boot"]
    assert host.run("systemctl is-system-running --wait").stdout.strip() == "running"


def test_the_stored_values_are_set(siblings, topology, mask, stored, remembered):
    assert (topology, mask) == ("1", 0b1111)
    assert siblings == {f"cpu{number}": "0-3" for number in range(4)}
    assert stored == remembered["kept"]
    for name in ("cpu_topology.json", "rps.json", "91-zpower-sap-tuning-cpu-topology.conf"):
        assert name in stored


def test_verify_agrees(play):
    status, text, changed = play("verify")
    assert (status, changed) == (0, {"guest": 0}), text
    assert "the scheduler takes CPUs 0-3 for cores of one socket" in text
