# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a measurement between an LPAR and the machine that runs it."""

import json
import os
from pathlib import Path

import pytest

RESULTS = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results", "lpar")


@pytest.fixture(scope="module")
def report():
    return json.loads((RESULTS / "report.json").read_text())


def test_both_states_were_measured(report):
    measured = {(run["phase"], run["round"]) for run in report["runs"] if run["peer"] == "peer" and run["ok"]}
    assert measured == {(phase, number) for phase in ("before", "after") for number in (1, 2)}
    assert report["problems"] == []


def test_the_report_shows_the_change(report):
    (change,) = report["changes"]
    assert (change["host"], change["name"], change["took_effect"]) == ("lpar61", "cpu_polarization", True)
    assert change["before"]["running"] == {"dispatching": "horizontal"}
    assert change["after"]["running"] == {"dispatching": "vertical"}


def test_the_lpar_is_as_found(kernel, stored, remembered):
    assert kernel() == remembered["kernel"]
    assert stored == remembered["stored"]
