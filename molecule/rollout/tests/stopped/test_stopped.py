# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts that stop: a canary drifts, a host dies, and a host becomes slower. All hosts have values of an earlier
rollout, which a stopped batch restores.
"""

import os
from pathlib import Path

import pytest

CHECKOUT = Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
OTHER = {"rps_cpus": "0", "rollout_soak": 10}
DRIFTING, DYING, SLOW = "app1", "app11", "app4"
DRIFTING_QUEUE = "/sys/class/net/hsi0/queues/rx-2/rps_cpus"
WITHIN = 90
GUARD = {
    "rollout_guard": True,
    # the shaped network is many times slower; the noise of a busy machine must not stop the first batch
    "rollout_guard_cpu_pct": 1000,
    "report_material_pct": 100,
    "measure_tool": "pingpong",
    "measure_control": False,
    "measure_runs": 1,
    "measure_warmup": 0,
    "measure_bytes": [1000],
    "measure_run_seconds": 0.1,
    "measure_idle_seconds": 0.1,
}
SHAPE = "tc qdisc add dev hsi0 root tbf rate 3mbit burst 1600 limit 30000"


@pytest.fixture(scope="module", name="story")
def fixture_story(site):
    """Return the results of all runs by name."""
    return dict(told(site))


def told(site):
    before = site.look()
    yield "before", before

    earlier = site.at(DRIFTING, f"cat {DRIFTING_QUEUE}").strip()
    run = site.start("drift", zpower_change="drift", **OTHER)
    if site.reached(run, "drift", 1, "soaking"):
        site.at(DRIFTING, f"echo {earlier} > {DRIFTING_QUEUE}")
    yield "drift", (run.code, run.said)
    yield "after the drift", (site.state("drift"), site.look())

    hosts = {"zpower_hosts": "app9,app10,app11,app12", "rollout_batches": [2, 1], "rollout_confirm_within": WITHIN}
    run = site.start("death", zpower_change="death", **hosts, **OTHER)
    if site.reached(run, "death", 2, "soaking"):
        site.cut_off(DYING)
    yield "death", (run.code, run.said)
    yield "after the death", (site.state("death"), site.look())

    hosts = {"zpower_hosts": "app2,app3,app4,app5", "rollout_batches": [2, 1]}
    run = site.start("slow", zpower_change="slow", **hosts, **OTHER, **GUARD)
    if site.reached(run, "slow", 2, "applying", "soaking"):
        site.at(SLOW, SHAPE)
    yield "slow", (run.code, run.said)
    yield "after the slow host", (site.state("slow"), site.look())

    site.eventually(lambda: site.look([DYING])[DYING] == before[DYING])
    yield "alone", site.look([DYING])
    site.connect(DYING)


def of(state, number):
    """Return outcome and values of each host of a batch."""
    return {name: (host["outcome"], host["values"]) for name, host in state["batches"][number - 1]["hosts"].items()}


def test_a_canary_that_drifts_stops_the_rollout(story):
    code, said = story["drift"]
    state, _look = story["after the drift"]
    assert code == 2, said
    assert [batch["state"] for batch in state["batches"]] == ["stopped"] + ["waiting"] * (len(state["batches"]) - 1)
    assert state["batches"][0]["stage"] == "verifying" and of(state, 1) == {DRIFTING: ("failed", "taken back")}
    assert "hsi0 rx-2" in state["headline"] and state["headline"] in said


def test_the_canary_has_its_old_values_and_no_other_host_was_touched(story):
    _state, look = story["after the drift"]
    assert look == story["before"]


def test_a_host_that_is_cut_off_stops_the_rollout(story):
    code, said = story["death"]
    state, _look = story["after the death"]
    assert code in (2, 4), said
    assert [batch["state"] for batch in state["batches"]] == ["good", "stopped", "waiting"]
    assert of(state, 1) == {"app9": ("ok", "confirmed")}
    assert of(state, 2) == {"app10": ("ok", "taken back"), DYING: ("lost", "unknown")}
    assert of(state, 3) == {"app12": ("waiting", "unchanged")}
    assert DYING in state["headline"]


def test_the_other_hosts_of_its_batch_are_taken_back(story):
    _state, look = story["after the death"]
    before = story["before"]
    assert {host for host in look if look[host] != before[host]} - {DYING} == {"app9"}, "the batch before it stays"


def test_a_host_that_was_cut_off_takes_its_values_back_by_itself(story):
    assert story["alone"] == {DYING: story["before"][DYING]}


def test_a_host_that_becomes_slower_stops_the_rollout(story):
    code, said = story["slow"]
    state, _look = story["after the slow host"]
    assert code == 2, said
    assert [batch["state"] for batch in state["batches"]] == ["good", "stopped", "waiting"]
    assert state["batches"][1]["stage"] == "measuring after"
    assert any(SLOW in reason and "worse" in reason for reason in state["batches"][1]["reasons"]), state["batches"][1]
    found = {item["host"]: item["verdict"] for item in state["batches"][1]["guard"]["comparisons"]}
    assert found[SLOW] == "REGRESSED"


def test_its_batch_has_exactly_the_earlier_values(story):
    state, look = story["after the slow host"]
    assert of(state, 2) == {"app3": ("ok", "taken back"), SLOW: ("ok", "taken back")}
    _state, before = story["after the death"]
    assert {host for host in look if look[host] != before[host]} - {DYING} == {"app2"}, "the batch before it stays"


def test_the_guard_keeps_the_report_of_each_batch(story):
    state, _look = story["after the slow host"]
    for batch in state["batches"][:2]:
        assert (CHECKOUT / batch["guard"]["report"]).is_file()
