# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors on a real machine: one sentence each, and the host is unchanged."""

import functools

import pytest

HOST = "app1"
JOURNAL = "/var/lib/zpower_sap_tuning"


@pytest.fixture
def rps(module):
    """Return a function that calls the module rps on this host and returns its result."""
    return functools.partial(module, "rps")


def test_drift_of_one_queue_is_named_and_fixed(host, name, play, online):
    drifted = "/sys/class/net/hsi0/queues/rx-2/rps_cpus"
    host.run_expect([0], f"echo 0 > {drifted}")
    status, text, _changed = play("verify", "--limit", name)
    assert status != 0 and "rx-2" in text, text
    status, text, changed = play("site", "--limit", name)
    assert (status, changed) == (0, {name: 1}), text
    assert int(host.file(drifted).content_string.replace(",", ""), 16) == online


def test_a_read_only_sys_is_named(host, rps, masks, broken):
    with broken("mount -o remount,ro /sys", "mount -o remount,rw /sys"):
        result = rps(interfaces=["hsi0"], cpus="0")
    assert "/sys is read-only here, as in a container" in result["msg"]
    assert not result["changed"]
    assert host.check_output("cat /sys/class/net/hsi0/queues/rx-0/rps_cpus") in masks
    assert rps(interfaces=["hsi0"])["changed"] is False, "the stored rule has changed"


def test_a_full_disk_changes_nothing(rps, broken):
    fill = f"mount -t tmpfs -o size=8k,mode=0700 full {JOURNAL} && head -c 8192 /dev/zero > {JOURNAL}/rubbish"
    with broken(fill, f"umount {JOURNAL}"):
        result = rps(interfaces=["hsi0"], cpus="0")
    assert "nothing was changed" in result["msg"] and "No space left on device" in result["msg"]
    assert rps(interfaces=["hsi0"])["changed"] is False


def test_a_second_run_at_the_same_time_is_refused(host, rps, broken, eventually):
    # the lock of the module is flock(2) on this file, so any program can hold it
    command = f"setsid flock {JOURNAL}/rps.lock sleep 600 >/dev/null 2>&1 < /dev/null & echo $! > /tmp/holder"
    with broken(command, "kill -- -$(cat /tmp/holder)"):
        assert eventually(lambda: host.run(f"flock -n {JOURNAL}/rps.lock true").rc != 0)
        result = rps(interfaces=["hsi0"], cpus="0")
    assert "another run" in result["msg"] and "nothing was changed" in result["msg"]
    assert rps(interfaces=["hsi0"])["changed"] is False
