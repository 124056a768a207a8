# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight: what would stop a tuning, in sentences, and nothing is written for it."""

import fcntl
import os
import platform
from collections import namedtuple

import pytest
from aix import AixHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import identities
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.lock import Busy, Lock
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import _preflight
from ansible_collections.zpower.sap_tuning.plugins.modules import tunings
from modules import caller
from zkernel import ZHost

JOURNALS = "/var/lib/zpower_sap_tuning"
RPS = {"interfaces": ["hsi0"], "cpus": "all"}
System = namedtuple("System", "f_flag f_bavail f_frsize f_files f_favail")
FINE = System(0, 1 << 20, 4096, 1 << 20, 1 << 20)


@pytest.fixture
def host(tmp_path, monkeypatch):
    """An LPAR with one interface. Nothing about its folders depends on who runs the test."""
    found = ZHost(tmp_path).interface("hsi0", queues=2)
    for user in (entry_point, _preflight):
        monkeypatch.setattr(user, "Host", lambda: found)
    for folder in ("/etc/udev/rules.d", "/etc/sysctl.d", "/var/lib"):
        os.makedirs(found.path(folder), exist_ok=True)
    monkeypatch.setattr(os, "statvfs", lambda _path: FINE)
    monkeypatch.setattr(identities, "way", lambda path, top="/": identities.Way(None, path, None))
    return found


@pytest.fixture
def call(host, monkeypatch, capsys):
    """A call of the module in check mode, which must leave every file alone."""
    run = caller(tunings.main, monkeypatch, capsys)

    def act(check=True, **wanted):
        before = files(host) if check else None
        found = run(tunings=wanted or {"rps": RPS}, preflight=check, _ansible_check_mode=check)
        assert not check or files(host) == before
        return found

    return act


def files(host):
    return {
        os.path.join(folder, name): os.stat(os.path.join(folder, name)).st_mtime_ns
        for folder, folders, names in os.walk(host.root)
        for name in folders + names
    }


def test_only_if_asked_and_only_in_check_mode(host, monkeypatch, capsys):
    run = caller(tunings.main, monkeypatch, capsys)
    assert "preflight" not in run(tunings={"rps": RPS}, _ansible_check_mode=True)
    found = run(tunings={"rps": RPS}, preflight=True)
    assert found["failed"] and found["msg"] == "preflight: this only looks ahead; give the task check_mode: true"
    assert not os.path.exists(host.path(JOURNALS))


def broken(_path):
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    ("call_of_os", "answer", "sentence"),
    [
        ("statvfs", lambda _path: FINE._replace(f_flag=os.ST_RDONLY), "the file system is read-only"),
        (
            "statvfs",
            lambda _path: FINE._replace(f_bavail=3),
            "the file system has 12 KiB left; make room for at least 1024 KiB",
        ),
        (
            "statvfs",
            lambda _path: FINE._replace(f_favail=2),
            "the file system has 2 inodes left; at least 16 are needed",
        ),
        ("statvfs", lambda _path: FINE._replace(f_files=0, f_favail=0), None),
        ("statvfs", broken, "its file system cannot be read (Input/output error)"),
        ("access", lambda _path, _mode: False, "this process may not write there; tuning needs root"),
    ],
)
def test_places_that_cannot_be_written(call, monkeypatch, call_of_os, answer, sentence):
    monkeypatch.setattr(os, call_of_os, answer)
    start = "%s, /etc/udev/rules.d, /etc/sysctl.d: " % JOURNALS
    assert call()["preflight"] == ([start + sentence] if sentence else [])


@pytest.mark.parametrize(
    ("full", "booted", "within", "named"),
    [
        ("/var/lib", False, "", JOURNALS),
        # a probation needs the folder of units where systemd runs
        ("/etc/systemd/system", True, "10m", "/etc/systemd/system"),
        ("/etc/systemd/system", True, "", None),
        ("/etc/systemd/system", False, "10m", None),
    ],
)
def test_only_the_folder_with_the_problem_is_named(call, host, monkeypatch, full, booted, within, named):
    os.makedirs(host.path("/etc/systemd/system"))
    if booted:
        os.makedirs(host.path("/run/systemd/system"))
    path_of_full = host.path(full)
    monkeypatch.setattr(os, "statvfs", lambda path: FINE._replace(f_bavail=0) if path == path_of_full else FINE)
    found = call(rps=dict(RPS, confirm_within=within))["preflight"]
    assert [text.startswith(named + ": the file system has 0 KiB left") for text in found] == ([True] if named else [])


