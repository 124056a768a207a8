# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that stand beside the verdict on rounds, each with its goal: what is drawn, and a row of the table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace

import differing
import numpy as np
import reports
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled, side_effects, tails
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.next_steps import CONFIRM_FROM
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.wording import verdict_on
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.scaling import knee
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.trend import together
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import gates, looks
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.ranks import hodges_lehmann_ratio
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.series import word
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.verdict import resolution
from noise import NOISES, RUNS, Logs, per_round
from trials import (
    MATERIAL,
    MOST,
    SLOWNESS,
    TRIPS,
    Goal,
    Host,
    Outcome,
    Seen,
    changed,
    generator,
    histogram,
    many,
    places,
    until_decided,
)

Ask = Callable[..., Outcome]
SIDES = (looks.BEFORE, looks.AFTER)
ORDINARY = "rounds 2 %"
CHANGES = ("IMPROVED", "REGRESSED")
TEN_LESS = -math.log(0.9)


# -- the host as unit

KEPT: dict[str, Callable[[np.random.Generator, int], Logs]] = {
    "nothing": lambda rng, hosts: np.zeros(hosts),
    "3 %": lambda rng, hosts: rng.normal(0.0, 0.03, hosts),
    "5 %, skewed": lambda rng, hosts: 0.05 * (rng.exponential(1.0, hosts) - 1.0),
}
"""What each host keeps of the state after besides the change."""


@many
def hosts(count: int, sigma: float, kept: str, limit: float, change: float, number: int) -> Seen:
    """The verdict of hosts with their own orders; ``sigma``: noise of a round."""
    seed = f"hosts {count} {sigma} {kept} {number}"
    rng = generator(seed)
    effects = change + KEPT[kept](rng, count)
    site = []
    for name, values in enumerate(per_round(sigma)(rng, count, 2 * MOST).tolist()):
        order = looks.order(f"{seed} {name}", MOST)
        site.append(Host(f"app{name}", order, changed(order, values, float(effects[name]))))
    word, used = until_decided(lambda rounds: pooled.of_site([host.line(2 * rounds) for host in site], limit).word)
    return [word], used


def of_hosts(ask: Ask) -> Iterator[Goal]:
    """Six hosts or more, each with its own order."""

    def cells(counts: tuple[int, ...], kept: str) -> list[Outcome]:
        return [ask(hosts, count, 0.05, kept, 0.01, 0.0, experiments=1000) for count in counts]

    even = cells((6, 8, 20), "nothing") + cells((10,), "3 %")
    yield Goal("6 to 20 hosts, limit of 1 %: wrong", 3, False, CHANGES, even)
    yield Goal("the same, skewed effects of the hosts: wrong", 3.8, False, CHANGES, cells((6, 10), "5 %, skewed"))
    found = [ask(hosts, count, 0.10, "nothing", 0.05, TEN_LESS, experiments=300) for count in (6, 10)]
    yield Goal("6 and 10 hosts, rounds 10 %, −10 %: IMPROVED", 90, True, ("IMPROVED",), found)


# -- starts

LEVELS = {"50 and 500": ((50.0, 10, 5), (500.0, 5, 10)), "100 and 120": ((100.0, 12, 5), (120.0, 5, 12))}
"""Per host its level and its starts before and after the change."""


@many
def restarts(levels: str, change: float, number: int) -> Seen:
    """Hosts of different levels with one round per start; ``held``: the interval has the truth."""
    rng = generator(f"restarts {levels} {number}")
    strata = [
        tuple(level * np.exp(-rng.normal(worth, 0.03, count)) for count, worth in ((before, 0.0), (after, change)))
        for level, before, after in LEVELS[levels]
    ]
    turned = [tuple((1.0 / side).tolist() for side in both) for both in strata]
    found = gates.stratified(turned, gates.starts_look(False, 1))
    return [word(found, MATERIAL), *["held"] * (found.low <= math.exp(change) <= found.high)], 5


def of_restarts(ask: Ask) -> Iterator[Goal]:
    """Restarted hosts of different levels."""
    cells = {change: [ask(restarts, name, change, experiments=2000) for name in LEVELS] for change in (0.0, TEN_LESS)}
    yield Goal(
        "restarts, hosts of different levels: interval holds the truth", 96, True, ("held",), sum(cells.values(), [])
    )
    yield Goal("the same, nothing changed: wrong", 3, False, CHANGES, cells[0.0])
    yield Goal("the same, −10 %: IMPROVED", 95, True, ("IMPROVED",), cells[TEN_LESS])


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
    site = _comparisons(count, workloads, lambda host, place: {"failed": _slots(failed[host, place])})
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
        return [
            SimpleNamespace(phase=state, number=slot, retransmits=float(resent), retransmit_runs=RUNS)
            for (state, slot), resent in found
        ]

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


