# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of docs/verdicts_simulated.md that the simulation fills, each a function that asks for what it shows.

``ask(function of trials, arguments …, experiments=n)`` returns its Outcome. A table is made twice: first to know what
has to be played, then to be written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import forecasts
import guards
import rules as of_rules
import trials
from noise import NOISES
from trials import MOST, Outcome, Site

Ask = Callable[..., Outcome]
Rows = Iterator[list[str]]
"""The head of a table, and its rows."""

FASTER = {5: -math.log(0.95), 10: -math.log(0.9)}
"""Logarithm of a change by this many percent less time."""

SITES = {
    "1 comparison": (Site(1), 2000),
    "14": (Site(2, 7, 0.0, 2), 1000),
    "14, 70 % shared": (Site(2, 7, 0.7, 2), 1000),
    "700": (Site(100, 7, 0.0, 100), 200),
    "700, 70 % shared": (Site(100, 7, 0.7, 100), 200),
}
"""Shape, and experiments per cell. Hosts have orders of their own."""

CHANGES = ("IMPROVED", "REGRESSED")
ORDINARY = ("runs 2 %", "rounds 2 %")
NOISY = "rounds 5 %"
DRIFTS = [name for name in NOISES if name.startswith("drift")]
SQUARES = [name for name in NOISES if name.startswith("square")]


def lines(table: Rows) -> list[str]:
    """A table in Markdown."""
    head, *rows = table
    first, *others = (f"| {' | '.join(row)} |" for row in (head, *rows))
    return [first, "|---" * len(head) + "|", *others]


def site(ask: Ask, noise: str, place: str, change: float) -> Outcome:
    """A cell of the large tables."""
    shape, experiments = SITES[place]
    return ask(trials.site, noise, shape, change, MOST, "random", experiments=experiments)


def played(what: str, outcome: Outcome) -> str:
    """The head of a column, with the number of its experiments per cell."""
    return f"{what} ({outcome.experiments:,})"


def counts(*outcomes: Outcome) -> str:
    """The experiments behind a row."""
    return "/".join(f"{number:,}" for number in dict.fromkeys(outcome.experiments for outcome in outcomes))


def with_places(ask: Ask, change: float, shown: Callable[[Outcome], str]) -> Rows:
    """One row per noise, one column per shape of site; the goals hold for 100 hosts too."""
    shown_places = [place for place in SITES if not place.startswith("700")]
    heads = [played(place, site(ask, "runs 2 %", place, change)) for place in shown_places]
    yield ["noise", *heads]
    for noise in (noise for noise in NOISES if noise not in SQUARES[1::2]):
        yield [noise, *(shown(site(ask, noise, place, change)) for place in shown_places)]


def unchanged(ask: Ask) -> Rows:
    """Nothing changed."""
    return with_places(ask, 0.0, lambda found: f"{found.wrong:.1f}/{found.pct('UNCHANGED'):.0f}/{found.rounds:.0f}")


def found(outcome: Outcome) -> str:
    """Share that is IMPROVED, and median rounds."""
    return f"{outcome.pct('IMPROVED'):.0f}/{outcome.rounds:.0f}"


def five(ask: Ask) -> Rows:
    """A true -5 %."""
    return with_places(ask, FASTER[5], lambda outcome: f"{outcome.pct('IMPROVED'):.0f}/{outcome.pct('UNCHANGED'):.1f}")


def ten(ask: Ask) -> Rows:
    """A true -10 %."""
    return with_places(ask, FASTER[10], found)


def share(outcome: Outcome, *words: str) -> str:
    """Return a share in percent; the page says how its standard error follows from the number of experiments."""
    return f"{outcome.pct(*words):.1f}"


CONTROLS = [("rounds 2 %", 6), ("rounds 3 %", 6), (NOISY, 6), (NOISY, 8), (NOISY, 12), ("drift 0.5 % per run", 6)]


STARTS = [(1, 6), (2, 3), (4, 2), (5, 2), (6, 2), (8, 2)]
SPREADS = (0.02, 0.03)