def test_a_file_in_place_of_the_folder_and_a_folder_that_others_control(call, host, monkeypatch):
    def way(path, top="/"):
        return identities.Way(1234 if path.endswith("zpower_sap_tuning") else None, path, None)

    host.fill(JOURNALS, "")
    assert "%s: %s is not a folder" % (JOURNALS, JOURNALS) in call()["preflight"]
    host.remove(JOURNALS)
    # the tuning itself would work with the rights of this user
    monkeypatch.setattr(Host, "as_user", lambda *_arguments, **_more: [])
    monkeypatch.setattr(identities, "way", way)
    assert [sentence for sentence in call()["preflight"] if "control of the user with id 1234" in sentence]
    loose = host.path("/var/lib")
    monkeypatch.setattr(identities, "way", lambda path, top="/": identities.Way(None, path, loose))
    assert "/var/lib belongs to root, but others may write to it" in call()["preflight"][0]


def test_a_tuning_that_does_not_apply_writes_nothing(call, monkeypatch):
    monkeypatch.setattr(os, "statvfs", lambda _path: FINE._replace(f_flag=os.ST_RDONLY))
    found = call(aix_device_attributes={"devices": {"sys0": {"maxuproc": 4096}}})
    assert found["tunings"]["aix_device_attributes"]["tuning"][0]["verdict"] == "not_applicable"
    assert found["preflight"] == []


def test_another_run_is_named(call, host):
    host.fill(JOURNALS + "/rps.lock", "process \x1b4711\n")
    sentence = "rps: another run (process 4711) is changing this tuning now; it holds %s/rps.lock" % JOURNALS
    with open(host.path(JOURNALS + "/rps.lock")) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert call()["preflight"] == [sentence]
        assert call(cpu_polarization={"mode": "vertical"})["preflight"] == []
    assert call()["preflight"] == [], "the file of a run that has ended"


def test_a_lock_is_looked_at_without_a_trace(tmp_path):
    lock, other = (Lock(Host(str(tmp_path)), "/x.lock") for _number in range(2))
    lock.look()
    assert os.listdir(str(tmp_path)) == []
    other.take("process 4711")
    with pytest.raises(Busy) as caught:
        lock.look()
    assert caught.value.owner == "process 4711"
    other.release(keep=True)
    lock.look()
    os.rename(str(tmp_path / "x.lock"), str(tmp_path / "y.lock"))
    os.symlink("y.lock", str(tmp_path / "x.lock"))
    with pytest.raises(HostError, match="cannot read /x.lock"):
        lock.look()


@pytest.mark.parametrize("more", [{"checkpoint": "trial"}, {"checkpoint": "trial", "lease": 0}])
def test_a_checkpoint_in_the_way(call, more):
    assert not call(check=False, rps=dict(RPS, **more)).get("failed")
    [sentence] = call()["preflight"]
    assert sentence.startswith("rps has temporary values of the checkpoint trial, which began at ")
    assert call(rps=dict(RPS, checkpoint="trial"))["preflight"] == [], "the same checkpoint goes on"


def test_another_file_that_wins_at_boot_does_no_harm_with_the_same_value(call, host):
    [record] = call()["tunings"]["rps"]["tuning"]
    rule = 'ACTION=="add", SUBSYSTEM=="net", KERNEL=="hsi0", ATTR{queues/rx-0/rps_cpus}="%s"\n'
    file = "/etc/udev/rules.d/99-site.rules line 1"
    wins = ["rps hsi0: %s wins over the stored value at the next boot (udev rule)" % file]
    for mask, expected in (("1", wins), (record["after"]["next_boot"]["rps_cpus"], [])):
        host.fill("/etc/udev/rules.d/99-site.rules", rule % mask)
        found = call()
        assert [other["wins"] for other in found["tunings"]["rps"]["tuning"][0]["conflicts"]] == ["yes"]
        assert found["preflight"] == expected


def test_values_that_are_no_longer_asked_for(call, host):
    host.interface("hsi1", queues=1)
    call(check=False, rps=dict(RPS, interfaces=["hsi0", "hsi1"]))
    (sentence,) = call(rps=dict(RPS, complete=True))["preflight"]
    assert sentence.startswith("rps hsi1 ") and "set by this collection and no longer asked for" in sentence


def test_options_that_the_tuning_refuses_are_its_own_error(call):
    found = call(rps={"interfaces": ["eth7"]}, cpu_topology={"colour": "red"})
    assert found["failed"] and "eth7" in found["msg"] and found["preflight"] == []


def test_on_aix(tmp_path, monkeypatch, capsys):
    found = AixHost(tmp_path)
    monkeypatch.setattr(platform, "system", lambda: "AIX")
    for user in (entry_point, _preflight):
        monkeypatch.setattr(user, "Host", lambda: found)
    monkeypatch.setattr(os, "statvfs", lambda _path: FINE._replace(f_flag=os.ST_RDONLY))
    monkeypatch.setattr(identities, "way", lambda path, top="/": identities.Way(None, path, None))
    asked = {"aix_device_attributes": {"devices": {"sys0": {"maxuproc": 4096}}}}
    run = caller(tunings.main, monkeypatch, capsys)
    result = run(tunings=asked, preflight=True, _ansible_check_mode=True)
    assert result["preflight"] == ["/var/adm/zpower_sap_tuning: the file system is read-only"]
