# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From records to verdicts: every rule of docs/verdicts.md with the smallest change of records that triggers it."""

from __future__ import annotations

import itertools
import json
import math
import random
import statistics
from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import (
    Options,
    compare_change,
    iter_runs,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.pooled import Pooled
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.wording import (
    interval,
    more_rounds,
    verdict_on,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import planning
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.looks import next_look
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.series import Effect, word
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.verdict import estimate, resolution
from comparing import BETTER, SAME, fail, main, records_of, report_of, spoil, verdict_word
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
    assert found["detectable_pct"] == pytest.approx(100 * (math.sqrt(found["high"] / found["low"]) - 1), rel=1e-3)
    assert found["flags"] == found["guards"] == []
    assert found["throughput"]["after"] > found["throughput"]["before"]
    assert report["warnings"] == []
    assert report["headline"] == f"The workload of app1: {found['reason']}"


def test_the_other_verdicts_and_a_figure_that_is_better_where_it_is_higher():
    found = main(report_of(records_of(replace(BETTER, effect=0.10))))
    assert (found["verdict"], found["ratio"] < found["high"] < 1.0) == ("REGRESSED", True)
    assert main(report_of(records_of(SAME)))["verdict"] == "UNCHANGED"
    assert main(report_of(records_of(), material_pct=20.0))["verdict"] == "UNCHANGED"
    before, after = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0], [120.0, 121.0, 122.0, 123.0, 124.0, 125.0]
    assert estimate(before, after, "higher")[0] == pytest.approx(1 / estimate(before, after, "lower")[0])
    assert (verdict_word(before, after, "higher"), verdict_word(before, after, "lower")) == ("IMPROVED", "REGRESSED")


MEDIANS = st.one_of(
    st.lists(st.one_of(st.floats(1e-6, 1e15), st.integers(1, 1000).map(float)), min_size=6, max_size=12),
    st.lists(st.floats(100, 110), min_size=6, max_size=8),
    st.lists(st.floats(130, 140), min_size=6, max_size=8),
)


@pytest.mark.gate
@settings(max_examples=200)
@given(MEDIANS, MEDIANS)
def test_the_same_figures_seen_from_the_other_side_have_the_opposite_verdict(before, after):
    found = verdict_word(before, after)
    opposite = {"IMPROVED": "REGRESSED", "REGRESSED": "IMPROVED"}.get(found, found)
    assert verdict_word(after, before) == opposite
    assert verdict_word(before, after, "higher") == opposite


def judged(ratio, low, high, inner=None, material=0.05, asked=0.05, rounds=6):
    """The verdict on an effect with these ends; the inner interval has the same unless it is given."""
    effect = Effect(ratio, low, high, *(inner or (low, high)), 0.9978, 0.98)
    found = Pooled(word(effect, material), effect, rounds, "rounds", 0.02)
    return found, verdict_on(found, material, asked)


@pytest.mark.parametrize(
    ("ratio", "low", "high", "wanted"),
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
def test_decision_table(ratio, low, high, wanted):
    found, verdict = judged(ratio, low, high)
    assert verdict.word == wanted
    assert (more_rounds(found, verdict.cause, 0.05) is not None) == (wanted == "INCONCLUSIVE")


BEYOND = "beyond the material limit of 5 %"


@pytest.mark.parametrize(
    ("ends", "inner", "words"),
    [
        ((1.10, 1.06, 1.20), None, ["6.0 to 20.0 % better (99.8 % interval), estimate 10.0 %", BEYOND]),
        ((1.10, 1.007, 1.146), None, ["0.7 to 14.6 % better", "size uncertain"]),
        ((1.09, 1.0003, 1.13), None, ["0.0 to 13.0 % better", "size uncertain"]),
        ((0.90, 0.80, 0.94), None, ["6.0 to 20.0 % worse", BEYOND]),
        ((1.00, 0.96, 1.04), None, ["within the material limit of 5 %", "98 % interval -4.0 % to +4.0 %"]),
        ((1.02, 0.96, 1.07), None, ["2.0 % better (99.8 % interval -4.0 % to +7.0 %)", "neither clearly beyond"]),
        ((1.1, 1.06, math.inf), (1.07, 1.2), ["at least 6.0 % better (99.8 % interval)"]),
        # UNCHANGED needs the inner interval, and shows it
        ((1.0, 0.90, 1.10), (0.97, 1.03), ["98 % interval -3.0 % to +3.0 %"]),
    ],
)
def test_a_reason_says_beyond_only_where_the_interval_is(ends, inner, words):
    reason = judged(*ends, inner=inner)[1].reason
    assert all(word in reason for word in words)
    assert (BEYOND in reason) is (BEYOND in words or ends[2] == math.inf)


def test_the_rounds_to_decide_are_those_of_the_plan_and_of_each_levels_share_of_the_error():
    found, verdict = judged(1.09, 0.99, 1.2)
    noisy = found._replace(spread=0.06)
    one, of_five = (planning.rounds_for(0.06, math.log(1.09), 0.05, levels) for levels in (1, 5))
    assert 6 + more_rounds(noisy, verdict.cause, 0.05) == one > 8
    assert 6 + more_rounds(noisy, verdict.cause, 0.05, 5) == of_five > one
    same, verdict = judged(1.01, 0.93, 1.12)
    assert 6 + more_rounds(same._replace(spread=0.06), verdict.cause, 0.05, 5) == 33
    # no look has as many, whatever is planned
    assert planning.rounds_for_unchanged(0.08, 0.05) is None
    assert 6 + more_rounds(same._replace(spread=0.08), verdict.cause, 0.05) == 33
    # 30 levels: 2/C(16,8) is .00016, and .004/30 is less
    assert [look.rounds for look in (next_look(6), next_look(6, 5), next_look(6, 30))] == [8, 8, 10]


@pytest.mark.parametrize(
    ("pct", "said"), [(99.78, "99.8"), (99.956, "99.96"), (99.9989, "99.99"), (98.0, "98"), (97.0, "97")]
)
def test_no_interval_is_one_of_100_percent(pct, said):
    effect = Effect(1.0, 0.97, 1.03, 0.97, 1.03, pct / 100.0, pct / 100.0)
    assert interval(effect) == f"{said} % interval -3.0 % to +3.0 %"


def test_undecided_names_the_rounds_that_would_decide_once():
    records = records_of(replace(SAME, session_noise=0.15, control=False))
    report = report_of(records)
    found = main(report)
    assert found["verdict"] == "INCONCLUSIVE"
    assert found["rounds_needed"] == report["pooled"][0]["rounds"] + report["pooled"][0]["more_rounds"] > 6
    half = (math.log(found["high"]) - math.log(found["low"])) / 2
    assert found["detectable_pct"] == pytest.approx(100 * (math.exp(half) - 1), rel=1e-3)


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_under_six_rounds_nothing_is_concluded(rounds):
    found = main(report_of(records_of(replace(BETTER, rounds=rounds, effect=-0.5))))
    assert found["verdict"] == "INCONCLUSIVE"
    assert "at least 6 are needed" in found["reason"]
    assert found["rounds_needed"] == 6
    assert found["low"] is None or found["high"] is None


def test_a_lost_round_and_a_missing_figure_are_never_a_zero():
    records = records_of()
    spoil([record for record in records if record["round"] == 3], lambda record: fail(record, 5), "after")
    found = main(report_of(records))
    assert (found["after"]["rounds"], len(found["after"]["round_medians"])) == (5, 5)
    assert min(found["after"]["round_medians"]) > 40
    assert (found["verdict"], "5 rounds" in found["reason"]) == ("INCONCLUSIVE", True)
    records = records_of(SAME)
    spoil([record for record in records if record["round"] <= 2], constant(None), "after")
    found = main(report_of(records))
    assert (found["after"]["rounds"], found["after"]["failed_runs"]) == (4, 10)
    assert found["verdict"] == "INCONCLUSIVE"
    # runs that are not there count as failed
    records = spoil(records_of(), lambda record: record["runs"].pop(), "after")
    spoil(records, lambda record: record["runs"].pop(), "after")
    found = main(report_of(records))
    assert (found["after"]["failed_runs"], found["after"]["runs"]) == (12, 30)
    assert found["verdict"] == "INCONCLUSIVE"


@pytest.mark.parametrize("phase", ["before", "after"])
def test_more_than_a_fifth_of_failed_runs(phase):
    at_the_limit = spoil(records_of(), lambda record: fail(record, 1), phase)
    found = main(report_of(at_the_limit))
    assert (found["verdict"], found[phase]["failed_runs"], found[phase]["runs"]) == ("IMPROVED", 6, 30)
    fail(next(r for r in at_the_limit if r["phase"] == phase and not r["workload"]["control"]), 2)
    found = main(report_of(at_the_limit))
    assert found["verdict"] == "INCONCLUSIVE"
    assert f"23 % of the runs {phase} the change failed" in found["reason"]


@pytest.mark.parametrize("phase", ["before", "after"])
def test_all_failed_is_no_data(phase):
    report = report_of(spoil(records_of(), lambda record: fail(record, 5), phase))
    found = main(report)
    assert found["verdict"] == report["verdict"] == "NO DATA"
    assert found[phase]["median"] is None
    assert found["ratio"] is found["low"] is found["high"] is found["p"] is None
    assert "connection refused" in found["reason"]
    assert {item["host"] for item in report["not_measured"]} == {"app1"}
    alone = main(report_of([record for record in records_of() if record["phase"] != phase]))
    assert (alone["verdict"], f"no record of the state {phase}" in alone["reason"]) == ("NO DATA", True)


def figures(change):
    """A change of a record: of the figure of each of its runs."""

    def changed(record):
        for run in record["runs"]:
            run["metrics"]["av2_us"] = change(run["metrics"]["av2_us"])

    return changed


def constant(value):
    return figures(lambda _figure: value)


def test_tied_values_still_give_a_verdict_and_one_value_everywhere_proves_nothing():
    rounded = spoil(records_of(), figures(lambda figure: float(round(figure))))
    assert main(report_of(rounded))["verdict"] == "IMPROVED"
    found = main(report_of(spoil(records_of(SAME), constant(50.0))))
    figures_of = tuple(found[name] for name in ("verdict", "ratio", "low", "high", "p"))
    assert figures_of == ("INCONCLUSIVE", 1, None, None, 1)


def test_one_step_of_the_clock_is_not_a_finding():
    """Two values of a clock with steps of 10 µs: one step of 60 is not a finding, however often it repeats."""
    records = spoil(records_of(), constant(60.0), "before")
    found = main(report_of(spoil(records, constant(50.0), "after")))
    assert (found["ratio"], found["verdict"], found["material_pct"]) == (pytest.approx(1.2), "INCONCLUSIVE", 5.0)
    assert "20.0 % better as they are, but one step of these figures is 20 %: too coarse" in found["reason"]
    assert verdict_word([60.0] * 6, [50.0] * 6) == "IMPROVED"
    assert main(report_of(spoil(records, constant(59.0), "after")))["verdict"] == "UNCHANGED"
    # 100 and 200 of anything are multiples of 100: that is not a clock with steps of 100, and twice is not the same
    for before, after, reason in ((20.0, 20.0, "all figures are equal: too coarse to decide"), (100.0, 200.0, "")):
        spoil(records, constant(before), "before")
        report = report_of(spoil(records, constant(after), "after"))
        assert (main(report)["verdict"], main(report)["rounds_needed"]) == ("INCONCLUSIVE", None)
        assert reason in main(report)["reason"]
        assert any("finer figures" in step for step in report["next_steps"])


@pytest.mark.parametrize(
    ("step", "effect", "word", "reason"),
    [
        (1.0, -0.08, "INCONCLUSIVE", "one step of these figures is 8"),
        (1.0, -0.25, "IMPROVED", ""),
        (0.1, -0.25, "IMPROVED", ""),
        (0.01, 0.0, "UNCHANGED", ""),
        (0.1, -0.04, "INCONCLUSIVE", "neither clearly beyond nor within"),
    ],
)
def test_the_ends_are_as_far_out_as_a_step_of_the_clock(step, effect, word, reason):
    """Whole microseconds at 12 µs cannot prove that 5 % are not there: the limit stays, the interval is wider."""
    printed = figures(lambda figure: step * round(12.2 / 50.0 * figure / step))
    found = main(report_of(spoil(records_of(replace(BETTER, effect=effect)), printed)))
    assert (found["verdict"], found["material_pct"]) == (word, 5.0)
    assert reason in found["reason"]


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([76.0, 77.0] * 10, 1.0),
        ([70.0, 80.0] * 10, 10.0),
        ([70.0, 75.0, 85.0] * 10, 5.0),
        ([71.0, 76.0, 86.0] * 10, 5.0),
        ([7.125, 7.5, 7.75] * 10, 0.125),
        ([70.0] * 10, math.inf),
        ([70.0] * 9, 0.0),
        ([76.4, 77.0] * 10, 0.6),
        # too fine to be told from the rounding of printed figures
        ([51.234, 50.001, 50.002] * 10, 0.0),
        ([51.23456, 50.0] * 10, 1.23456),
        ([70.0, 80.0] * 4, 0.0),
    ],
)
def test_resolution_is_the_same_in_every_unit(values, step):
    part = step / statistics.median(values)
    for turn in (lambda value: value, lambda value: round(value / 1e6, 12), lambda value: round(1e6 / value, 3)):
        assert resolution([[turn(value) for value in values]]) == pytest.approx(part, rel=0.15)


