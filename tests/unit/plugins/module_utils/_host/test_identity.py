# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Root and <sid>adm: what another user puts into a folder of that user never gets a right of root's.

The user here is nobody, who owns the profile folder in place of <sid>adm. Each attack was possible once.
"""

import contextlib
import errno
import itertools
import os
import pwd
import signal
import stat
import struct
import subprocess
import sys
import time

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import host as _host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import identities
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.identities import Identity
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost, opened
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import writing
from measuring import script
from waiting import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

THEM = pwd.getpwnam("nobody")
FOLDER = "/sapmnt/PRD/profile"
PROFILE = FOLDER + "/PRD_D00_app1"
OLD, NEW = b"SAPSYSTEMNAME = PRD\n", b"SAPSYSTEMNAME = PRD\nenque/table_size = 64000\n"
SECRET = b"of root\n"


@pytest.fixture
def host(reachable):
    """A machine whose profile folder belongs to THEM, and a file of root's beside it that only root may read."""
    host = Host(str(reachable))
    os.makedirs(host.path(FOLDER))
    for path, data, mode in ((PROFILE, OLD, 0o644), ("/secret", SECRET, 0o600)):
        with open(host.path(path), "wb") as stream:
            stream.write(data)
        os.chmod(host.path(path), mode)
    for path in ("/sapmnt/PRD", FOLDER, PROFILE):
        os.chown(host.path(path), THEM.pw_uid, THEM.pw_gid)
    return host


def secret(host):
    """Everything about root's file that must not change."""
    path = host.path("/secret")
    found = os.stat(path)
    with open(path, "rb") as stream:
        return stream.read(), stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, os.listxattr(path)


def put_in_place(host, path, make):
    """Let make(path) put something of THEM into the place of a file."""
    if os.path.lexists(host.path(path)):
        os.unlink(host.path(path))
    make(host.path(path))
    os.lchown(host.path(path), THEM.pw_uid, THEM.pw_gid)


def link_to_secret(host):
    return lambda path: os.symlink(host.path("/secret"), path)


def test_the_first_folder_or_link_of_another_user_decides(host, reachable):
    assert host.owner("/secret") is None and host.owner("/sapmnt") is None
    assert host.owner(PROFILE) == host.owner(FOLDER) == host.owner(FOLDER + "/none/at/all") == THEM.pw_uid
    # a file alone does not: only root can put it into a folder of root's
    os.chown(host.path("/secret"), THEM.pw_uid, -1)
    assert host.owner("/secret") is None
    # a link of theirs in a folder of everybody's leads where they like
    (reachable / "open").mkdir()
    (reachable / "open").chmod(0o1777)
    put_in_place(host, "/open/link", link_to_secret(host))
    assert host.owner("/open/link") == THEM.pw_uid
    (reachable / "ours").symlink_to("sapmnt/../sapmnt/PRD")
    assert host.owner("/ours") == host.owner("/ours/profile") == THEM.pw_uid
    (reachable / "round").symlink_to("round")
    assert host.owner("/round") is None and not host.exists("/round")
    assert Host().owner("/proc/%d/status" % os.getpid()) is None


def test_the_work_is_done_by_a_process_without_any_right_of_roots(host):
    read, write = os.pipe()
    os.set_inheritable(write, True)
    told = host.work(PROFILE, _what_am_i)
    os.close(read)
    os.close(write)
    groups = sorted(os.getgrouplist("nobody", THEM.pw_gid))
    assert told["ids"] == [THEM.pw_uid] * 3 + [THEM.pw_gid] * 3 and told["groups"] == groups
    assert told["capabilities"] == ["0" * 16] * 4 and told["back"] == errno.EPERM
    # its two pipes, and what Python keeps open by itself
    assert all(name.startswith(("pipe:", "/dev/null", "/dev/urandom", "/proc/")) for name in told["files"])
    assert sum(name.startswith("pipe:") for name in told["files"]) == 2
    # an owner whom this host does not know has no group
    for path in (FOLDER, PROFILE):
        os.chown(host.path(path), 48123, 0)
    os.chown(host.path("/sapmnt/PRD"), 0, 0)
    told = host.work(PROFILE, _what_am_i)
    assert told["ids"] == [48123] * 3 + [65534] * 3 and told["groups"] == []


