# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left on a host: found with and without a journal, and gone after the command that the record names."""

import contextlib
import fcntl
import json
import os
import re
import time

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import places
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import drop_ins
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import _leftovers, _unused
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._profiles import limits as sap_limits
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._smc import boot as smc_boot
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from ansible_collections.zpower.sap_tuning.plugins.modules import leftovers_info
from kernel import KernelHost, rps_params
from modules import caller
from runs import FOLDER, runner
from sapsystem import D00, SapHost

run = runner(Rps, **rps_params())
profile = runner(
    SapProfile, restart=[], restart_timeout=5, sid="PRD", instance="D00", profile=None, change="", parameters={}
)
RULES = "/etc/udev/rules.d/91-zpower-sap-tuning-rps.rules"
ROLLBACK = "ansible-playbook zpower.sap_tuning.rollback --limit HOST --tags rps"


@pytest.fixture
def host(tmp_path):
    return KernelHost(tmp_path).interface("hsi0", queues=2)


def left(host, system="Linux"):
    """{(tuning, subject): record}; empty if nothing is left."""
    found = _leftovers.records(host, system)
    if [one["verdict"] for one in found] == ["compliant"]:
        return {}
    assert all(one["verdict"] in ("drifted", "failed") for one in found)
    return {(one["name"], one["subject"]): one for one in found}


def empty_file(host, path):
    os.makedirs(os.path.dirname(host.path(path)), exist_ok=True)
    with open(host.path(path), "w", encoding="utf-8"):
        pass


def test_a_tuned_host_has_a_journal_and_files_until_a_rollback(host):
    (found,) = _leftovers.records(host, "Linux")
    assert (found["verdict"], found["reason"], found["undo"]) == ("compliant", "nothing is left", None)
    run(host)
    found = left(host)
    assert set(found) == {("rps", "journal"), ("rps", "files")}
    journal, files = found["rps", "journal"], found["rps", "files"]
    assert journal["before"]["stored"]["first values"] == 3 and journal["before"]["stored"]["since"].endswith("Z")
    assert journal["reason"] == "%s/rps.json holds the first values; %s restores them" % (FOLDER, ROLLBACK)
    assert files["reason"] == "%s: %s removes it" % (RULES, ROLLBACK)
    assert {one["undo"] for one in found.values()} == {ROLLBACK}
    with held(host, FOLDER + "/rps.lock", "process 12\n"):
        assert left(host)["rps", "lock"]["before"]["running"] == {"held by": "process 12"}
    run(host, every=2, checkpoint="exp1.json")
    assert set(left(host)) == {("rps", "journal"), ("rps", "files"), ("rps", "checkpoint exp1.json")}
    run(host, state="restored", checkpoint="exp1.json")
    run(host, every=2, checkpoint="exp1")
    found = left(host)["rps", "checkpoint exp1"]
    assert found["before"]["running"] == {"guardian": "none"}
    assert "temporary values of the checkpoint exp1, and no process on the host restores them" in found["reason"]
    run(host, state="restored", checkpoint="exp1")
    empty_file(host, "/var/adm/zpower_sap_tuning/smc_r.lock")
    assert set(left(host, "AIX")) == {("smc_r", "remains"), ("rps", "files")}
    run(host, state="restored")
    assert left(host) == {}
    os.makedirs(host.path(FOLDER + "/checkpoint-exp1"))
    (found,) = _leftovers.records(host, "Linux")
    assert found["verdict"] == "compliant"
    assert found["undo"] == "rmdir %s/checkpoint-exp1 %s" % (FOLDER, FOLDER)


def test_a_file_without_marks_is_for_a_person(host):
    empty_file(host, RULES)
    empty_file(host, FOLDER + "/notes.txt")
    found = left(host)
    assert set(found) == {("rps", "files"), ("leftovers", "other files")}
    assert "remove it by hand" in found["rps", "files"]["reason"] and found["rps", "files"]["undo"] is None
    assert FOLDER + "/notes.txt" in found["leftovers", "other files"]["reason"]
    run(host, state="restored")
    assert host.exists(RULES)


def test_the_guardian_of_a_probation_is_named(host):
    run(host, checkpoint="probation")
    wall = time.time() + 600
    ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall))
    lease = {"until": time.monotonic() + 600, "wall": wall, "ends": ends}
    host.write(FOLDER + "/checkpoint-probation/lease.json", json.dumps(lease))
    with held(host, FOLDER + "/checkpoint-probation/rps.guardian", "4711"):
        found = left(host)
    assert set(found) == {("rps", "probation"), ("rps", "files")}
    record = found["rps", "probation"]
    assert record["before"]["running"] == {"guardian": "process 4711", "until": ends}
    assert "the host restores them by itself" in record["reason"] and "confirm keeps them" in record["reason"]


