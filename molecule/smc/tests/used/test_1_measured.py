# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of TCP before and SMC after; the latter report that every connection used SMC-R."""

import json
import os
from pathlib import Path

import pytest

RESULTS = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results", "smc")
SMCR = [{"mode": "SMCR", "fallback": None, "connections": 2}]


@pytest.mark.parametrize(("phase", "transport", "links"), [("before", "tcp", None), ("after", "smc", SMCR)])
def test_each_phase_used_its_own_protocol(phase, transport, links):
    found = json.loads((RESULTS / f"smc1/{phase}-1-pingpong-1000B-x2-smc2.json").read_text())
    assert found["workload"]["transport"] == transport
    assert [(run["ok"], run["links"]) for run in found["runs"]] == [(True, links)] * 2


def test_the_report_compares_the_phases_and_names_their_protocols():
    report = json.loads((RESULTS / "report.json").read_text())
    (comparison,) = [found for found in report["comparisons"] if not found["control"]]
    assert comparison["transport"] == {"before": ["tcp"], "after": ["smc: SMCR"]}
    # with one round per state there is no verdict, but also no incomparable state
    assert comparison["verdict"] == "INCONCLUSIVE"
    assert "Transport: tcp \u2192 smc: SMCR." in (RESULTS / "report.html").read_text()