@pytest.mark.parametrize(
    "limits", [{"material_pct": 0.0}, {"material_pct": math.nan}, {"material_pct": 200.0}, {"max_failed_pct": 100.0}]
)
def test_limits_that_would_conclude_from_nothing_are_errors(limits):
    with pytest.raises(ValueError, match="it must be"):
        Options(**limits)


def make(word, host):
    """Records of one host whose only comparison has this verdict."""
    effect = {"IMPROVED": -0.1, "REGRESSED": 0.1}.get(word, 0.0)
    rounds = 3 if word == "INCONCLUSIVE" else 6
    plan = replace(SAME, hosts=(host, "db1"), effect=effect, rounds=rounds)
    records = records_of(plan, host)
    if word == "NOT COMPARABLE":
        spoil(records, lambda record: record["fingerprint"]["client"].update(mtu=1500), "after")
    if word == "NO DATA":
        spoil(records, lambda record: fail(record, 5), "after")
    return records


@pytest.mark.parametrize(
    ("words", "verdict", "cause"),
    [
        (["REGRESSED", "REGRESSED", "NO DATA"], "REGRESSED", ""),
        (["IMPROVED", "IMPROVED"], "IMPROVED", ""),
        (["UNCHANGED"], "UNCHANGED", ""),
        (["IMPROVED", "IMPROVED", "NOT COMPARABLE"], "IMPROVED", ""),
        (["IMPROVED", "INCONCLUSIVE"], "INCONCLUSIVE", "lost"),
        (["INCONCLUSIVE", "INCONCLUSIVE"], "INCONCLUSIVE", "rounds"),
        (["IMPROVED", "NOT COMPARABLE", "NO DATA"], "INCONCLUSIVE", "lost"),
        (["UNCHANGED", "NO DATA"], "INCONCLUSIVE", "lost"),
        (["NOT COMPARABLE", "NO DATA"], "NOT COMPARABLE", "fingerprint"),
        (["NO DATA"], "NO DATA", "data"),
        ([], "NO DATA", None),
    ],
)
def test_overall_verdict(words, verdict, cause):
    report = report_of(itertools.chain(*(make(word, f"app{number}") for number, word in enumerate(words))))
    assert [item["verdict"] for item in report["comparisons"] if not item["control"]] == words
    assert report["verdict"] == verdict
    assert [row["cause"] for row in report["pooled"][:1]] == ([] if cause is None else [cause])
    assert {word: number for word, number in report["counts"].items() if number} == {
        word: words.count(word) for word in words
    }
    assert report["next_steps"]


