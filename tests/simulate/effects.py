# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guards on side effects, stalls and slow round trips, each with its goal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled, side_effects, tails
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.wording import verdict_on
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import looks
from noise import NOISES, RUNS
from trials import MATERIAL, MOST, SLOWNESS, TRIPS, Goal, Host, Outcome, Seen, generator, histogram, many, places

Ask = Callable[..., Outcome]
SIDES = (looks.BEFORE, looks.AFTER)
ORDINARY = "rounds 2 %"


# -- side effects

ROUNDS = 6


def _comparisons(count: int, workloads: int, make: Callable[[int, int], dict[str, object]]) -> side_effects.Hosts:
    """Of each host its workloads, with what the guards read of a comparison."""
    entry = {"unit_of_work": "run"}
    return {
        f"app{host}": [SimpleNamespace(entry=entry, **make(host, place)) for place in range(workloads)]
        for host in range(count)
    }


def _slots(values: np.ndarray) -> dict[tuple[str, int], object]:
    """Values by state and round."""
    states = zip(SIDES, values.tolist(), strict=True)
    return {(state, place): value for state, line in states for place, value in enumerate(line)}


@many
def failing(count: int, workloads: int, share: float, after: float, number: int) -> Seen:
    """Runs that fail with a share before and another one after the change."""
    rng = generator(f"failing {count} {workloads} {share} {number}")
    shares = np.array([share, after])[:, None, None]
    drawn = rng.random((count, workloads, 2, ROUNDS, RUNS)) < shares
    failed = drawn.any(axis=-1)

    def everything(host: int, place: int) -> list[SimpleNamespace]:
        return [SimpleNamespace(slot=slot, failed=lost) for slot, lost in _slots(failed[host, place]).items()]

    site = _comparisons(count, workloads, lambda host, place: {"everything": everything(host, place)})
    return ["warns"] * bool(side_effects.failures(site, 1)[0]), ROUNDS


@many
def costing(count: int, workloads: int, sigma: float, more: float, number: int) -> Seen:
    """CPU costs of both ends with so much noise per round."""
    rng = generator(f"costing {count} {workloads} {sigma} {number}")
    costs = rng.normal(0.0, sigma, (2, count, workloads, 2, ROUNDS)) + np.array([0.0, more])[:, None]
    ends = dict(zip(("client", "server"), np.exp(costs), strict=True))
    site = _comparisons(
        count,
        workloads,
        lambda host, place: {"costs": {end: _slots(found[host, place]) for end, found in ends.items()}},
    )
    return ["warns"] * bool(side_effects.dearer(site, 1, MATERIAL)), ROUNDS


@many
def resending(count: int, workloads: int, share: float, after: float, bursts: bool, number: int) -> Seen:
    """This many TCP retransmits per run before and after the change; ``bursts``: most of them in few rounds."""
    rng = generator(f"resending {count} {workloads} {share} {bursts} {number}")
    mean = np.full((count, workloads, 2, ROUNDS), RUNS * share)
    mean[:, :, 1] = RUNS * after
    drawn = rng.poisson(mean * rng.gamma(0.3, 1.0 / 0.3, mean.shape) if bursts else mean)

    def rounds(host: int, place: int) -> list[SimpleNamespace]:
        found = _slots(drawn[host, place]).items()
        return [SimpleNamespace(slot=slot, retransmits=float(resent), retransmit_runs=RUNS) for slot, resent in found]

    site = _comparisons(count, workloads, lambda host, place: {"rounds": rounds(host, place)})
    return ["warns"] * bool(side_effects.resent(site, 1)[0]), ROUNDS


def of_side_effects(ask: Ask) -> Iterator[Goal]:
    """Failed runs, retransmits and CPU cost."""
    shapes = ((1, 1), (1, 7), (10, 7), (100, 7))
    none = [ask(failing, *shape, share, share, experiments=500) for shape in shapes for share in (0.002, 0.01, 0.05)]
    yield Goal("failed runs, 0.2 to 5 % in both states, to 100 hosts: warns", 2, False, ("warns",), none)
    more = [ask(failing, *shape, 0.01, 0.15, experiments=300) for shape in ((2, 7), (10, 7))]
    yield Goal("failed runs rise from 1 to 15 %, 14 comparisons: warns", 90, True, ("warns",), more)
    cells = [(shape, share, bursts) for shape in shapes[:3] for share in (0.2, 1.0) for bursts in (False, True)]
    none = [ask(resending, *shape, share, share, bursts, experiments=500) for shape, share, bursts in cells]
    yield Goal("0.2 to 1 TCP retransmits per run in both states, also in bursts: warns", 2, False, ("warns",), none)
    more = [ask(resending, *shape, 0.2, 1.0, False, experiments=300) for shape in shapes[1:3]]
    yield Goal("five times as many retransmits, from 7 comparisons on: warns", 95, True, ("warns",), more)
    none = [ask(costing, *shape, sigma, 0.0, experiments=500) for shape in shapes[:3] for sigma in (0.05, 0.08)]
    yield Goal("CPU cost, noise of 5 to 8 %: warns", 2.5, False, ("warns",), none)
    more = [ask(costing, *shape, 0.08, math.log(1.1), experiments=300) for shape in ((1, 7), (2, 7), (10, 7))]
    yield Goal("CPU cost 10 % higher, noise of 8 %, from 7 comparisons on: warns", 95, True, ("warns",), more)


