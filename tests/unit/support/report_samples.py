# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sample reports for the tests of the formats, in unit tests and in the browser."""

from __future__ import annotations

import functools
import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import histogram
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import (
    Expected,
    Options,
    compare_change,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import steps
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.text import better_by
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
    return {**report, "pooled": pooled_rows(report)}


def pooled_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Pooled rows that fit the comparisons: the site has the verdict of the report, each host that of its first one."""
    judged = [item for item in report["comparisons"] if not item["control"]]
    hosts = list(dict.fromkeys(item["host"] for item in judged))
    rows = [pooled_row("site", None, len(hosts), judged, report["verdict"])]
    for host in hosts if len(hosts) > 1 else ():
        mine = [item for item in judged if item["host"] == host]
        rows.append(pooled_row("host", host, 1, mine, mine[0]["verdict"]))
    return rows


def pooled_row(scope: str, host: str | None, hosts: int, items: list[dict[str, Any]], verdict: str) -> dict[str, Any]:
    """One pooled row; its figures are geometric means of the comparisons that have its verdict, if there are any."""
    usable = [item for item in items if item["ratio"]]
    usable = [item for item in usable if item["verdict"] == verdict] or usable
    mean: dict[str, Any] = {"ratio": None, "low": None, "high": None}
    for key in mean:
        known = [item[key] for item in usable]
        if known and None not in known:
            mean[key] = math.exp(math.fsum(map(math.log, known)) / len(known))
    words = {"IMPROVED": "beyond the material limit of 5 %", "INCONCLUSIVE": "neither clearly beyond nor within 5 %"}
    return {
        "contrast": "",
        "scope": scope,
        "host": host,
        "hosts": hosts,
        "workloads": len({item["workload"] for item in items}),
        "unit": "rounds",
        "rounds": 6,
        **mean,
        "confidence_pct": 99.78 if usable else None,
        "material_pct": 5.0,
        "verdict": verdict,
        "reason": f"{better_by(mean['ratio'])}, {words.get(verdict, 'as the interval shows')}."
        if usable
        else items[0]["reason"]
        if items
        else "there is no record.",
        "cause": "noise" if verdict == "INCONCLUSIVE" else "",
        "guards": [],
        "warnings": verdict == "IMPROVED" and any(item["warnings"] is True for item in items),
        "flags": [],
        "deviations": [],
        "control_ratio": 1.002 if scope == "host" and usable else None,
        "control_low": 0.99 if scope == "host" and usable else None,
        "control_high": 1.014 if scope == "host" and usable else None,
        "more_rounds": 4 if verdict == "INCONCLUSIVE" and scope == "site" else None,
    }


@functools.lru_cache(maxsize=None)
def _made(name: str) -> str:
    """What the comparison says today about records with a known truth, as JSON."""
    if name in ("experiment", "unfinished"):
        plan = make_plan(rounds=8)
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
    if name == "unchanged":
        for place, record in enumerate(records):
            record["histogram_us"] = _histogram(place, 1.0 + record["workload"]["bytes"] / 20000)
    loaded = factory.load(records, factory.change_tunings(plan))
    options = Options(expected_change=["kernel"]) if name == "incomparable" else Options()
    return json.dumps(compare_change(replace(loaded, change=name), Expected(hosts=[*plan.hosts, "db1"]), options))


def fourteen() -> dict[str, Any]:
    """Two hosts with seven sizes each, a tenth faster, as the comparison tells it."""
    sizes = (1, 100, 500, 1000, 5000, 10000, 30000)
    plan = factory.Plan(sizes=sizes, effect=-0.1, session_noise=0.02, run_noise=0.02)
    loaded = factory.load(factory.make_change(plan), factory.change_tunings(plan))
    repeat = "ansible-playbook -i inventory zpower.sap_tuning.before_after"
    return compare_change(loaded, Expected(hosts=list(plan.hosts)), Options(repeat=repeat))


def _histogram(seed: int, times: float) -> str:
    """Round trips as an idle machine has them: two modes, and a tail."""
    chance = random.Random(seed)
    middles = [times * chance.choice((48.0, 48.0, 61.0)) * chance.lognormvariate(0.0, 0.01) for _part in range(50)]
    samples = [middle * chance.lognormvariate(0.0, 0.05) for middle in middles for _index in range(60)]
    samples += [times * 50 * chance.paretovariate(1.5) for _index in range(60)]
    text: str = histogram.histogram(samples, 1.0)
    return text


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
    report["pooled"] = pooled_rows(report)
    report["not_measured"] = [{"host": f"db{number:04d}", "reason": "unreachable"} for number in range(hosts)]
    return report
