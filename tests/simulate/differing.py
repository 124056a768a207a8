# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole reports of sites whose parts do better or worse than the rest, with workloads of different speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import steps
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import Loaded
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.round import Round, Workload
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import looks
from experiments import make_plan
from noise import NOISES, RUNS
from trials import MATERIAL, MOST, RECORD, WORKLOAD, Goal, Host, Outcome, Seen, changed, generator, many, until_decided

SPEEDS = (50.0, 80.0, 125.0, 200.0, 320.0, 500.0, 800.0)
"""Round trips of seven workloads, in µs."""
BETWEEN = 80.0, 400.0
"""From where the speeds of other workloads are drawn."""
RATE = WORKLOAD._replace(metric="per_s", metric_unit="1/s", better="higher")


class Plan(NamedTuple):
    """A site and what the change is worth: a gain of 0.1 is 10 % better.

    ``odd``: the gain of one workload, on all hosts; ``hosts_odd``: how many hosts have a gain of their own, and which.
    ``speeds``: of the workloads; without them ``drawn`` are drawn. ``rates``: every second workload counts work per
    time. ``fades``: there is no gain in the second half of 6 rounds per state.
    """

    hosts: int = 1
    speeds: tuple[float, ...] = ()
    drawn: int = 1
    gain: float = 0.0
    odd: float | None = None
    hosts_odd: tuple[int, float] = (0, 0.0)
    noise: str = "rounds 2 %"
    rates: bool = False
    fades: bool = False


def odd_workload(plan: Plan, seed: str) -> int:
    """The middle one of given speeds, else any."""
    count = len(plan.speeds) or plan.drawn
    return count // 2 if plan.speeds else int(generator(f"odd {seed}").integers(count))


def measure(plan: Plan, seed: str) -> list[list[Round]]:
    """What all hosts measure, by place in their own orders."""
    rng = generator(seed)
    speeds = plan.speeds or tuple(np.exp(rng.uniform(*np.log(BETWEEN), plan.drawn)).tolist())
    gains = np.full((plan.hosts, len(speeds)), math.log1p(plan.gain))
    gains[: plan.hosts_odd[0]] = math.log1p(plan.hosts_odd[1])
    if plan.odd is not None:
        gains[:, odd_workload(plan, seed)] = math.log1p(plan.odd)
    values = NOISES[plan.noise].draw(rng, gains.size, 2 * MOST, 0.0).reshape(*gains.shape, 2 * MOST)
    found: list[list[Round]] = [[] for _place in range(2 * MOST)]
    for host in range(plan.hosts):
        order = looks.order(f"{seed} {host}", MOST)
        for one, speed in enumerate(speeds):
            kind = (RATE if plan.rates and one % 2 else WORKLOAD)._replace(name=f"ping{one}")
            line = changed(order, values[host, one].tolist(), float(gains[host, one]))
            line[6:] = values[host, one, 6:].tolist() if plan.fades else line[6:]
            for place, item in enumerate(Host(f"app{host}", order, line).records(2 * MOST)):
                found[place].append(of_workload(replace(item, host=f"app{host}"), kind, speed, line[place]))
    return found


def of_workload(item: Round, kind: Workload, speed: float, better: float) -> Round:
    """A round of a workload; ``better``: the logarithm of how much better than its speed it is."""
    value = speed * math.exp(better if kind.better == "higher" else -better)
    return replace(item, workload=kind, values=(value,) * RUNS, median=value)


def report_of(rounds: list[list[Round]]) -> tuple[dict[str, Any], int]:
    """The report as it stands when its measurement ends, and the rounds per state."""
    last: list[dict[str, Any]] = []

    def judge(per_state: int) -> str:
        last[:] = [compare_change(Loaded("simulated", [item for found in rounds[: 2 * per_state] for item in found]))]
        return str(last[0]["verdict"])

    _word, used = until_decided(judge)
    return last[0], used


def worse(row: Mapping[str, Any]) -> set[str]:
    """Who got worse by the guards of a row."""
    return {text.partition(" got worse: ")[0] for text in row["guards"] if " got worse: " in text}


