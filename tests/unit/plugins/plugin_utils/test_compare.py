# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From records to verdicts: every rule of docs/measuring.md with the smallest change of records that triggers it."""

from __future__ import annotations

import itertools
import json
import math
import random
from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import (
    Expected,
    Options,
    compare_change,
    iter_runs,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.verdict import (
    Estimate,
    Limits,
    decide,
    estimate,
    judge,
    resolution,
)
from comparing import BETTER, SAME, fail, main, records_of, report_of, spoil
from hypothesis import given, settings
from hypothesis import strategies as st

# Verdicts


def test_a_better_state_is_improved_and_the_ratio_is_above_one():
    report = report_of(records_of())
    found = main(report)
    assert (found["verdict"], found["warnings"], report["verdict"]) == ("IMPROVED", False, "IMPROVED")
    assert 1.0 < found["low"] < found["ratio"] < found["high"]
    assert found["ratio"] == pytest.approx(1 / 0.9, rel=0.02)
    assert found["p"] == pytest.approx(2 / math.comb(12, 6), rel=1e-5)
    assert found["flags"] == found["guards"] == []
    assert found["throughput"]["after"] > found["throughput"]["before"]
    assert report["warnings"] == []


def test_a_worse_state_is_regressed():
    found = main(report_of(records_of(replace(BETTER, effect=0.10))))
    assert (found["verdict"], found["ratio"] < found["high"] < 1.0) == ("REGRESSED", True)


def test_the_same_system_twice_is_unchanged():
    assert main(report_of(records_of(SAME)))["verdict"] == "UNCHANGED"


def test_higher_is_better_turns_the_ratio():
    before, after = [100.0, 101.0, 102.0, 103.0, 104.0], [120.0, 121.0, 122.0, 123.0, 124.0]
    assert estimate(before, after, "higher").ratio == pytest.approx(1 / estimate(before, after, "lower").ratio)
    assert (judge(before, after, "higher"), judge(before, after, "lower")) == ("IMPROVED", "REGRESSED")


MEDIANS = st.one_of(
    st.lists(st.one_of(st.floats(1e-6, 1e15), st.integers(1, 1000).map(float)), min_size=5, max_size=12),
    st.lists(st.floats(100, 110), min_size=5, max_size=7),
    st.lists(st.floats(130, 140), min_size=5, max_size=7),
)


@settings(max_examples=200)
@given(MEDIANS, MEDIANS, st.sampled_from([0.05, 0.2, 1.0]))
def test_the_same_figures_seen_from_the_other_side_have_the_opposite_verdict(before, after, material):
    """``material`` over 5 % is a step of the clock: no verdict may be hidden by it as UNCHANGED."""

    def verdict(old, new, better):
        found = estimate(old, new, better)
        return found, decide(found, min(len(old), len(new)), material, Limits(), "av2_us", better).word

    found, word = verdict(before, after, "lower")
    opposite = {"IMPROVED": "REGRESSED", "REGRESSED": "IMPROVED"}.get(word, word)
    assert verdict(after, before, "lower")[1] == opposite
    assert verdict(before, after, "higher")[1] == opposite
    if word == "UNCHANGED" and (found.low > 1 or found.high < 1):
        assert 1 / 1.06 < found.ratio < 1.06


@pytest.mark.parametrize(
    ("ratio", "low", "high", "word"),
    [
        (1.10, 1.02, 1.20, "IMPROVED"),
        (1.10, 0.99, 1.20, "INCONCLUSIVE"),
        (1.10, 1.00, 1.20, "INCONCLUSIVE"),
        (1.04, 1.01, 1.07, "INCONCLUSIVE"),
        (1.04, 1.01, 1.049, "UNCHANGED"),
        (1.00, 0.96, 1.04, "UNCHANGED"),
        (1.00, 0.90, 1.10, "INCONCLUSIVE"),
        (0.90, 0.80, 0.99, "REGRESSED"),
        (0.90, 0.80, 1.00, "INCONCLUSIVE"),
        (1.05, 1.04, 1.06, "INCONCLUSIVE"),
        (2.00, 0.00, math.inf, "INCONCLUSIVE"),
    ],
)
def test_decision_table(ratio, low, high, word):
    verdict = decide(Estimate(ratio, low, high, 0.01), 6, 0.05, Limits(), "av2_us", "lower")
    assert verdict.word == word
    assert (verdict.rounds_needed is not None) == (word == "INCONCLUSIVE")


def test_undecided_names_what_the_data_could_have_shown():
    records = records_of(replace(SAME, session_noise=0.15, control=False))
    found = main(report_of(records))
    assert found["verdict"] == "INCONCLUSIVE"
    assert f"no change under {found['detectable_pct']:.1f} %" in found["reason"]
    assert found["rounds_needed"] > 6
    half = (math.log(found["high"]) - math.log(found["low"])) / 2
    assert found["detectable_pct"] == pytest.approx(100 * (math.exp(half) - 1), rel=1e-3)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_under_five_rounds_nothing_is_concluded(rounds):
    found = main(report_of(records_of(replace(BETTER, rounds=rounds, effect=-0.5))))
    assert found["verdict"] == "INCONCLUSIVE"
    assert "at least 5 are needed" in found["reason"]
    assert found["rounds_needed"] >= 5
    if rounds < 4:
        assert found["low"] is None or found["high"] is None


def test_five_rounds_are_enough():
    assert main(report_of(records_of(replace(BETTER, rounds=5))))["verdict"] == "IMPROVED"


def test_a_lost_round_counts_as_missing_and_not_as_zero():
    records = records_of(replace(BETTER, rounds=5))
    spoil([record for record in records if record["round"] == 3], lambda record: fail(record, 5), "after")
    found = main(report_of(records))
    assert (found["after"]["rounds"], len(found["after"]["round_medians"])) == (4, 4)
    assert min(found["after"]["round_medians"]) > 40
    assert (found["verdict"], "4 rounds" in found["reason"]) == ("INCONCLUSIVE", True)


@pytest.mark.parametrize("phase", ["before", "after"])
def test_more_than_a_fifth_of_failed_runs(phase):
    at_the_limit = spoil(records_of(), lambda record: fail(record, 1), phase)
    found = main(report_of(at_the_limit))
    assert (found["verdict"], found[phase]["failed_runs"], found[phase]["runs"]) == ("IMPROVED", 6, 30)
    fail(next(r for r in at_the_limit if r["phase"] == phase and not r["workload"]["control"]), 2)
    found = main(report_of(at_the_limit))
    assert found["verdict"] == "INCONCLUSIVE"
    assert f"23 % of the runs {phase} the change failed" in found["reason"]


def test_runs_that_are_not_there_count_as_failed():
    records = spoil(records_of(), lambda record: record["runs"].pop(), "after")
    spoil(records, lambda record: record["runs"].pop(), "after")
    found = main(report_of(records))
    assert (found["after"]["failed_runs"], found["after"]["runs"]) == (12, 30)
    assert found["verdict"] == "INCONCLUSIVE"


@pytest.mark.parametrize("phase", ["before", "after"])
def test_all_failed_is_no_data(phase):
    report = report_of(spoil(records_of(), lambda record: fail(record, 5), phase))
    found = main(report)
    assert found["verdict"] == report["verdict"] == "NO DATA"
    assert found[phase]["median"] is None
    assert found["ratio"] is found["low"] is found["high"] is found["p"] is None
    assert "connection refused" in found["reason"]
    assert {item["host"] for item in report["not_measured"]} == {"app1"}


def test_one_state_alone_is_no_data():
    report = report_of([record for record in records_of() if record["phase"] == "before"])
    assert main(report)["verdict"] == "NO DATA"
    assert "no record of the state after" in main(report)["reason"]


def test_a_missing_figure_is_never_a_zero_and_never_an_improvement():
    def lose(record):
        for run in record["runs"]:
            run["metrics"]["av2_us"] = None

    records = records_of(SAME)
    spoil([record for record in records if record["round"] <= 2], lose, "after")
    found = main(report_of(records))
    assert (found["after"]["rounds"], found["after"]["failed_runs"]) == (4, 10)
    assert found["verdict"] == "INCONCLUSIVE"


def test_one_value_everywhere_is_unchanged():
    records = spoil(records_of(SAME), constant(50.0))
    found = main(report_of(records))
    assert (found["verdict"], found["ratio"], found["low"], found["high"], found["p"]) == ("UNCHANGED", 1, 1, 1, 1)
    assert any("equal to another one" in flag for flag in found["flags"])


def constant(value):
    def change(record):
        for run in record["runs"]:
            run["metrics"]["av2_us"] = value

    return change


def test_tied_values_still_give_a_verdict():
    def rounded(record):
        for run in record["runs"]:
            run["metrics"]["av2_us"] = float(round(run["metrics"]["av2_us"]))

    found = main(report_of(spoil(records_of(), rounded)))
    assert found["verdict"] == "IMPROVED"
    assert any("equal to another one" in flag for flag in found["flags"])


# Material


def test_material_can_be_set_for_all_and_for_one_metric():
    assert main(report_of(records_of(), material_pct=20.0))["verdict"] == "UNCHANGED"
    assert main(report_of(records_of(), material_pct_of={"av2_us": 20.0}))["verdict"] == "UNCHANGED"
    assert main(report_of(records_of(), material_pct_of={"other": 20.0}))["verdict"] == "IMPROVED"


def test_the_step_of_the_clock_is_material():
    """Two values of a clock with steps of 10 µs: one step of 60 is no finding, however often it repeats."""
    records = spoil(records_of(), constant(60.0), "before")
    spoil(records, constant(50.0), "after")
    found = main(report_of(records))
    assert found["material_pct"] == pytest.approx(100 * 10 / 50)
    assert (found["ratio"], found["verdict"]) == (pytest.approx(1.2), "INCONCLUSIVE")
    assert "one step of these figures is 20 %: they are too coarse to say" in found["reason"]
    assert judge([60.0] * 6, [50.0] * 6) == "IMPROVED"
    assert main(report_of(spoil(records, constant(59.0), "after")))["material_pct"] == 5.0
    spoil(records, constant(20.0), "before")
    spoil(records, constant(20.0), "after")
    found = main(report_of(records))
    assert (found["material_pct"], found["verdict"]) == (50.0, "UNCHANGED")


def test_figures_that_are_round_by_chance_hide_no_change():
    """100 and 200 of anything are multiples of 100: that is no clock with steps of 100, and twice is not the same."""
    records = spoil(records_of(), constant(100.0), "before")
    report = report_of(spoil(records, constant(200.0), "after"))
    assert (main(report)["verdict"], main(report)["rounds_needed"]) == ("INCONCLUSIVE", None)
    assert any("finer figures" in step for step in report["next_steps"])


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([76.0, 77.0] * 10, 1.0),
        ([70.0, 80.0] * 10, 10.0),
        ([76.4, 77.0] * 10, 0.1),
        ([51.234, 50.001] * 10, 0.001),
        ([51.23456, 50.0] * 10, 0.0),
        ([70.0, 80.0] * 4, 0.0),
    ],
)
def test_resolution(values, step):
    assert resolution(values) == pytest.approx(step)


