# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A probation whose host boots, whose lease is changed by hand, or that two controllers end."""

import calendar
import json
import os
import time

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from guardians import alive, everything, watched
from kernel import masks, rps_params
from runs import DEFAULTS, FOLDER, PROBATION, SteppedHost, ended, only

LEASE = PROBATION + "/lease.json"
BOOT = "/proc/sys/kernel/random/boot_id"
DAY = 24 * 3600
NOBODY = 65534
PARAMS = dict(DEFAULTS, **rps_params())
pytestmark = pytest.mark.gate


@pytest.fixture
def host(tmp_path, monkeypatch):
    host = SteppedHost(tmp_path).interface("hsi0", queues=2)
    host.fill(BOOT, "one")
    yield from watched(host, monkeypatch)


def call(host, check=False, **changes):
    return entry_point.outcome(Rps, dict(PARAMS, **changes), check)


@pytest.fixture
def probation(host):
    """(everything on the untouched host, everything before the probation) of a tuned host with values on probation."""
    untouched = everything(host)
    call(host, cpus="0-1")
    found = everything(host)
    result = call(host, every=2, confirm_within="10m")
    assert not result["failed"] and alive(host.guardian()), result
    return untouched, found


def kept(host, untouched):
    """Whether the values of the probation are normal ones, with the rollback to the first values."""
    assert masks(host) == ["5", "5"] and not host.exists(PROBATION)
    assert not call(host, every=2)["changed"] and not call(host, state="restored")["failed"]
    return everything(host) == untouched and not host.exists(FOLDER)


def lease_of(host, **changes):
    host.write(LEASE, json.dumps(dict(json.loads(host.read(LEASE)), **changes)))


def test_after_a_reboot_nobody_promises_to_take_back_what_can_be_continued_or_taken_back(host, probation):
    def reboot(boot):
        pid = host.guardian()
        os.kill(pid, 9)
        ended(pid)
        host.fill(BOOT, boot)

    reboot("two")
    (remark,) = only(call(host, check=True, every=2, confirm_within="0"))["remarks"]
    assert remark == "on probation: zpower.sap_tuning.confirm keeps it"
    reason = only(call(host, check=True))["reason"]
    assert "values on probation since 20" in reason and "by itself" not in reason
    assert not call(host, every=2, confirm_within="10m")["failed"] and alive(host.guardian())
    assert "until 20" in only(call(host, check=True, every=2, confirm_within="0"))["remarks"][0]
    reboot("three")
    assert not call(host, state="restored", confirm_within="0")["failed"]
    assert everything(host) == probation[1]


def test_a_lease_that_is_made_longer_or_shorter_by_hand_counts(host, probation):
    pid = host.guardian()
    lease_of(host, until=time.monotonic() + 2 * DAY, ends="never\x1b[31m")
    ends = Journal(host, "rps", FOLDER, "probation").lease.ends()
    # the numbers count, not the text beside them
    assert calendar.timegm(time.strptime(ends, "%Y-%m-%dT%H:%M:%SZ")) > time.time() + DAY
    lease_of(host, until=0.0)
    ended(pid)
    assert everything(host) == probation[1]


@pytest.mark.parametrize("other", ["confirmed", "restored", "present"])
def test_two_controllers_at_once_at_any_step(host, other):
    untouched = everything(host)

    def begin():
        call(host, cpus="0-1")
        call(host, every=2, confirm_within="0")
        # its guardian would be killed with the tests
        host.fill(LEASE, "{}")
        host.fill(PROBATION + "/rps.guardian", "1")

    begin()
    steps = host.steps(lambda: call(host, every=2, state="confirmed"))
    assert len(steps) == 4
    call(host, state="restored")

    def beside(number, said):
        left = iter(range(number))

        def at(step, path):
            if next(left, None) is None and not said:
                host.at = None
                said.append(call(host, every=2, state=other))

        return at

    for number in range(len(steps)):
        begin()
        said = []
        host.at = beside(number, said)
        first = call(host, every=2, state="confirmed")
        host.at = None
        (second,) = said
        assert not first["failed"] and first["changed"] and only(first)["verdict"] == "compliant", first
        # after the journals are merged, a call that changes nothing needs no lock
        assert second["failed"] or (other == "present" and not second["changed"]), second
        if second["failed"]:
            refusals = ("is changing this tuning now", "rps has values on probation since")
            assert any(one in second["msg"] for one in refusals[: 2 if other == "present" else 1]), second
        assert masks(host) == ["5", "5"] and not host.exists(PROBATION)
        assert not call(host, state="restored")["failed"]
        assert everything(host) == untouched and not host.exists(FOLDER)


@pytest.mark.parametrize("other", ["confirmed", "restored"])
def test_another_controller_between_the_look_and_the_lock(host, probation, monkeypatch, other):
    real, said, pid = Journal.lock, [], host.guardian()

    def lock(self):
        monkeypatch.setattr(Journal, "lock", real)
        said.append(call(host, every=2, state=other))
        real(self)

    monkeypatch.setattr(Journal, "lock", lock)
    first = call(host, every=2, state="confirmed")
    assert said[0]["changed"] and not said[0]["failed"] and not first["changed"] and not first["failed"]
    ended(pid)
    if other == "confirmed":
        assert only(first)["verdict"] == "compliant" and kept(host, probation[0])
    else:
        assert only(first)["verdict"] == "drifted" and everything(host) == probation[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("how", [{"state": "confirmed"}, {"state": "restored"}, {"confirm_within": "7d"}, {}])
def test_another_user_can_neither_confirm_nor_extend_nor_roll_back(monkeypatch, reachable, how):
    host = SteppedHost(str(reachable)).interface("hsi0", queues=2)
    for running in watched(host, monkeypatch):
        call(running, every=2, confirm_within="10m")
        before, (reader, writer) = everything(host), os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                os.write(writer, json.dumps(call(host, **how)).encode())
            finally:
                os._exit(0)
        os.close(writer)
        assert os.waitpid(child, 0)[1] == 0
        with os.fdopen(reader) as stream:
            result = json.loads(stream.read())
        assert result["failed"] and result["msg"].endswith(": Permission denied"), result
        assert everything(host) == before and alive(host.guardian())
