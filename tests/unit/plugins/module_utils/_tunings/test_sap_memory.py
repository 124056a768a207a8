# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The size of /dev/shm where es/implementation = map is chosen; sizes are computed by hand."""

import captures
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures.opening import open_capture
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import shared_memory as memory
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from kernel import KernelHost
from runs import only, runner
from sapsystem import SapHost

# 32 GiB of memory and 20 GiB of swap: 75 % are 39 GiB
MEMINFO = "MemTotal:       33554432 kB\nMemFree:        20000000 kB\nSwapTotal:      20971520 kB\nHugePages_Total:  0\n"
MOUNT = "proc /proc proc rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid,nodev%s 0 0\n"


ASKED = "; SAP asks for 75 % of memory and swap, 39936 MB"
TOO_SMALL = ASKED + ": too small for map; enlarge it with the option size, also in /etc/fstab"
NO_TMPFS = " is not a tmpfs; SAP asks for one of 39936 MB (SAP Note 941735)"


@pytest.mark.parametrize(
    "mounts, said",
    [
        (MOUNT % "", " has 16384 MB" + TOO_SMALL),
        (MOUNT % ",size=40894464k", " has 39936 MB" + ASKED),
        (MOUNT % ",size=40g,inode64", " has 40960 MB" + ASKED),
        (MOUNT % ",size=39m", " has 39 MB" + TOO_SMALL),
        (MOUNT % "" + MOUNT % ",size=38g", " has 38912 MB" + ASKED),
        ("proc /proc proc rw 0 0\n", NO_TMPFS),
        (MOUNT % "" + "x /dev/shm ext4 rw,size=1k 0 0\n", NO_TMPFS),
    ],
)
def test_the_size_is_compared_with_what_sap_asks_for(tmp_path, mounts, said):
    host = KernelHost(tmp_path)
    assert memory.remarks(host) == [memory.NOT_NEEDED]
    host.fill("/proc/meminfo", MEMINFO)
    host.fill("/proc/mounts", mounts)
    assert memory.remarks(host) == [memory.NOT_NEEDED, "/dev/shm" + said]


@pytest.mark.parametrize("presets, told", [(["memory_map"], True), (["memory_std"], False)])
def test_only_map_gets_the_remark(tmp_path, presets, told):
    host = SapHost(tmp_path)
    host.fill("/proc/meminfo", MEMINFO.encode())
    host.fill("/proc/mounts", (MOUNT % "").encode())
    run = runner(SapProfile, restart=[], restart_timeout=600)
    found = only(run(host, check=True, sid="PRD", instance="D00", presets=presets, parameters={}))
    assert (memory.NOT_NEEDED in found["remarks"]) is told
    assert any("39936 MB" in remark for remark in found["remarks"]) is told
    # a capture without the mounts says nothing of the tmpfs
    path = tmp_path / "capture"
    path.write_bytes(captures.sos({"/proc/meminfo": "MemTotal:       16777216 kB\n"}))
    assert memory.remarks(open_capture(str(path))) == [memory.NOT_NEEDED]
