# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lease: the host takes a checkpoint back by itself, also if its controller is gone. Guardians are real."""

import errno
import json
import os
import signal
import stat
import time

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import lease as _lease
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.durations import seconds
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.run import Run
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import UnsupportedError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, refused
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from ansible_collections.zpower.sap_tuning.plugins.modules import rps
from guardians import alive, everything, watched
from kernel import QUEUE, masks, rps_params
from modules import caller
from runs import FOLDER, SteppedHost, ended, syslog
from sapsystem import SapHost
from waiting import until

CHECKPOINT = FOLDER + "/checkpoint-exp1"
LONG = 3600


class Machine(SteppedHost):
    """A machine on which no path can be written that has the text of the file /full in it."""

    checkpoint = CHECKPOINT

    def write(self, path, text, mode=0o644):
        if (self.value("/full") or "nothing") in path:
            raise refused("cannot write %s" % path, OSError(errno.ENOSPC, ""))
        super().write(path, text, mode)


def over(host):
    host.write(CHECKPOINT + "/lease.json", json.dumps({"until": 0.0, "ends": "2026-11-20T10:00:00Z"}))


def end_of_lease(host):
    return json.loads(host.read(CHECKPOINT + "/lease.json"))["until"]


def taken_back(host, found):
    until(lambda: everything(host) == found, "everything is taken back")


@pytest.fixture
def host(tmp_path, monkeypatch):
    yield from watched(Machine(tmp_path).interface("hsi0", queues=2), monkeypatch)


@pytest.fixture
def call(host, monkeypatch, capsys):
    return caller(rps.main, monkeypatch, capsys)


@pytest.mark.gate
def test_without_renewal_the_host_is_as_it_was_found(host, call):
    host.interface("hsi1")
    call(cpus="0-1")
    found = everything(host)
    assert call(interfaces=["hsi0"], every=2, checkpoint="exp1", lease=LONG)["changed"]
    pid = host.guardian()
    assert masks(host) == ["5", "5"] and alive(pid) and pid != os.getpid()
    call(interfaces=["hsi1"], checkpoint="exp1")
    assert host.value("/sys/class/net/hsi1/queues/rx-0/rps_cpus") == "f"
    over(host)
    taken_back(host, found)
    ended(pid)
    assert masks(host) == ["3", "3"] and not host.exists(CHECKPOINT)
    assert not call(cpus="0-1")["changed"]


@pytest.mark.gate
def test_every_call_with_the_checkpoint_renews_it_also_one_that_changes_nothing(host, call):
    def mode():
        return stat.S_IMODE(os.stat(host.path(CHECKPOINT + "/lease.json")).st_mode)

    call(checkpoint="exp1", lease=LONG)
    pid, first, before = host.guardian(), end_of_lease(host), everything(host)
    assert mode() == 0o600
    call(checkpoint="exp1", lease=2 * LONG, _ansible_check_mode=True)
    assert everything(host) == before
    assert not call(checkpoint="exp1", lease=2 * LONG)["changed"]
    renewed = end_of_lease(host)
    assert first + LONG <= renewed <= time.monotonic() + 2 * LONG and mode() == 0o600
    assert not call(checkpoint="exp1")["changed"]
    assert end_of_lease(host) == renewed and host.guardian() == pid and alive(pid)
    call(checkpoint="exp1", lease=0)
    ended(pid)
    assert host.listdir(CHECKPOINT) == ["rps.json"] and masks(host) == ["f", "f"]
    call(checkpoint="exp1", lease=LONG)
    pid = host.guardian()
    assert alive(pid)
    call(checkpoint="exp1", lease=1)
    ended(pid)
    assert masks(host) == ["0", "0"]


@pytest.mark.gate
def test_taken_back_in_time_alone_or_with_the_rest_the_guardian_ends_at_once(host, call):
    untouched = everything(host)
    call(cpus="0-1")
    tuned = everything(host)
    for how, found in (({"checkpoint": "exp1"}, tuned), ({}, untouched)):
        call(checkpoint="exp1", lease=LONG)
        pid = host.guardian()
        call(state="restored", **how)
        ended(pid)
        assert everything(host) == found and not host.exists(CHECKPOINT)
    assert not host.exists(FOLDER)


@pytest.mark.gate
def test_the_guardian_stays_while_something_is_left_to_take_back(host, call):
    host.interface("hsi1")
    call(checkpoint="exp1", lease=LONG)
    call(state="restored", interfaces=["hsi1"], checkpoint="exp1")
    assert masks(host) == ["f", "f"] and alive(host.guardian())
    host.errors[QUEUE % 1] = errno.EROFS
    assert call(state="restored", checkpoint="exp1")["failed"]
    assert alive(host.guardian())
    host.errors.clear()
    # the lease is that of another tuning too
    host.write(CHECKPOINT + "/smc_r.guardian", "1\n")
    call(state="restored", checkpoint="exp1")
    assert host.listdir(CHECKPOINT) == ["lease.json", "smc_r.guardian"]


