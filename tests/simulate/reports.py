# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole reports of sites in which nothing changed, with everything that makes rules speak drawn for each of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net.histogram import WIDTH
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.kpi import CpuSum
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import Loaded
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.round import Layout, Round
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import looks
from noise import NOISES, RUN_NOISE, RUNS
from trials import (
    CONTROL,
    MOST,
    RECORD,
    SLOWNESS,
    TRIPS,
    WORKLOAD,
    Seen,
    end_of,
    generator,
    histogram,
    longest,
    many,
    places,
    until_decided,
)

KINDS = (
    "rounds 2 %",
    "rounds 5 %",
    "AR(1) 0.8",
    "drift 0.2 % per run",
    "bimodal: 15 % in 15 % of the rounds",
    "bursts: 50 % in 5 % of the rounds",
    "rounds 3 %, runs 3 %, spikes in 10 % of the runs",
    "runs with a Pareto tail",
)
TAILS = ("lognormal, sigma 1", "Pareto 1.5", "a tenth of the runs 20 times as long")
STEPS = (0.001, 1.0, 5.0)
"""Of a clock, in µs; round trips take 30 to 300 µs."""
FAILING = (0.0, 0.002, 0.01, 0.05)
RESTARTED = (0.0, 0.0, 0.0, 1.0 / 3.0, 1.0)
"""Shares of the hosts that start anew for each round."""
START = 0.02
RESENT = (0.0, 0.02, 0.2, 1.0)
"""TCP retransmits per run."""
CPU_NOISE = 0.05
SIZES = ((1, 5),) * 18 + ((6, 40),) * 6 + ((41, 300),)
"""From how many to how many hosts, in turn; large sites are rare, because their reports take long."""


class Drawn(NamedTuple):
    """What is measured at a site, by host, workload (the last one is the control) and place in the order."""

    orders: list[list[str]]
    seeds: list[str]
    boots: list[bool]
    runs: np.ndarray
    failed: np.ndarray
    worst: np.ndarray
    costs: np.ndarray
    resent: np.ndarray
    trips: np.ndarray | None


