# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A guest that was tuned while CPU 2 was offline, and what happens when that CPU comes back."""

import json
import re


def test_the_online_cpus_are_siblings_and_in_the_mask(siblings, topology, mask):
    assert (topology, mask) == ("1", 0b1011)
    assert siblings == {"cpu0": "0-1,3", "cpu1": "0-1,3", "cpu3": "0-1,3"}


def test_a_cpu_that_comes_back_is_missing_in_the_mask_but_is_a_sibling(host, play, siblings):
    host.check_output("chcpu --enable 2")
    assert host.check_output("cat /sys/class/net/enc1/queues/rx-0/rps_cpus") == "b"
    status, text, _changed = play("verify")
    assert status != 0
    assert re.search(r"^guest +rps +enc1 +b → f .*drifted$", text, re.MULTILINE), text
    assert re.search(r"^guest +cpu_topology .*compliant$", text, re.MULTILINE), text


def test_site_fixes_the_mask(play):
    status, text, changed = play("site")
    assert (status, changed) == (0, {"guest": 1}), text


def test_all_cpus_are_in_the_mask(host, mask, siblings, stored, memory, remembered):
    assert mask == 0b1111
    assert siblings == {f"cpu{number}": "0-3" for number in range(4)}
    assert "rps_cpus" in host.check_output("cat /etc/udev/rules.d/*zpower*")
    memory.write_text(json.dumps({**remembered, "kept": stored}))
