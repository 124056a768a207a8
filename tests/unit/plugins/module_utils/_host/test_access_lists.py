# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whom an access list lets write counts as one who may write. Once, root ran a program that nobody could rewrite."""

import errno
import os
import pwd
import stat
import struct

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import access_lists, identities
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import writing

NOBODY = pwd.getpwnam("nobody").pw_uid
ATTRIBUTE = "system.posix_acl_access"
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 1, 2, 4, 8, 16, 32
NONE = 0xFFFFFFFF
SENTENCE = "belongs to root, but others may write to it: .*setfacl -b for an access list"


def acl(*named, **rights):
    """The bytes of a list: rights of named users and groups (tag, rights, id), and mask, group."""
    entries = [(USER_OBJ, 7, NONE)] + [one for one in named if one[0] == USER]
    entries += [(GROUP_OBJ, rights.get("group", 5), NONE)] + [one for one in named if one[0] == GROUP]
    entries += [(MASK, rights.get("mask", 7), NONE), (OTHER, 5, NONE)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)


@pytest.mark.parametrize(
    "data, writes",
    [
        (acl((USER, 7, NOBODY)), True),
        (acl((USER, 2, NOBODY)), True),
        (acl((GROUP, 6, 100)), True),
        (acl((USER, 5, 1), (USER, 5, 2), (GROUP, 7, 3)), True),
        # the mask takes it away
        (acl((USER, 7, NOBODY), mask=5), False),
        (acl((USER, 5, NOBODY)), False),
        (acl((USER, 7, 0), (GROUP, 7, 0)), False),
        (acl(group=7), False),
        # unknown lists
        (b"", True),
        (struct.pack("<I", 3), True),
        (acl((USER, 5, NOBODY))[:-1], True),
        (struct.pack(">I", 2) + acl()[4:], True),
        # the smallest one, which says what the mode says
        (struct.pack("<I", 2), False),
    ],
)
def test_whom_a_list_of_linux_lets_write(data, writes):
    assert access_lists.parse_posix(data, (0,), (0,)) is writes


HEAD = """*
* ACL_type   AIXC
*
attributes: SUID
base permissions
    owner(root): rwx
    group(system): r-x
    others: r-x
"""


@pytest.mark.parametrize(
    "entries, writes",
    [
        ("    enabled\n", False),
        ("    enabled\n        permit   rw-     u:prdadm\n", True),
        ("    enabled\n        permit   r-x     u:prdadm\n        specify  -w-     g:sapsys\n", True),
        ("    enabled\n        deny     rw-     u:prdadm\n", False),
        ("    enabled\n        permit   r-x     u:prdadm\n", False),
        ("    enabled\n        permit   rw-     u:root\n        permit   rwx     u:prdadm, g:system\n", False),
        ("    enabled\n        permit   rw-     u:rooted, g:systems\n", True),
        ("    enabled\n        something else\n", True),
    ],
)
def test_whom_a_list_of_aix_lets_write(entries, writes):
    assert access_lists.parse_aixc(HEAD + "extended permissions\n" + entries) is writes
    # as in older releases
    assert access_lists.parse_aixc((HEAD + "Extended Permissions:" + entries).replace("permit", "Permit")) is writes
    # a list of another type
    assert access_lists.parse_aixc("*\n* ACL_type   NFS4\n*\n*\ns:(OWNER@):     a       rwpRWxDdo\n") is True
    assert access_lists.parse_aixc("") is True


