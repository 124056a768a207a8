# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated experiments: the rounds are drawn, the order, the looks and the verdicts are the collection's own.

Values are logarithms, and above 0 is better. What several workloads of a host measured is pooled before it becomes a
round here, as the mean of the logarithms; pooled.line() does the same with the rounds of single workloads.
"""

from __future__ import annotations

import functools
import itertools
import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net.histogram import WIDTH
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.round import (
    MUST_MATCH,
    SHOWN,
    UNKNOWN,
    End,
    Layout,
    Protocol,
    Round,
    Workload,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import gates, looks
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.verdict import INCONCLUSIVE
from noise import NOISES, RUNS, Logs

MATERIAL = 0.05
MOST = 16
"""The budget of rounds per state, as measure_max_rounds has it."""
FIRST_SESSION = 8
"""Rounds per state before a measurement is continued."""
BEFORE, AFTER = looks.BEFORE, looks.AFTER

WORKLOAD = Workload("ping", "ping", None, 1, 1, 1, False, "tcp", "av2_us", "µs", "lower", "round trip", (), "network")
CONTROL = WORKLOAD._replace(name="control", control=True)
RECORD = Round(
    host="app1",
    peer="app2",
    phase=BEFORE,
    number=1,
    workload=WORKLOAD,
    protocol=Protocol("full", 6, 5, 1, "alternate"),
    started=0,
    finished=None,
    layout=Layout(tuple((run, False, True, None) for run in range(RUNS)), tuple(range(RUNS)), RUNS),
    times=array("q", [UNKNOWN] * RUNS),
    values=(1.0,) * RUNS,
    median=1.0,
    throughput=None,
    longest=None,
    cpu=(None, None),
    idle=(None, None),
    retransmits=None,
    retransmit_runs=0,
    ends=(None, None),
    links=(),
    clock_step_s=0.0,
)


class Outcome(NamedTuple):
    """How often each word was seen in how many experiments, and the median of the rounds per state."""

    seen: Counter[str]
    rounds: float
    experiments: int

    def pct(self, *words: str) -> float:
        """Share of the experiments with one of these words, which exclude each other."""
        return 100.0 * sum(self.seen[word] for word in words) / self.experiments

    @property
    def wrong(self) -> float:
        """Share of the verdicts that would be wrong if nothing changed."""
        return self.pct("IMPROVED", "REGRESSED")


class Goal(NamedTuple):
    """A goal: at most, or at least, this many percent of the experiments of the worst cell have one of the words."""

    text: str
    limit: float
    least: bool
    words: tuple[str, ...]
    cells: list[Outcome]


Seen = tuple[list[str], int]
"""The words and the rounds per state of an experiment."""


def collect(experiments: Iterable[tuple[Iterable[str], int]]) -> Outcome:
    """The words and the rounds of all experiments."""
    seen: Counter[str] = Counter()
    rounds = []
    for words, used in experiments:
        seen.update(words)
        rounds.append(used)
    return Outcome(seen, float(np.median(rounds)), len(rounds))


def many(one: Callable[..., Seen | None]) -> Callable[..., Outcome]:
    """Repeat an experiment, whose last argument is its number, as often as ``experiments`` or the last argument says.

    One that gives nothing does not count.
    """

    @functools.wraps(one)
    def repeated(*given: Any, **named: int) -> Outcome:
        *arguments, experiments = (*given, *named.values())
        return collect(filter(None, (one(*arguments, number) for number in range(experiments))))

    return repeated


class Host:
    """The rounds of one host, pooled over its workloads, made when they are needed."""

    def __init__(self, name: str, order: Sequence[str], values: Sequence[float]) -> None:
        self.name, self.order, self.values = name, order, values
        self.starts: Sequence[str] = ()
        self.seed = ""
        self.sessions: Sequence[int] = [1] * len(order)
        self.places: Sequence[int] = range(len(order))
        self.rounds: list[Round] = []

    def line(self, positions: int) -> pooled.Line:
        """The collection's own view of the rounds in the first positions of the order."""
        return pooled.line(self.name, self.records(positions))

    def records(self, positions: int) -> list[Round]:
        """The rounds in the first positions of the order."""
        for place in range(len(self.rounds), positions):
            item = replace(
                RECORD,
                phase=self.order[place],
                number=1 + self.order[:place].count(self.order[place]),
                started=1_000_000 * self.places[place],
                median=math.exp(-self.values[place]),
                protocol=RECORD.protocol._replace(session=self.sessions[place], seed=self.seed),
                ends=(end_of(self.starts[place]), None) if self.starts else (None, None),
            )
            self.rounds.append(item)
        return self.rounds[:positions]