def test_the_first_row_is_the_site_and_each_host_has_a_row():
    report = compare_change(factory.load(factory.make_change(BETTER)))
    assert [(row["scope"], row["host"], row["hosts"]) for row in report["pooled"]] == [
        ("site", None, 2),
        ("host", "app1", 1),
        ("host", "app2", 1),
    ]
    assert report["headline"].startswith("The workload of 2 hosts: ")
    assert "beyond the material limit of 5 %" in report["headline"]
    (alone,) = report_of(records_of())["pooled"]
    assert (alone["scope"], alone["host"]) == ("host", "app1")


def test_hosts_whose_records_are_lost_are_named_and_leave_nothing_to_conclude():
    names = ["app1", "app2", "app3", "app4"]
    report = compare_change(factory.load(records_of()), (names, {"app3": "unreachable"}))
    assert report["not_measured"] == [
        {"host": "app3", "reason": "unreachable"},
        {"host": "app4", "reason": "There is no record of this host."},
    ]
    assert report["hosts"] == {"measured": 1, "not_measured": 2} and "2 hosts not measured" in report["headline"]
    assert (report["verdict"], report["pooled"][0]["cause"]) == ("INCONCLUSIVE", "lost")
    assert "2 of 3 hosts have no usable measurement" in report["pooled"][0]["reason"]
    assert report["headline"].startswith("Undecided: too many hosts or comparisons have no result; ")
    # a host that only serves, or was left out by --limit, is not lost
    report = compare_change(factory.load(records_of()), (names[:2], {"app9": "left out"}))
    assert report["verdict"] == "IMPROVED"


