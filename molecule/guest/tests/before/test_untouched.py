# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bare guest: what platform_info, verify and check mode say about it; nothing changes it."""

import json
import re


def test_the_state_of_a_bare_guest_is_saved(host, masks, stored, siblings, topology, boot, memory):
    assert "CPU Topology" not in host.check_output("cat /proc/sysinfo")
    assert siblings == {f"cpu{number}": str(number) for number in range(4)}
    assert topology == "0"
    assert "enc1/queues/rx-0/rps_cpus:0" in masks
    assert "zpower" not in stored
    found = {"masks": masks, "stored": stored, "siblings": siblings, "topology": topology, "boot": boot}
    memory.write_text(json.dumps(found))


def test_platform_info_agrees_with_other_programs(platform):
    assert platform["architecture"] == "s390x"
    assert platform["virtualization"] == "kvm"
    assert platform["topology"]["facility"] is False


def test_verify_fails_and_names_each_difference(play, remembered):
    status, text, changed = play("verify")
    assert status != 0
    assert re.search(r"^guest +cpu_polarization +dispatching .*unsupported$", text, re.MULTILINE), text
    assert "no CPU topology facility: this is a guest of KVM" in text
    assert re.search(r"^guest +cpu_topology +s390.topology .*drifted$", text, re.MULTILINE), text
    assert re.search(r"^guest +rps +enc1 .*drifted$", text, re.MULTILINE), text
    assert re.search(r"^guest +platform +SMT .*not applicable$", text, re.MULTILINE), text


def test_check_mode_predicts_both_changes(play, remembered):
    status, text, changed = play("site", "--check", "--diff")
    assert (status, changed) == (0, {"guest": 1}), text
    assert "+s390.topology sysctl.d (stored): 1 (all CPUs are siblings)" in text
    assert "+enc1 rx-0 (running): CPUs 0-3 (mask f)" in text


def test_nothing_was_touched(masks, stored, siblings, topology, remembered):
    assert (masks, stored) == (remembered["masks"], remembered["stored"])
    assert (siblings, topology) == (remembered["siblings"], remembered["topology"])
