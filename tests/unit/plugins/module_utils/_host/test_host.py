# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import errno
import os
import pwd
import stat
import sys
import tempfile

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import commands
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import host as _host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, Result


def test_what_a_file_is(tmp_path):
    (tmp_path / "sys").mkdir()
    (tmp_path / "sys" / "x").write_text("7\n")
    (tmp_path / "program").write_text("1234")
    (tmp_path / "program").chmod(0o4755)
    (tmp_path / "link").symlink_to("program")
    (tmp_path / "kernel").symlink_to("sys")
    (tmp_path / "4").symlink_to("socket:[123]")
    os.mkfifo(str(tmp_path / "pipe"))
    host = Host(str(tmp_path))
    assert [host.value(path) for path in ("/sys/x", "/sys/y", "/sys/x/below")] == ["7", None, None]
    assert host.listdir("/nowhere") == []
    assert [host.target("/" + name) for name in ("4", "program", "gone")] == ["socket:[123]", None, None]
    assert [host.size(path) for path in ("/program", "/pipe", "/", "/gone")] == [4, None, None, None]
    assert [host.mode(path) for path in ("/program", "/link", "/gone")] == [0o104755, 0o104755, None]
    assert host.real("/kernel/x") == "/sys/x" and Host().real("/proc/self") == "/proc/%d" % os.getpid()
    for _twice in range(2):
        host.remove("/program")
    assert not (tmp_path / "program").exists()


def test_write_keeps_owner_mode_and_links_and_leaves_no_rest(tmp_path):
    target = tmp_path / "etc" / "x.conf"
    target.parent.mkdir()
    target.write_text("old\n")
    target.chmod(0o640)
    if os.getuid() == 0:
        os.chown(str(target), 1234, 2345)
    before = os.stat(str(target))
    (tmp_path / "link").symlink_to("etc/x.conf")
    host = Host(str(tmp_path))
    for path in ("/etc/x.conf", "/link"):
        host.write(path, "new \u00e4 %s\n" % path, mode=0o600)
        after = os.stat(str(target))
        assert target.read_bytes() == ("new \u00e4 %s\n" % path).encode("utf-8")
        assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (before.st_uid, before.st_gid, 0o640)
        assert os.listdir(str(target.parent)) == ["x.conf"] and (tmp_path / "link").is_symlink()
    host.write("/var/lib/deep/x", "text", mode=0o600)
    assert stat.S_IMODE(os.stat(str(tmp_path / "var/lib/deep/x")).st_mode) == 0o600


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside(tmp_path, monkeypatch):
    target, seen = tmp_path / "x", []
    target.write_bytes(b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def check(path):
        with open(path, "rb") as stream:
            seen.append(stream.read())
        raise HostError("refused")

    with pytest.raises(HostError, match="refused"):
        Host(str(tmp_path)).replace("/x", b"new", check=check)
    assert seen == [b"new"] and target.read_bytes() == b"old" and os.listdir(str(tmp_path)) == ["x"]
    monkeypatch.setattr(_host.os, "fsync", full)
    with pytest.raises(HostError) as error:
        Host(str(tmp_path)).write("/x", "new")
    assert str(error.value) == "cannot write /x: No space left on device" and error.value.errno == errno.ENOSPC
    assert target.read_bytes() == b"old" and os.listdir(str(tmp_path)) == ["x"]


@pytest.mark.parametrize("folders", [True, False])
def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch, folders):
    """Also where, as on AIX, folders cannot be synced."""
    (tmp_path / "x").write_text("old")
    steps, fsync, rename = [], os.fsync, os.rename

    def synced(descriptor):
        found = os.fstat(descriptor)
        steps.append("folder" if stat.S_ISDIR(found.st_mode) else "file of %d bytes" % found.st_size)
        if steps[-1] == "folder" and not folders:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        fsync(descriptor)

    def renamed(*names):
        steps.append("rename")
        rename(*names)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    Host(str(tmp_path)).write("/x", "text")
    assert steps == ["file of 4 bytes", "rename", "folder"] and (tmp_path / "x").read_text() == "text"
    Host(str(tmp_path)).remove("/x")
    assert steps[3:] == ["folder"]


