# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures for interrupted and failed experiments."""

import os

import pytest

LEVELS = {"off": {"rps_state": "off", "rps_cpus": "all"}, "first": {"rps_state": "present", "rps_cpus": "0"}}


@pytest.fixture
def short():
    """Return the variables of a short experiment with two levels, and its results folder."""
    return {
        "zpower_results": os.path.join(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results"),
        "experiment_factors": [{"name": "rps", "levels": [{"name": name, "vars": LEVELS[name]} for name in LEVELS]}],
        "experiment_rounds": 2,
        "measure_tool": "pingpong",
        "measure_runs": 2,
        "measure_warmup": 0,
        "measure_bytes": [1000],
        "measure_run_seconds": 0.1,
        "measure_idle_seconds": 0.1,
    }
