# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts of twelve hosts in all their states, for the tests of their summary."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import plan as plans
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import state
from evidence_samples import NASTY

Made = dict[str, Any]
BATCHES = (["app1"], ["app2", "app3", "app4"], ["app5", "app6", "app7", "app8"], ["app9", "app10", "app11", "app12"])
REGRESSED = "app3 with db, tcp_rr: REGRESSED by 9.2 %, more than the material limit of 5 %"


APPS = [f"app{number}" for number in range(1, 13)]


def numbered(batches: list[list[str]], group: str | None = None) -> list[dict[str, Any]]:
    """Return batches of these hosts, the first one the canaries."""
    return [
        {"number": number, "canary": number == 1, "group": group if number > 1 else None, "hosts": list(hosts)}
        for number, hosts in enumerate(batches, 1)
    ]


def made_plan(**more: Any) -> dict[str, Any]:
    return {
        "wanted": {host: plans.wanted({"rps": {"rps_cpus": "auto"}}) for host in APPS},
        "tunings": {host: ["rps", "smc"] for host in APPS},
        "batches": numbered([APPS[:1], APPS[1:5], APPS[5:9], APPS[9:]]),
        "soak_s": 600,
        "confirm_within_s": 4200,
        "guard": None,
        "on_failure": "back",
        "window": {
            "not_before": "2026-11-28T21:00:00Z",
            "not_after": "2026-11-29T03:00:00Z",
            "time_zone": "Europe/Berlin",
        },
        **more,
    }


def planned(batches: Any = BATCHES, **more: Any) -> Made:
    """A rollout that nobody has started."""
    hosts = [name for batch in batches for name in batch]
    window = {"not_before": "2026-11-20T21:00:00Z", "not_after": "2026-11-21T03:00:00Z", "time_zone": "Europe/Berlin"}
    given = {
        "wanted": {name: "ab12" * 16 for name in hosts},
        "tunings": {name: ["rps", "cpu_polarization"] if name == hosts[0] else ["rps"] for name in hosts},
        "batches": [{**one, "group": None if one["number"] < 4 else "erp"} for one in numbered(batches)],
        **{"soak_s": 300, "confirm_within_s": 3900, "window": window, "guard": {"cpu_pct": 5, "workloads": ["tcp_rr"]}},
    }
    return state.new("chg4711", "0.9.0", made_plan(**{**given, **more})).document


def concluded(made: Made) -> Made:
    """The same state with its result and headline."""
    state.Rollout(made).conclude()
    return made


def host(outcome: str, values: str, changed: int = 0, *reasons: str) -> Made:
    return {"outcome": outcome, "values": values, "changed": changed, "reasons": list(reasons)}


def run(began: str = "2026-11-20T21:00:04Z", ended: str | None = None, reason: str = "", pid: int = 4711) -> Made:
    return {
        "began": began,
        "ended": ended,
        "reason": reason,
        "controller": {"host": "control1", "pid": pid},
        "evidence": f"results/rollout/{began.replace('-', '').replace(':', '')}/rollout.html" if ended else "",
        "ansible_core": "2.21.5",
    }


def guard(number: int, verdict: str = "UNCHANGED", *sentences: str) -> Made:
    comparison = {
        "host": "app3",
        "peer": "db",
        "workload": "tcp_rr",
        "metric": "latency_p50",
        "unit": "us",
        "verdict": verdict,
        "effect_pct": -9.2 if sentences else 0.4,
        "before": 41.2,
        "after": 45.0 if sentences else 41.0,
    }
    return {
        "change": f"chg4711-batch-{number}",
        "sentences": list(sentences),
        "report": f"results/chg4711-batch-{number}/report.html",
        "comparisons": [comparison],
    }


def _good(made: Made, number: int) -> None:
    batch = made["batches"][number - 1]
    hour = 20 + number
    batch.update(state="good", attempt=1, began=f"2026-11-20T{hour}:01:00Z", ended=f"2026-11-20T{hour}:13:30Z")
    batch.update(hosts={name: host("ok", "confirmed", 3) for name in batch["hosts"]}, guard=guard(number))


def complete() -> Made:
    made = planned(BATCHES[:3])
    for number in (1, 2, 3):
        _good(made, number)
    made["runs"] = [run(), run("2026-11-20T21:50:00Z", "2026-11-20T23:14:02Z", pid=815)]
    return concluded(made)