def _what_am_i(_host):
    with open("/proc/self/status") as stream:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in stream if ":\t" in line)
    back, files = None, []
    try:
        os.setuid(0)
    except OSError as error:
        back = error.errno
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            files.append(os.readlink("/proc/self/fd/" + name))
    return {
        "ids": list(os.getresuid() + os.getresgid()),
        "groups": sorted(os.getgroups()),
        "capabilities": [status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")],
        "back": back,
        "files": files,
    }


def test_the_process_ends_with_the_one_that_it_works_for(host):
    code = (
        "from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import identities\n"
        "import os; print(identities.deputy(%d).pid, flush=True); os.kill(os.getpid(), 9)"
    )
    pid = int(ran(code % THEM.pw_uid).stdout)
    until(lambda: processes.start_time(pid) is None, "the process has ended")


def ran(code, *around):
    """What a new Python, started by these words, does with this code."""
    collections = os.path.abspath(_host.__file__).split("ansible_collections")[0]
    argv = list(around) + [sys.executable, "-c", "import sys; sys.path.insert(0, %r)\n%s" % (collections, code)]
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def test_what_goes_wrong_there_is_told_here(host):
    with pytest.raises(HostError, match="the work as nobody was not finished within 1 s") as error:
        host.work(PROFILE, _hang, timeout=1)
    assert error.value.errno == errno.ETIMEDOUT
    with pytest.raises(HostError, match="cannot list %s/x: none" % FOLDER):
        host.work(PROFILE, _refuse)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        host.work(PROFILE, _break)
    assert host.work(PROFILE, _all_kinds) == _all_kinds(host)


def _break(_host):
    return 1 // 0


def _all_kinds(_host):
    return [None, True, 7, "t\u00e9\udc80xt", [""]]


def _hang(_host):
    time.sleep(600)


def _refuse(host):
    raise HostError("cannot list %s/x: none" % FOLDER, errno.EIO)


def test_a_link_to_a_file_of_roots_is_not_read(host):
    put_in_place(host, PROFILE, link_to_secret(host))
    with pytest.raises(HostError, match="cannot read %s: Permission denied .as nobody, the owner of the" % PROFILE):
        host.read(PROFILE)
    facts = ReadingHost()
    assert facts.read(host.path(PROFILE)) is None
    said = "cannot read %s: Permission denied (as nobody, the owner of the folder)" % host.path(PROFILE)
    assert facts.remarks == [said]


def test_a_captured_tree_is_read_whatever_ids_are_in_it(host):
    """Its owner is a user of another machine, who has no access to the folder that root unpacked it in."""
    os.chmod(os.path.dirname(host.root), 0o700)
    os.chmod(host.path(PROFILE), 0o600)
    for folder in ("/proc", "/sys"):
        os.makedirs(host.path(folder), exist_ok=True)
    facts = opened(host.root)
    assert facts.read(PROFILE) == OLD.decode() and facts.listdir(FOLDER) == ["PRD_D00_app1"]
    assert facts.exists(PROFILE) and facts.remarks == []


def test_facts_go_on_where_root_may_not_become_another_user(host, monkeypatch):
    def refuse(uid):
        raise HostError("no")

    monkeypatch.setattr(identities, "deputy", refuse)
    facts = ReadingHost()
    assert (facts.exists(host.path(PROFILE)), facts.read(host.path(PROFILE))) == (False, None)
    assert facts.listdir(host.path(FOLDER)) == [] and set(facts.remarks) == {"no"}


def test_files_without_end_are_refused(host):
    # root's own folders are read as carefully
    os.mkfifo(host.path("/pipe"))
    put_in_place(host, PROFILE, os.mkfifo)
    put_in_place(host, FOLDER + "/link", lambda path: os.symlink("/dev/zero", path))
    for path, follow in ((PROFILE, True), (PROFILE, False), (FOLDER + "/link", True), ("/pipe", True)):
        with pytest.raises(HostError, match="it is not a regular file"):
            host.data(path, follow=follow)
    with open(host.path("/huge"), "wb") as stream:
        stream.truncate(_host.LARGEST + 1)
    with pytest.raises(HostError, match="it is larger than 64 MiB"):
        host.data("/huge")
    os.symlink(os.devnull, host.path("/masked"))
    assert host.data("/masked") == b""


def test_a_link_that_comes_between_the_look_and_the_reading_is_refused(host, monkeypatch):
    way = identities.way

    def late(path, top):
        found = way(path, top)
        os.unlink(host.path("/file"))
        os.symlink("secret", host.path("/file"))
        return found

    with open(host.path("/file"), "wb"):
        pass
    # one look decides who works and what is opened
    monkeypatch.setattr(identities, "way", late)
    with pytest.raises(HostError, match="cannot read /file: Too many levels of symbolic links"):
        host.data("/file")


def test_what_is_in_place_of_lock_or_profile_is_not_written_to(host):
    before, lock = secret(host), os.path.join(FOLDER, writing.LOCK)
    put_in_place(host, lock, link_to_secret(host))
    with pytest.raises(HostError, match="Too many levels of symbolic links"):
        writing.write(host, PROFILE, OLD, NEW)
    put_in_place(host, lock, os.mkfifo)
    with pytest.raises(HostError, match="must be a lock file but is not a regular file: remove it"):
        writing.write(host, PROFILE, OLD, NEW)
    os.unlink(host.path(lock))
    assert host.data(PROFILE) == OLD
    put_in_place(host, PROFILE, link_to_secret(host))
    with pytest.raises(HostError):
        writing.write(host, PROFILE, SECRET, NEW)
    with pytest.raises(HostError):
        host.replace(PROFILE, NEW)
    assert secret(host) == before


def _swap(folder, target, swaps):
    """What <sid>adm would run: exchange each temporary file for a link, and note each time that it worked."""
    try:
        signal.alarm(300)
        with open(swaps, "wb", 0) as noted:
            Identity.of_name("nobody").take()
            while True:
                for name in os.listdir(folder):
                    if name.startswith(".zpower-") and not name.endswith(".lock"):
                        with contextlib.suppress(OSError):
                            os.symlink(target, folder + "/mine")
                            os.rename(folder + "/mine", folder + "/" + name)
                            noted.write(b"x")
    finally:
        os._exit(0)


def allow(path, *entries):
    """Give a file an access list of (tag, rights, id); return its bytes."""
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *one) for one in entries)
    os.setxattr(path, "system.posix_acl_access", acl)
    return acl


