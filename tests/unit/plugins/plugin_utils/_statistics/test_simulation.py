# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the verdict is right: a small share of `make simulate`, and proof that it notices a broken rule.

Seeds are fixed, so every figure here is the same on every machine.
"""

from __future__ import annotations

import importlib.util
import math
import sys

import guards
import numpy as np
import pytest
import reports
import rules
import tables
import trials
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import gates, looks
from noise import NOISES, Noise, runs_of_2_pct, spikes
from places import CHECKOUT
from trials import MOST, Site

FOLDER = CHECKOUT / "tests" / "simulate"
SPEC = importlib.util.spec_from_file_location("simulate_run", FOLDER / "run.py")
run = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = run  # for the processes that play
SPEC.loader.exec_module(run)

TEN_LESS = -math.log(0.9)
ONE = Site(1)
NOISY = "rounds 3 %, runs 3 %, spikes in 10 % of the runs"
DRIFTING = "the same, with a drift of 0.5 % per run"
BIT_DRIFTING = "the same, with a drift of 0.05 % per run"


@pytest.fixture(autouse=True)
def noises(monkeypatch):
    model = NOISES[NOISY].model
    monkeypatch.setitem(NOISES, DRIFTING, Noise(model, 0.005))
    monkeypatch.setitem(NOISES, BIT_DRIFTING, Noise(model, 0.0005))
    monkeypatch.setitem(NOISES, "quiet", Noise(spikes(0.01, 0.01, 0.0)))


def site(noise, change=0.0, shape=ONE, experiments=400, most=MOST, order="random"):
    return trials.site(noise, shape, change, most, order, experiments)


def test_three_rounds_conclude_nothing():
    order = looks.order("three", 3)
    host = trials.Host("app1", order, trials.changed(order, [0.0] * 6, math.log(2.0)))
    assert pooled.of_site([host.line(6)], trials.MATERIAL).word == "INCONCLUSIVE"


def test_pooled_values_stand_for_the_rounds_of_single_workloads():
    order = looks.order("seven", 6)
    values = NOISES["rounds 5 %"].draw(trials.generator("seven"), 7, len(order), 0.0)
    whole = trials.Host("app1", order, values.mean(axis=0).tolist()).line(len(order))
    rounds = []
    for place, line in enumerate(values.tolist()):
        host = trials.Host("app1", order, line)
        host.line(len(order))
        name = trials.RECORD.workload._replace(name=f"{place}")
        rounds += [trials.replace(item, workload=name) for item in host.rounds]
    single = pooled.line("app1", rounds)
    assert single.slots == whole.slots
    assert [value for _state, value in single.readings] == pytest.approx([value for _state, value in whole.readings])


def test_a_missed_goal_is_reported():
    def outcome(wrong):
        return trials.collect([(["IMPROVED"], 6)] * wrong + [(["UNCHANGED"], 6)] * (100 - wrong))

    assert tables.Goals.most("wrong", 3, [outcome(1), outcome(3)], "IMPROVED")[1:] == ["≤3", "3.0", "100"]
    assert tables.Goals.most("wrong", 3, [outcome(4), outcome(3)], "IMPROVED")[2] == "**4.0, missed**"
    assert tables.Goals.least("same", 97, [outcome(1), outcome(3)], "UNCHANGED")[1:] == ["≥97", "97.0", "100"]
    assert tables.Goals.least("same", 97, [outcome(4), outcome(3)], "UNCHANGED")[2] == "**96.0, missed**"
    assert tables.Goals.rounds("rounds", 6, [outcome(1)])[1:] == ["≤6", "6", "100"]
    assert tables.Goals.rounds("rounds", 5, [outcome(1)])[2] == "**6, missed**"


LEVEL_NOISES = ("rounds 5 %", "drift 0.2 % per run")
UNLIKE = [
    (rules.differing.Plan(speeds=rules.differing.SPEEDS, gain=0.12, odd=-0.1), "harmed"),
    (rules.differing.Plan(drawn=2, gain=0.12, odd=-0.15, rates=True), "harmed"),
    (rules.differing.Plan(hosts=5, gain=0.15, fades=True), "gone"),
    (rules.differing.Plan(hosts=8, gain=0.1, hosts_odd=(1, -0.2)), "warned"),
]


def of_site(noise, change=0.0, shape=ONE, experiments=400, most=MOST, order="random"):
    return trials.site, (noise, shape, change, most, order), experiments


def few(trial, *arguments, experiments=60):
    return trial, arguments, experiments


WRONG = "IMPROVED or REGRESSED"
MANY, SHARED, HUNDRED = (tables.SITES[place][0] for place in ("14", "14, 70 % shared", "700, 70 % shared"))
TENTH = {"IMPROVED": (90, 100), "REGRESSED": (0, 0), "UNCHANGED": (0, 2)}
differing = rules.differing
GOALS = [
    (of_site(NOISY, experiments=600), {WRONG: (0, 2)}),
    (of_site(DRIFTING, experiments=600), {WRONG: (0, 2)}),
    *((of_site(noise, TEN_LESS), TENTH) for noise in (NOISY, BIT_DRIFTING, DRIFTING)),
    (of_site(NOISY, -math.log(1.1)), {"REGRESSED": (90, 100), "IMPROVED": (0, 0), "UNCHANGED": (0, 2)}),
    (of_site("quiet"), {"UNCHANGED": (99, 100), WRONG: (0, 0), "rounds": (6, 6)}),
    # why the report calls blocks weaker evidence: the same drift, no change, and nearly every verdict wrong
    (of_site(DRIFTING, order="blocks", most=6), {WRONG: (50, 100)}),
    # many comparisons make a wrong verdict no more likely, and a hundred hosts are judged by the host
    *((of_site("rounds 5 %", 0.0, shape, 100), {WRONG: (0, 3)}) for shape in (MANY, SHARED)),
    *((of_site("rounds 2 %", 0.0, shape, 100), {"UNCHANGED": (80, 100)}) for shape in (MANY, SHARED)),
    *(
        (of_site("rounds 5 %", TEN_LESS, shape, 100), {"IMPROVED": (90, 100), "rounds": (6, 8)})
        for shape in (MANY, SHARED)
    ),
    (of_site("rounds 5 %", 0.0, HUNDRED, 10), {"UNCHANGED": (100, 100)}),
    # a drift hides neither a change nor that there is none, and no period of a disturbance looks like a change
    *((of_site(noise, TEN_LESS, experiments=200), {"IMPROVED": (95, 100)}) for noise in tables.DRIFTS),
    *((of_site(noise, experiments=200), {"UNCHANGED": (90, 100)}) for noise in tables.DRIFTS),
    *((of_site(f"square wave of {n} rounds", experiments=200), {WRONG: (0, 5)}) for n in range(2, 9)),
    # what differs from start to start is not a change
    *((few(trials.starts, 1, 6, n, 0.0, True, experiments=200), {"INCONCLUSIVE": (100, 100)}) for n in (0.02, 0.03)),
    *((few(trials.starts, 5, 2, n, 0.0, True, experiments=400), {WRONG: (0, 3)}) for n in (0.02, 0.03)),
    *((few(trials.starts, 6, 2, n, TEN_LESS, True, experiments=200), {"IMPROVED": (90, 100)}) for n in (0.02, 0.03)),
    # a control blocks only if it moved, and long round trips are told only for a cause
    (few(trials.control, "rounds 5 %", 0.0, 6, experiments=1000), {"blocked": (0, 2)}),
    (few(trials.control, "rounds 2 %", TEN_LESS, 6, experiments=200), {"blocked": (95, 100)}),
    *((few(trials.guard, tail, 1, 1.0, experiments=400), {"fires": (0, 2)}) for tail in trials.TAILS),
    *((few(trials.guard, tail, 7, 3.0, experiments=200), {"fires": (90, 100)}) for tail in trials.TAILS),
    # an experiment with several levels is as careful as one change
    *((few(trials.levels, noise, 4, 0.0, experiments=100), {"wrong": (0, 5)}) for noise in LEVEL_NOISES),
    *((few(trials.levels, noise, 4, TEN_LESS, experiments=50), {"found": (90, 100)}) for noise in LEVEL_NOISES),
    (few(trials.levels, "drift 0.5 % per run", 8, TEN_LESS, experiments=40), {"found": (95, 100)}),
    # rules beside the verdict
    (few(rules.restarts, "50 and 500", 0.0), {"REGRESSED": (0, 3)}),
    (few(rules.effects.failing, 10, 7, 0.01, 0.01), {"warns": (0, 2)}),
    (few(rules.effects.resending, 10, 7, 0.2, 0.2, False), {"warns": (0, 2)}),
    (few(rules.effects.costing, 2, 7, 0.08, 0.0), {"warns": (0, 2.5)}),
    (few(rules.clock, 12.0, 5.0, TEN_LESS, "per s"), {"UNCHANGED": (0, 0)}),
    (few(rules.summed, 6, 0.05, 0.0), {"better": (0, 3)}),
    (few(rules.bends, (1.0,) * 8, 3, 0.05), {"knee": (0, 2)}),
    (few(rules.harm, 10, 0.05, False, 0.0), {"false": (0, 2)}),
    (few(rules.effects.stalls, 1, "rounds 2 %", 0.0, 0.25), {"silent": (0, 0)}),
    (few(rules.effects.slow, 6, "Pareto 2", 0.0, 10.0), {"warns": (0, 0)}),
    (few(rules.drawn, 10), {"blocks": (0, 0)}),
    (few(differing.renamed, 0.1), {"other": (0, 0)}),
    (few(rules.restarts, "50 and 500", TEN_LESS, experiments=20), {"IMPROVED": (90, 100)}),
    (few(rules.effects.failing, 10, 7, 0.01, 0.15, experiments=20), {"warns": (90, 100)}),
    (few(rules.effects.resending, 10, 7, 0.2, 1.0, False, experiments=20), {"warns": (90, 100)}),
    (few(rules.effects.costing, 2, 7, 0.08, TEN_LESS, experiments=20), {"warns": (90, 100)}),
    (few(rules.clock, 100.0, 1.0, TEN_LESS, "s", experiments=20), {"IMPROVED": (90, 100)}),
    (few(rules.summed, 6, 0.03, 0.03, experiments=20), {"better": (90, 100)}),
    (few(rules.bends, (1.0, 2.0, 4.0, 4.0, 4.0), 3, 0.05, experiments=20), {"knee": (90, 100)}),
    (few(rules.harm, 10, 0.02, False, 0.2, experiments=20), {"harmed": (90, 100)}),
    (few(rules.effects.slow, 6, "lognormal", 0.002, 10.0, experiments=20), {"warns": (90, 100)}),
    (few(rules.effects.slow, 6, "lognormal", 0.015, 4.0, experiments=20), {"warns": (90, 100)}),
    *((few(differing.sites, plan, experiments=20), {word: (90, 100)}) for plan, word in UNLIKE),
    (few(differing.experiment, 0.35, experiments=20), {"winner": (90, 100)}),
    *(
        (
            few(
                guards.batch,
                guards.Batch("rounds 2 %", 3, failing=(0.01, 0.01), slower=slower, hit=guards.FIRST_HOST),
                experiments=40,
            ),
            {"stops": ends},
        )
        for slower, ends in ((0.0, (0, 0)), (guards.TENTH, (95, 100)))
    ),
]


@pytest.mark.nightly
@pytest.mark.parametrize(("cell", "wanted"), GOALS)
def test_a_goal_of_the_method_is_reached(cell, wanted):
    """The least and the most percent of the experiments that say each word, and the median of the rounds."""
    trial, arguments, experiments = cell
    found = trial(*arguments, experiments)
    for words, (least, most) in wanted.items():
        assert least <= (found.rounds if words == "rounds" else found.pct(*words.split(" or "))) <= most, words


@pytest.mark.nightly
class TestBrokenRules:
    """A broken rule is noticed."""

    def test_a_level_of_5_pct_at_every_look_would_be_noticed(self, monkeypatch):
        assert site("rounds 5 %").wrong <= 3.0
        monkeypatch.setattr(looks, "LOOKS", tuple(look._replace(change=0.05, same=0.025) for look in looks.LOOKS))
        assert site("rounds 5 %").wrong > 5.0

    def test_a_fixed_order_would_be_noticed(self):
        assert site("square wave of 4 rounds", experiments=200, order="ABBA").wrong > 20.0

    def test_a_slope_that_is_left_in_would_be_noticed(self, monkeypatch):
        monkeypatch.setattr(
            "ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.series.slope", lambda *_: 0
        )
        assert site("drift 0.5 % per run", TEN_LESS, experiments=100).pct("IMPROVED") < 50.0

    def test_levels_whose_rounds_are_counted_instead_of_timed_would_be_noticed(self, monkeypatch):
        """Rounds of two levels are not evenly spaced: counted, they bend the drift."""
        drift = "drift 0.5 % per run"
        assert trials.levels(drift, 8, 0.0, 40).pct("same") >= 90.0
        monkeypatch.setattr(pooled, "_seconds", lambda begins: ())
        assert trials.levels(drift, 8, 0.0, 40).pct("same") < 50.0

    def test_rounds_of_one_start_taken_for_evidence_would_be_noticed(self):
        assert trials.starts(1, 6, 0.03, 0.0, False, 200).wrong > 10.0

    def test_a_control_that_blocks_by_its_estimate_would_be_noticed(self, monkeypatch):
        monkeypatch.setattr(gates, "CONTROL_CONFIDENCE", 0.5)
        assert trials.control("rounds 5 %", 0.0, 6, 300).pct("blocked") > 2.0


@pytest.mark.nightly
class TestTheSimulation:
    """Rules beside the verdict, and the simulation itself."""

    def test_shared_noise_keeps_the_variance(self):
        rng = np.random.default_rng(1)
        drawn = np.array([Noise(runs_of_2_pct).draw(rng, 20, 16, 0.7) for _group in range(200)])
        assert drawn.std() == pytest.approx(NOISES["runs 2 %"].draw(rng, 2000, 16, 0.0).std(), rel=0.02)
        assert drawn.mean(axis=1).std() / drawn.std() == pytest.approx(math.sqrt(0.7 + 0.3 / 20), rel=0.03)

    def test_whole_reports_say_nothing_where_nothing_changed(self, monkeypatch):
        assert reports.whole(0, 6).seen["any"] == 0
        # a guard that fires by chance is noticed
        monkeypatch.setattr(gates, "HARM_P", 1.0)
        assert reports.whole(0, 6).seen["warned"] > 0

    def test_a_share_is_played_and_written_by_name(self):
        ((name, lines),) = run.tables(["sessions"], 1.0, 1).items()
        assert name == "sessions"
        assert lines[2].endswith("| 20 |")
        assert len(lines) == 11