def test_a_host_without_one_state_is_not_measured_although_others_measure_against_it():
    """Nor does it say anything about the order of the rounds."""
    plan = factory.Plan(hosts=("app1", "app2", "app3"), effect=-0.10)
    lost = [item for item in factory.make_change(plan) if (item["host"], item["phase"]) != ("app2", "after")]
    report = compare_change(factory.load(lost))
    assert report["not_measured"] == [{"host": "app2", "reason": "there is no record of the state after."}]
    assert report["hosts"] == {"measured": 2, "not_measured": 1} and "1 host not measured" in report["headline"]
    assert (report["verdict"], report["protocol"]["design"]) == ("IMPROVED", "alternate")
    assert not any("Weaker evidence" in warning for warning in report["warnings"])


MANY = replace(SAME, hosts=("app1",), sizes=(1, 500, 1000, 1400, 1500, 4000, 10000))


@pytest.mark.parametrize(
    ("sizes", "times", "verdict", "named", "worse"),
    [
        (MANY.sizes, {500: 1.3}, "UNCHANGED", {500: 1 / 1.3}, [500]),
        # round trips of 50, 110 and 650 µs: the one of middle speed is not the measure of the others
        ((1, 30_000, 300_000), {1: 0.85, 30_000: 1.11, 300_000: 0.85}, "IMPROVED", {30_000: 0.77}, [30_000]),
        ((1, 30_000, 300_000), {30_000: 0.7}, "IMPROVED", {30_000: 1 / 0.7}, []),
        ((1, 300_000), {1: 0.77, 300_000: 1.13}, "IMPROVED", {1: 1.47, 300_000: 0.68}, [300_000]),
        ((1, 300_000), {1: 0.89}, "IMPROVED", {1: 1.12, 300_000: 0.89}, []),
        (MANY.sizes, {}, "UNCHANGED", {}, []),
    ],
)
def test_a_workload_that_differs_is_named_and_guarded_if_it_got_worse(sizes, times, verdict, named, worse):
    records = records_of(replace(MANY, sizes=sizes))
    for record in records:
        more = times.get(record["workload"]["bytes"], 1.0) if record["phase"] == "after" else 1.0
        figures(lambda figure, more=more: more * figure)(record)
    report = report_of(records)
    (row,) = report["pooled"]
    name = "app1 \u2192 app1, pingpong-{}B".format
    assert row["verdict"] == verdict and {item["kind"] for item in row["deviations"]} <= {"workload"}
    assert {item["name"]: item["ratio"] for item in row["deviations"]} == {
        name(size): pytest.approx(ratio, rel=0.05) for size, ratio in named.items()
    }
    assert [guard.partition(" got worse: ")[0] for guard in row["guards"]] == [name(size) for size in worse]
    said = [f"{name(size)} {'got worse' if size in worse else 'differs'}: " for size in named]
    assert [report["headline"].count(words) for words in said] == [1] * len(named)
    assert not worse or not any(step.startswith("Keep the change, ") for step in report["next_steps"])