@pytest.mark.gate
def test_a_temporary_file_that_is_swapped_for_a_link_gives_no_right_away(host, reachable):
    """<sid>adm exchanges every temporary file for a link to a file of root's, as fast as it goes."""
    acl = [(1, 6, -1), (2, 7, THEM.pw_uid), (4, 4, -1), (16, 7, -1), (32, 4, -1)]
    allow(host.path(PROFILE), *acl)
    before, swaps, numbers = secret(host), reachable / "swaps", itertools.count()

    def attacked():
        """Write once more; whether it has been attacked often enough."""
        try:
            writing.write(host, PROFILE, host.data(PROFILE), OLD + b"# %d\n" % next(numbers))
        except HostError:
            # it may spoil its own profile, and is put right for the next try
            put_in_place(host, PROFILE, lambda path: open(path, "wb").close())
            allow(host.path(PROFILE), *acl)
        assert secret(host) == before
        return swaps.exists() and swaps.stat().st_size >= 10

    attacker = os.fork()
    if attacker == 0:
        _swap(host.path(FOLDER), host.path("/secret"), str(swaps))
    try:
        until(attacked, "ten temporary files were swapped", 240)
    finally:
        os.kill(attacker, signal.SIGKILL)
        os.waitpid(attacker, 0)


def test_what_an_owner_writes_keeps_owner_mode_and_list(host):
    path = host.path(PROFILE)
    os.chmod(path, 0o640)
    acl = allow(path, (1, 6, -1), (2, 4, 4711), (4, 4, -1), (16, 4, -1), (32, 0, -1))
    before = os.stat(path)
    writing.write(host, PROFILE, OLD, NEW)
    after = os.stat(path)
    assert host.data(PROFILE) == NEW and before.st_ino != after.st_ino
    assert (before.st_mode, before.st_uid, before.st_gid) == (after.st_mode, after.st_uid, after.st_gid)
    assert os.getxattr(path, "system.posix_acl_access") == acl
    assert os.listdir(host.path(FOLDER)) == [os.path.basename(PROFILE)]