def test_put_is_one_write_into_the_file_that_is_there(tmp_path, monkeypatch):
    """The kernel takes each write as a value, and nothing can be renamed in /proc and /sys."""
    (tmp_path / "sys").mkdir()
    target = tmp_path / "sys" / "value"
    target.write_text("0\n")
    before, written, write = os.stat(str(target)).st_ino, [], os.write

    def noted(descriptor, data):
        written.append(data)
        return write(descriptor, data)

    host = Host(str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", noted)
        host.put("/sys/value", "f,5")
    assert written == [b"f,5\n"] and target.read_text() == "f,5\n"
    assert os.stat(str(target)).st_ino == before
    with pytest.raises(HostError) as error:
        host.put("/sys/none", "3")
    assert str(error.value) == "cannot write 3 to /sys/none: No such file or directory"
    assert error.value.errno == errno.ENOENT
    assert os.listdir(str(tmp_path / "sys")) == ["value"]


def test_commands_run_without_a_shell_in_the_c_locale(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    done = Host().run(["sh", "-c", 'echo "$LC_ALL"; read line; echo bad >&2; exit 3'])
    assert done == (3, "C\n", "bad\n")
    assert Host().run(["printf", "%s", "$HOME; echo"]).out == "$HOME; echo"


def test_a_command_has_an_input_only_for_its_answers(monkeypatch):
    program = "import os, sys; print(os.path.realpath('/dev/fd/0')); print(sys.stdin.read())"
    assert Host().run([sys.executable, "-c", program]).out == "/dev/null\n\n"
    place, _end, read = Host().run([sys.executable, "-c", program], answers="yes\nno\n").out.partition("\n")
    assert "pipe:" in place and read == "yes\nno\n\n"
    start = commands.start

    def late(*arguments, **options):
        process = start(*arguments, **options)
        process.wait()
        return process

    monkeypatch.setattr(commands, "start", late)
    assert Host().run(["true"], answers="yes\n") == (0, "", "")


@pytest.mark.parametrize(
    "root, argv, timeout, words, number",
    [
        ("/", ["zpower-no-such-tool"], 30, "cannot run zpower-no-such-tool: No such file", errno.ENOENT),
        ("/", ["sleep", "600"], 0.1, "sleep did not answer within 0.1 s", errno.ETIMEDOUT),
        ("/captured", ["true"], 30, "is not the running machine", errno.ENOENT),
    ],
)
def test_a_command_that_gives_no_answer_is_one_sentence(root, argv, timeout, words, number):
    with pytest.raises(HostError, match=words) as error:
        Host(root).run(argv, timeout=timeout)
    assert error.value.errno == number


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


@needs_root
def test_a_command_runs_with_ids_groups_and_home_of_its_user(monkeypatch):
    monkeypatch.setenv("HOME", "/root")
    monkeypatch.setenv("SECRET", "of root")
    entry = pwd.getpwnam("nobody")
    script = 'id -u; id -G; echo "$HOME $USER $LOGNAME $EXTRA$SECRET"; pwd'
    done = Host().run(["sh", "-c", script], user="nobody", env={"EXTRA": "more"})
    groups = " ".join(str(group) for group in os.getgrouplist("nobody", entry.pw_gid))
    assert done.out.splitlines() == [str(entry.pw_uid), groups, entry.pw_dir + " nobody nobody more", "/"]


def test_only_root_becomes_somebody_else(monkeypatch):
    with pytest.raises(HostError, match="there is no user zpower-nobody on this host"):
        Host().run(["true"], user="zpower-nobody")
    monkeypatch.setattr(os, "geteuid", lambda: pwd.getpwnam("nobody").pw_uid)
    with pytest.raises(HostError, match="only root can run commands as root: run with become: true"):
        Host().run(["true"], user="root")
    assert Host().run(["true"], user="nobody").rc == 0


def test_on_aix_its_programs_keep_the_access_control_list(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"old")
    host, calls = Host(str(tmp_path)), []
    monkeypatch.delattr(os, "listxattr")
    monkeypatch.setattr(host, "run", lambda argv: calls.append(argv) or Result(0, "", ""))
    host.replace("/x", b"new")
    get, put = calls
    assert get[:2] == ["aclget", "-o"] and get[3] == str(tmp_path / "x")
    assert put[:2] == ["aclput", "-i"] and put[2] == get[2] and "/.zpower-" in put[3]
    monkeypatch.setattr(host, "run", lambda argv: Result(1, "", "no"))
    with pytest.raises(HostError):
        host.replace("/x", b"newer")
    assert (tmp_path / "x").read_bytes() == b"new"


@pytest.mark.parametrize("times", [1, None])
def test_a_folder_that_another_tuning_removes_meanwhile_is_made_again(tmp_path, monkeypatch, times):
    real, removed = tempfile.mkstemp, []

    def mkstemp(**options):
        if len(removed) != times:
            removed.append(options["dir"])
            os.rmdir(options["dir"])
        return real(**options)

    monkeypatch.setattr(tempfile, "mkstemp", mkstemp)
    if times is None:
        with pytest.raises(HostError, match=r"^cannot write /etc/sysctl.d/91-x.conf: "):
            Host(str(tmp_path)).write("/etc/sysctl.d/91-x.conf", "a = 1\n")
    else:
        Host(str(tmp_path)).write("/etc/sysctl.d/91-x.conf", "a = 1\n")
        assert removed == [str(tmp_path / "etc/sysctl.d")]
        assert (tmp_path / "etc/sysctl.d/91-x.conf").read_text() == "a = 1\n"
