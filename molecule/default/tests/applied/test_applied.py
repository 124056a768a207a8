# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converged hosts: the masks in the kernel, what is stored for the next boot, and how a drift is told."""

import re

import pytest

RULE = "/etc/udev/rules.d"
JOURNAL = "/var/lib/zpower_sap_tuning"


@pytest.fixture
def all_cpus(host):
    """The online CPUs as a number, worked out from the kernel's own list."""
    mask = 0
    for part in host.file("/sys/devices/system/cpu/online").content_string.strip().split(","):
        first, _dash, last = part.partition("-")
        for cpu in range(int(first), int(last or first) + 1):
            mask |= 1 << cpu
    return mask


@pytest.mark.parametrize("queue", range(4))
def test_every_queue_spreads_over_all_cpus(host, all_cpus, queue):
    text = host.file(f"/sys/class/net/hsi0/queues/rx-{queue}/rps_cpus").content_string
    assert int(text.replace(",", ""), 16) == all_cpus


def test_loopback_is_left_alone(host, remembered, masks):
    def of_loopback(text):
        return [line for line in text.splitlines() if line.startswith("lo/")]

    assert of_loopback(masks) == of_loopback(remembered["masks"]) != []


def test_a_udev_rule_catches_boot_and_late_queues(host):
    rules = host.check_output(f"cat {RULE}/*zpower*")
    assert re.search(r'SUBSYSTEM=="net"', rules)
    assert re.search(r'SUBSYSTEM=="queues"', rules)
    for queue in range(4):
        assert f"queues/rx-{queue}/rps_cpus" in rules
    numbers = [int(name.split("-")[0]) for name in host.check_output(f"ls {RULE}").split() if "zpower" in name]
    assert min(numbers) > 80, "a rule that runs before the interface has its name is lost at boot"


def test_the_journal_is_for_root_only(host):
    folder = host.file(JOURNAL)
    assert folder.is_directory and folder.mode == 0o700 and folder.user == "root"
    files = [host.file(f"{JOURNAL}/{name}") for name in folder.listdir()]
    assert files and all(file.mode == 0o600 for file in files)


def test_verify_agrees(told):
    status, text, changed = told("verify")
    assert status == 0, text
    assert changed == {"app1": 0, "app2": 0}


def test_a_tuning_that_is_no_longer_chosen_is_named_with_the_command(told, about):
    status, text, changed = told("verify", "-e", '{"zpower_tunings": []}')
    assert status != 0 and changed == {"app1": 0, "app2": 0}, text
    assert "rps was applied on this host and is not chosen for it" in about(text)
    assert "zpower.sap_tuning.rollback --limit HOST --tags rps takes it back" in about(text)


def test_an_interface_that_is_no_longer_named_is_named_with_the_command(told, about):
    status, text, changed = told("verify", "-e", '{"rps_interfaces": ["nothing*"]}')
    assert status != 0 and changed == {"app1": 0, "app2": 0}, text
    assert re.search("hsi0 rx-0.* set by this collection and no longer asked for", about(text).replace("\n", " "))


def test_a_drift_of_one_queue_is_named_and_mended(host, play, all_cpus):
    name = host.backend.get_hostname()
    drifted = "/sys/class/net/hsi0/queues/rx-2/rps_cpus"
    host.run_expect([0], f"echo 0 > {drifted}")
    status, text, _changed = play("verify", "--limit", name)
    assert status != 0
    assert "rx-2" in text
    status, text, changed = play("site", "--limit", name)
    assert (status, changed) == (0, {name: 1}), text
    assert int(host.file(drifted).content_string.replace(",", ""), 16) == all_cpus
