# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches of a rollout, measured in 6 rounds before and then 6 rounds after the change: when their guard stops them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import reports
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import Options
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import Loaded
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout.guard import judge_records
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import looks
from noise import NOISES, RUNS, Logs, autoregressive, runs_of_2_pct
from rules import Goal
from trials import Outcome, Seen, generator, in_blocks, many

Ask = Callable[..., Outcome]
ROUNDS = looks.LOOKS[0].rounds
GAP = 3
"""Rounds that the change and the soak would take."""


def sinus(period: int, size: float) -> Callable[[np.random.Generator, int, int], Logs]:
    """A load that all hosts share."""

    def draw(rng: np.random.Generator, series: int, rounds: int) -> Logs:
        wave = size * np.sin(2.0 * np.pi * (np.arange(rounds) / period + rng.random()))
        return runs_of_2_pct(rng, series, rounds) + wave

    return draw


SLOW = {
    "AR(1) 0.9 with 5 %": autoregressive(0.9, 0.05),
    **{f"sinus of 10 % over {period} rounds": sinus(period, 0.1) for period in (24, 48)},
}


class Batch(NamedTuple):
    """A batch. Pairs are before and after the change. ``cpu``: noise of a round's CPU cost.

    ``failing``: share of the runs, or of the rounds if they fail ``together``; ``resent``: retransmits per run;
    ``slower``, ``dearer``: of one unit of work. ``hit``: which hosts and workloads the change harms.
    """

    noise: str
    hosts: int
    workloads: int = 4
    cpu: float = 0.02
    failing: tuple[float, float] = (0.0, 0.0)
    together: bool = False
    resent: tuple[float, float] = (0.0, 0.0)
    slower: float = 0.0
    dearer: float = 0.0
    hit: tuple[slice, slice] = (slice(None), slice(None))


@many
def batch(plan: Batch, number: int) -> Seen:
    """Whether the guard stops a batch. Its control never moves."""
    rng = generator(f"batch {plan.noise} {plan.hosts} {number}")
    shape = plan.hosts, plan.workloads + 1, 2 * ROUNDS
    if plan.noise in SLOW:
        values = SLOW[plan.noise](rng, plan.hosts * shape[1], 2 * ROUNDS + GAP)
        values = np.delete(values, range(ROUNDS, ROUNDS + GAP), axis=1).reshape(shape)
    else:
        values = NOISES[plan.noise].draw(rng, plan.hosts * shape[1], 2 * ROUNDS, 0.0).reshape(shape)
    values[:, -1] = runs_of_2_pct(rng, plan.hosts, 2 * ROUNDS)
    levels = np.exp(rng.uniform(math.log(50.0), math.log(800.0), shape[1]))[:, None]
    harmed = np.zeros(shape)
    harmed[(*plan.hit, slice(ROUNDS, None))] = 1.0
    harmed[:, -1] = 0.0
    times = levels * np.exp(harmed * plan.slower - values)
    costs = np.exp(rng.normal(0.0, plan.cpu, (*shape, 2)) + harmed[..., None] * plan.dearer)
    shares = np.where(harmed, plan.failing[1], plan.failing[0])[..., None]
    failed = np.broadcast_to(rng.random((*shape, 1 if plan.together else RUNS)) < shares, (*shape, RUNS))
    resent = rng.poisson(RUNS * np.where(harmed, plan.resent[1], plan.resent[0]))
    runs = np.repeat(times[..., None], RUNS, axis=-1)
    site = reports.Drawn(
        [in_blocks("", ROUNDS)] * plan.hosts,
        [""] * plan.hosts,
        [False] * plan.hosts,
        runs,
        failed,
        np.ones(shape),
        costs,
        resent,
        None,
    )
    records = [item for place in range(2 * ROUNDS) for item in reports.records(site, place)]
    names = [f"app{host}" for host in range(plan.hosts)]
    found = judge_records(Loaded("batch", records), names, Options(max_runs=0, cpu_pct=5.0))
    return ["stops"] * bool(found["sentences"]), ROUNDS


FIRST_HOST, FIRST_WORKLOAD = (slice(0, 1), slice(None)), (slice(None), slice(0, 1))
TENTH, FIFTH = math.log(1.1), math.log(1.2)
"""Logarithms of more time or cost."""


def goals(ask: Ask) -> Iterator[Goal]:
    """The guard stops for harm and not for noise."""

    def stops(plans: Iterable[Batch], experiments: int = 400) -> list[Outcome]:
        return [ask(batch, plan, experiments=experiments) for plan in plans]

    def still(text: str, limit: float, plans: Iterable[Batch]) -> Goal:
        return Goal(f"{text}: stops", limit, False, ("stops",), stops(plans))

    def found(text: str, limit: float, *plans: Batch) -> Goal:
        return Goal(f"{text}: stops", limit, True, ("stops",), stops(plans, 150))

    quiet = "rounds 2 %"
    sizes = 1, 2, 5
    failing = [(share, share) for share in (0.001, 0.01)]
    both = [Batch(quiet, size, failing=f, together=way) for size in sizes for f in failing for way in (False, True)]
    yield still("nothing changed, 0.1 or 1 % of the runs, or of the rounds, fail", 3, both)
    yield still("the same, 0.2 TCP retransmits per run", 3, [Batch(quiet, size, resent=(0.2, 0.2)) for size in sizes])
    noises = (quiet, 0.05), ("rounds 5 %", 0.05), ("AR(1) 0.8", 0.02)
    yield still("the same, noise", 3, [Batch(name, size, cpu=cpu) for name, cpu in noises for size in sizes])
    for name in SLOW:
        shapes = (1, 1), (1, 4), (5, 4)
        yield still(f"the same, {name}", 5, [Batch(name, *shape) for shape in shapes])
    alone = Batch(quiet, 1, 1, slower=TENTH), Batch(quiet, 1, 1, slower=FIFTH)
    yield found("one workload of one host, 10 % slower", 65, alone[0])
    yield found("one workload of one host, 20 % slower", 80, alone[1])
    yield found("1 to 5 hosts of 4 workloads, 10 % slower", 85, *(Batch(quiet, size, slower=TENTH) for size in sizes))
    yield found("one of 2 or 5 hosts 10 % slower", 95, *(Batch(quiet, n, slower=TENTH, hit=FIRST_HOST) for n in (2, 5)))
    yield found("one of 5 hosts 20 % slower, noise of 5 %", 80, Batch("rounds 5 %", 5, slower=FIFTH, hit=FIRST_HOST))
    yield found("one of 4 workloads 10 % slower", 95, Batch(quiet, 5, slower=TENTH, hit=FIRST_WORKLOAD))
    yield found("failed runs rise from 1 to 15 %", 95, Batch(quiet, 5, failing=(0.01, 0.15)))
    yield found("one of 5 hosts fails in 20 % of its runs", 85, Batch(quiet, 5, failing=(0.0, 0.2), hit=FIRST_HOST))
    yield found("five times as many retransmits", 95, Batch(quiet, 5, resent=(0.2, 1.0)))
    yield found("one of 5 hosts takes 20 % more CPU time", 95, Batch(quiet, 5, dearer=FIFTH, hit=FIRST_HOST))