@many
def sites(plan: Plan, number: int) -> Seen:
    """What the report of a site says.

    ``harmed``: the odd workload, or every odd host, got worse by a guard. ``unharmed``: another one did. ``better``:
    the odd workload is named, and no other one. ``named``: another workload or host is named. ``plain``: the verdict
    on a change has no warning; ``warned``: it
    has one that names the odd ones. ``groups``: the headline has two groups of hosts. ``gone``: the gain does
    not last.
    """
    seed = f"sites {plan} {number}"
    report, used = report_of(measure(plan, seed))
    row = report["pooled"][0]
    odd = {f"app{host}" for host in range(plan.hosts_odd[0])}
    if plan.odd is not None:
        odd = {f"ping{odd_workload(plan, seed)}"}

    def bare(names: set[str]) -> set[str]:
        return {name.rpartition(", ")[2] for name in names}

    harmed, named = bare(worse(row)), bare({str(item["name"]) for item in row["deviations"]})
    seen = {
        "harmed": bool(odd) and odd <= harmed,
        "unharmed": bool(harmed - odd),
        "better": bool(odd) and named == odd and not harmed,
        "named": bool(named - odd),
        "gone": any(guard.kind == "fading" for guard in row["guards"]),
        "groups": any(guard.kind == "groups" for guard in row["guards"]),
        "warned": report["verdict"] == "IMPROVED" and row["warnings"] and odd <= harmed,
        "plain": report["verdict"] == "IMPROVED" and not row["warnings"],
    }
    return [report["verdict"], *(name for name, so in seen.items() if so)], used


@many
def experiment(gain: float, number: int) -> Seen:
    """An experiment of one host, of which one level makes only the middle of three workloads faster: its winner."""
    plan = make_plan(rounds=8)
    plan["sessions"][0]["hosts"] = [RECORD.host]
    taken = steps(plan)
    speeds = SPEEDS[::3]
    values = NOISES["rounds 2 %"].draw(generator(f"experiment {number}"), len(speeds), len(taken), 0.0)
    values[1] += [math.log1p(gain) * (phase == "every-4") for phase, _round in taken]
    records = []
    for place, (phase, turn) in enumerate(taken):
        item = replace(RECORD, phase=phase, number=turn, started=1_000_000 * place)
        records += [
            of_workload(item, WORKLOAD._replace(name=f"ping{one}"), speed, values[one, place])
            for one, speed in enumerate(speeds)
        ]
    files = [{"host": RECORD.host, "phase": phase, "round": turn, "tunings": []} for phase, turn in taken]
    found = compare_change(Loaded("simulated", records, tunings=files, experiment=plan))["experiment"]
    return ["winner"] * (found["winner"] == "every-4") + ["wrong"] * (found["winner"] not in ("every-4", None)), 8


@many
def renamed(share: float, number: int) -> Seen:
    """Six hosts of one order, 10 % better, that lost this share of their rounds.

    ``other``: with other names the figures differ. ``missed``: the interval does not cover the true value.
    """
    seed = f"renamed {share} {number}"
    rng = generator(seed)
    order = looks.order(seed, MOST)
    values = NOISES["rounds 3 %"].draw(rng, 6, 2 * MOST, 0.5) + rng.normal(0.0, 1.0, 6)[:, None]
    lines = []
    for name, line in enumerate(values.tolist()):
        records = Host("app", order, changed(order, line, math.log(1.1))).records(2 * MOST)
        kept = [item for item, lost in zip(records, rng.random(2 * MOST) < share, strict=True) if not lost]
        lines.append(pooled.line(f"app{name}", kept))
    found, again = (pooled.of_site(known, MATERIAL) for known in (lines, lines[::-1]))
    missed = found.effect is None or not found.effect.low <= 1.1 <= found.effect.high
    return ["other"] * (found != again) + ["missed"] * missed, MOST


