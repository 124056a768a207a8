# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts after an experiment: every level was active while it was measured, and everything is as before."""

import json
import os
from pathlib import Path

import pytest

RESULTS = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results", "levels")
QUEUES = [f"rx-{number}" for number in range(4)]


@pytest.fixture(scope="module")
def report():
    return json.loads((RESULTS / "report.json").read_text())


def masks_of(name, level, number):
    """Return the masks of the host while this level was measured."""
    (record,) = json.loads((RESULTS / name / f"tunings-{level}-{number}.json").read_text())["tunings"]
    return {queue: int(record["after"]["running"][queue].replace(",", ""), 16) for queue in QUEUES}


def test_each_level_was_active_in_each_block(name, online):
    wanted = {"found": online, "off": 0, "first": 1}
    for number in (1, 2):
        assert {level: masks_of(name, level, number) for level in wanted} == {
            level: dict.fromkeys(QUEUES, mask) for level, mask in wanted.items()
        }


def test_each_host_measured_each_level_in_the_order_of_the_plan(name, report):
    plan = json.loads((RESULTS / "experiment.json").read_text())
    order = [level for block in plan["order"] for level in block]
    steps = [(level, order[: at + 1].count(level)) for at, level in enumerate(order)]
    begun = {(run["phase"], run["round"]): run["started"] for run in report["runs"] if run["host"] == name}
    assert sorted(begun, key=begun.get) == steps


def test_so_few_rounds_have_no_winner(report):
    outcome = report["experiment"]
    assert outcome["progress"]["complete"] and outcome["winner"] is None
    assert outcome["rounds_for_a_winner"] == 8
    assert [session["failures"] for session in outcome["progress"]["sessions"]] == [{}]


def test_the_host_is_tuned_as_before_and_has_no_checkpoint(host, online, told):
    assert not host.check_output("ls /var/lib/zpower_sap_tuning | grep checkpoint || true")
    for queue in QUEUES:
        text = host.file(f"/sys/class/net/hsi0/queues/{queue}/rps_cpus").content_string
        assert int(text.replace(",", ""), 16) == online
    status, text, _changed = told("verify")
    assert status == 0, text