@pytest.mark.gate
def test_killed_between_two_writes_the_host_is_taken_back(host, call, monkeypatch):
    call(cpus="0-1")
    found = everything(host)
    real = Rps.set
    pid = os.fork()
    if pid == 0:
        # the module in a process of its own, which does not come to its end
        victim = os.getpid()

        def killed(self, subject, knob):
            if knob.key == QUEUE % 1 and os.getpid() == victim:
                os.kill(victim, signal.SIGKILL)
            real(self, subject, knob)

        monkeypatch.setattr(Rps, "set", killed)
        call(checkpoint="exp1", lease=LONG)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert masks(host) == ["f", "3"] and alive(host.guardian())
    over(host)
    taken_back(host, found)


@pytest.mark.gate
def test_after_a_reboot_the_lease_is_gone_and_the_checkpoint_there(host, call):
    call(cpus="0-1")
    found = everything(host)
    call(checkpoint="exp1", lease=LONG)
    assert ", which the host takes back by itself at 20" in call(cpus="0-1")["msg"]
    pid = host.guardian()
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    result = call(cpus="0-1")
    assert result["failed"] and "by itself" not in result["msg"]
    assert "rollback -e zpower_checkpoint=exp1 takes back only those" in result["msg"]
    # another call of the same experiment has the host guarded again
    call(checkpoint="exp1", lease=LONG)
    assert host.guardian() != pid and alive(host.guardian())
    over(host)
    taken_back(host, found)


@pytest.mark.gate
def test_what_was_renewed_while_the_guardian_took_the_lock_stays(host, call):
    call(checkpoint="exp1", lease=LONG)
    # what follows is its work, which it would do first if this process were slow
    os.kill(host.guardian(), signal.SIGKILL)
    ended(host.guardian())
    params = rps_params()

    def take_back(due):
        return entry_point.take_back(host, params, Rps, "exp1", due)

    assert take_back(lambda: False) is None and masks(host) == ["f", "f"]
    lease = Journal(host, "rps", FOLDER, "exp1").lease
    assert not lease._due()
    over(host)
    assert lease._due()
    assert take_back(lambda: True)["failed"] is False and masks(host) == ["0", "0"]


@pytest.mark.gate
def test_a_guardian_that_cannot_write_says_so_and_tries_again(host, call, monkeypatch, tmp_path):
    told = syslog(monkeypatch, tmp_path)
    call(cpus="0-1")
    found = everything(host)
    call(checkpoint="exp1", lease=LONG)
    pid = host.guardian()
    host.fill("/full", "/etc")
    over(host)
    until(lambda: told.exists() and told.read_text(), "the guardian has told")
    assert masks(host) == ["f", "f"] and alive(pid)
    os.unlink(host.path("/full"))
    ended(pid)
    assert everything(host) == found
    first, last = told.read_text().splitlines()
    assert first.startswith("3 the lease of checkpoint-exp1 of rps could not be taken back: cannot write /etc/udev")
    assert last == "5 the lease of checkpoint-exp1 of rps was not renewed and is taken back: 1 changed"


def test_a_guardian_says_a_sentence_once_however_often_it_tries(tmp_path, monkeypatch):
    """As on a copy of a host, where it fails every 15 s for ever."""
    told, tries = [], []

    def take_back(_due):
        tries.append(len(tries))
        if len(tries) < 6:
            raise HostError("the journal was written on another machine" if len(tries) != 4 else "disk full")
        return {"failed": len(tries) < 9, "msg": "1 failed", "tuning": []}

    monkeypatch.setattr(_lease, "RETRY_S", 0)
    monkeypatch.setattr(_lease.syslog, "syslog", lambda _level, text: told.append(text.rpartition(": ")[2]))
    # without the fixture, which would end this process in the place of the guardian
    host = Machine(tmp_path)
    host.write(CHECKPOINT + "/lease.json", json.dumps({"until": 0.0}))
    _lease.Lease(host, CHECKPOINT, "rps").watch(take_back, lambda _ready: None)
    copied = "the journal was written on another machine"
    assert len(tries) == 9 and told == [copied, "disk full", copied, "1 failed", "1 failed"]


@pytest.mark.parametrize("what", ["rps.lease", FOLDER])
def test_without_room_for_the_lease_nothing_is_changed(host, call, what):
    call(cpus="0-1")
    before = everything(host)
    host.fill("/full", what)
    result = call(checkpoint="exp1", lease=LONG)
    assert result["failed"] and "nothing was changed" in result["msg"] and "No space left" in result["msg"]
    assert everything(host) == before