def stopped(on_failure: str = "back") -> Made:
    """Return a rollout in which batch 2 regressed and one of its hosts was lost."""
    made = planned(on_failure=on_failure)
    _good(made, 1)
    values = "taken back" if on_failure == "back" else "confirmed"
    batch = made["batches"][1]
    batch.update(state="stopped", stage="measuring after", since="2026-11-20T22:30:00Z", attempt=2)
    batch.update(began="2026-11-20T22:00:00Z", ended="2026-11-20T22:41:10Z", reasons=[REGRESSED])
    batch["hosts"] = {
        "app2": host("ok", values, 3),
        "app3": host("failed", values, 3, REGRESSED),
        "app4": host("lost", "unknown", 3, "Failed to connect to the host via ssh: No route to host"),
    }
    batch["guard"] = guard(2, "REGRESSED", REGRESSED)
    made["runs"] = [run(), run("2026-11-20T21:59:00Z", "2026-11-20T22:41:12Z", pid=815)]
    return concluded(made)


def window_closed() -> Made:
    """Return a rollout in which two batches are done, and no other may begin."""
    made = planned()
    for number in (1, 2):
        _good(made, number)
    made["runs"] = [run(ended="2026-11-21T03:00:10Z", reason="the change window is closed")]
    return concluded(made)


def running() -> Made:
    """Return a rollout in which batch 2 has begun and not ended; nobody knows whether its controller lives."""
    made = planned()
    _good(made, 1)
    batch = made["batches"][1]
    batch.update(state="running", stage="soaking", since="2026-11-20T22:03:00Z", attempt=1)
    batch.update(began="2026-11-20T22:00:00Z", hosts={name: host("ok", "probation", 3) for name in batch["hosts"]})
    made["runs"] = [run()]
    return concluded(made)


def bare() -> Made:
    """Return a rollout without window, guard, soak or lease."""
    window = {"not_before": None, "not_after": None, "time_zone": "UTC"}
    return planned(window=window, guard=None, soak_s=0, confirm_within_s=0)


def hostile() -> Made:
    """Return a rollout in which every text that a host, a record or a person can choose is hostile."""
    made = copy.deepcopy(stopped("leave"))
    words = list(NASTY)
    made.update(change=words[0], headline=" ".join(words), collection=words[2])
    made["plan"]["batches"][3]["group"] = words[1]
    made["plan"]["tunings"]["app2"] = words
    made["plan"]["guard"]["workloads"] = words
    batch = made["batches"][1]
    batch["reasons"] = words
    batch["hosts"]["app4"]["reasons"] = words
    batch["guard"].update(sentences=words, notes=words, change=words[3], report="javascript:alert(3)//<script>")
    batch["guard"]["comparisons"] = [
        {**dict.fromkeys(("host", "workload", "metric", "verdict", "unit"), text), "effect_pct": 1.0, "before": 1.0}
        for text in words
    ]
    made["runs"][-1].update(evidence=words[1], reason=words[4], controller={"host": words[5], "pid": 1})
    name = "<b>`app`</b>; rm -rf /"
    made["plan"]["batches"][1]["hosts"].append(name)
    batch["hosts"][name] = host("lost", "unknown", 0, *words)
    return made


def fleet(size: int = 400) -> Made:
    """Return four batches of many hosts, the third of which has begun."""
    quarter = size // 4
    made = planned([[f"host{n}" for n in range(part * quarter, (part + 1) * quarter)] for part in range(4)])
    _good(made, 1)
    _good(made, 2)
    batch = made["batches"][2]
    batch.update(state="running", stage="applying", since="2026-11-20T23:01:00Z", attempt=1)
    batch["began"] = "2026-11-20T23:00:00Z"
    for number, name in enumerate(batch["hosts"]):
        batch["hosts"][name] = host("ok", "probation", 2) if number % 3 else host("waiting", "unknown")
    made["runs"] = [run()]
    return concluded(made)


SAMPLES: dict[str, Callable[[], Made]] = {
    "planned": planned,
    "bare": bare,
    "running": running,
    "stopped": stopped,
    "left": lambda: stopped("leave"),
    "closed": window_closed,
    "complete": complete,
    "hostile": hostile,
    "fleet": fleet,
}
