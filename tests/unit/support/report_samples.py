# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sample reports for the tests of the formats, in unit tests and in the browser."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import (
    Expected,
    Options,
    compare_change,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import steps
from experiments import make_plan, make_records, make_tunings

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "report"
STORED = ("improved", "regressed", "mixed", "hostile")
MADE = ("unchanged", "incomparable", "experiment", "unfinished")
NAMES = (*STORED, *MADE)

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</style><style>*{display:none}</style>",
    "javascript:alert(3)",
    "</title><svg onload=alert(4)><text>svg</text></svg>",
    "=cmd|' /C calc'!A0",
    "{{ 7*7 }}{% raw %}",
)
"""Texts of hostile.json that must be shown as they are."""

HOSTILE_INVISIBLE = ("evil\u202egnp.exe\u200b", "evil[U+202E]gnp.exe[U+200B]")
"""A text with invisible characters, and how it must be shown."""


def sample(name: str) -> dict[str, Any]:
    """One of NAMES, fresh at each call."""
    if name in MADE:
        made: dict[str, Any] = json.loads(_made(name))
        return made
    report: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return report


@functools.lru_cache(maxsize=None)
def _made(name: str) -> str:
    """What the comparison says today about records with a known truth, as JSON."""
    if name in ("experiment", "unfinished"):
        plan = make_plan()
        done = None if name == "experiment" else steps(plan)[:9]
        records = make_records(plan, {"all": 0.08, "every-2": -0.12, "every-4": -0.2}, done)
        plan["sessions"][0].update(
            {"kept": "every-4"} if done is None else {"failures": {"app2": "the host could not be reached"}}
        )
        loaded = replace(factory.load(records, make_tunings(plan, done)), experiment=plan)
        return json.dumps(
            compare_change(loaded, options=Options(repeat="ansible-playbook zpower.sap_tuning.experiment"))
        )
    plan = factory.Plan(change=name, sizes=(1000, 10000), session_noise=0.005, run_noise=0.005)
    records = list(factory.make_change(plan))
    if name == "incomparable":
        for record in records:
            after = record["phase"] == "after"
            record["context"] = {"packet_size": 2000 if after else 1000, "parallel_jobs": 32}
            record["source"] = {"kind": "sap_job_log", "file": "jobs.csv", "text": "transaction SM37"}
            if after:
                record["fingerprint"]["client"].update(kernel="6.4.0-150600.23", mtu=9000)
    loaded = factory.load(records, factory.change_tunings(plan))
    options = Options(expected_change=["kernel"]) if name == "incomparable" else Options()
    return json.dumps(compare_change(replace(loaded, change=name), Expected(hosts=[*plan.hosts, "db1"]), options))


def fleet(hosts: int, workloads: int = 5) -> dict[str, Any]:
    """A report of many host pairs; every hundredth has regressed, and there are no runs in it."""
    report = sample("improved")
    first = report["comparisons"][0]
    comparisons = []
    for number in range(hosts):
        for index in range(workloads):
            bad = number % 100 == 99
            comparisons.append(
                {
                    **first,
                    "host": f"app{number:04d}",
                    "peer": f"app{(number + 1) % hosts:04d}",
                    "workload": f"pingpong-{10**index}B",
                    "bytes": 10**index,
                    "verdict": "REGRESSED" if bad else "IMPROVED",
                    "ratio": (ratio := 0.9 if bad else 1.1 + number / 10 / hosts),
                    "low": ratio * 0.97,
                    "high": ratio * 1.03,
                }
            )
    change = report["changes"][0]
    report["changes"] = [{**change, "host": f"app{number:04d}"} for number in range(hosts)]
    report["comparisons"] = comparisons
    report["runs"] = []
    regressed = sum(1 for item in comparisons if item["verdict"] == "REGRESSED")
    report["counts"].update(IMPROVED=len(comparisons) - regressed, REGRESSED=regressed, UNCHANGED=0)
    report["hosts"] = {"measured": hosts, "not_measured": hosts}
    if regressed:
        report["verdict"] = "REGRESSED"
        report["headline"] = f"{regressed} of {len(comparisons)} comparisons got worse, by 10.0 % in the median."
    report["not_measured"] = [{"host": f"db{number:04d}", "reason": "unreachable"} for number in range(hosts)]
    return report