def levels(ask: Ask) -> Rows:
    """Experiments with several levels."""
    head = ["noise", "levels", "any level wrong %", "all UNCHANGED %/rounds", "one at −10 %: found %/rounds"]
    yield [*head, "experiments"]
    for noise in ("rounds 2 %", NOISY, "drift 0.2 % per run", "drift 0.5 % per run", "square wave of 4 rounds"):
        for count in (2, 4, 8):
            none = ask(trials.levels, noise, count, 0.0, experiments=300)
            ten_less = ask(trials.levels, noise, count, FASTER[10], experiments=150)
            yield [
                noise,
                f"{count}",
                share(none, "wrong"),
                f"{none.pct('same'):.0f}/{none.rounds:.0f}",
                f"{ten_less.pct('found'):.0f}/{ten_less.rounds:.0f}",
                counts(none, ten_less),
            ]


MIXES = [
    *(Site(hosts, 7, 0.7) for hosts in (1, 2, 5, 6, 10)),
    *(Site(hosts, 7, 0.7, orders) for hosts, orders in ((2, 2), (5, 3), (5, 5), (6, 6), (10, 10))),
]
"""Few and many hosts, with one order and with several."""


LONG = [NOISY, "runs lognormal, sigma 0.15", "AR(1) 0.8", "bimodal: 15 % in 15 % of the rounds", *SQUARES[:6:2]]


def longer(ask: Ask) -> Rows:
    """A budget of 32 rounds per state."""
    head = ["noise", "wrong %", "UNCHANGED %/rounds", "−5 %: found %/UNCHANGED %", "−10 %: found %/rounds"]
    yield [*head, "experiments"]
    for noise in LONG:
        none = ask(trials.site, noise, Site(1), 0.0, 32, "random", experiments=800)
        five_less = ask(trials.site, noise, Site(1), FASTER[5], 32, "random", experiments=200)
        ten_less = ask(trials.site, noise, Site(1), FASTER[10], 32, "random", experiments=200)
        yield [
            noise,
            share(none, *CHANGES),
            f"{none.pct('UNCHANGED'):.0f}/{none.rounds:.0f}",
            f"{five_less.pct('IMPROVED'):.0f}/{five_less.pct('UNCHANGED'):.1f}",
            f"{ten_less.pct('IMPROVED'):.0f}/{ten_less.rounds:.0f}",
            counts(none, ten_less),
        ]


def sessions(ask: Ask) -> Rows:
    """Measurements that are continued."""
    yield ["noise", "shift between sessions", "wrong %", "UNCHANGED %", "−10 %: found %", "experiments"]
    for noise in ("rounds 2 %", NOISY, "drift 0.2 % per run"):
        for shift in (0.0, 0.05, 0.15):
            none = ask(trials.continued, noise, shift, 0.0, experiments=500)
            ten_less = ask(trials.continued, noise, shift, FASTER[10], experiments=200)
            yield [
                noise,
                f"{100.0 * shift:.0f} %",
                share(none, *CHANGES),
                f"{none.pct('UNCHANGED'):.0f}",
                f"{ten_less.pct('IMPROVED'):.0f}",
                counts(none, ten_less),
            ]


def why(ask: Ask) -> Rows:
    """What other protocols would do."""
    yield ["protocol, nothing changed, 6 rounds per state", "wrong %", "experiments"]
    for what, noise, order in (
        ("before, after, after, before, … under a square wave of 4 rounds", "square wave of 4 rounds", "ABBA"),
        ("the same in random order", "square wave of 4 rounds", "random"),
        ("all before, then all after, under a drift of 0.2 % per run", "drift 0.2 % per run", "blocks"),
        ("the same in random order", "drift 0.2 % per run", "random"),
    ):
        seen = ask(trials.site, noise, Site(1), 0.0, 6, order, experiments=500)
        yield [what, share(seen, *CHANGES), counts(seen)]