def end_of(boot_id: str) -> End:
    """An end of which only its start is known."""
    return End((None,) * len(MUST_MATCH), tuple(boot_id if item == "boot_id" else None for item in SHOWN))


def until_decided(judge: Callable[[int], str], most: int = MOST) -> tuple[str, int]:
    """Judge at each look until there is a verdict or the budget is spent: the verdict, and the rounds per state."""
    word, used = INCONCLUSIVE, most
    for look in looks.LOOKS:
        if look.rounds <= most and word == INCONCLUSIVE:
            word, used = judge(look.rounds), look.rounds
    return word, used


def changed(order: Sequence[str], values: Iterable[float], change: float) -> list[float]:
    """The values with the change in the state after."""
    return [value + (change if state == AFTER else 0.0) for state, value in zip(order, values, strict=True)]


def generator(seed: str) -> np.random.Generator:
    """The same numbers for the same text."""
    return np.random.default_rng([*seed.encode()])


class Site(NamedTuple):
    """Hosts that measure the same workloads.

    ``shared``: share of the variance that all comparisons have in common. ``orders``: how many orders there are; hosts
    take them in turns.
    """

    hosts: int
    workloads: int = 1
    shared: float = 0.0
    orders: int = 1


@many
def site(noise: str, plan: Site, change: float, most: int, order: str, number: int) -> Seen:
    """The verdict of a site in which the change is worth ``change`` on every host."""
    seed = f"{noise} {number}"
    rng = generator(seed)
    hosts = drawn(rng, noise, plan, change, [ORDERS[order](f"{seed} {name}", most) for name in range(plan.orders)])
    word, used = until_decided(
        lambda rounds: pooled.of_site([host.line(2 * rounds) for host in hosts], MATERIAL).word, most
    )
    return [word], used


def drawn(
    rng: np.random.Generator, noise: str, plan: Site, change: float, orders: Sequence[Sequence[str]]
) -> list[Host]:
    """The hosts of a site with what they will measure."""
    length = len(orders[0])
    values = NOISES[noise].draw(rng, plan.hosts * plan.workloads, length, plan.shared)
    means = values.reshape(plan.hosts, plan.workloads, length).mean(axis=1).tolist()
    return [
        Host(f"app{number}", order, changed(order, line, change))
        for number, (line, order) in enumerate(zip(means, itertools.cycle(orders)))
    ]


def abba(_seed: str, most: int) -> list[str]:
    """Before, after, after, before and again."""
    return ([BEFORE, AFTER, AFTER, BEFORE] * most)[: 2 * most]


def in_blocks(_seed: str, most: int) -> list[str]:
    """All rounds of one state, then all of the other."""
    return [BEFORE] * most + [AFTER] * most


ORDERS: dict[str, Callable[[str, int], list[str]]] = {"random": looks.order, "ABBA": abba, "blocks": in_blocks}


@many
def control(noise: str, moved: float, rounds: int, number: int) -> Seen:
    """One look at a control that is worth ``moved`` more in the state after: how often it blocks the verdict."""
    seed = f"control {noise} {number}"
    order = looks.order(seed, rounds)
    (values,) = NOISES[noise].draw(generator(seed), 1, len(order), 0.0).tolist()
    sides = pooled.sides(Host("app1", order, changed(order, values, moved)).line(len(order)))
    return ["blocked"] * gates.control(*sides, MATERIAL).moved, rounds


TAILS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "lognormal, sigma 1": lambda rng, size: rng.normal(0.0, 1.0, size),
    "Pareto 1.5": lambda rng, size: np.log1p(rng.pareto(1.5, size)),
    "Pareto 1": lambda rng, size: np.log1p(rng.pareto(1.0, size)),
    "a tenth of the runs 20 times as long": lambda rng, size: (
        rng.normal(0.0, 0.3, size) + math.log(20.0) * (rng.random(size) < 0.1)
    ),
}
"""Logarithms of the longest round trip of a run."""


TRIPS = 10_000
"""Single round trips of a round."""
SLOWNESS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "lognormal": lambda rng, size: rng.lognormal(0.0, 0.1, size),
    "Pareto 2": lambda rng, size: 1.0 + 0.1 * rng.pareto(2.0, size),
}
"""Round trips of a workload, as a part of the usual one."""