@cache
def usual(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """The bins of many round trips, and the share of each."""
    found, counts = places(SLOWNESS[kind](generator(kind), 100 * TRIPS))
    return found, counts / counts.sum()


def single(seed: str, levels: np.ndarray) -> np.ndarray | None:
    """The histogram of each round's single round trips, which half of the tools tell; ``levels``: µs of a usual one."""
    rng = generator(f"single {seed}")
    if rng.random() < 0.5:
        return None
    found, shares = usual(str(rng.choice(list(SLOWNESS))))
    moved = np.round(np.log(levels) / math.log(WIDTH)).astype(int)
    texts = [histogram(found + move, rng.multinomial(TRIPS, shares)) for move in moved.ravel()]
    return np.array(texts).reshape(levels.shape)


def draw(part: int, number: int) -> Drawn:
    """A site with 1 to 7 workloads; half of the variance of a round is shared, and half of the sites tell each trip."""
    seed = f"report {part} {number}"
    rng = generator(seed)
    fewest, most = SIZES[number % len(SIZES)]
    hosts = int(math.exp(rng.uniform(math.log(fewest), math.log(most + 1))))
    shape = hosts, int(rng.integers(1, 8)) + 1, 2 * MOST
    seeds = [f"{seed} app{host}" for host in range(hosts)]
    boots = rng.random(hosts) < rng.choice(RESTARTED)
    rounds = NOISES[str(rng.choice(KINDS))].draw(rng, hosts * shape[1], 2 * MOST, 0.5).reshape(shape)
    rounds += (boots[:, None] * rng.normal(0.0, START, (hosts, 2 * MOST)))[:, None, :]
    rounds[:, -1] = NOISES["rounds 2 %"].draw(rng, hosts, 2 * MOST, 0.0)
    levels = np.exp(rng.uniform(math.log(30.0), math.log(300.0), shape[:2]))[..., None, None]
    step = rng.choice(STEPS)
    times = levels * np.exp(rng.normal(0.0, RUN_NOISE, (*shape, RUNS)) - rounds[..., None])
    # runs of a round fail one by one, or together
    each = (*shape, RUNS if rng.random() < 0.5 else 1)
    failed = np.broadcast_to(rng.random(each) < rng.choice(FAILING), (*shape, RUNS))
    worst = np.exp(longest(rng, str(rng.choice(TAILS)), hosts * shape[1], 2 * MOST).reshape(shape))
    costs = np.exp(rng.normal(0.0, CPU_NOISE, (*shape, 2)))
    resent = rng.poisson(RUNS * rng.choice(RESENT), shape)
    orders = [looks.order(text, MOST) for text in seeds]
    trips = single(seed, np.median(times, axis=-1))
    return Drawn(orders, seeds, boots.tolist(), step * np.round(times / step), failed, worst, costs, resent, trips)


def records(site: Drawn, place: int) -> Iterator[Round]:
    """What all hosts measure at one place of their orders."""
    hosts, series = site.runs.shape[:2]
    for host, one in np.ndindex(hosts, series):
        order, at = site.orders[host], (host, one, place)
        ok = (~site.failed[at]).tolist()
        good = [run for run in range(RUNS) if ok[run]]
        values = [value if ok[run] else None for run, value in enumerate(site.runs[at].tolist())]
        boot = end_of(f"{host} {place}" if site.boots[host] else f"{host}")
        yield replace(
            RECORD,
            host=f"app{host}",
            peer=f"db{host}",
            phase=order[place],
            number=1 + order[:place].count(order[place]),
            workload=CONTROL if one == series - 1 else WORKLOAD._replace(name=f"ping{one}"),
            protocol=RECORD.protocol._replace(seed=site.seeds[host]),
            started=1_000_000 * (place * series + one),
            layout=Layout(tuple((run, False, ok[run], None) for run in range(RUNS)), tuple(good), RUNS),
            values=tuple(values),
            median=float(np.median([values[run] for run in good])) if good else None,
            longest=float(site.worst[at]) if good else None,
            cpu=tuple(CpuSum(cost, 0.0, 5.0, 10.0, 5.0, 1e5) if good else None for cost in site.costs[at].tolist()),
            retransmits=float(site.resent[at]) if good else None,
            retransmit_runs=len(good),
            histogram=str(site.trips[at]) if good and site.trips is not None else None,
            ends=(boot, end_of(f"db{host}")),
        )


def said(report: dict[str, Any]) -> Iterator[str]:
    """What a report says although nothing changed: ``word`` and ``warned`` should be rare.

    ``named``: a deviation, and ``row``: the row of a host.
    """
    first, *others = report["pooled"]
    if report["verdict"] not in ("UNCHANGED", "INCONCLUSIVE"):
        yield "word"
    if first["guards"] or any(entry["guards"] for entry in report["comparisons"]):
        yield "warned"
    if first["deviations"]:
        yield "named"
    if any(row["verdict"] in ("IMPROVED", "REGRESSED") for row in others):
        yield "row"


@many
def whole(part: int, number: int) -> Seen:
    """Reports of sites in which nothing changed, each as it stands when its measurement ends; ``part``: of the seeds.

    ``any``: a word or a warning.
    """
    site = draw(part, number)
    known: list[list[Round]] = []
    last: list[dict[str, Any]] = []

    def judge(rounds: int) -> str:
        known.extend([*records(site, place)] for place in range(len(known), 2 * rounds))
        last[:] = [compare_change(Loaded("simulated", [*chain(*known)]))]
        return str(last[0]["verdict"])

    word, used = until_decided(judge)
    found = [*said(last[0])]
    return [word, *found, *["any"] * bool({"word", "warned"}.intersection(found))], used
