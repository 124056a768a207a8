# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments: what a user may write, the plan of crossed cells, the winner, or why there is none."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import experiments
import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.summary import WHY
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment import outcomes
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment import plans as planning
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.factors import read_factors
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import steps
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import looks
from documents import put, schema_errors, schema_of
from experiments import KNOWN, POLARIZATION, RPS, level, make_plan, make_records, make_tunings
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

NOTHING = {"all": 0.0}
BETTER = {"all": -0.05, "every-2": -0.12, "every-4": -0.25}


def report(plan: dict[str, Any], effects: dict[str, float], done: Any = None, spoil: Any = None) -> dict[str, Any]:
    """The report of an experiment with these true effects."""
    records = list(make_records(plan, effects, done))
    for record in records:
        if spoil is not None:
            spoil(record)
    loaded = replace(factory.load(records, make_tunings(plan, done)), experiment=plan)
    return compare_change(loaded)


def outcome(*arguments: Any, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = report(*arguments, **more)["experiment"]
    return found


def rows(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in found["levels"]}


def test_the_best_level_wins() -> None:
    whole = report(make_plan(), BETTER)
    found = whole["experiment"]
    assert found["winner"] == "every-4"
    assert found["reason"].startswith("every-4 is better than off: 32.9 to 34.8 % better")
    assert "do not distinguish it from" not in found["reason"]
    levels = rows(found)
    assert levels["every-4"]["ratio"] == pytest.approx(1 / 0.75, rel=0.02)
    assert levels["every-4"]["low"] < levels["every-4"]["ratio"] < levels["every-4"]["high"]
    assert levels["every-2"]["candidate"] and levels["every-2"]["ratio"] == pytest.approx(1 / 0.88, rel=0.02)
    assert levels["off"]["baseline"] and levels["off"]["comparisons"] == 0 and levels["off"]["ratio"] is None
    assert found["progress"]["complete"] and found["progress"]["done"] == found["progress"]["steps"] == 32
    # the level of a look is shared by the levels that are compared
    assert found["confidence_pct"] == pytest.approx(100.0 - 0.4 / 3, abs=1e-3)
    compared = [entry["contrast"] for entry in whole["comparisons"] if not entry["control"]]
    assert compared == [name for name in ("all", "every-2", "every-4") for _host in experiments.HOSTS]


def test_the_whole_report_says_improved_where_a_level_won_though_another_is_worse() -> None:
    whole = report(make_plan(), {"all": 0.30, "every-4": -0.20})
    assert (whole["verdict"], whole["experiment"]["winner"]) == ("IMPROVED", "every-4")
    assert rows(whole["experiment"])["all"]["verdicts"] == {"REGRESSED": 2}
    # another baseline turns the question
    found = outcome(make_plan(baseline="every-4"), BETTER)
    assert found["winner"] is None
    assert rows(found)["off"]["verdicts"] == {"REGRESSED": 2}


def test_two_levels_that_cannot_be_told_apart_are_named() -> None:
    found = outcome(make_plan(), {"every-2": -0.200, "every-4": -0.201})
    (other,) = {"every-2", "every-4"} - {found["winner"]}
    assert found["reason"].endswith(f"do not distinguish it from {other}.")


@pytest.mark.parametrize("effects", [{}, {"all": -0.02, "every-2": 0.01}, {"all": 0.3, "every-2": 0.2, "every-4": 0.1}])
def test_nothing_is_better_so_nothing_wins(effects: dict[str, float]) -> None:
    found = outcome(make_plan(), effects)
    assert found["winner"] is None
    assert found["reason"].startswith("No level is surely better than off")


def busy(record: dict[str, Any]) -> None:
    """30 % of the client's CPU time went to other work."""
    record["idle"]["client"] = factory.cpu(1.0, 2, 0.6)


@pytest.mark.parametrize(
    ("spoil", "why", "session", "left"),
    [
        (None, "the rounds differ too much to tell", {}, " Nothing was changed."),
        (None, "the rounds differ too much to tell", {"failures": {"app2": "rollback failed"}}, ""),
        (busy, WHY["busy"], {}, " Nothing was changed."),
        (busy, WHY["busy"], {"ended": None}, ""),
    ],
)
def test_undecided_says_why_and_that_nothing_was_changed_if_that_is_known(
    spoil: Any, why: str, session: dict[str, Any], left: str
) -> None:
    plan = make_plan()
    plan["sessions"][0].update(session)
    records = list(make_records(plan, {"every-4": 0.2}, noise=0.1))
    for record in records if spoil is not None else ():
        spoil(record)
    found = compare_change(replace(factory.load(records, make_tunings(plan)), experiment=plan))
    assert found["verdict"] == "INCONCLUSIVE"
    assert found["headline"] == found["experiment"]["reason"] == f"Undecided: {why}.{left}"
    assert len(found["next_steps"]) == 1


def of_every_4(record: dict[str, Any]) -> bool:
    return bool(record["phase"] == "every-4")


def test_a_guard_keeps_a_level_from_winning_and_one_failed_run_does_not() -> None:
    def retransmits(record: dict[str, Any]) -> None:
        for run in record["runs"] if of_every_4(record) else ():
            run["net"]["client"]["retransmits"] = 50

    def fails(record: dict[str, Any]) -> None:
        if of_every_4(record) and record["round"] == 2:
            record["runs"][-1].update(ok=False, error="connection reset", metrics={})

    found = outcome(make_plan(), BETTER, spoil=retransmits)
    assert found["winner"] == "every-2"
    assert any("retransmit" in sentence for sentence in rows(found)["every-4"]["guards"])
    assert not rows(found)["every-4"]["candidate"]
    found = outcome(make_plan(), BETTER, spoil=fails)
    assert found["winner"] == "every-4"
    assert rows(found)["every-4"]["guards"] == []


def test_a_level_that_helps_one_host_and_harms_the_other_does_not_win() -> None:
    def harm(record: dict[str, Any]) -> None:
        if of_every_4(record) and record["host"] == "app2" and not record["workload"]["control"]:
            for run in record["runs"]:
                run["metrics"]["av2_us"] *= 2

    found = outcome(make_plan(), {"every-4": -0.25}, spoil=harm)
    assert found["winner"] is None
    assert rows(found)["every-4"]["verdicts"] == {"IMPROVED": 1, "REGRESSED": 1}


def test_before_the_last_step_nothing_wins_and_it_says_how_far_it_came() -> None:
    plan = make_plan(rounds=10)
    found = outcome(plan, BETTER, steps(plan)[:34])
    assert found["winner"] is None
    assert "not complete (app1 34, app2 34)" in found["reason"] and "at most 40 steps" in found["reason"]
    assert rows(found)["every-4"]["candidate"], "the data would do, but whoever looks every day finds something"
    assert found["progress"]["done"] == 34 and not found["progress"]["complete"]
    # a host without any record is behind
    plan = make_plan()
    plan["sessions"][0]["hosts"] = ["app1", "app2", "app3"]
    found = outcome(plan, BETTER)
    assert found["winner"] is None and "(app3 0)" in found["reason"]
    assert {"host": "app3", "done": 0, "steps": 32, "measures": False} in found["progress"]["hosts"]


def test_nothing_measured_at_all() -> None:
    found = outcome(make_plan(), {}, [])
    assert found["winner"] is None and found["progress"]["done"] == 0
    assert all(row["ratio"] is None for row in found["levels"])
    assert {row["verdict"] for row in found["levels"] if not row["baseline"]} == {"NO DATA"}
    assert found["confidence_pct"] is None


@pytest.mark.parametrize("levels", [2, 5, 64])
def test_with_the_rounds_that_are_asked_for_a_winner_is_possible_and_with_fewer_not(levels: int) -> None:
    many = {"name": "rps", "levels": [experiments.level(f"n{number}", number) for number in range(1, levels + 1)]}
    rounds = outcomes.rounds_for(make_plan(many))

    def possible(look: looks.Look) -> bool:
        apart = 2 / math.comb(2 * look.rounds, look.rounds)  # of all orders, the two that are furthest apart
        return apart <= look.change / (levels - 1)

    assert next(look.rounds for look in looks.LOOKS if possible(look)) == rounds


def test_a_level_that_is_worse_on_one_of_many_hosts_does_not_win() -> None:
    figures = {"ratio": 1.2, "low": 1.1, "high": 1.3, "confidence_pct": 99.9, "reason": "20.0 % better.", "guards": []}
    plan = make_plan()
    loaded = factory.load(make_records(plan, {}), make_tunings(plan))
    for last, winner in (("UNCHANGED", "all"), ("REGRESSED", None)):
        verdicts = {None: "IMPROVED", "app0": "IMPROVED", "app1": last}
        pooled = [{"contrast": "all", "host": host, "verdict": word, **figures} for host, word in verdicts.items()]
        assert outcomes.outcome(plan, pooled, [], loaded.records, loaded.tunings)["winner"] == winner


@pytest.mark.parametrize(
    ("words", "decided"),
    [
        (("IMPROVED", "REGRESSED", "UNCHANGED"), True),
        (("IMPROVED", "NOT COMPARABLE", "NO DATA"), True),
        (("IMPROVED", "INCONCLUSIVE", "UNCHANGED"), False),
        (("IMPROVED",), True),
    ],
)
def test_an_experiment_is_decided_with_the_first_row_of_every_level(words: tuple[str, ...], decided: bool) -> None:
    rows = [
        {"contrast": name, "verdict": word} for name, word in zip(("all", "every-2", "every-4"), words, strict=False)
    ]
    rows += [{"contrast": "all", "verdict": "INCONCLUSIVE"}]
    assert outcomes.decided(make_plan(), rows) is decided


def test_an_experiment_that_stopped_is_complete_with_the_rounds_so_far() -> None:
    plan = {**make_plan(most=16), "stopped": 8}
    found = outcome(plan, BETTER)
    assert found["progress"]["complete"] and found["winner"] == "every-4"
    assert (found["rounds"], found["progress"]["steps"]) == (8, 32)
    assert sum(len(block) for block in found["order"]) == 32
    assert not outcome({**plan, "stopped": None}, BETTER, steps(plan))["progress"]["complete"]


@pytest.mark.nightly
def test_false_winners_are_rare_although_there_are_many_levels() -> None:
    plan = make_plan()
    won = 0
    for seed in range(40):
        records = list(make_records({**plan, "order": make_plan(seed=seed)["order"]}, {}, noise=0.05 + seed / 1e6))
        loaded = replace(factory.load(records, make_tunings(plan)), experiment=plan)
        won += compare_change(loaded)["experiment"]["winner"] is not None
    assert won <= 2


@pytest.mark.parametrize("done", [None, 3])
def test_the_section_is_as_the_schema_of_the_report_says(done: int | None) -> None:
    schema = schema_of("report")
    section = {**schema["properties"]["experiment"], "$defs": schema["$defs"]}
    plan = make_plan()
    found = outcome(plan, BETTER, None if done is None else steps(plan)[:done])
    Draft202012Validator(section).validate(found)
    assert not Draft202012Validator(section).is_valid({**found, "seed": "x"})


def cells(*factors: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {cell["name"]: cell for cell in make_plan(*factors)["cells"]}


def test_two_factors_are_fully_crossed() -> None:
    crossed = cells(POLARIZATION, RPS)
    assert list(crossed) == [
        f"{one}.{two}" for one in ("found", "vertical") for two in ("off", "all", "every-2", "every-4")
    ]
    both = crossed["vertical.every-2"]
    assert both["levels"] == {"polarization": "vertical", "rps": "every-2"}
    assert both["vars"] == {"cpu_polarization_mode": "vertical", "rps_state": "present", "rps_every": 2}
    assert (both["set"], both["found"]) == (["cpu_polarization", "rps"], [])
    # a level as found takes its tuning back, and is looked at with the variables of another
    cell = crossed["found.all"]
    assert (cell["set"], cell["found"]) == (["rps"], ["cpu_polarization"])
    assert (cell["vars"], cell["probe"]) == (RPS["levels"][1]["vars"], {"cpu_polarization_mode": "vertical"})


def test_blocks_end_at_the_looks_and_are_random_inside() -> None:
    order = make_plan(rounds=6, most=16)["order"]
    assert [len(block) for block in order] == [24, 8, 8, 8, 16]
    assert [set(Counter(block).values()) for block in order] == [{6}, {2}, {2}, {2}, {4}]
    assert [name for block in order for name in block] == looks.order(str(make_plan()["seed"]), 16, [*cells()])
    firsts = [block[:4] for block in (make_plan(seed=seed)["order"][0] for seed in range(20))]
    assert any(len(set(names)) < 4 for names in firsts), "a level may follow itself"
    assert order == list(map(list, make_plan(rounds=6, most=16, seed=make_plan()["seed"])["order"]))


@given(seed=st.integers(0, 2**32), rounds=st.integers(1, 40))
def test_blocks_are_whole_whatever_the_seed(seed: int, rounds: int) -> None:
    plan = make_plan(rounds=rounds, seed=seed)
    assert all(len(set(Counter(block).values())) == 1 for block in plan["order"])
    assert set(planning.steps(plan)) == {
        (name, number) for name in ("all", "every-2", "every-4", "off") for number in range(1, rounds + 1)
    }
    assert len(planning.steps(plan)) == 4 * rounds


def test_more_rounds_follow_those_of_the_plan() -> None:
    for there in (make_plan(rounds=6, most=8), make_plan(rounds=6, most=7)):
        wanted = make_plan(rounds=6, most=16)
        grown = planning.with_budget(there, wanted, ())
        begin = planning.steps(there)
        assert planning.steps(grown)[: len(begin)] == begin
        assert sorted(planning.steps(grown)) == sorted(planning.steps(wanted))
        assert planning.check_plan(grown, experiments.CHANGE) == grown
        assert planning.with_budget(grown, there, ())["order"] == grown["order"], "a plan never becomes shorter"
    assert planning.with_budget(make_plan(rounds=6, most=8), wanted, ())["order"] == wanted["order"]


@pytest.mark.parametrize(
    ("asked", "hosts", "stopped"),
    [
        ({"most": 16, "minutes": 30}, (), 8),
        ({"most": 12, "minutes": 20}, (), 8),
        ({"most": 24, "minutes": 30}, (), None),
        ({"most": 16, "minutes": 31}, (), None),
        ({"most": 16, "minutes": 0}, (), None),
        ({"most": 16, "minutes": 30}, ("app1", "app3"), None),
        ({"most": 16, "minutes": 30}, ("app1",), 8),
    ],
)
def test_a_larger_budget_or_a_new_host_opens_a_plan_that_has_stopped(
    asked: dict[str, Any], hosts: tuple[str, ...], stopped: int | None
) -> None:
    there = {**make_plan(most=16, minutes=30), "stopped": 8}
    assert planning.with_budget(there, make_plan(**asked), hosts)["stopped"] == stopped


MANY = {"name": "rps", "levels": [level(f"n{number}", number) for number in range(1, 70)]}
ONE = {"name": "one", "levels": [{"name": name, "vars": {"rps_cpus": name}} for name in ("a", "a.b")]}
TWO = {"name": "two", "levels": [{"name": name, "vars": {"rps_every": name}} for name in ("b.c", "c")]}


@pytest.mark.parametrize(
    ("factors", "more", "words"),
    [
        ((), {"baseline": "every-3"}, "baseline is 'every-3'; it must be one of off, all, every-2, every-4"),
        ((), {"rounds": 0}, "rounds is 0; it must be between 1 and 1000"),
        ((), {"rounds": 6, "most": 5}, r"max_rounds is 5; it must be between rounds \(6\) and 1000"),
        ((), {"minutes": -1}, "max_minutes is -1"),
        ((MANY,), {}, "69 combinations of levels; more than 64"),
        ((ONE, TWO), {}, "two combinations of levels would both be called a.b.c"),
    ],
)
def test_what_cannot_be_planned_is_refused(factors: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_plan(*factors, **more)
    assert make_plan(baseline="all")["baseline"] == "all"


def rps(*levels: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The factor rps with these levels."""
    return {"name": "rps", "levels": list(levels), **more}


def of(**values: list[Any]) -> list[dict[str, Any]]:
    """Levels that set one variable to these values."""
    ((variable, found),) = values.items()
    return [{"name": f"n{place}", "vars": {variable: value}} for place, value in enumerate(found)]


A, B = level("a", 1), level("b", 2)
FOUND = {"name": "found", "found": True}
ON_OFF = [level("on", 1), level("off", 1, "off")]


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ([], "factors is empty"),
        (None, "factors is empty"),
        ([rps(A, B, name="a b")], "factors\\[0\\].name is 'a b'; it must begin with"),
        ([rps(A)], "factor rps needs a list of at least two levels"),
        ([rps({"name": False})], "needs a list of at least two levels"),
        ([rps(A, A)], "factor rps: the name a is used twice"),
        ([rps(level(False, 1), A)], "YAML takes on, off, yes and no for true and false"),
        ([rps(A, {"name": "b"})], "level b .* needs either vars, .*, or found: true"),
        ([rps(A, {**B, "found": True})], "needs either vars"),
        ([rps(A, {"name": "b", "vars": {"rps_every": 2}})], "rps_state is set in one of the levels"),
        ([rps(A, level("b", 1))], "the levels a and b set the same values"),
        ([rps(A, level("b", 1, "restored"))], "write found: true in place"),
        ([rps(FOUND, {"name": "b", "found": True})], "more than one level with found: true"),
        ([rps(*of(rps_evry=[1, 2]))], "sets rps_evry, and there is no such variable; did you mean rps_every?"),
        ([rps(*of(measure_bytes=[1, 2]))], "measure_bytes, .* it takes those of the roles cpu_polarization, rps"),
        ([RPS, rps(*ON_OFF)], "factors: the name rps is used twice"),
        ([RPS, rps(*ON_OFF, name="again")], "the factors rps and again both set rps_every"),
        (
            [rps(FOUND, *of(rps_every=[2])), rps(*of(rps_cpus=["all", "0-3"]), name="cpus")],
            "factor rps has a level with found: true, and the factors rps and cpus both set the tuning rps",
        ),
    ],
)
def test_what_makes_no_sense_gets_one_sentence(factors: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        read_factors(factors, KNOWN)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (["schema"], "x"),
        (["cells", 1, "vars", "rps_every"], 9),
        (["order"], []),
        (["order"], 5),
        (["max_rounds"], 9),
        (["max_rounds"], None),
        (["max_minutes"], float("nan")),
        (["stopped"], 0),
        (["stopped"], 9),
        (["stopped"], "8"),
        (["continued"], [0]),
        (["continued"], 5),
        (["rounds"], 10**9),
        (["order"], None),
        (["factors", 0], {"name": "rps"}),
        (["factors"], []),
        (["sessions", 0], {}),
        (["sessions", 0, "hosts"], [1]),
        (["sessions", 0, "failures"], ["app1"]),
        (["sessions", 0, "failures"], {"app1": 5}),
        (["sessions", 0, "ended"], 5),
        (["sessions", 0, "kept"], ["off"]),
        (["sessions", 0, "set_aside"], "x"),
        (["baseline"], "nobody"),
        (["factors", 0, "levels", 0, "name"], "<b>"),
    ],
)
def test_a_damaged_plan_is_never_used(way: list[Any], value: object) -> None:
    plan = json.loads(json.dumps(make_plan()))
    assert planning.check_plan(plan, experiments.CHANGE) == plan
    for spoilt in (put(plan, way, value), [plan]):
        with pytest.raises(ValueError):
            planning.check_plan(spoilt, experiments.CHANGE)


def test_a_plan_belongs_to_its_change_and_its_blocks_are_complete() -> None:
    plan = json.loads(json.dumps(make_plan(POLARIZATION, RPS)))
    with pytest.raises(ValueError, match="belongs to the change"):
        planning.check_plan(plan, "other")
    for spoil in (lambda order: order[0].append("all"), lambda order: order[0].pop(), lambda order: order.pop()):
        spoilt = json.loads(json.dumps(plan))
        spoil(spoilt["order"])
        with pytest.raises(ValueError, match="do not follow from its factors"):
            planning.check_plan(spoilt, experiments.CHANGE)


@pytest.mark.parametrize("factors", [(RPS,), (POLARIZATION, RPS)])
def test_a_plan_is_as_its_schema_says(factors: tuple[dict[str, Any], ...]) -> None:
    plan = make_plan(*factors)
    assert schema_errors("experiment", plan) == []
    del plan["sessions"][0]["ended"]
    assert schema_errors("experiment", plan) != []
