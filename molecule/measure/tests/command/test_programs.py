# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs as workloads: records and report of both states."""

import json
import os
from pathlib import Path

import pytest

RESULTS = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "results", "programs")


@pytest.fixture(scope="module")
def report():
    return json.loads((RESULTS / "report.json").read_text())


def records(name, workload):
    return [json.loads(path.read_text()) for path in (RESULTS / name).glob(f"*-{workload}-*.json")]


def test_each_run_has_its_figure_and_the_cpu_time_of_both_ends(name):
    found = records(name, "command-copy")
    assert sorted((item["phase"], item["round"]) for item in found) == [
        (phase, number) for phase in ("after", "before") for number in (1, 2)
    ]
    for item in found:
        assert item["workload"]["params"]["user"] == "nobody" and item["peer"] in {"app1", "app2"} - {name}
        for run in item["runs"]:
            assert run["ok"] and run["metrics"]["copy_s"] > 0, run
            assert run["cpu"]["client"]["process_s"] is not None and run["cpu"]["server"]["user_s"] is not None


def test_units_of_work_are_counted_per_second(name):
    for item in records(name, "command-masks"):
        assert item["workload"]["metric"] == {"name": "units_per_s", "unit": "line/s", "better": "higher"}
        assert all(run["metrics"]["units"] == 1 and run["metrics"]["units_per_s"] > 0 for run in item["runs"])


def test_the_report_names_metric_and_direction(name, report):
    (found,) = [item for item in report["comparisons"] if item["host"] == name and item["workload"] == "command-copy"]
    assert (found["metric"], found["unit"], found["better"]) == ("copy_s", "s", "lower")
    # two rounds of each state are too few for any verdict
    assert found["verdict"] == "INCONCLUSIVE"
    assert "command-copy" in (RESULTS / "report.html").read_text()


def test_the_cleanup_command_has_run(host):
    assert host.file("/root/cleaned_up").exists