# -- stalls


@many
def stalls(hosts: int, draw: str, before: float, after: float, number: int) -> Seen:
    """16 rounds per state, of which these shares take three times as long.

    ``told``: no plain verdict. ``silent``: a plain one, although two stalls after and none before were measured.
    """
    seed = f"stalls {hosts} {draw} {before} {after} {number}"
    rng = generator(seed)
    site, hits = [], Counter()
    for name, values in enumerate(NOISES[draw].draw(rng, hosts, 2 * MOST, 0.0)):
        order = looks.order(f"{seed} {name}", MOST)
        shares = np.array([after if state == looks.AFTER else before for state in order])
        slow = rng.random(2 * MOST) < shares
        hits.update(state for state, so in zip(order, slow, strict=True) if so)
        site.append(Host(f"app{name}", order, (values - math.log(3.0) * slow).tolist()).line(2 * MOST))
    found = pooled.of_site(site, MATERIAL)
    plain = verdict_on(found, MATERIAL)
    verdict, guards, _flags = side_effects.with_stalls(plain, site, 1)
    told = verdict.cause == "stalls" or bool(guards)
    seen = hits[looks.AFTER] >= 2 and not hits[looks.BEFORE] and plain.word in ("IMPROVED", "UNCHANGED")
    return ["told"] * told + ["silent"] * (seen and not told), MOST


def of_stalls(ask: Ask) -> Iterator[Goal]:
    """Rare stalls, at 16 rounds."""
    noises = (ORDINARY, "rounds 5 %", "bursts: 50 % in 5 % of the rounds")
    rare = [ask(stalls, 1, noise, 0.0, 0.0, experiments=500) for noise in noises]
    yield Goal("stalls are rare: said to be more after the change", 2, False, ("told",), rare)
    common = [ask(stalls, 1, ORDINARY, share, share, experiments=500) for share in (0.05, 0.1, 0.2)]
    yield Goal("stalls of 5 to 20 % in both states: the same", 10, False, ("told",), common)
    after = [ask(stalls, 1, ORDINARY, 0.0, share, experiments=500) for share in (0.125, 0.25)]
    yield Goal("two stalls after and none before were measured: plain verdict", 0.5, False, ("silent",), after)


# -- slow round trips


@many
def slow(rounds: int, kind: str, share: float, times: float, number: int) -> Seen:
    """Rounds of single round trips with 2 % noise, of which this share takes this many times as long after the change.

    In both states 3 of 1,000 take twenty times as long, if the share does not take longer than that anyway.
    """
    seed = f"slow {rounds} {kind} {share} {times} {number}"
    rng = generator(seed)
    order = looks.order(seed, rounds)
    (noise,) = NOISES[ORDINARY].draw(rng, 1, 2 * rounds, 0.0)
    records = []
    for item, value in zip(Host("app1", order, noise.tolist()).records(2 * rounds), noise, strict=True):
        trips = 50.0 * math.exp(-value) * SLOWNESS[kind](rng, TRIPS)
        if times < 10.0:
            trips *= np.where(rng.random(trips.shape) < 0.003, 20.0, 1.0)
        if item.phase == looks.AFTER:
            trips *= np.where(rng.random(trips.shape) < share, times, 1.0)
        records.append(replace(item, histogram=histogram(*places(trips))))
    found = tails.of_host(pooled.line("app1", records), [SimpleNamespace(rounds=records)])
    return ["warns"] * bool(tails.guards({"app1": found})), rounds


def of_slow(ask: Ask) -> Iterator[Goal]:
    """Round trips that are slow, while the others are not."""
    none = [ask(slow, rounds, kind, 0.0, 10.0, experiments=1000) for rounds in (ROUNDS, MOST) for kind in SLOWNESS]
    yield Goal("single round trips, nothing changed, 6 and 16 rounds: warns", 0.5, False, ("warns",), none)
    more = [ask(slow, ROUNDS, kind, share, 10.0, experiments=200) for kind in SLOWNESS for share in (0.002, 0.02)]
    yield Goal("2 or 20 of 1,000 round trips take ten times as long: warns", 95, True, ("warns",), more)
    tails = [ask(slow, ROUNDS, kind, 0.015, 4.0, experiments=200) for kind in SLOWNESS]
    yield Goal("15 of 1,000 take 4 times as long, 3 of 1,000 always 20 times: warns", 95, True, ("warns",), tails)