@contextlib.contextmanager
def held(host, path, text):
    with open(host.path(path), "w", encoding="ascii") as stream:
        stream.write(text)
        stream.flush()
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize(
    "path",
    [
        FOLDER + "/rps.lock",
        FOLDER + "/.zpower-rps.json.k1ll3d",
        FOLDER + "/checkpoint-exp1/.zpower-rps.json.k1ll3d",
        FOLDER + "/checkpoint-probation/rps.lease",
        FOLDER + "/checkpoint-probation/rps.zip",
        "/etc/udev/rules.d/.zpower-91-zpower-sap-tuning-rps.rules.k1ll3d",
    ],
)
def test_what_killed_runs_left_is_removed_by_a_rollback(host, path):
    empty_file(host, path)
    ((name, _subject),) = left(host)
    assert name == "rps"
    run(host, state="restored")
    assert left(host) == {} and not host.exists(path)


@pytest.mark.parametrize(
    "path, tuning",
    [
        (places.UNITS + "/zpower-sap-tuning-probation-rps.service", "rps"),
        (places.WANTS + "/zpower-sap-tuning-probation-cpu_topology.service", "cpu_topology"),
        (places.UNITS + "/.zpower-zpower-sap-tuning-probation-rps.service.k1ll3d", "rps"),
        (smc_boot.UNIT, "smc"),
        (smc_boot.LINK, "smc"),
        (FOLDER + "/smc.pyz", "smc"),
        ("/etc/systemd/system/SAPPRD_00.service.d/zpower-sap-tuning.conf", "sap_profile"),
        (sap_limits.LIMITS + "/zpower-sap-tuning-prdadm.conf", "sap_profile"),
        ("/etc/.zpower-fstab.k1ll3d", "system_base"),
        ("/etc/systemd/system/SAPPRD_00.service.d/zz-zpower-sap-tuning-system-base.conf", "system_base"),
        (sap_limits.LIMITS + "/zz-zpower-sap-tuning-system-base.conf", "system_base"),
        *(("%s/%sx-y.conf" % (folder, drop_ins.PREFIX), "x_y") for folder in drop_ins.FOLDERS),
    ],
)
def test_the_files_of_every_tuning_are_found(host, path, tuning, monkeypatch):
    """By leftovers, and by a rollback, which does not import a tuning without files."""
    monkeypatch.setattr(_unused, "Host", lambda: host)
    assert tuning == "x_y" or _unused.unused([tuning]) == [tuning]
    os.makedirs(os.path.dirname(host.path(path)), exist_ok=True)
    if path in (FOLDER + "/smc.pyz", places.UNITS + "/zpower-sap-tuning-probation-rps.service"):
        # one without marks is told by its name and not read
        os.mkfifo(host.path(path))
    else:
        empty_file(host, path)
    found = left(host)
    assert set(found) == {(tuning, "files")}
    reason = found[tuning, "files"]["reason"]
    # a temporary file was not edited by someone
    assert path in reason and (".zpower-" not in path or reason.startswith("%s: ansible-playbook " % path))
    assert _unused.unused([tuning]) == []


def test_a_folder_that_cannot_be_read_is_an_error(host, monkeypatch):
    run(host)
    real = Host.listdir

    def refused(self, path):
        if path == FOLDER:
            raise HostError("cannot list %s: Permission denied" % path)
        return real(self, path)

    monkeypatch.setattr(Host, "listdir", refused)
    (found,) = _leftovers.records(host, "Linux")
    assert found["verdict"] == "failed" and "Permission denied" in found["reason"]


def test_lines_in_profiles_are_found_without_a_journal(tmp_path):
    host = SapHost(tmp_path)
    assert left(host) == {}
    profile(host, parameters={"rdisp/wp_no_spo": 3})
    assert set(left(host)) == {("sap_profile", "journal")}
    host.remove(FOLDER + "/sap_profile.json")
    host.remove(FOLDER + "/sap_profile.lock")
    found = left(host)
    assert set(found) == {("sap_profile", "profiles")}
    assert os.path.basename(D00) in found["sap_profile", "profiles"]["reason"]
    host.fill(os.path.dirname(D00) + "/.zpower-PRD_D00_app1.k1ll3d", b"")
    assert ("sap_profile", "profile folder") in left(host)


def test_the_module_says_what_fails_and_shows_the_others(host, monkeypatch, capsys):
    monkeypatch.setattr(leftovers_info, "Host", lambda: host)
    call = caller(leftovers_info.main, monkeypatch, capsys)
    result = call(_ansible_check_mode=True)
    assert (result["changed"], result["failing"], len(result["tuning"])) == (False, [], 1)
    run(host)
    empty_file(host, FOLDER + "/cpu_topology.json")
    found = left(host)
    assert found["cpu_topology", "cpu_topology.json"]["verdict"] == "failed"
    assert found["rps", "journal"]["verdict"] == "drifted"
    result = call()
    assert len(result["errors"]) == 1 and re.match("cpu_topology: the journal .*cannot be", result["errors"][0])
    assert len(result["drift"]) == 2 and result["failing"] == result["errors"] + result["drift"]
    assert result["tunings"] == {} and result["changed"] is False