@pytest.mark.parametrize("said", ["permit rw- u:prdadm", "permit r-- u:prdadm", None])
def test_on_aix_the_programs_tell_the_list(tmp_path, monkeypatch, said):
    script = tmp_path / "aclget"
    script.write_text("#!/bin/sh\n%s\n" % ("echo 'extended permissions\n enabled\n %s'" % said if said else "exit 1"))
    script.chmod(0o755)
    calls, start = [], access_lists.commands.start
    monkeypatch.delattr(os, "getxattr")
    monkeypatch.setattr(
        access_lists.commands,
        "start",
        lambda argv, **options: calls.append(argv) or start([str(script)] + argv[1:], **options),
    )
    listed, plain = stat.S_IFREG | 0o755 | 0x02000000, stat.S_IFREG | 0o755
    assert not access_lists.lets_others_write("/x", plain, (0,), (0,)) and calls == []
    assert access_lists.lets_others_write("/x", listed, (0,), (0,)) is (said != "permit r-- u:prdadm")
    assert calls == [["/usr/bin/aclget", "/x"]]
    script.unlink()
    assert access_lists.lets_others_write("/x", listed, (0,), (0,))


def test_without_lists_the_mode_decides(tmp_path, monkeypatch):
    asked = []

    def answer(number):
        def getxattr(path, name, follow_symlinks):
            asked.append((path, name, follow_symlinks))
            raise OSError(number, os.strerror(number))

        return getxattr

    for number, writes in ((errno.ENODATA, False), (errno.ENOTSUP, False), (errno.EIO, True)):
        monkeypatch.setattr(os, "getxattr", answer(number))
        assert access_lists.lets_others_write("/x", 0o775, (0,), (0,)) is writes
    assert set(asked) == {("/x", ATTRIBUTE, False)} and len(asked) == 3
    assert not access_lists.lets_others_write("/x", 0o755, (0,), (0,)) and len(asked) == 3


@pytest.fixture
def exe(reachable):
    """A folder of root's with a program of root's."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    folder = reachable / "exe"
    folder.mkdir()
    (folder / "niping").write_text("#!/bin/sh\nid -u\n")
    for path in (folder, folder / "niping"):
        path.chmod(0o755)
        os.chown(str(path), 0, 0)
    return folder


def allow(path, *named, **rights):
    os.setxattr(str(path), ATTRIBUTE, acl(*named, **rights))


def test_a_program_that_a_list_lets_others_rewrite_does_not_run_as_root(exe):
    program = exe / "niping"
    assert programs.ask([str(program)]) == "0\n"
    allow(program, (USER, 7, NOBODY))
    # the attack is real: they may rewrite it
    assert identities.deputy(NOBODY).call(60, os.access, str(program), os.W_OK)
    with pytest.raises(MeasureError, match="niping does not run as root: .*niping " + SENTENCE):
        programs.ask([str(program)])
    allow(program, (USER, 5, NOBODY), (USER, 7, 0))
    assert programs.ask([str(program)]) == "0\n"
    allow(exe, (GROUP, 7, 4711))
    with pytest.raises(MeasureError, match="niping does not run as root: .*/exe " + SENTENCE):
        programs.ask([str(program)])
    # its sticky bit lets nobody replace what belongs to root; the one of a program protects nothing
    exe.chmod(0o1775)
    assert programs.ask([str(program)]) == "0\n"
    program.chmod(0o1777)
    with pytest.raises(MeasureError, match="niping does not run as root"):
        programs.ask([str(program)])


def test_nothing_is_written_where_a_list_lets_others_write(exe, reachable):
    host = Host(str(reachable))
    host.write("/exe/x.conf", "old")
    # a list on the file is kept and does not hinder: what others may write to it is its administrator's choice
    allow(exe / "x.conf", (USER, 7, NOBODY))
    allow(exe, (USER, 7, NOBODY))
    for act in (lambda: host.write("/exe/x.conf", "new"), lambda: writing.write(host, "/exe/x.conf", b"old", b"new")):
        with pytest.raises(HostError, match=SENTENCE) as caught:
            act()
        assert caught.value.errno == errno.EPERM
    assert host.read("/exe/x.conf") == "old"
    allow(exe, (USER, 5, NOBODY))
    host.write("/exe/x.conf", "new")
    assert host.read("/exe/x.conf") == "new"
    assert os.getxattr(str(exe / "x.conf"), ATTRIBUTE) == acl((USER, 7, NOBODY))