class Goals:
    """The goals of the method beside what was reached in the worst of the cells that they are about."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask

    def cells(self, noises: Iterable[str], places: Iterable[str], change: float) -> list[Outcome]:
        """Cells of the large tables."""
        return [site(self.ask, noise, place, change) for noise in noises for place in places]

    def rows(self) -> Rows:
        """One row per goal."""
        ask, places = self.ask, list(SITES)
        others = [noise for noise in NOISES if noise not in SQUARES]
        quiet, quiet_ten = (self.cells(ORDINARY, places, change) for change in (0.0, FASTER[10]))
        wrong = "nothing changed, any number of comparisons: wrong"
        yield self.most(wrong, 3, self.cells(others, places, 0.0), *CHANGES)
        groups = [ask(trials.site, NOISY, shape, 0.0, MOST, "random", experiments=1000) for shape in MIXES]
        yield self.most("nothing changed, 1 to 10 hosts with one order or several: wrong", 3, groups, *CHANGES)
        yield self.least("nothing changed, 2 % noise: UNCHANGED", 80, quiet, "UNCHANGED")
        many = self.cells([NOISY], places[1:3], FASTER[10])
        yield self.least("−10 %, rounds 5 %, 14 comparisons: IMPROVED", 90, many, "IMPROVED")
        drifting = self.cells(DRIFTS, places, FASTER[10])
        yield self.least("−10 %, drift up to 0.5 % per run: IMPROVED", 95, drifting, "IMPROVED")
        drifting = self.cells(DRIFTS, places, 0.0)
        yield self.least("nothing changed, drift up to 0.5 % per run: UNCHANGED", 90, drifting, "UNCHANGED")
        yield self.most("square waves of 2 to 8 rounds: wrong", 5, self.cells(SQUARES, places, 0.0), *CHANGES)
        restarted = [
            ask(trials.starts, *shape, spread, 0.0, True, experiments=1000) for shape in STARTS for spread in SPREADS
        ]
        yield self.most("states reached by restarts: wrong", 5, restarted, *CHANGES)
        held = [ask(trials.control, noise, 0.0, rounds, experiments=2000) for noise, rounds in CONTROLS]
        yield self.most("a control that did not move blocks", 2, held, "blocked")
        tails = [ask(trials.guard, name, count, 1.0, experiments=1000) for name in trials.TAILS for count in (1, 7)]
        yield self.most("the guard of the longest round trip fires without a cause", 2, tails, "fires")
        yield self.rounds("−10 %, 2 % noise: median rounds", 6, quiet_ten)
        yield self.rounds("nothing changed, 2 % noise: median rounds", 8, quiet)

    @staticmethod
    def most(goal: str, limit: float, cells: list[Outcome], *words: str) -> list[str]:
        """A share that should not be larger."""
        worst = max(cells, key=lambda cell: cell.pct(*words))
        return [goal, f"≤{limit}", _marked(share(worst, *words), worst.pct(*words) <= limit), counts(worst)]

    @staticmethod
    def least(goal: str, limit: float, cells: list[Outcome], *words: str) -> list[str]:
        """A share that should not be smaller."""
        worst = min(cells, key=lambda cell: cell.pct(*words))
        return [goal, f"≥{limit}", _marked(share(worst, *words), worst.pct(*words) >= limit), counts(worst)]

    @staticmethod
    def rounds(goal: str, limit: int, cells: list[Outcome]) -> list[str]:
        """Rounds per state that should not be more."""
        most = max(cells, key=lambda cell: cell.rounds)
        return [goal, f"≤{limit}", _marked(f"{most.rounds:g}", most.rounds <= limit), counts(most)]


def _marked(reached: str, met: bool) -> str:
    return reached if met else f"**{reached}, missed**"


def goals(ask: Ask) -> Rows:
    """The goals."""
    yield ["goal", "limit, % or rounds", "worst case", "experiments"]
    yield from Goals(ask).rows()


def judged(found: Iterable[of_rules.Goal]) -> Rows:
    """Goals of rules, each with its worst cell."""
    yield ["rule and case", "limit in %", "worst case in %", "experiments"]
    for goal in found:
        judge = Goals.least if goal.least else Goals.most
        yield judge(goal.text, goal.limit, goal.cells, *goal.words)


TABLES: dict[str, Callable[[Ask], Rows]] = {
    "goals": goals,
    "rules": lambda ask: judged(of_rules.goals(ask)),
    "why": why,
    "unchanged": unchanged,
    "five": five,
    "ten": ten,
    "longer": longer,
    "levels": levels,
    "sessions": sessions,
    "batches": lambda ask: judged(guards.goals(ask)),
    "forecasts": lambda ask: judged(forecasts.goals(ask)),
}
