# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converged hosts: the masks in the kernel, the values stored for the next boot, and the output of verify."""

import re

RULE = "/etc/udev/rules.d"
JOURNAL = "/var/lib/zpower_sap_tuning"


def test_every_queue_uses_all_cpus(host, online):
    masks = host.check_output("cat /sys/class/net/hsi0/queues/rx-*/rps_cpus").split()
    assert [int(mask.replace(",", ""), 16) for mask in masks] == [online] * 4


def test_loopback_is_left_alone(host, remembered, masks):
    def of_loopback(text):
        return [line for line in text.splitlines() if line.startswith("lo/")]

    assert of_loopback(masks) == of_loopback(remembered["masks"]) != []


def test_a_udev_rule_handles_boot_and_late_queues(host):
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
    assert (status, changed) == (0, {"app1": 0, "app2": 0}), text


def test_a_tuning_that_is_no_longer_chosen_is_reported_with_the_command(told, about):
    status, text, changed = told("verify", "-e", '{"zpower_tunings": []}')
    assert status != 0 and changed == {"app1": 0, "app2": 0}, text
    assert "rps was applied on this host and is not chosen for it" in about(text)
    assert "zpower.sap_tuning.rollback --limit HOST --tags rps takes it back" in about(text)
    status, text, changed = told("verify", "-e", '{"rps_interfaces": ["nothing*"]}')
    assert status != 0 and changed == {"app1": 0, "app2": 0}, text
    assert re.search("hsi0 rx-0.* set by this collection and no longer asked for", about(text).replace("\n", " "))
