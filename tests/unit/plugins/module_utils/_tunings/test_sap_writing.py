# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile is the old one or the new one, whole: full disks, kills, read-only folders, other writers."""

import errno
import multiprocessing
import os
import struct

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.run import Run
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import writing
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import sap_profile
from runs import runner
from sapsystem import D00, D00_TEXT, DEFAULT, DEFAULT_TEXT, PROFILES, SapHost

PARAMS = {"state": "present", "force": False, "restart": [], "restart_timeout": 5, "sid": "PRD", "instance": "D00"}
NEW = D00_TEXT[:-1] + b"12"
OTHERS = {"DEFAULT.PFL", "PRD_ASCS01_app1", "PRD_D00_app1"}
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def host(tmp_path):
    return SapHost(tmp_path)


def run(host, **changes):
    params = dict(PARAMS, **dict({"parameters": {"rdisp/wp_no_btc": 12}}, **changes))
    return runner(sap_profile.SapProfile)(host, **params)


def left(host):
    """Names beside the profiles."""
    return set(host.listdir(PROFILES))


def test_a_full_disk_keeps_the_old_profile(host, monkeypatch):
    fsync = os.fsync

    def full(descriptor):
        if "/profile/.zpower-" in os.readlink("/proc/self/fd/%d" % descriptor):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    result = run(host)
    assert result["failed"]
    assert "No space left on device" in result["msg"] and "the old profile is unchanged" in result["msg"]
    assert host.data(D00) == D00_TEXT and left(host) == OTHERS


@pytest.mark.parametrize("state", ["present", "restored"])
def test_a_run_without_anything_to_write_removes_what_a_killed_one_left(host, state):
    run(host)
    for name in (".zpower-PRD_D00_app1.x3k9", writing.LOCK):
        host.fill(PROFILES + name, b"half")
    if state == "restored":
        # somebody has put the old profile back by hand
        host.fill(D00, D00_TEXT)
    run(host, state=state, **({} if state == "present" else {"parameters": {}, "sid": None, "instance": None}))
    assert left(host) == OTHERS


def test_a_second_writer_waits_and_is_told_who_writes_and_what_the_first_writes_stays(host, monkeypatch):
    monkeypatch.setattr(writing, "_PATIENCE", 0.3)
    half = PROFILES + ".zpower-PRD_D00_app1.x3k9"
    host.fill(half, b"half")
    lock = writing.Lock(host, PROFILES + writing.LOCK)
    lock.take("app2 process 77")
    result = run(host)
    assert result["failed"] and "is being changed by another run (app2 process 77)" in result["msg"]
    assert host.exists(half) and lock.held and host.exists(PROFILES + writing.LOCK)
    lock.release()
    assert not run(host)["failed"]
    # nor does a run without anything to write touch it
    host.fill(half, b"half")
    lock.take("app2 process 77")
    run(host)
    assert host.exists(half) and lock.held
    lock.release()


def test_a_read_only_folder_is_said_before_anything_is_written(host, monkeypatch):
    real = os.open

    def read_only(path, flags, *mode, **more):
        if "/sapmnt/" in str(path) and flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, *mode, **more)

    monkeypatch.setattr(os, "open", read_only)
    result = run(host)
    assert result["failed"] and "the file system is read-only here" in result["msg"]
    assert host.data(D00) == D00_TEXT


@pytest.mark.parametrize("late", [False, True])
def test_a_profile_that_someone_else_changed_meanwhile_is_left_to_them(host, monkeypatch, late):
    theirs = D00_TEXT.replace(b"= 8", b"= 9")
    if late:
        # an editor that saves while sappfpar looks at the new profile
        monkeypatch.setattr(host, "_sappfpar", lambda arguments: host.fill(D00, theirs) or type(host)._answer("", 0))
    else:
        intend = Journal.intend
        monkeypatch.setattr(Journal, "intend", lambda self, *notes: (host.fill(D00, theirs), intend(self, *notes)))
    result = run(host)
    assert result["failed"] and "was changed by someone else meanwhile" in result["msg"]
    assert host.data(D00) == theirs and left(host) == OTHERS


