# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that only calls itself an instance's is not the instance's: its user decides, whom the kernel tells.

Any local user could once decide what the tuning smc and running values say, and when an instance restarts.
"""

import os
import pwd
import time

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import commands
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enqueue
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import processes, realtime, start_times
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.instances import Instance
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.sapcontrol import SapControl
from waiting import until

ADM, STRANGER = 48123, pwd.getpwnam("nobody").pw_uid
# of this process alone: the same test may run in another session
SID = "%s%02d" % ("EFGHIJKLMN"[os.getpid() // 100 % 10], os.getpid() % 100)
PROFILE = "pf=/usr/sap/{0}/SYS/profile/{0}_D00_app1".format(SID)
D00 = Instance(**dict(dict.fromkeys(Instance._fields), sid=SID, name="D00", number="00", user=SID.lower() + "adm"))
PASSWD = {"/etc/passwd": "root:x:0:0::/root:/bin/sh\n%s:x:%d:79::/home/x:/bin/csh\n" % (D00.user, ADM)}


@pytest.fixture
def start(monkeypatch):
    """A function that starts a process of this name, with these real and effective users; it returns the process id."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    monkeypatch.setattr(processes, "uid_of", lambda name: ADM if name == D00.user else None)
    begun = []

    def begin(name, real, effective=None):
        def become():
            os.setresuid(real, real if effective is None else effective, 0 if effective is None else effective)

        # -p: it keeps its effective user
        child = commands.start([name, "-p", "-c", "sleep 600; :", PROFILE], become, executable="/bin/sh")
        begun.append(child)
        # until then the shell's own child has the name of the shell
        until(lambda: sleeps(child.pid), "the shell has started its sleep")
        return child.pid

    yield begin
    for child in begun:
        commands.end(child)


def sleeps(pid):
    """Whether the shell of this process has started its sleep."""
    children = (Host().read("/proc/%d/task/%d/children" % (pid, pid)) or "").split()
    return [(Host().read("/proc/%s/cmdline" % child) or "").split("\0")[0] for child in children] == ["sleep"]


def seen():
    """What counts as the instance's: its processes, its work processes, its start services."""
    return (
        [one.pid for one in processes.of_instance(Host(), D00)],
        [pid for pid, _policy, _priority in realtime.work_processes(Host(), SID, "D00")],
        SapControl(Host(), D00)._service_pids(),
    )


@pytest.mark.parametrize("users", [(STRANGER,), (STRANGER, ADM), (STRANGER, 0), (ADM, STRANGER)])
def test_a_process_of_a_stranger_is_none_of_an_instance(start, users):
    """Also if it runs a program that is setuid <sid>adm or setuid root."""
    start("dw.sap%s_D00" % SID, *users)
    start("sapstartsrv", *users)
    assert seen() == ([], [], set())


@pytest.mark.parametrize("users", [(ADM,), (0,), (ADM, 0)])
def test_processes_of_sidadm_and_root_are_those_of_an_instance(start, monkeypatch, users):
    start("dw.sap%s_D00" % SID, STRANGER)
    work, service = start("dw.sap%s_D00" % SID, *users), start("sapstartsrv", *users)
    assert seen() == ([work], [work], {service})
    # without <sid>adm only those of root count
    monkeypatch.setattr(processes, "uid_of", lambda name: None)
    assert seen() == (([work], [work], {service}) if users == (0,) else ([], [], set()))


def process(pid, name, users):
    base, after = "/proc/%d/" % pid, " ".join(["0"] * 17 + ["100000"] + ["0"] * 30)
    files = {base + "cmdline": "%s\0%s\0" % (name, PROFILE), base + "stat": "%d (x) S 1 %s\n" % (pid, after)}
    if users:
        files[base + "status"] = "Name:\tx\nUid:\t%d\t%d\t0\t0\nGid:\t0\t0\t0\t0\n" % users
    return files


@pytest.mark.parametrize(
    "files, users, counts",
    [
        (PASSWD, (ADM, ADM), True),
        (PASSWD, (0, 0), True),
        (PASSWD, (STRANGER, STRANGER), False),
        # a capture that does not tell its users is believed
        (PASSWD, None, True),
        ({}, (STRANGER, STRANGER), True),
        ({"/etc/passwd": PASSWD["/etc/passwd"].replace(D00.user, "y" + D00.user)}, (STRANGER, STRANGER), True),
    ],
)
def test_a_capture_that_tells_its_users_is_judged_by_them(tmp_path, files, users, counts):
    captured.grow(tmp_path, dict(files, **process(7, "dw.sap%s_D00" % SID, users)))
    assert bool(processes.of_instance(Host(str(tmp_path)), D00)) is counts


@pytest.mark.parametrize("user, counts", [(ADM, True), (0, True), (STRANGER, False)])
def test_a_socket_of_a_stranger_does_not_tell_when_the_start_service_began(tmp_path, user, counts):
    """In /tmp, anybody can create it while sapstartsrv does not run."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    socket = "/tmp/.sapstream50013"
    captured.grow(tmp_path, dict(PASSWD, **{socket: "", "/profile": "", "/proc/uptime": "5000.00 1.00\n"}))
    captured.grow(tmp_path, process(7, "sapstartsrv", (ADM, ADM)))
    host = Host(str(tmp_path))
    os.chown(host.path(socket), user, -1)
    # the process is 4000 s old, the socket new
    began = start_times._service_started(host, D00)
    assert (began > time.time() - 3000) is counts


@pytest.mark.parametrize("user, kind", [(ADM, "ENSA2"), (STRANGER, None)])
def test_a_lock_server_of_a_stranger_is_none(tmp_path, user, kind):
    captured.grow(tmp_path, dict(PASSWD, **process(7, "enq.sap%s_ASCS01" % SID, (user, user))))
    assert enqueue._running_kind(Host(str(tmp_path)), SID, "ASCS01")[0] == kind
    assert processes.owners(Host(), "A\0B") == (0,)