# -- coarse clocks


UNITS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "µs": lambda runs: runs,
    "s": lambda runs: np.round(runs / 1e6, 9),
    "per s": lambda runs: np.round(1e6 / runs, 3),
}


@many
def clock(level: float, step: float, change: float, unit: str, number: int) -> Seen:
    """One comparison whose runs are printed in steps; ``level``: the true median of a run, with 3 % noise."""
    turn = UNITS[unit]
    seed = f"clock {level} {step} {number}"
    order = looks.order(seed, MOST)
    sigma = generator(seed).normal(0.0, 0.03, (len(order), RUNS))
    states = np.array([state == looks.AFTER for state in order])
    runs = step * np.round(level * np.exp(sigma - change * states[:, None]) / step)
    medians = np.median(runs, axis=1)
    host = Host("app1", order, (-np.log(medians)).tolist())

    def judge(rounds: int) -> str:
        known = [np.concatenate(runs[: 2 * rounds][states[: 2 * rounds] == after]) for after in (False, True)]
        step = resolution([turn(side).tolist() for side in known])
        return pooled.of_site([host.line(2 * rounds)], MATERIAL, step=step).word

    word, used = until_decided(judge)
    return [word], used


def of_clocks(ask: Ask) -> Iterator[Goal]:
    """Coarse clocks."""
    steps = ((12.0, 1.0), (12.0, 5.0), (40.0, 10.0))
    coarse = [ask(clock, *case, TEN_LESS, unit, experiments=150) for case in steps for unit in UNITS]
    yield Goal("−10 % with steps of 8 to 42 %, in µs, s or per s: UNCHANGED", 0.5, False, ("UNCHANGED",), coarse)
    found = [ask(clock, 100.0, 1.0, TEN_LESS, unit, experiments=150) for unit in UNITS]
    yield Goal("−10 % with steps of 1 %, in µs, s or per s: IMPROVED", 95, True, ("IMPROVED",), found)


# -- trend and knee


@many
def summed(changes: int, session: float, effect: float, number: int) -> Seen:
    """Changes of 8 rounds with 2 % noise, each in a session that is worth something of its own."""
    rng = generator(f"summed {changes} {session} {number}")
    entries = []
    for level in rng.normal(0.0, session, changes):
        states = np.exp(level + rng.normal(0.0, 0.02, (2, 8)) - np.array([[0.0], [effect]])).tolist()
        sides = {name: {"round_medians": rounds} for name, rounds in zip(("before", "after"), states, strict=True)}
        entries.append({**sides, "ratio": hodges_lehmann_ratio(states[1], states[0])})
    _ratio, low, high = together(entries, "lower") or (1.0, 0.0, math.inf)
    return ["better"] * (low > 1.0) + ["worse"] * (high < 1.0), 8


@many
def bends(speeds: tuple[float, ...], rounds: int, sigma: float, number: int) -> Seen:
    """A curve with these speedups at 1, 2, 4 and so on."""
    rng = generator(f"bends {speeds} {rounds} {sigma} {number}")
    curve = {
        2.0**place: (speed * np.exp(rng.normal(0.0, sigma, rounds))).tolist() for place, speed in enumerate(speeds)
    }
    return ["knee"] * (knee(curve, "higher") is not None), rounds


def of_series(ask: Ask) -> Iterator[Goal]:
    """Trends and knees."""
    flat = [ask(summed, 6, session, 0.0, experiments=1000) for session in (0.0, 0.01, 0.03, 0.05)]
    yield Goal("six flat changes, 0 to 5 % between sessions: better or worse", 3, False, ("better", "worse"), flat)
    found = [ask(summed, 6, 0.03, 0.02, experiments=500)]
    yield Goal("six changes of 2 %: better", 95, True, ("better",), found)
    level = [ask(bends, (1.0,) * count, rounds, 0.05, experiments=1000) for count in (5, 8) for rounds in (3, 8)]
    yield Goal("flat curve: knee", 1, False, ("knee",), level)
    bent = [ask(bends, (1.0, 2.0, 4.0, 4.0, 4.0), 3, 0.05, experiments=500)]
    yield Goal("curve that saturates: knee", 95, True, ("knee",), bent)


