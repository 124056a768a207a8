# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of TCP before and SMC after: the second ones say that every connection was SMC-R."""

import json
import os
from pathlib import Path

import pytest

RESULTS = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results", "smc")
SMCR = [{"mode": "SMCR", "fallback": None, "connections": 2}]


@pytest.mark.parametrize(("phase", "transport", "links"), [("before", "tcp", None), ("after", "smc", SMCR)])
def test_each_phase_went_its_own_way(phase, transport, links):
    found = json.loads((RESULTS / f"smc1/{phase}-1-pingpong-1000B-x2-smc2.json").read_text())
    assert found["workload"]["transport"] == transport
    assert [(run["ok"], run["links"]) for run in found["runs"]] == [(True, links)] * 2


def test_the_report_compares_them_and_says_how_they_travelled():
    report = json.loads((RESULTS / "report.json").read_text())
    (comparison,) = [found for found in report["comparisons"] if not found["control"]]
    assert comparison["transport"] == {"before": ["tcp"], "after": ["smc: SMCR"]}
    # one round a state: too few for a verdict, and no word of states that cannot be compared
    assert comparison["verdict"] == "INCONCLUSIVE"
    assert "Transport: tcp \u2192 smc: SMCR." in (RESULTS / "report.html").read_text()
