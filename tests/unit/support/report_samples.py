# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sample reports for the tests of the formats, in unit tests and in the browser."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import histogram
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import (
    Options,
    compare_change,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import steps
from experiments import make_plan, make_records, make_tunings

NAMES = ("improved", "regressed", "mixed", "hostile", "unchanged", "incomparable", "experiment", "unfinished")
REPEAT = "ansible-playbook -i inventory zpower.sap_tuning.before_after"

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</style><style>*{display:none}</style>",
    "javascript:alert(3)",
    "</title><svg onload=alert(4)><text>svg</text></svg>",
    "=cmd|' /C calc'!A0",
    "{{ 7*7 }}{% raw %}",
)
"""Texts of the sample hostile that must be shown unchanged."""

HOSTILE_INVISIBLE = ("evil\u202egnp.exe\u200b", "evil[U+202E]gnp.exe[U+200B]")
"""A text with invisible characters, and how it must be shown."""

TEXTS = (*HOSTILE, HOSTILE_INVISIBLE[0])
EVERYTHING = " ".join((*TEXTS, "a|b `code` **bold** [x](http://example.invalid) @root #1 \x07\x1b[31mred"))
WORDS = ("better", "cause", "contrast", "design", "metric", "phase", "scope", "started", "unit", "verdict", "workload")
"""Members that contain words of the schema, which no host can choose."""


def sample(name: str) -> dict[str, Any]:
    """Return one of NAMES, new at each call."""
    return copy.deepcopy(_made(name))


@functools.lru_cache(maxsize=None)
def _made(name: str) -> dict[str, Any]:
    """Return what the comparison says today about records with a known truth."""
    makers = {
        "hostile": _hostile,
        "improved": _improved,
        "incomparable": _incomparable,
        "mixed": _mixed,
        "regressed": _regressed,
        "unchanged": _unchanged,
    }
    return makers[name]() if name in makers else _experiment(name)


def _report(
    plan: factory.Plan, records: Iterable[dict[str, Any]], problems: Iterable[str] = (), **given: Any
) -> dict[str, Any]:
    """Return what the comparison says about these records; given: the expected hosts and other options."""
    loaded = factory.load(records, factory.change_tunings(plan))
    expected = given.pop("hosts", plan.hosts), given.pop("reasons", {})
    loaded = replace(loaded, change=plan.change, problems=list(problems))
    return compare_change(loaded, expected, Options(**{"repeat": REPEAT, **given}))


def _improved() -> dict[str, Any]:
    plan = factory.Plan(sizes=(100, 1000, 10000), effect=-0.11, spikes=0.03, seed=2)
    return _report(plan, factory.make_change(plan))


def _regressed() -> dict[str, Any]:
    """Make one host slower, with a failed run, and the other faster, with more retransmits and stolen CPU time."""
    plan = factory.Plan(change="rps-everywhere", effect=-0.12)
    records = [record for record in factory.make_change(plan) if record["host"] == "app1"]
    slower = replace(plan, effect=0.4)
    records += [record for record in factory.make_change(slower) if record["host"] == "app2"]
    for record in records:
        if (record["phase"], record["workload"]["control"]) != ("after", False):
            continue
        if record["host"] == "app2" and record["round"] == 2:
            record["runs"][3] = factory.fail_run(record["runs"][3])
        for run in record["runs"] if record["host"] == "app1" else ():
            run["net"]["server"]["retransmits"] = 14
            run["cpu"]["client"]["steal_s"] = 0.2 * run["elapsed_s"]
    return _report(plan, records)


def _mixed() -> dict[str, Any]:
    """Make two hosts faster, one noisy, one with another kernel after the change, and one with only failed runs."""
    plan = factory.Plan(change="rps-rollout-3", hosts=("app1", "app2", "app3", "app4", "db1"), effect=-0.1)
    noisy = replace(plan, effect=-0.02, session_noise=0.1)
    records = [
        *(record for record in factory.make_change(plan) if record["host"] != "db1"),
        *(record for record in factory.make_change(noisy) if record["host"] == "db1"),
    ]
    records = [record for record in records if record["host"] == "app1" or not record["workload"]["control"]]
    for record in records:
        if (record["phase"], record["host"]) == ("after", "app3"):
            record["fingerprint"]["client"]["kernel"] = "6.4.0-150700"
        if (record["phase"], record["host"]) == ("after", "app4"):
            record["runs"] = [factory.fail_run(run) for run in record["runs"]]
    reasons = dict.fromkeys(("erp7", "erp8"), "unreachable or failed")
    reasons.update(web1="not in this play (limited out)", web2="in the play, but no records")
    return _report(plan, records, ["app9/before-1-pingpong-1000B-app1.json: is not JSON."], reasons=reasons)