def places(trips: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bins of a histogram that have round trips, and how many."""
    return np.unique(np.floor(np.log(trips) / math.log(WIDTH)).astype(int), return_counts=True)


def histogram(found: np.ndarray, counts: np.ndarray) -> str:
    """As records have it."""
    return " ".join(f"{place}:{count}" for place, count in zip(found.tolist(), counts.tolist(), strict=True) if count)


@many
def guard(tail: str, workloads: int, times: float, number: int) -> Seen:
    """How often the first look says that the longest round trip rose if it is ``times`` as long after the change."""
    rounds = looks.LOOKS[0].rounds
    seed = f"guard {tail} {number}"
    order = looks.order(seed, rounds)
    values = longest(generator(seed), tail, workloads, len(order)).mean(axis=0).tolist()
    sides = pooled.sides(Host("app1", order, changed(order, values, math.log(times))).line(len(order)))
    return ["fires"] * gates.longer(*sides).sure, rounds


def longest(rng: np.random.Generator, tail: str, series: int, rounds: int) -> Logs:
    """Logarithms of the longest round trip, the median of the runs of each round."""
    return np.median(TAILS[tail](rng, (series, rounds, RUNS)), axis=-1)


@many
def starts(per_state: int, rounds: int, spread: float, change: float, known: bool, number: int) -> Seen:
    """States that are reached by a restart; each start has a level of its own.

    ``per_state`` starts of ``rounds`` rounds each, in random order; ``known``: the records name the starts.
    """
    seed = f"starts {per_state} {spread} {number}"
    rng = generator(seed)
    states = [str(state) for state in rng.permutation([BEFORE, AFTER] * per_state)]
    order = [state for state in states for _round in range(rounds)]
    boots = [f"{place}" for place in range(len(states)) for _round in range(rounds)]
    worth = np.repeat(rng.normal(0.0, spread, len(states)), rounds)
    (values,) = NOISES["runs 2 %"].draw(rng, 1, len(order), 0.0)
    host = Host("app1", order, changed(order, (values + worth).tolist(), change))
    host.starts = boots if known else ()
    return [pooled.of_site([host.line(len(order))], MATERIAL).word], per_state * rounds


@many
def continued(noise: str, shift: float, change: float, number: int) -> Seen:
    """A measurement of 8 rounds per state that is continued on another day, when everything is ``shift`` faster.

    The verdicts at the looks before that are left aside.
    """
    seed = f"continued {noise} {number}"
    order = looks.order(seed, MOST)
    (values,) = NOISES[noise].draw(generator(seed), 1, len(order), 0.0).tolist()
    later = [value + (shift if place >= 2 * FIRST_SESSION else 0.0) for place, value in enumerate(values)]
    host = Host("app1", order, changed(order, later, change))
    host.sessions = [1 if place < 2 * FIRST_SESSION else 2 for place in range(len(order))]
    word, used = until_decided(
        lambda rounds: (
            pooled.of_site([host.line(2 * rounds)], MATERIAL).word if rounds > FIRST_SESSION else INCONCLUSIVE
        )
    )
    return [word], used


@many
def levels(noise: str, count: int, change: float, number: int) -> Seen:
    """An experiment with ``count`` levels beside the baseline, of which the last one is worth ``change``.

    ``found``: that level is IMPROVED. ``wrong``: any other level is IMPROVED or REGRESSED.
    """
    names = [f"level{number}" for number in range(1, count + 1)]
    seed = f"levels {noise} {count} {number}"
    order = looks.order(seed, MOST, ["baseline", *names])
    (values,) = NOISES[noise].draw(generator(seed), 1, len(order), 0.0).tolist()
    words = {}
    rounds = 0
    for name in names:
        places = [place for place, state in enumerate(order) if state in ("baseline", name)]
        states = [BEFORE if order[place] == "baseline" else AFTER for place in places]
        worth = change if name == names[-1] else 0.0
        host = Host("app1", states, changed(states, [values[place] for place in places], worth))
        host.places = places
        words[name], used = until_decided(
            lambda rounds, host=host: pooled.of_site([host.line(2 * rounds)], MATERIAL, count).word
        )
        rounds = max(rounds, used)
    last = words.pop(names[-1]) if change else ""
    wrong = any(word in ("IMPROVED", "REGRESSED") for word in words.values())
    same = [word for word in words.values() if word == "UNCHANGED"]
    return ["wrong"] * wrong + ["found"] * (last == "IMPROVED") + ["same"] * (len(same) == len(words)), rounds
