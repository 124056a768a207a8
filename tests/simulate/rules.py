# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that stand beside the verdict on rounds, each with its goal: what is drawn, and a row of the table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator

import differing
import effects
import numpy as np
import reports
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.next_steps import CONFIRM_FROM
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.scaling import knee
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.trend import together
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import gates, looks
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.ranks import hodges_lehmann_ratio
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.series import word
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.verdict import resolution
from noise import RUNS, Logs, per_round
from trials import (
    MATERIAL,
    MOST,
    Goal,
    Host,
    Outcome,
    Seen,
    changed,
    generator,
    many,
    until_decided,
)

Ask = Callable[..., Outcome]
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
    """Hosts of different levels with one round per start; ``held``: the interval covers the true value."""
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
    """Changes of 8 rounds with 2 % noise, each in a session with a level of its own."""
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


# -- orders and long budgets


@many
def drawn(count: int, number: int) -> Seen:
    """Hosts with random orders and recorded seeds: whether any is taken for blocks at the first look."""
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
    effects.of_side_effects,
    of_clocks,
    of_series,
    of_harm,
    effects.of_stalls,
    effects.of_slow,
    of_orders,
    differing.of_sites,
    of_reports,
]


def goals(ask: Ask) -> Iterator[Goal]:
    """All of them."""
    for rule in RULES:
        yield from rule(ask)