@pytest.mark.parametrize(("hosts", "said"), [(2, True), (5, True), (6, False)])
def test_few_hosts_say_nothing_about_others_and_the_report_says_so(hosts, said):
    plan = replace(SAME, hosts=tuple(f"app{number}" for number in range(1, hosts + 1)), sizes=(1000,))
    row = compare_change(factory.load(factory.make_change(plan)))["pooled"][0]
    told = f"this is about these {hosts} hosts; at least 6 would say something about others."
    assert (told in row["flags"]) is said


def with_one_worse(plan, host, effect):
    """The report of a site of which one host got worse."""
    worse = replace(plan, effect=effect)
    records = [r for p in (plan, worse) for r in factory.make_change(p) if (r["host"] == host) == (p is worse)]
    return compare_change(factory.load(records))


def test_a_host_that_differs_from_many_others_is_named():
    plan = replace(SAME, hosts=tuple(f"app{number}" for number in range(1, 9)), sizes=(1000,), rounds=8)
    row = with_one_worse(plan, "app3", 0.2)["pooled"][0]
    assert [(item["kind"], item["name"]) for item in row["deviations"]] == [("host", "app3")]
    assert row["verdict"] in ("UNCHANGED", "INCONCLUSIVE") and row["guards"][0].startswith("app3 got worse: 1")
    # of a site that got worse no host is named for it
    report = report_of(factory.make_change(replace(SAME, sizes=(1000,), effect=0.3)))
    assert (report["verdict"], report["pooled"][0]["guards"]) == ("REGRESSED", [])