@pytest.mark.gate
@pytest.mark.parametrize("what", ["spawn", "lock"])
def test_without_a_guardian_nothing_is_changed(host, call, monkeypatch, what):
    before = everything(host)

    def spawn(*_arguments):
        raise OSError(errno.EAGAIN, "")

    class Full(_lease.Lock):
        def take(self, owner, patience=0.0):
            raise refused("cannot write %s" % CHECKPOINT, OSError(errno.ENOSPC, ""))

    if what == "spawn":
        monkeypatch.setattr(_lease.daemon, "spawn", spawn)
    else:
        monkeypatch.setattr(_lease, "Lock", Full)
    result = call(checkpoint="exp1", lease=LONG)
    assert "nothing was changed: the process that would take the checkpoint back at 20" in result["msg"]
    full = "cannot write %s: %s" % (CHECKPOINT, os.strerror(errno.ENOSPC))
    assert result["msg"].endswith(": " + os.strerror(errno.EAGAIN) if what == "spawn" else full)
    assert everything(host) == before and not host.exists(FOLDER)


@pytest.mark.gate
def test_what_needs_no_taking_back_needs_no_guardian(host, call, monkeypatch):
    before = everything(host)
    guardians = []

    def unsupported(self, subject, knob):
        guardians.append(host.guardian())
        raise UnsupportedError("not here", errno.EOPNOTSUPP)

    with monkeypatch.context() as patch:
        patch.setattr(Rps, "set", unsupported)
        assert call(checkpoint="exp1", lease=LONG)["tuning"][0]["verdict"] == "unsupported"
    assert everything(host) == before and not host.exists(FOLDER)
    ended(guardians[0])
    call()
    assert not call(checkpoint="exp1", lease=LONG)["changed"]
    assert not host.exists(CHECKPOINT)


def test_a_guardian_restarts_no_instance(tmp_path, monkeypatch):
    machine = SapHost(tmp_path)
    before = machine.profiles()
    params = dict(state="present", force=False, checkpoint="exp1", lease=LONG, restart=["PRD_00"], restart_timeout=5)
    params.update(sid="PRD", instance="D00", profile=None, profiles=[], presets=[], change="")
    params["parameters"] = {"rdisp/wp_no_btc": 12}
    journal = Journal(machine, "sap_profile", FOLDER, "exp1")
    Run(SapProfile(machine, params), journal, "present").run()
    assert machine.running["00"]["rdisp/wp_no_btc"] == "12"
    machine.calls.clear()
    result = entry_point.take_back(machine, params, SapProfile, "exp1", lambda: True)
    assert [record["verdict"] for record in result["tuning"]] == ["pending_restart"] and not result["failed"]
    assert machine.profiles() == before and not [name for name in machine.calls if name.endswith("Stop")]
    # until it is restarted, the checkpoint says what it waits for
    assert machine.listdir(CHECKPOINT) == ["sap_profile.json"]


@pytest.mark.parametrize("other", [False, True])
def test_what_a_killed_guardian_and_a_killed_run_left_goes_with_the_next_run(host, call, other):
    before = everything(host)
    for name in ("rps.guardian", "lease.json", "rps.lease", ".zpower-rps.lease.x"):
        host.fill("%s/%s" % (CHECKPOINT, name), "4711")
    if other:
        # the lease of the checkpoint is that of another tuning too, whose run writes it just now
        host.fill(CHECKPOINT + "/cpu_topology.json", "{}")
        host.fill(CHECKPOINT + "/.zpower-cpu_topology.lease.x", "")
    os.chmod(host.path(FOLDER), 0o700)
    call(state="restored")
    kept = [".zpower-cpu_topology.lease.x", "cpu_topology.json", "lease.json"]
    assert host.listdir(CHECKPOINT) == (kept if other else [])
    assert other or (everything(host) == before and not host.exists(FOLDER))


@pytest.mark.parametrize(
    "value, expected", [(0, 0), (90, 90), ("90", 90), ("90s", 90), ("10m", 600), (" 2 h ", 7200), ("1d", 86400)]
)
def test_a_number_is_seconds_and_a_letter_is_the_unit(value, expected):
    assert seconds(value, "soak") == expected


@pytest.mark.parametrize("value", ["", "10 minutes", "-5", 1.5, True, None, [], "1h30m", "9" * 10])
def test_anything_else_is_refused_with_the_name_of_the_option(value):
    with pytest.raises(ValueError, match="^soak is .*; it must be seconds, or a duration such as 90s, 10m"):
        seconds(value, "soak")
