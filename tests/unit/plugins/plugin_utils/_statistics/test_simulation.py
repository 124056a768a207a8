# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the verdict is right: a small share of `make simulate`, and proof that it notices a broken rule.

Seeds are fixed, so every figure here is the same on every machine.
"""

from __future__ import annotations

import importlib.util
import math
import sys

import numpy as np
import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import gates, looks
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.ranks import mann_whitney
from places import CHECKOUT

FOLDER = CHECKOUT / "tests" / "simulate"
sys.path.append(str(FOLDER))
import guards  # noqa: E402
import reports  # noqa: E402
import rules  # noqa: E402
import tables  # noqa: E402
import trials  # noqa: E402
from noise import NOISES, Noise, runs_of_2_pct, spikes  # noqa: E402
from trials import MOST, Site, Together  # noqa: E402

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


def test_a_goal_that_is_missed_is_said():
    def outcome(wrong):
        return trials.collect([(["IMPROVED"], 6)] * wrong + [(["UNCHANGED"], 6)] * (100 - wrong))

    assert tables.Goals.most("wrong", 3, [outcome(1), outcome(3)], "IMPROVED")[1:] == ["≤3", "3.0", "100"]
    assert tables.Goals.most("wrong", 3, [outcome(4), outcome(3)], "IMPROVED")[2] == "**4.0, missed**"
    assert tables.Goals.least("same", 97, [outcome(1), outcome(3)], "UNCHANGED")[1:] == ["≥97", "97.0", "100"]
    assert tables.Goals.least("same", 97, [outcome(4), outcome(3)], "UNCHANGED")[2] == "**96.0, missed**"
    assert tables.Goals.rounds("rounds", 6, [outcome(1)])[1:] == ["≤6", "6", "100"]
    assert tables.Goals.rounds("rounds", 5, [outcome(1)])[2] == "**6, missed**"


@pytest.mark.nightly
class TestVerdicts:
    @pytest.mark.parametrize(
        "noise", [NOISY, DRIFTING], ids=["noise and spikes", "noise, spikes and 0.5 % drift per run"]
    )
    def test_without_a_change_at_most_two_percent_are_wrong(self, noise):
        found = site(noise, experiments=600)
        assert found.wrong <= 2.0
        assert set(found.seen) <= {"IMPROVED", "REGRESSED", "UNCHANGED", "INCONCLUSIVE"}

    @pytest.mark.parametrize(
        ("noise", "change", "found", "never"),
        [
            (NOISY, TEN_LESS, "IMPROVED", "REGRESSED"),
            (BIT_DRIFTING, TEN_LESS, "IMPROVED", "REGRESSED"),
            (DRIFTING, TEN_LESS, "IMPROVED", "REGRESSED"),
            (NOISY, -math.log(1.1), "REGRESSED", "IMPROVED"),
        ],
    )
    def test_a_tenth_less_or_more_is_found(self, noise, change, found, never):
        outcome = site(noise, change)
        assert outcome.pct(found) >= 90.0
        assert outcome.pct(never) == 0.0
        assert outcome.pct("UNCHANGED") <= 2.0

    def test_a_quiet_system_measured_twice_is_unchanged(self):
        found = site("quiet")
        assert found.pct("UNCHANGED") >= 99.0
        assert found.wrong == 0.0
        assert found.rounds == 6.0

    def test_blocks_under_drift_would_lie(self):
        """Why the report calls blocks weaker evidence: the same drift, no change, and nearly every verdict wrong."""
        assert site(DRIFTING, order="blocks", most=6).wrong >= 50.0

    def test_pooled_runs_would_lie(self):
        """Why the round is the unit of evidence: 15 runs of one session per state, no change, most significant."""
        rng = np.random.default_rng(9)
        wrong = 0
        for _experiment in range(400):
            before, after = np.exp(rng.normal(0.0, 0.03, (2, 1)) + rng.normal(0.0, 0.03, (2, 15))).tolist()
            wrong += mann_whitney(before, after)[1] < 0.05
        assert wrong >= 200


@pytest.mark.nightly
class TestGoals:
    """The goals of the method."""

    @pytest.mark.parametrize("place", ["14", "14, 70 % shared"])
    def test_many_comparisons_make_a_wrong_verdict_no_more_likely(self, place):
        shape = tables.SITES[place][0]
        assert site("rounds 5 %", shape=shape, experiments=100).wrong <= 3.0
        assert site("rounds 2 %", shape=shape, experiments=100).pct("UNCHANGED") >= 80.0
        found = site("rounds 5 %", TEN_LESS, shape, experiments=100)
        assert found.pct("IMPROVED") >= 90.0
        assert found.rounds <= 8.0

    def test_a_hundred_hosts_are_judged_by_the_host(self):
        found = site("rounds 5 %", shape=tables.SITES["700, 70 % shared"][0], experiments=10)
        assert found.seen == {"UNCHANGED": 10}

    @pytest.mark.parametrize("noise", tables.DRIFTS)
    def test_a_drift_hides_neither_a_change_nor_that_there_is_none(self, noise):
        assert site(noise, TEN_LESS, experiments=200).pct("IMPROVED") >= 95.0
        assert site(noise, experiments=200).pct("UNCHANGED") >= 90.0

    @pytest.mark.parametrize("period", range(2, 9))
    def test_no_period_of_a_disturbance_looks_like_a_change(self, period):
        assert site(f"square wave of {period} rounds", experiments=200).wrong <= 5.0

    @pytest.mark.parametrize("spread", [0.02, 0.03])
    def test_what_differs_from_start_to_start_is_no_change(self, spread):
        assert trials.starts(1, 6, spread, 0.0, True, 200).seen == {"INCONCLUSIVE": 200}
        assert trials.starts(5, 2, spread, 0.0, True, 400).wrong <= 3.0
        assert trials.starts(6, 2, spread, TEN_LESS, True, 200).pct("IMPROVED") >= 90.0

    def test_a_control_blocks_only_if_it_moved(self):
        assert trials.control("rounds 5 %", 0.0, 6, 1000).pct("blocked") <= 2.0
        assert trials.control("rounds 2 %", TEN_LESS, 6, 200).pct("blocked") >= 95.0

    @pytest.mark.parametrize("tail", trials.TAILS)
    def test_the_guard_of_the_longest_round_trip_fires_only_for_a_cause(self, tail):
        assert trials.guard(tail, 1, 1.0, 400).pct("fires") <= 2.0
        assert trials.guard(tail, 7, 3.0, 200).pct("fires") >= 90.0

    @pytest.mark.parametrize("noise", ["rounds 5 %", "drift 0.2 % per run"])
    def test_an_experiment_with_several_levels_is_as_careful_as_one_change(self, noise):
        assert trials.levels(noise, 4, 0.0, 100).pct("wrong") <= 5.0
        assert trials.levels(noise, 4, TEN_LESS, 50).pct("found") >= 90.0

    def test_a_drift_hides_no_level_of_an_experiment(self, monkeypatch):
        """Rounds of two levels are not evenly spaced: counted instead of timed, they bend the drift."""
        drift = "drift 0.5 % per run"
        assert trials.levels(drift, 8, 0.0, 40).pct("same") >= 90.0
        assert trials.levels(drift, 8, TEN_LESS, 40).pct("found") >= 95.0
        monkeypatch.setattr(pooled, "_seconds", lambda begins: ())
        assert trials.levels(drift, 8, 0.0, 40).pct("same") < 50.0

    def test_verdict_control_guard_and_names_together(self):
        plan = Together("rounds 2 %", Site(2, 7, 0.7, 2), odd=TEN_LESS)
        found = trials.together(plan, 40)
        assert found.pct("UNCHANGED") >= 90.0
        assert found.pct("named") >= 90.0
        assert max(found.pct(word) for word in ("IMPROVED", "REGRESSED", "misnamed", "blocked", "guard")) <= 3.0


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

    @pytest.mark.parametrize(
        ("trial", "arguments", "word", "most"),
        [
            (rules.restarts, ("50 and 500", 0.0), "REGRESSED", 3.0),
            (rules.failing, (10, 7, 0.01, 0.01), "warns", 2.0),
            (rules.resending, (10, 7, 0.2, 0.2, False), "warns", 2.0),
            (rules.costing, (2, 7, 0.08, 0.0), "warns", 2.5),
            (rules.clock, (12.0, 5.0, TEN_LESS, "per s"), "UNCHANGED", 0.0),
            (rules.summed, (6, 0.05, 0.0), "better", 3.0),
            (rules.bends, ((1.0,) * 8, 3, 0.05), "knee", 2.0),
            (rules.harm, (10, 0.05, False, 0.0), "false", 2.0),
            (rules.stalls, (1, "rounds 2 %", 0.0, 0.25), "silent", 0.0),
            (rules.slow, (6, "Pareto 2", 0.0, 10.0), "warns", 0.0),
            (rules.drawn, (10,), "blocks", 0.0),
            (rules.differing.renamed, (0.1,), "other", 0.0),
        ],
        ids=lambda value: getattr(value, "__name__", ""),
    )
    def test_a_rule_beside_the_verdict_keeps_its_goal(self, trial, arguments, word, most):
        assert trial(*arguments, 60).pct(word) <= most

    @pytest.mark.parametrize(
        ("trial", "arguments", "word"),
        [
            (rules.restarts, ("50 and 500", TEN_LESS), "IMPROVED"),
            (rules.failing, (10, 7, 0.01, 0.15), "warns"),
            (rules.resending, (10, 7, 0.2, 1.0, False), "warns"),
            (rules.costing, (2, 7, 0.08, TEN_LESS), "warns"),
            (rules.clock, (100.0, 1.0, TEN_LESS, "s"), "IMPROVED"),
            (rules.summed, (6, 0.03, 0.03), "better"),
            (rules.bends, ((1.0, 2.0, 4.0, 4.0, 4.0), 3, 0.05), "knee"),
            (rules.harm, (10, 0.02, False, 0.2), "harmed"),
            (rules.slow, (6, "lognormal", 0.002, 10.0), "warns"),
            (rules.slow, (6, "lognormal", 0.015, 4.0), "warns"),
            (
                rules.differing.sites,
                (rules.differing.Plan(speeds=rules.differing.SPEEDS, gain=0.12, odd=-0.1),),
                "harmed",
            ),
            (rules.differing.sites, (rules.differing.Plan(drawn=2, gain=0.12, odd=-0.15, rates=True),), "harmed"),
            (rules.differing.sites, (rules.differing.Plan(hosts=5, gain=0.15, fades=True),), "gone"),
            (rules.differing.sites, (rules.differing.Plan(hosts=8, gain=0.1, hosts_odd=(1, -0.2)),), "warned"),
            (rules.differing.experiment, (0.35,), "winner"),
        ],
        ids=lambda value: getattr(value, "__name__", ""),
    )
    def test_a_rule_beside_the_verdict_finds_what_is_there(self, trial, arguments, word):
        assert trial(*arguments, 20).pct(word) >= 90.0

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

    @pytest.mark.parametrize(("slower", "least", "most"), [(0.0, 0.0, 0.0), (guards.TENTH, 95.0, 100.0)])
    def test_the_guard_of_a_rollout_stops_a_batch_whose_first_host_got_slower(self, slower, least, most):
        plan = guards.Batch("rounds 2 %", 3, failing=(0.01, 0.01), slower=slower, hit=guards.FIRST_HOST)
        assert least <= guards.batch(plan, 40).pct("stops") <= most
