# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A measurement between hosts that look like AIX: CPU time comes from the stand-in's lparstat, in each layout."""

import json
import os
from pathlib import Path

import pytest

HOST = "app1"
RESULTS = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results", "aix")
USER, SYSTEM, REST = 0.314, 0.126, 0.56  # what lparstat always prints


@pytest.fixture
def record():
    (path,) = RESULTS.glob("app1/*-app2.json")
    return json.loads(path.read_text())


def test_both_ends_run_aix(record):
    ends = [record["fingerprint"][side] for side in ("client", "server")]
    assert [(end["hostname"], end["system"], end["kernel"]) for end in ends] == [
        ("app1", "AIX", "7.2"),
        ("app2", "AIX", "7.1"),
    ]
    assert [run["ok"] for run in record["runs"]] == [True]


@pytest.mark.parametrize(
    ("side", "processors", "physc", "entitlement"), [("client", 0.5, 0.25, 0.5), ("server", 2, None, None)]
)
def test_percentages_refer_to_the_entitlement_or_to_all_processors(record, side, processors, physc, entitlement):
    cpu = record["runs"][0]["cpu"][side]
    assert (cpu["physc"], cpu["entitlement"]) == (pytest.approx(physc), entitlement)
    spent = [cpu[part] / cpu["elapsed_s"] / processors for part in ("user_s", "system_s", "idle_s")]
    assert spent == pytest.approx([USER, SYSTEM, REST], rel=0.01)


def test_values_that_only_linux_counts_are_unknown_and_not_zero(record):
    run = record["runs"][0]
    assert run["cpu"]["client"]["softirq_s"] is None and run["cpu"]["client"]["steal_s"] is None
    assert run["net"]["client"] == {"retransmits": None, "rps_received": None}