# -- a harmed host


@many
def harm(count: int, sigma: float, spikes: bool, worse: float, number: int) -> Seen:
    """A site that is a tenth better, half of its noise shared, with its first host ``worse``: which one is named.

    ``harmed``: the first host. ``false``: any other one, with spikes and from 100 hosts on after the confirmation.
    """

    def regressed(order: list[str], values: Logs) -> tuple[str, float]:
        line = Host("app", order, changed(order, values.tolist(), 0.0)).line(len(order))
        found = pooled.of_site([line], MATERIAL)
        return found.word, found.effect.ratio if found.effect else 1.0

    seed = f"harm {count} {sigma} {spikes} {worse} {number}"
    rng = generator(seed)
    first, most = looks.LOOKS[0].rounds, looks.LOOKS[1].rounds
    noise = math.sqrt(0.5) * (per_round(sigma)(rng, count, 2 * most) + per_round(sigma)(rng, 1, 2 * most))
    if spikes:
        noise -= np.where(rng.random(noise.shape) < 0.1, math.log(1.5), 0.0)
    ratios, names, series = {}, [], {}
    for host, values in enumerate(noise):
        order = looks.order(f"{seed} {host}", most)
        after = np.array([state == looks.AFTER for state in order])
        series[f"app{host}"] = order, values + after * (math.log(0.8) if worse and not host else math.log(1.1))
        word, ratios[f"app{host}"] = regressed(*(item[: 2 * first] for item in series[f"app{host}"]))
        names += [f"app{host}"] * (word == "REGRESSED")
    named = gates.harmed(ratios, names, MATERIAL)
    if spikes or count >= CONFIRM_FROM:
        named = [name for name in named if regressed(*series[name])[0] == "REGRESSED"]
    return ["harmed"] * ("app0" in named and worse > 0) + ["false"] * any(
        name != "app0" or not worse for name in named
    ), first


def of_harm(ask: Ask) -> Iterator[Goal]:
    """One harmed host."""
    cases = ((10, 0.05, False), (24, 0.08, False), (100, 0.05, False), (24, 0.02, True))
    none = [ask(harm, *case, 0.0, experiments=300) for case in cases]
    yield Goal("10 to 100 hosts, none harmed: one is named", 2, False, ("false",), none)
    found = [ask(harm, count, 0.05, False, 0.2, experiments=200) for count in (10, 24, 100)]
    yield Goal("one of 10 to 100 hosts 20 % worse, noise of 5 %: it is named", 85, True, ("harmed",), found)


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


# -- orders and long budgets


@many
def drawn(count: int, number: int) -> Seen:
    """Hosts with random orders and recorded seeds, of which any is taken for blocks at the first look."""
    rounds = looks.LOOKS[0].rounds
    weak = False
    for name in range(count):
        seed = f"drawn {number} {name}"
        host = Host("app", looks.order(seed, MOST), [0.0] * 2 * MOST)
        host.seed = seed
        weak = weak or not host.line(2 * rounds).alternates
    return ["blocks"] * weak, rounds


def of_orders(ask: Ask) -> Iterator[Goal]:
    """Random orders, and one further look."""
    yield Goal(
        "100 hosts with drawn orders: one is said to be blocks",
        0,
        False,
        ("blocks",),
        [ask(drawn, 100, experiments=300)],
    )


# -- all rules together


def of_reports(ask: Ask) -> Iterator[Goal]:
    """Whole reports, with everything that makes rules speak."""
    parts = [ask(reports.whole, part, experiments=50) for part in range(4)]
    seen = sum((part.seen for part in parts), Counter())
    every = Outcome(seen, max(part.rounds for part in parts), sum(part.experiments for part in parts))
    what = "whole reports, 1 to 300 hosts, nothing changed: a verdict on a change, or a warning"
    yield Goal(what, 5, False, ("any",), [every])


RULES: list[Callable[[Ask], Iterator[Goal]]] = [
    of_hosts,
    of_restarts,
    of_side_effects,
    of_clocks,
    of_series,
    of_harm,
    of_stalls,
    of_slow,
    of_orders,
    differing.of_sites,
    of_reports,
]


def goals(ask: Ask) -> Iterator[Goal]:
    """All of them."""
    for rule in RULES:
        yield from rule(ask)