@pytest.mark.parametrize(
    "limits",
    [
        {"min_rounds": 4},
        {"material_pct": 0.0},
        {"material_pct": math.nan},
        {"material_pct_of": {"av2_us": 200.0}},
        {"max_failed_pct": 100.0},
        {"confidence_pct": 100.0},
    ],
)
def test_limits_that_would_conclude_from_nothing_are_errors(limits):
    with pytest.raises(ValueError, match=r"it has to lie|nothing can be concluded"):
        Options(**limits)


# The whole


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["IMPROVED", "REGRESSED", "NO DATA"], "REGRESSED"),
        (["IMPROVED", "UNCHANGED"], "IMPROVED"),
        (["UNCHANGED"], "UNCHANGED"),
        (["IMPROVED", "INCONCLUSIVE", "NOT COMPARABLE"], "INCONCLUSIVE"),
        (["IMPROVED", "NOT COMPARABLE", "NO DATA"], "NOT COMPARABLE"),
        (["UNCHANGED", "NO DATA"], "NO DATA"),
        ([], "NO DATA"),
    ],
)
def test_overall_verdict(words, verdict):
    def make(word, host):
        effect = {"IMPROVED": -0.1, "REGRESSED": 0.1}.get(word, 0.0)
        rounds = 3 if word == "INCONCLUSIVE" else 6
        plan = replace(SAME, hosts=(host, "db1"), effect=effect, rounds=rounds)
        records = records_of(plan, host)
        if word == "NOT COMPARABLE":
            spoil(records, lambda record: record["fingerprint"]["client"].update(mtu=1500), "after")
        if word == "NO DATA":
            spoil(records, lambda record: fail(record, 5), "after")
        return records

    report = report_of(itertools.chain(*(make(word, f"app{number}") for number, word in enumerate(words))))
    assert [item["verdict"] for item in report["comparisons"] if not item["control"]] == words
    assert report["verdict"] == verdict
    assert {word: number for word, number in report["counts"].items() if number} == dict.fromkeys(words, 1)
    assert report["next_steps"]


