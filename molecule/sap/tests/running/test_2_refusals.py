# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors in a real system: one sentence each; profiles and instance are unchanged."""

import functools
import json
import subprocess

import pytest

HOST = "app1"
ORDERS = "/usr/sap/PRD/D00/work/standin/orders.json"
D00 = {"sid": "PRD", "instance": "D00"}
ONE_MORE = {**D00, "parameters": {"rdisp/wp_no_dia": "3"}}
# Each restart in these tests takes this long, and the restart with the old values must end within it.
TIMEOUT = 20
RESTARTED = {**ONE_MORE, "restart": ["PRD_00"], "restart_timeout": TIMEOUT}


@pytest.fixture
def sap_profile(module):
    """Return a function that calls the module on this host and returns its result."""
    return functools.partial(module, "sap_profile")


@pytest.fixture
def unchanged(profiles, is_up, parameter):
    """Check that a test leaves the profiles unchanged and the instance running with the old value."""
    before = profiles()
    yield
    assert profiles() == before
    assert is_up("D00")
    assert parameter("D00", "rdisp/wp_no_dia") == "2"


@pytest.fixture
def ordered(broken):
    """Return a context manager in which the instance's stand-in misbehaves as ordered."""
    return lambda **orders: broken(f"echo '{json.dumps(orders)}' > {ORDERS}", f"rm {ORDERS}")


def verdict(result):
    """Return the verdict of a result with one record."""
    (record,) = result["tuning"]
    return record["verdict"]


def test_an_instance_that_dies_of_new_values_gets_the_old_ones(play, unchanged, work_processes, ordered):
    before = work_processes()
    asked = {"sap_profile_profiles": [ONE_MORE], "sap_profile_restart": ["PRD_00"]}
    asked["sap_profile_restart_timeout"] = TIMEOUT
    with ordered(dies={"name": "rdisp/wp_no_dia", "value": "3"}):
        status, text, _changed = play("site", "--limit", "app1", "-e", json.dumps(asked))
    assert status != 0
    assert f"PRD_00 did not come back within {TIMEOUT} s" in text
    assert not {row[0] for row in before} & {row[0] for row in work_processes()}, "it was not restarted"


def test_an_instance_that_does_not_stop_keeps_its_profile(sap_profile, unchanged, control, eventually, ordered):
    with ordered(stop_hangs=True):
        result = sap_profile(**RESTARTED)
    assert control("D00", "Stop")[0] == 0
    assert eventually(lambda: control("D00", "GetProcessList")[0] == 4)
    assert control("D00", "Start")[0] == 0
    assert verdict(result) == "failed"
    assert f"did not stop within {TIMEOUT} s" in result["msg"]


def test_a_profile_that_its_administrator_cannot_read_is_left_alone(sap_profile, unchanged, broken):
    path = "/sapmnt/PRD/profile/PRD_D00_app1"
    hide, show = f"chown root:root {path} && chmod 600 {path}", f"chown prdadm:sapsys {path} && chmod 640 {path}"
    with broken(hide, show):
        result = sap_profile(**D00, presets=["realtime_scheduler"])
    assert result["changed"] is False
    assert f"cannot read {path}: Permission denied (as prdadm, the owner of the folder)" in result["msg"]


def test_two_hosts_at_once_lose_no_change(profiles):
    """Each host adds a line of its own to the shared profile: the line is complete, or that host was refused."""

    def add(value):
        words = {"profile": "/sapmnt/PRD/profile/DEFAULT.PFL", "parameters": "{{ {'zz/' ~ inventory_hostname: %s} }}"}
        words["parameters"] %= value
        command = ["ansible", "sap_app_servers", "-m", "zpower.sap_tuning.sap_profile", "-a", json.dumps(words)]
        return subprocess.run(command, check=False, capture_output=True, text=True, timeout=600).stdout

    before = profiles()
    said = add("'1'")
    done = [name for name in ("app1", "app2") if f"{name} | CHANGED" in said]
    refused = [name for name in ("app1", "app2") if f"{name} | FAILED" in said]
    assert done and sorted(done + refused) == ["app1", "app2"], said
    assert "run again" in said or not refused, said
    now = profiles()
    assert now.keys() == before.keys(), "a lock or half a profile was left"
    text, kept = (found["DEFAULT.PFL"][0] for found in (now, before))
    assert text.startswith(kept)
    added = [line for line in text[len(kept) :].splitlines() if not line.startswith("#")]
    assert sorted(added) == [f"zz/{name} = 1" for name in done]
    while "| CHANGED" in said:
        said = add("none")
    assert profiles() == before