def test_hosts_that_write_one_profile_at_once_lose_nothing(host):
    """Each host adds a parameter of its own to the shared profile, and runs again where it was refused."""
    start = FORK.Event()

    def add(number):
        start.wait()
        params = dict(PARAMS, instance="DEFAULT", parameters={"site/host_%d" % number: "x" * 3000})
        while True:
            journal = Journal(host, "sap_profile", "/var/lib/of_host_%d" % number)
            result = Run(sap_profile.SapProfile(host, params), journal, "present").run()
            if not result["failed"] or "run again" not in result["msg"]:
                os._exit(int(result["failed"]))

    processes = [FORK.Process(target=add, args=(number,)) for number in range(4)]
    for process in processes:
        process.start()
    start.set()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    lines = host.data(DEFAULT).decode().splitlines()
    assert host.data(DEFAULT).startswith(DEFAULT_TEXT)
    assert sorted(line for line in lines if "host_" in line) == [
        "site/host_%d = %s" % (number, "x" * 3000) for number in range(4)
    ]
    assert left(host) == OTHERS


def test_owner_mode_list_and_context_stay(host):
    path = host.path(D00)
    os.chmod(path, 0o640)
    # a user with read permission beside the owner, as acl(5) has it in the attribute
    entries = [(1, 6, -1), (2, 4, 4711), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
    wanted = {"system.posix_acl_access": struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *one) for one in entries)}
    wanted["user.note"] = b"keep me"
    if os.geteuid() == 0:
        os.chown(path, 4711, 4712)
        wanted["security.selinux"] = b"system_u:object_r:usr_t:s0\0"
    for name, value in wanted.items():
        os.setxattr(path, name, value)
    before = os.stat(path)
    assert not run(host)["failed"]
    after = os.stat(path)
    assert host.data(D00) == NEW and before.st_ino != after.st_ino
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == wanted


@pytest.mark.parametrize("there", ["PRD_D00_other", "kept/PRD_D00_app1"])
def test_a_link_inside_the_profile_folder_is_followed_and_stays(host, there):
    host.fill(PROFILES + there, D00_TEXT)
    os.unlink(host.path(D00))
    os.symlink(there, host.path(D00))
    assert not run(host, profile=D00, sid=None, instance=None)["failed"]
    assert os.readlink(host.path(D00)) == there and host.data(PROFILES + there) == NEW
    # so is one to the profile folder of its system
    own = "/usr/sap/PRD/D00/profile/PRD_D00_app1"
    os.makedirs(host.path(os.path.dirname(own)))
    os.symlink(os.path.relpath(host.path(D00), os.path.dirname(host.path(own))), host.path(own))
    assert not run(host, state="restored", parameters={}, sid=None, instance=None)["failed"]
    assert not run(host, profile=own, sid=None, instance=None)["failed"]
    assert host.data(PROFILES + there) == NEW


def test_a_link_out_of_the_profile_folder_is_refused_on_the_rollback_too(host):
    run(host)
    os.rename(host.path(D00), host.path("/sapmnt/elsewhere"))
    os.symlink("../../elsewhere", host.path(D00))
    with pytest.raises(InputError, match="is a link to /sapmnt/elsewhere, outside of the profile folder /sapmnt/"):
        run(host)
    result = run(host, state="restored", parameters={}, sid=None, instance=None)
    assert result["failed"] and "is a link now" in result["msg"]
    assert host.data("/sapmnt/elsewhere") == NEW and left(host) | {"PRD_D00_app1"} == OTHERS


def test_what_does_not_read_back_is_an_error(host, monkeypatch):
    replace = Host.replace

    def lossy(self, path, data, *more, **names):
        replace(self, path, data[:-1] if path == D00 else data, *more, **names)

    monkeypatch.setattr(Host, "replace", lossy)
    with pytest.raises(HostError, match="does not contain what was written"):
        writing.write(host, D00, D00_TEXT, NEW)
