# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The system base beside another tuning. In the lab, sysctls of the network and kernel.shm are a host's own."""

import json

VARIABLES = {
    "zpower_tunings": ["rps", "system_base"],
    "system_base_items": ["net.ipv4.tcp_keepalive", "vm.max_map_count"],
}
KEEPALIVE = {"system_base_items": ["net.ipv4.tcp_keepalive"]}
SHARED_MEMORY = {"system_base_items": ["kernel.shm", "/dev/shm"]}
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


def memory(host):
    """The pages of shared memory that the kernel allows, the KiB of /dev/shm, and what is stored."""
    pages, size = host.sysctl("kernel.shmall"), int(host.check_output("df -k --output=size /dev/shm | tail -n 1"))
    return pages, size, host.file("/etc/fstab").content_string


def test_shared_memory_is_set_verified_and_taken_back(host, play):
    """The host sees the machine's /dev/shm, so it gets one of its own first."""
    name, own = host.backend.get_hostname(), host.sysctl("kernel.shmall")
    asked = json.dumps({**VARIABLES, **SHARED_MEMORY, "system_base_state": "present"})
    host.check_output("touch /etc/fstab && mount -t tmpfs -o size=64m zps /dev/shm")
    try:
        host.check_output("echo 1000000 > /proc/sys/kernel/shmall")
        before = memory(host)
        assert before[:2] == (1000000, 65536)
        status, text, changed = play("site", "--limit", name, "-e", asked)
        assert (status, changed) == (0, {name: 1}), text
        pages, size, fstab = memory(host)
        assert pages >= 4503599627370496 and size > 65536
        assert fstab != before[2] and f"size={size}k" in fstab
        status, text, changed = play("verify", "--limit", name, "-e", asked)
        assert (status, changed) == (0, {name: 0}), text
        status, text, changed = play("rollback", "--limit", name, "--tags", "system_base", "-e", asked)
        assert (status, changed) == (0, {name: 1}), text
        assert memory(host) == before
    finally:
        host.check_output(f"umount /dev/shm && echo {own} > /proc/sys/kernel/shmall")