def of_sites(ask: Callable[..., Outcome]) -> Iterator[Goal]:
    """Sites whose parts do better or worse than the rest."""
    tenth = Plan(speeds=SPEEDS, gain=0.12, odd=-0.1)
    cells = [ask(sites, plan, experiments=100) for plan in (tenth, tenth._replace(hosts=5))]
    what = "7 workloads of 50 to 800 µs, all 12 % better, the middle one 10 % worse"
    yield Goal(f"{what}: it is named by a guard", 95, True, ("harmed",), cells)
    yield Goal("the same: another one is named", 5, False, ("named",), cells)
    alone = Plan(speeds=SPEEDS, odd=0.3)
    cells = [ask(sites, plan, experiments=200) for plan in (alone, alone._replace(speeds=SPEEDS[::3]))]
    yield Goal("only the middle one of 7 or 3 is 30 % better: only it is named", 95, True, ("better",), cells)
    cells = [ask(sites, tenth._replace(speeds=(), drawn=count), experiments=150) for count in (7, 4)]
    yield Goal("speeds drawn, 4 or 7, one 10 % worse: it is named by a guard", 95, True, ("harmed",), cells)
    yield Goal("the same: another one is named", 5, False, ("named",), cells)
    found = [ask(experiment, 0.35, experiments=100)]
    yield Goal("a level makes the middle of 3 workloads 35 % faster: it wins", 95, True, ("winner",), found)
    pairs = [Plan(drawn=2, gain=0.3, odd=-0.12), Plan(drawn=2, gain=0.12, odd=-0.15, rates=True)]
    cells = [ask(sites, plan, experiments=150) for plan in pairs]
    yield Goal("one of two workloads is worse, as a rate too: it is named by a guard", 95, True, ("harmed",), cells)
    noisy = Plan(hosts=60, hosts_odd=(3, -0.1), noise="rounds 5 %")
    cells = [ask(sites, plan, experiments=60) for plan in (noisy, noisy._replace(noise="rounds 3 %"))]
    yield Goal("3 of 60 hosts 10 % worse: another one is named", 5, False, ("named",), cells)
    even = [ask(sites, Plan(hosts=hosts, noise="rounds 5 %"), experiments=100) for hosts in (5, 9, 12)]
    yield Goal("5 to 12 hosts, nothing changed: one is named", 5, False, ("named",), even)
    halves = [Plan(hosts=20, gain=gain, hosts_odd=(10, -0.1), noise="rounds 3 %") for gain in (0.1, 0.25)]
    cells = [ask(sites, plan, experiments=40) for plan in halves]
    yield Goal("half of 20 hosts worse, half better: the headline has both groups", 95, True, ("groups",), cells)
    lone = [Plan(hosts=8, gain=0.1, hosts_odd=(1, -0.2)), Plan(hosts=10, gain=0.1, hosts_odd=(1, -0.6))]
    cells = [ask(sites, plan, experiments=60) for plan in lone]
    yield Goal("one of 8 or 10 hosts worse, others better: IMPROVED that names it", 95, True, ("warned",), cells)
    little = [Plan(hosts=5, gain=-0.03, noise=noise) for noise in ("rounds 2 %", "rounds 5 %")]
    cells = [ask(sites, plan, experiments=150) for plan in little]
    yield Goal("all of 5 hosts 3 % worse: one got worse by a guard", 5, False, ("unharmed",), cells)
    gone = [Plan(hosts=hosts, gain=0.15, noise="rounds 3 %", fades=True) for hosts in (5, 20)]
    cells = [ask(sites, plan, experiments=50) for plan in gone]
    yield Goal("5 and 20 hosts 15 % better in the first half only: no guard", 5, False, ("plain",), cells)
    stays = [Plan(hosts=hosts, gain=0.1, noise="rounds 5 %") for hosts in (1, 5)]
    cells = [ask(sites, plan, experiments=300) for plan in stays]
    yield Goal("10 % better to the end: the gain is said not to last", 2, False, ("gone",), cells)
    lost = [ask(renamed, share, experiments=200) for share in (0.02, 0.1)]
    yield Goal("hosts of one order that lost 2 to 10 % of their rounds: names decide", 0, False, ("other",), lost)
    yield Goal("the same: the interval misses the truth", 3, False, ("missed",), lost)
    same = [ask(sites, Plan(drawn=count), experiments=500) for count in (2, 4)]
    yield Goal("2 or 4 workloads, nothing changed: one is named", 5, False, ("named", "unharmed"), same)
