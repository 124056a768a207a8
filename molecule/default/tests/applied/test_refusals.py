# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong on a real machine: one sentence, and the host is as it was."""

import contextlib
import functools

import pytest

JOURNAL = "/var/lib/zpower_sap_tuning"


@pytest.fixture
def rps(module):
    """Call the module rps on this host: its result."""
    return functools.partial(module, "rps")


@contextlib.contextmanager
def broken(host, breaks, mends):
    """Run one command on the host for the length of the block, and another after it."""
    host.run_expect([0], breaks)
    try:
        yield
    finally:
        host.run_expect([0], mends)


def test_an_interface_that_is_not_there(rps, masks):
    result = rps(interfaces=["hsi7"])
    assert result["msg"].endswith("interfaces: this host has no interface hsi7 with receive queues; it has hsi0, lo")


def test_a_cpu_that_is_not_there(rps):
    assert "cpus: this machine has no CPU 8000; it has 0" in rps(interfaces=["hsi0"], cpus="8000")["msg"]


def test_a_read_only_sys(host, rps, masks, stored):
    with broken(host, "mount -o remount,ro /sys", "mount -o remount,rw /sys"):
        result = rps(interfaces=["hsi0"], cpus="0")
    assert "/sys is read-only here, as in a container" in result["msg"]
    assert not result["changed"]
    assert host.check_output("cat /sys/class/net/hsi0/queues/rx-0/rps_cpus") in masks
    assert rps(interfaces=["hsi0"])["changed"] is False, "the stored rule is not what it was"


def test_a_full_disk(host, rps, masks):
    fill = f"mount -t tmpfs -o size=8k,mode=0700 full {JOURNAL} && head -c 8192 /dev/zero > {JOURNAL}/rubbish"
    with broken(host, fill, f"umount {JOURNAL}"):
        result = rps(interfaces=["hsi0"], cpus="0")
    assert "nothing was changed" in result["msg"] and "No space left on device" in result["msg"]
    assert rps(interfaces=["hsi0"])["changed"] is False


def test_a_second_run_at_the_same_time(host, rps, eventually):
    # the lock of the module is flock(2) on this file, so any program can hold it
    command = f"setsid flock {JOURNAL}/rps.lock sleep 600 >/dev/null 2>&1 < /dev/null &"
    with broken(host, command, "pkill -x sleep"):
        assert eventually(lambda: host.run(f"flock -n {JOURNAL}/rps.lock true").rc != 0)
        result = rps(interfaces=["hsi0"], cpus="0")
    assert "another run" in result["msg"] and "nothing was changed" in result["msg"]
    assert rps(interfaces=["hsi0"])["changed"] is False