NOISY = replace(SAME, control=False)


@pytest.mark.parametrize(
    "plan, step",
    [
        (replace(BETTER, rounds=3), "Measure at least 5 rounds of each state."),
        (replace(NOISY, session_noise=0.2), "2 of 2 comparisons would take about 50 rounds of each state."),
        (replace(NOISY, session_noise=0.1), "2 of 2 comparisons would take over 50 rounds of each state."),
    ],
)
def test_what_to_do_next_fits_the_cause(plan, step):
    steps = compare_change(factory.load(factory.make_change(plan)))["next_steps"]
    assert [text for text in steps if text.startswith("Measure ")][0].partition(": `")[0].endswith(step.rstrip("."))


def test_the_headline_says_how_many_and_how_much():
    text = compare_change(factory.load(factory.make_change(BETTER)))["headline"]
    assert text.startswith("2 of 2 comparisons got better, by 1") and text.endswith(" % in the median.")


def test_hosts_that_were_not_measured_are_named():
    expected = Expected(["app1", "app2", "app3", "app4"], {"app3": "unreachable"})
    report = compare_change(factory.load(records_of()), expected)
    assert report["not_measured"] == [
        {"host": "app3", "reason": "unreachable"},
        {"host": "app4", "reason": "There is no record of this host."},
    ]
    assert report["hosts"] == {"measured": 2, "not_measured": 2}
    assert "2 hosts not measured" in report["headline"]


