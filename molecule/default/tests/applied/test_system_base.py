# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tuning system_base beside another one. In the lab, each host has its own network sysctls and kernel.shm."""

import json

import pytest

HOST = "app1"
ITEMS = ["net.ipv4.tcp_keepalive", "kernel.shm", "/dev/shm"]
CHOSEN = {"zpower_tunings": ["rps", "system_base"], "system_base_items": ITEMS}
LOOK = "cd /proc/sys && cat net/ipv4/tcp_keepalive_* kernel/shmall; df -k --output=size /dev/shm | tail -n 1"
STORED = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf"


@pytest.fixture
def memory_of_its_own(host):
    """Give the host its own /dev/shm, and less shared memory than SAP requests."""
    own = host.sysctl("kernel.shmall")
    host.check_output("touch /etc/fstab && mount -t tmpfs -o size=64m zps /dev/shm")
    host.check_output("echo 1000000 > /proc/sys/kernel/shmall")
    yield
    host.check_output(f"umount /dev/shm && echo {own} > /proc/sys/kernel/shmall")


@pytest.mark.usefixtures("memory_of_its_own")
def test_it_observes_sets_verifies_and_takes_back(host, name, play):
    def look():
        return [*map(int, host.check_output(LOOK).split())], host.file("/etc/fstab").content_string

    def played(playbook, *options, **chosen):
        status, text, changed = play(playbook, "--limit", name, "-e", json.dumps({**CHOSEN, **chosen}), *options)
        assert status == 0, text
        return text, changed

    before = look()
    (_interval, _probes, time, pages, size), fstab = before
    assert (time, pages, size) == (7200, 1000000, 65536)

    text, changed = played("site")
    assert changed == {name: 0}, "by default it only observes"
    assert "net.ipv4.tcp_keepalive_time is 7200, SAP asks for 300" in " ".join(text.split())
    assert look() == before and not host.file(STORED).exists

    assert played("site", system_base_state="present")[1] == {name: 1}
    (*times, pages, size), now = look()
    assert times == [75, 9, 300] and pages >= 4503599627370496 and size > 65536
    assert "net.ipv4.tcp_keepalive_time = 300" in host.file(STORED).content_string
    assert now != fstab and f"size={size}k" in now

    assert played("verify", system_base_state="present")[1] == {name: 0}
    assert played("rollback", "--tags", "system_base", system_base_state="present")[1] == {name: 1}
    assert look() == before and not host.file(STORED).exists