def test_a_file_of_roots_in_their_folder_is_left_with_what_to_do(host):
    os.chown(host.path(PROFILE), 0, 0)
    sentence = "it belongs to root .group id 0. and its folder to nobody, who cannot keep that owner: give the file to"
    with pytest.raises(HostError, match=sentence):
        writing.write(host, PROFILE, OLD, NEW)
    assert host.data(PROFILE) == OLD and os.listdir(host.path(FOLDER)) == [os.path.basename(PROFILE)]
    # a folder of root's that a group may write to
    os.chown(host.path("/sapmnt/PRD"), 0, 0)
    os.chown(host.path(FOLDER), 0, THEM.pw_gid)
    os.chmod(host.path(FOLDER), 0o775)
    sentence = "%s belongs to root, but others may write to it: remove their write permission .chmod go-w."
    for write in (lambda: writing.write(host, PROFILE, OLD, NEW), lambda: host.replace(PROFILE, NEW)):
        with pytest.raises(HostError, match=sentence % host.path(FOLDER)):
            write()
    assert host.data(PROFILE) == OLD
    os.chmod(host.path(FOLDER), 0o755)
    writing.write(host, PROFILE, OLD, NEW)
    assert host.data(PROFILE) == NEW


def test_a_file_server_that_gives_root_no_rights_lets_the_owner_work(host):
    """Root squash: root without CAP_DAC_OVERRIDE is treated by the kernel as a file server treats it, as a stranger."""
    for path, mode in ((FOLDER, 0o700), (PROFILE, 0o600)):
        os.chmod(host.path(path), mode)
    code = (
        "from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host\n"
        "from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import writing\n"
        "try:\n"
        "    open(%r)\n"
        "    sys.exit('root may read it')\n"
        "except PermissionError:\n"
        "    pass\n"
        "host = Host(%r)\n"
        "writing.write(host, %r, %r, %r)\n"
        "assert host.data(%r) == %r and host.listdir(%r) == ['PRD_D00_app1']\n"
    ) % (host.path(PROFILE), host.root, PROFILE, OLD, NEW, PROFILE, NEW, FOLDER)
    rights = "-dac_override,-dac_read_search,-fowner,-chown"
    done = ran(code, "setpriv", "--bounding-set", rights, "--inh-caps", rights, "--ambient-caps", rights)
    assert done.returncode == 0, done.stderr.decode()
    assert host.data(PROFILE) == NEW


def test_root_that_may_not_become_another_user_is_told_what_to_do(host):
    code = (
        "from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError\n"
        "try:\n"
        "    Host(%r).data(%r)\n"
        "except HostError as error:\n"
        "    print(error)\n"
    ) % (host.root, PROFILE)
    said = ran(code, "setpriv", "--bounding-set", "-setuid,-setgid").stdout.decode()
    assert said.startswith("the folder belongs to nobody, and this process may not work as nobody (Operation not")
    assert "run as nobody, or as root outside of a container" in said


def program(folder, owner):
    folder.mkdir()
    os.chown(str(folder), owner, owner)
    return script(folder / "niping", 'id -u; id -g; echo "$LD_LIBRARY_PATH,$SECRET"\n')


@pytest.mark.parametrize("of_file", [False, True])
def test_a_program_of_another_user_runs_as_that_user(host, reachable, monkeypatch, of_file):
    monkeypatch.setenv("SECRET", "of root")
    binary = program(reachable / "exe", 0 if of_file else THEM.pw_uid)
    if of_file:
        os.chown(binary, THEM.pw_uid, THEM.pw_gid)
    said = programs.ask([binary]).splitlines()
    assert said == [str(THEM.pw_uid), str(THEM.pw_gid), os.path.dirname(binary) + ","]
    ran = programs.run_together([[binary]], 60)
    assert ran.codes == [0] and ran.texts[0].splitlines()[:2] == said[:2]


def test_a_program_that_others_may_replace_does_not_run_as_root(host, reachable):
    binary = program(reachable / "exe", 0)
    assert programs.ask([binary]).splitlines()[:2] == ["0", "0"]
    os.chmod(binary, 0o777)
    with pytest.raises(MeasureError, match="niping does not run as root: .*niping belongs to root, but others"):
        programs.ask([binary])
    os.chmod(binary, 0o755)
    os.chmod(os.path.dirname(binary), 0o777)
    with pytest.raises(MeasureError, match="exe belongs to root, but others may write to it"):
        processes.start([binary])