def _hostile() -> dict[str, Any]:
    """Make a report that contains only hostile texts, one in each of its rows."""
    report = sample("regressed")
    runs = [run for run in report["runs"] if run["host"] == "app2" and run["peer"] == "app1"]
    report["comparability"] = sample("mixed")["comparability"]
    for name in ("changes", "comparability", "comparisons", "published"):
        report[name] = [_spoilt(report[name][0], text) for text in TEXTS]
    report["pooled"][1:] = [_spoilt(report["pooled"][1], text) for text in TEXTS]
    for change, item, text in zip(report["changes"], report["comparisons"], TEXTS, strict=True):
        change["before"]["running"] = change["wanted"] = {text: text}
        change["conflicts"] = [{"file": text, "line": 1, "what": text, "wins": text}]
        item["flags"] = item["guards"] = [text]
    report["not_measured"] = [{"host": text, "reason": text} for text in TEXTS]
    for run in runs:
        run.update({"ok": False, "error": "refused", "value": None} if run["phase"] == "after" else {})
    report["runs"] = [_spoilt(run, text) for text in TEXTS for run in runs]
    report["runs_total"] = len(report["runs"])
    report["hosts"] = {"measured": len(TEXTS), "not_measured": len(TEXTS)}
    report["protocol"] = {**_spoilt(report["protocol"], EVERYTHING), "names": list(TEXTS)}
    for name in ("method", "next_steps", "problems", "tools", "warnings"):
        report[name] = list(TEXTS)
    return {**report, "headline": EVERYTHING, "repeat": EVERYTHING}


def _spoilt(value: Any, text: str, name: str = "") -> Any:
    """Return the same with this text in place of every other, except for the words of the schema."""
    if isinstance(value, str):
        return value if name in WORDS else text
    if isinstance(value, dict):
        return {key: _spoilt(item, text, key) for key, item in value.items()}
    return [_spoilt(item, text, name) for item in value] if isinstance(value, list) else value


def _quiet(name: str) -> factory.Plan:
    return factory.Plan(change=name, sizes=(1000, 10000), session_noise=0.005, run_noise=0.005)


def _unchanged() -> dict[str, Any]:
    plan = _quiet("unchanged")
    records = list(factory.make_change(plan))
    for place, record in enumerate(records):
        record["histogram_us"] = _histogram(place, 1.0 + record["workload"]["bytes"] / 20000)
    return _report(plan, records, hosts=[*plan.hosts, "db1"])


def _incomparable() -> dict[str, Any]:
    plan = _quiet("incomparable")
    records = list(factory.make_change(plan))
    for record in records:
        after = record["phase"] == "after"
        record["context"] = {"packet_size": 2000 if after else 1000, "parallel_jobs": 32}
        record["source"] = {"kind": "sap_job_log", "file": "jobs.csv", "text": "transaction SM37"}
        if after:
            record["fingerprint"]["client"].update(kernel="6.4.0-150600.23", mtu=9000)
    return _report(plan, records, hosts=[*plan.hosts, "db1"], expected_change=["kernel"])


def _experiment(name: str) -> dict[str, Any]:
    """Return an experiment with a winner, or one that is not finished."""
    plan = make_plan(rounds=8)
    done = None if name == "experiment" else steps(plan)[:9]
    records = make_records(plan, {"all": 0.08, "every-2": -0.12, "every-4": -0.2}, done)
    plan["sessions"][0].update(
        {"kept": "every-4"} if done is None else {"failures": {"app2": "the host could not be reached"}}
    )
    loaded = replace(factory.load(records, make_tunings(plan, done)), experiment=plan)
    return compare_change(loaded, options=Options(repeat="ansible-playbook zpower.sap_tuning.experiment"))


def _histogram(seed: int, times: float) -> str:
    """Return round trips as an idle machine has them: two modes and a tail."""
    chance = random.Random(seed)
    middles = [times * chance.choice((48.0, 48.0, 61.0)) * chance.lognormvariate(0.0, 0.01) for _part in range(50)]
    samples = [middle * chance.lognormvariate(0.0, 0.05) for middle in middles for _index in range(60)]
    samples += [times * 50 * chance.paretovariate(1.5) for _index in range(60)]
    text: str = histogram.histogram(samples, 1.0)
    return text


def fleet(hosts: int, workloads: int = 5) -> dict[str, Any]:
    """Return a report of many host pairs without runs; every hundredth pair has regressed."""
    report = sample("improved")
    item, (site, row, *_rows) = report["comparisons"][0], report["pooled"]
    comparisons, rows = [], []
    for number in range(hosts):
        ratio = 0.9 if number % 100 == 99 else 1.1 + number / 10 / hosts
        found: dict[str, Any] = {"ratio": ratio, "low": ratio * 0.97, "high": ratio * 1.03}
        found.update(host=f"app{number:04d}", verdict="REGRESSED" if ratio < 1 else "IMPROVED")
        rows.append({**row, **found, "workloads": workloads})
        found["peer"] = f"app{(number + 1) % hosts:04d}"
        sizes = [10**index for index in range(workloads)]
        comparisons += [{**item, **found, "workload": f"pingpong-{size}B", "bytes": size} for size in sizes]
    change = report["changes"][0]
    report["changes"] = [{**change, "host": row["host"]} for row in rows]
    report["comparisons"] = comparisons
    report["runs"] = []
    regressed = workloads * sum(row["verdict"] == "REGRESSED" for row in rows)
    report["counts"].update(IMPROVED=len(comparisons) - regressed, REGRESSED=regressed, UNCHANGED=0)
    report["hosts"] = {"measured": hosts, "not_measured": hosts}
    if regressed:
        report["verdict"] = "REGRESSED"
        report["headline"] = f"{regressed} of {len(comparisons)} comparisons got worse, by 10.0 % in the median."
        site.update(ratio=0.9, low=0.873, high=0.927)
    site.update(hosts=hosts, workloads=workloads, verdict=report["verdict"])
    report["pooled"] = [site, *(rows if hosts > 1 else ())]
    report["not_measured"] = [{"host": f"db{number:04d}", "reason": "unreachable"} for number in range(hosts)]
    return report