def test_two_groups_of_hosts_are_the_headline_and_one_worse_host_of_few_hides_no_verdict():
    plan = replace(BETTER, hosts=tuple(f"app{number}" for number in range(1, 9)), sizes=(1000,))
    report = with_one_worse(plan, "app3", 0.25)
    assert (report["verdict"], report["pooled"][0]["warnings"]) == ("IMPROVED", True)
    assert report["headline"].startswith("app3 got worse: 2") and "without app3" in report["pooled"][0]["flags"][-1]
    worse = {"app2", "app3", "app5", "app8"}
    records = [r for r in factory.make_change(plan) if r["host"] not in worse]
    records += [r for r in factory.make_change(replace(plan, effect=0.12)) if r["host"] in worse]
    report = report_of(records)
    groups = "4 of them (app1, app4, app6, app7) got better, and 4 of them (app2, app3, app5, app8) got worse"
    assert report["headline"].startswith(f"The hosts are two groups: {groups}. Undecided on the whole")
    assert "the rounds differ" not in report["headline"] and report["pooled"][0]["guards"] == [
        f"The hosts are two groups: {groups}."
    ]
    (step,) = [step for step in report["next_steps"] if step.startswith("Take the change back where")]
    assert "undo it by hand" in step
    # the hosts that got better keep it, also if the names of the others cannot stand in a command
    for name in ("app3", "app three"):
        renamed = [{**r, "host": {"app3": name}.get(r["host"], r["host"])} for r in records]
        steps = report_of(renamed, factory.change_tunings(plan))["next_steps"]
        (step,) = [step for step in steps if step.startswith("Take the change back where")]
        assert ("--limit app2,app3,app5,app8" if name == "app3" else "--limit and the hosts that got worse") in step
    # if all lose a little, none is said to have lost more
    site, *hosts = report_of(factory.make_change(replace(plan, hosts=plan.hosts[:5], effect=0.04)))["pooled"]
    assert site["guards"] == []


@pytest.mark.parametrize(("left", "lasts"), [(0.2, False), (0.9, True)])
def test_a_gain_that_does_not_last_is_a_guard(left, lasts):
    plan = replace(BETTER, hosts=tuple(f"app{number}" for number in range(1, 6)), effect=-0.15)
    records = list(factory.make_change(plan))
    late = [record for record in records if record["round"] > 3]
    spoil(late, figures(lambda figure: (1.0 - 0.15 * left) / 0.85 * figure), "after")
    report = report_of(records)
    guards = report["pooled"][0]["guards"]
    assert (report["verdict"], report["pooled"][0]["warnings"], bool(guards)) == ("IMPROVED", not lasts, not lasts)
    if not lasts:
        assert guards[0].startswith("the gain does not last: 1") and "% better in the first half" in guards[0]
        assert report["headline"].startswith("the gain does not last")