def test_other_phases_are_left_out_and_named():
    extra = [{**record, "phase": "later"} for record in records_of() if record["phase"] == "after"]
    report = report_of([*records_of(), *extra])
    assert main(report)["verdict"] == "IMPROVED"
    assert report["warnings"] == ["Records of other phases than before and after were left out: later."]


def test_runs_in_time_order_and_only_as_many_as_wanted():
    loaded = factory.load(records_of())
    runs = list(iter_runs(loaded))
    assert len(runs) == 2 * 2 * 6 * 6
    assert [run["started"] for run in runs] == sorted(run["started"] for run in runs)
    assert sum(run["warmup"] for run in runs) == 24
    assert compare_change(loaded, options=Options(max_runs=None))["runs"] == runs
    few = compare_change(loaded, options=Options(max_runs=100))
    assert (few["runs"], few["runs_total"]) == ([], len(runs))
    assert any("too many for this report" in warning for warning in few["warnings"])


def test_many_problems_are_shortened():
    loaded = factory.load(records_of())
    loaded.problems.extend(f"file {number}" for number in range(1000))
    problems = compare_change(loaded)["problems"]
    assert (len(problems), problems[-1]) == (201, "And 800 more of this kind.")


def test_same_records_same_bytes_in_any_order():
    plan = replace(BETTER, hosts=("app1", "app2", "app3"), sizes=(1, 1000))
    records, tunings = list(factory.make_change(plan)), list(factory.change_tunings(plan))
    wanted = json.dumps(compare_change(factory.load(records, tunings)))
    rng = random.Random(1)
    for _turn in range(3):
        rng.shuffle(records)
        rng.shuffle(tunings)
        assert json.dumps(compare_change(factory.load(records, tunings))) == wanted


def test_larger_changes_of_one_host_do_not_hide_a_worse_one():
    plan = replace(BETTER, sizes=(1, 500, 1000))
    records = records_of(plan)
    small = [record for record in records if record["workload"]["bytes"] == 1]
    spoil(small, lambda r: [run["metrics"].update(av2_us=run["metrics"]["av2_us"] * 1.3) for run in r["runs"]], "after")
    report = report_of(records)
    assert report["counts"] == {**dict.fromkeys(report["counts"], 0), "IMPROVED": 2, "REGRESSED": 1}
    assert report["verdict"] == "REGRESSED"
    assert report["next_steps"][0].startswith("Take the change back where it made things worse")


def test_a_host_that_is_measured_alone_is_one_host():
    records = [dict(record, peer="local") for record in factory.make_change(BETTER) if record["host"] == "app1"]
    for record in records:
        record["fingerprint"] = dict(record["fingerprint"], server=None)
    report = compare_change(factory.load(records))
    assert report["hosts"] == {"measured": 1, "not_measured": 0} and report["verdict"] == "IMPROVED"


def test_one_comparison_is_told_as_one():
    text = report_of(records_of())["headline"]
    assert text.startswith("The comparison got better, by 1") and text.endswith(" %.")
