# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which answers of sapcontrol prove what an instance runs with, by start times and changes of profiles."""

import os
import time

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import start_times
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.instances import Instance
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.sapcontrol import ListedProcess
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.start_times import ANSWER, STORED, UNPROVED

PROFILES = ["/sapmnt/PRD/profile/PRD_D00_app1", "/sapmnt/PRD/profile/DEFAULT.PFL"]
SOCKET = "/tmp/.sapstream50013"
D00 = Instance(**dict(dict.fromkeys(Instance._fields), sid="PRD", name="D00", number="00"))


class Times(Host):
    def __init__(self, root, times):
        super().__init__(str(root))
        self.times = times

    def changed(self, path):
        return self.times.get(path)


@pytest.mark.parametrize(
    "instance, service, profiles, expected",
    [
        (3000, 2000, (1000, 500), ANSWER),
        # RestartService long after
        (2000, 3000, (1000, 500), ANSWER),
        # Stop and Start without RestartService
        (3000, 500, (1000, 100), STORED),
        # a profile that somebody edits later
        (2000, 1000, (3000, 100), ANSWER),
        (2000, 1000, (100, 3000), ANSWER),
        # RestartService alone, after the change and before another one
        (1000, 3000, (2000, 100), UNPROVED),
        (1000, 2000, (100, 3000), UNPROVED),
        # too close to tell
        (2000, 3000, (1999, 100), UNPROVED),
        (2000, 1000, (1999, 100), ANSWER),
        # no default profile
        (3000, 2000, (1000, None), ANSWER),
        # a start service of unknown age proves nothing about an older instance
        (3000, None, (1000, 500), ANSWER),
        (1000, None, (2000, 500), "the start time of its sapstartsrv is unknown"),
    ],
)
def test_what_an_instance_runs_with(tmp_path, instance, service, profiles, expected):
    host = Times(tmp_path, dict(zip(PROFILES, profiles), **{SOCKET: service}))
    if service is None and expected != ANSWER:
        with pytest.raises(HostError, match=expected):
            start_times.basis(host, D00, instance, PROFILES)
    else:
        assert start_times.basis(host, D00, instance, PROFILES) == expected


def stat(pid, ticks):
    return "%d (a) b) S 1 %s\n" % (pid, " ".join(["0"] * 17 + [str(ticks)] + ["0"] * 30))


@pytest.mark.parametrize("age, expected", [(600, UNPROVED), (4000, ANSWER)])
def test_without_a_socket_the_process_tells_its_start(tmp_path, age, expected):
    files = {
        "/proc/uptime": "5000.00 1.00\n",
        "/proc/7/cmdline": "/usr/sap/PRD/D00/exe/sapstartsrv\0pf=/usr/sap/PRD/SYS/profile/PRD_D00_app1\0",
        "/proc/7/stat": stat(7, (5000 - age) * os.sysconf("SC_CLK_TCK")),
    }
    captured.grow(tmp_path, files)
    now = time.time()
    host = Times(tmp_path, {PROFILES[0]: now - 1000})
    assert start_times.basis(host, D00, now - 2000, PROFILES) == expected


def process(name="disp+work", elapsed="1:00:00", pid=7):
    return ListedProcess(name, "", "GREEN", "Running", "2026 11 20 10:00:00", elapsed, pid)


@pytest.mark.parametrize(
    "processes, age",
    [
        ([process(elapsed="27:43:21")], 27 * 3600 + 43 * 60 + 21),
        # the dispatcher counts, not what was started before or after it
        ([process("igswd_mt", "9:00:00", 5), process(), process("icman", "0:00:01", 9)], 3600),
        # without one the oldest of those that run
        ([process("msg_server", "1:00:00", 5), process("enq_server", "2:00:00", 6)], 7200),
        ([process("msg_server", "9:00:00", None), process("enq_server", "2:00:00", 6)], 7200),
        ([], None),
        ([process(elapsed="")], None),
        ([process(elapsed="1 day")], None),
        ([process(pid=None)], None),
    ],
)
def test_elapsed_times_tell_when_an_instance_was_started(tmp_path, processes, age):
    if age is None:
        with pytest.raises(HostError, match="the start time of its processes is unknown"):
            start_times.instance_started(Host(str(tmp_path)), processes)
    else:
        assert abs(start_times.instance_started(Host(str(tmp_path)), processes) - (time.time() - age)) < 60


def test_proc_tells_it_before_sapcontrol(tmp_path):
    files = {"/proc/uptime": "5000.25 1.00\n", "/proc/7/stat": stat(7, 1000 * os.sysconf("SC_CLK_TCK"))}
    captured.grow(tmp_path, files)
    found = start_times.instance_started(Host(str(tmp_path)), [process()])
    assert abs(found - (time.time() - 4000.25)) < 60
    (tmp_path / "now").write_text("")
    found = start_times.instance_started(Host(), [process(pid=os.getpid())])
    assert found <= os.stat(str(tmp_path / "now")).st_ctime + 1
    assert found > time.time() - float(Host().read("/proc/uptime").split()[0]) - 1


def test_a_copy_that_keeps_the_old_time_is_a_change(tmp_path):
    path = tmp_path / "PRD_D00_app1"
    path.write_text("old")
    before = os.stat(str(path)).st_ctime
    os.utime(str(path), (1000, 1000))
    assert Host(str(tmp_path)).changed("/PRD_D00_app1") >= before
    assert Host(str(tmp_path)).changed("/nothing") is None