def test_a_harmed_host_comes_first_and_the_change_is_not_kept():
    plan = replace(BETTER, hosts=tuple(f"app{number}" for number in range(1, 25)), sizes=(1000,))
    report = with_one_worse(plan, "app7", 0.5)
    site = report["pooled"][0]
    assert (report["verdict"], site["rounds"], site["warnings"]) == ("IMPROVED", 6, True)
    (guard,) = site["guards"]
    assert guard.startswith("app7 got worse: 3") and ", while the median of the hosts is 1" in guard
    assert report["headline"].startswith("app7 got worse: 3")
    assert any(step.startswith("Take the change back where it made things worse") for step in report["next_steps"])
    assert not any(step.startswith("Keep the change") for step in report["next_steps"])
    fine = compare_change(factory.load(factory.make_change(plan)))
    assert any(step.startswith("Keep the change") for step in fine["next_steps"])


@pytest.mark.parametrize(("boots", "wanted"), [(1, "INCONCLUSIVE"), (6, "IMPROVED")])
def test_a_state_that_was_reached_by_a_restart_counts_its_starts(boots, wanted):
    records = records_of(replace(BETTER, rounds=6))
    for record in records:
        for end in filter(None, record["fingerprint"].values()):
            end["boot_id"] = f"{record['phase']}-{record['round'] % boots}"
    report = report_of(records)
    (row,) = report["pooled"]
    assert (report["verdict"], row["unit"], row["rounds"]) == (wanted, "starts", boots)
    if boots == 1:
        assert "each state was started once" in row["reason"] and row["more_rounds"] is None
        assert any("at least 5 starts" in step for step in report["next_steps"])


def test_a_session_that_was_continued_has_its_own_level():
    """Everything is 15 % slower in the second session: that is not an effect, and hides none."""
    for plan, wanted in ((SAME, "UNCHANGED"), (BETTER, "IMPROVED")):
        records = records_of(replace(plan, rounds=12))
        for record in records:
            if record["round"] > 6:
                record["protocol"]["session"] = 2
                figures(lambda figure: 1.15 * figure)(record)
        assert report_of(records)["verdict"] == wanted


def test_records_of_other_phases_alone_are_named():
    records = [dict(record, phase=f"{record['phase']}-noon") for record in records_of()]
    report = compare_change(factory.load(records))
    assert report["headline"] == "No measurement of the two states was found, only of after-noon, before-noon."
    assert compare_change(factory.load([]))["headline"] == "No measurement of this change was found."


def test_other_phases_are_left_out_and_named():
    extra = [{**record, "phase": "later"} for record in records_of() if record["phase"] == "after"]
    loaded = factory.load([*records_of(), *extra])
    loaded.problems.extend(f"file {number}" for number in range(1000))
    report = compare_change(loaded)
    assert main(report)["verdict"] == "IMPROVED"
    assert report["warnings"] == ["Records of phases other than before and after were ignored: later."]
    assert (len(report["problems"]), report["problems"][-1]) == (201, "And 800 more of this kind.")


def test_runs_in_time_order_and_only_as_many_as_wanted():
    loaded = factory.load(records_of())
    runs = list(iter_runs(loaded))
    assert len(runs) == 2 * 2 * 6 * 6
    assert [run["started"] for run in runs] == sorted(run["started"] for run in runs)
    assert sum(run["warmup"] for run in runs) == 24
    assert compare_change(loaded, options=Options(max_runs=None))["runs"] == runs
    few = compare_change(loaded, options=Options(max_runs=100))
    assert (few["runs"], few["runs_total"]) == ([], len(runs))
    assert any("This report leaves out the" in warning for warning in few["warnings"])


def test_same_records_same_bytes_in_any_order():
    plan = replace(BETTER, hosts=("app1", "app2", "app3"), sizes=(1, 1000))
    records, tunings = list(factory.make_change(plan)), list(factory.change_tunings(plan))
    wanted = json.dumps(compare_change(factory.load(records, tunings)))
    rng = random.Random(1)
    for _turn in range(3):
        rng.shuffle(records)
        rng.shuffle(tunings)
        assert json.dumps(compare_change(factory.load(records, tunings))) == wanted


def test_a_host_that_is_measured_alone_is_one_host():
    records = [dict(record, peer="local") for record in factory.make_change(BETTER) if record["host"] == "app1"]
    for record in records:
        record["fingerprint"] = dict(record["fingerprint"], server=None)
    report = compare_change(factory.load(records))
    assert report["hosts"] == {"measured": 1, "not_measured": 0} and report["verdict"] == "IMPROVED"
