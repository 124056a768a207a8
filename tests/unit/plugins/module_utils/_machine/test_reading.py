# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A look at a machine is never stopped by what it holds, and a captured tree never leads to files of this machine."""

import errno
import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost, opened


@pytest.fixture
def root(tmp_path):
    for folder in ("proc", "sys", "etc", "usr/lib"):
        (tmp_path / "tree" / folder).mkdir(parents=True)
    (tmp_path / "secret").write_text("of this machine")
    return tmp_path / "tree"


def test_links_lead_as_on_the_captured_machine(root):
    (root / "usr/lib/os-release").write_text("ID=sles")
    (root / "etc/os-release").symlink_to("/usr/lib/os-release")
    (root / "etc/other").symlink_to("../usr/lib/os-release")
    (root / "lib").symlink_to("/usr/lib")
    host = opened(str(root))
    for path in ("/etc/os-release", "/etc/other", "/lib/os-release", "/lib/../../etc/other"):
        assert host.read(path) == "ID=sles"
    assert host.listdir("/lib") == ["os-release"]
    assert host.exists("/lib/os-release") and host.remarks == []


@pytest.mark.parametrize("target", ["../../secret", "../../../../../../../../%s", "%s"])
def test_links_never_lead_out(root, target):
    secret = str(root.parent / "secret")
    (root / "etc/os-release").symlink_to(target % secret if "%" in target else target)
    host = opened(str(root))
    assert host.read("/etc/os-release") is None
    assert not host.exists("/etc/os-release") and host.remarks == []
    assert host.read("/../secret") is None and host.read("/etc/../../secret") is None


def test_links_in_a_circle_and_long_chains_and_targets_end(root):
    (root / "etc/a").symlink_to("b")
    (root / "etc/b").symlink_to("a")
    for number in range(60):
        (root / ("etc/l%d" % number)).symlink_to("/etc/l%d" % (number + 1))
    (root / "etc/l60").symlink_to(str(root.parent / "secret"))
    (root / "etc/deep").symlink_to("/".join(["x"] * 1500))
    host = opened(str(root))
    assert [host.read("/etc/" + name) for name in ("a", "l0", "l50", "deep")] == [None] * 4
    assert host.listdir("/etc/a") == []


def test_only_files_of_a_reasonable_size_are_read(root):
    os.mkfifo(str(root / "proc/sysinfo"))
    (root / "proc/cpuinfo").mkdir()
    with open(str(root / "proc/huge"), "wb") as stream:
        stream.truncate(1 << 40)
    host = ReadingHost(str(root))
    assert [host.read("/proc/" + name) for name in ("sysinfo", "cpuinfo", "huge")] == [None] * 3
    assert host.remarks == [
        "cannot read /proc/sysinfo: it is not a regular file",
        "cannot read /proc/huge: it is larger than 64 MiB",
    ]
    (root / "etc/value").write_text("x" * 5000)
    assert len(host.read("/etc/value")) == 5000 and host.value("/etc/value") is None


class Failing(ReadingHost):
    errors = {}

    def _content(self, path, target, follow):
        if path in self.errors:
            raise OSError(self.errors[path], os.strerror(self.errors[path]))
        return super()._content(path, target, follow)


@pytest.mark.parametrize(
    "number, said",
    [(number, True) for number in (errno.EIO, errno.EACCES, errno.EPERM)]
    + [(number, False) for number in (errno.ENODEV, errno.EINVAL, errno.ENOENT, errno.ENXIO)],
)
def test_what_exists_and_cannot_be_read_is_said_once(root, number, said):
    host = Failing(str(root))
    host.errors = {"/proc/sysinfo": number}
    assert [host.read("/proc/sysinfo"), host.value("/proc/sysinfo")] == [None, None]
    assert host.summary() == (["cannot read /proc/sysinfo: %s" % os.strerror(number)] if said else [])


def test_a_folder_that_cannot_be_listed(root, monkeypatch):
    def refuse(path):
        raise OSError(errno.EACCES, "no")

    monkeypatch.setattr(os, "listdir", refuse)
    host = ReadingHost(str(root))
    assert host.listdir("/usr/sap") == []
    assert host.summary() == ["cannot list /usr/sap: Permission denied"]


def test_many_remarks_are_merged_into_few(root):
    host = Failing(str(root))
    host.errors = {"/f%d" % number: errno.EIO for number in range(9)}
    for path in host.errors:
        host.read(path)
    assert len(host.summary()) == 6 and host.summary()[-1] == "4 more files could not be read"
