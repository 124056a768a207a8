# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an experiment: what a user may write, the crossed cells, the order, and a plan that comes from a file."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import experiments
import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment import plans as planning
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.factors import read_factors
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import looks
from documents import put, schema_errors
from experiments import KNOWN, POLARIZATION, RPS, level, make_plan
from hypothesis import given
from hypothesis import strategies as st


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
def test_what_makes_no_sense_is_one_sentence(factors: Any, words: str) -> None:
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
def test_a_spoilt_plan_is_never_used(way: list[Any], value: object) -> None:
    plan = json.loads(json.dumps(make_plan()))
    assert planning.check_plan(plan, experiments.CHANGE) == plan
    for spoilt in (put(plan, way, value), [plan]):
        with pytest.raises(ValueError):
            planning.check_plan(spoilt, experiments.CHANGE)


def test_a_plan_is_of_its_change_and_its_blocks_are_whole() -> None:
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
