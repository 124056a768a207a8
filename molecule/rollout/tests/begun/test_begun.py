# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode changes nothing; a controller that dies in batch 2 leaves a clear state."""

import json
from pathlib import Path

import pytest

CONVERGE = str(Path(__file__).parents[2] / "converge.yml")
CHANGE = "site"


@pytest.fixture(scope="module", name="story")
def fixture_story(site, kept):
    """Return the results of all runs by name."""
    return dict(told(site, kept))


def told(site, kept):
    first = site.look()
    kept.write_text(json.dumps(first))
    yield "first", first
    yield "plan", site.play("plan", CONVERGE, "--check")
    yield "after the plan", (site.file(CHANGE).parent.exists(), site.look())
    run = site.start("killed", CONVERGE)
    yield "soaked", site.reached(run, CHANGE, 2, "soaking", "verifying", "confirming")
    site.pause(run, CHANGE)
    yield "running", site.play("running", CONVERGE)
    run.kill()
    yield "killed", (site.state(CHANGE), site.look())
    yield "refused", site.play("refused", CONVERGE, rps_cpus="0")
    yield "after the refusal", (site.state(CHANGE), site.look())


def test_the_plan_is_shown(story):
    said = story["plan"].said
    assert story["plan"].code == 0, said
    for line in (
        "Rollout site: 12 hosts in 3 batches",
        "  Batch 1 (canaries), 1 host: app1",
        "  Batch 2, 3 hosts: app2, app3, app4",
        "  Batch 3, 8 hosts: app5, app6, app7, app8, app9, app10, app11, app12",
        "Soak: 5 s",
    ):
        assert f"\n{line}\n" in said
    assert story["plan"].changed == dict.fromkeys(story["first"], 1), "a change of each host is predicted"


def test_the_plan_changes_nothing(story):
    assert story["after the plan"] == (False, story["first"])


def test_a_second_run_at_the_same_time_is_refused(story):
    assert story["soaked"], "the run ended before its second batch; see killed.log"
    assert story["running"].code == 2 and "Rollout site is running: its run r" in story["running"].said


def test_the_state_of_a_killed_rollout_is_kept(story):
    state, look = story["killed"]
    assert [batch["state"] for batch in state["batches"]] == ["good", "running", "waiting"]
    assert [run["ended"] is None for run in state["runs"]][-1]
    touched = {host for host, seen in look.items() if seen != story["first"][host]}
    assert touched == {"app1", "app2", "app3", "app4"}


def test_other_requested_values_are_refused(story):
    assert story["refused"].code == 2
    assert "Rollout site was begun with another plan: the wanted values of app1 are others" in story["refused"].said
    assert story["after the refusal"] == story["killed"]
