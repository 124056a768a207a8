# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One verdict per host and per site: what is pooled, what the unit is, and which rounds do not count."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled, site

MATERIAL = 0.05
SIZES = (1, 500, 1000, 1400, 1500, 4000, 10000)
SAME = factory.Plan(hosts=("app1", "app2"), sizes=SIZES, control=False, session_noise=0.02)
BETTER = replace(SAME, effect=-0.10)


def lines_of(records):
    """One line per host."""
    rounds = factory.load(records).records
    return [
        pooled.line(host, [item for item in rounds if item.host == host]) for host in sorted({r.host for r in rounds})
    ]


def test_hosts_and_the_site_are_judged_by_the_mean_over_the_workloads():
    (first, _second) = lines_of(factory.make_change(BETTER))
    found = pooled.of_site([first], MATERIAL)
    assert (found.word, found.rounds, found.unit) == ("IMPROVED", 6, "rounds")
    assert found.effect.ratio == pytest.approx(1 / 0.9, rel=0.03)
    assert found.effect.low > 1.0
    lines = lines_of(factory.make_change(SAME))
    assert {pooled.of_site([item], MATERIAL).word for item in lines} == {"UNCHANGED"}
    assert pooled.of_site(lines, MATERIAL).word == "UNCHANGED"
    # more than six hosts in one order have to agree with the rounds
    plan = replace(BETTER, hosts=tuple(f"app{number}" for number in range(1, 9)), sizes=(1000,))
    assert pooled.of_site(lines_of(factory.make_change(plan)), MATERIAL).word == "IMPROVED"
    assert pooled.of_site([], MATERIAL).word == "NO DATA"
    (first, _second) = lines_of([record for record in factory.make_change(BETTER) if record["phase"] == "before"])
    assert pooled.of_site([first], MATERIAL).word == "NO DATA"


def test_a_round_that_lacks_a_workload_does_not_count():
    records = [
        record
        for record in factory.make_change(BETTER)
        if (record["phase"], record["round"], record["workload"]["bytes"]) != ("after", 3, 4000)
    ]
    (first, _second) = lines_of(records)
    assert ("after", 3) not in first.slots
    found = pooled.of_site([first], MATERIAL)
    assert (found.word, found.effect.low, found.rounds) == ("INCONCLUSIVE", 0.0, 5)


def test_hosts_that_share_an_order_are_one_group_even_if_a_round_is_lost():
    plan = replace(BETTER, hosts=tuple(f"app{number}" for number in range(1, 7)), sizes=(1000,))
    lost = [("app2", "before", 2), ("app3", "before", 5), ("app3", "before", 6), ("app4", "after", 1)]
    records = list(factory.make_change(plan))
    records = [record for record in records if (record["host"], record["phase"], record["round"]) not in lost]
    lines = lines_of(records)
    found = pooled.of_site(lines, MATERIAL)
    assert (found.unit, found.rounds) == ("rounds", 6)
    # their names do not matter
    for turn in range(1, 6):
        assert pooled.of_site([*lines[turn:], *lines[:turn]], MATERIAL) == found
    assert found.effect.ratio == pytest.approx(1 / 0.9, rel=0.02)


def test_a_drift_is_taken_out_of_states_that_alternate_and_not_of_blocks():
    drifting = replace(SAME, drift=0.01, hosts=("app1",))
    (mixed,) = lines_of(factory.make_change(drifting))
    assert pooled.of_site([mixed], MATERIAL).word == "UNCHANGED"
    (blocks,) = lines_of(factory.make_change(replace(drifting, design="blocks")))
    assert not blocks.alternates
    assert pooled.of_site([blocks], MATERIAL).word == "REGRESSED"


DRAWN_BY_3 = ["after"] * 4 + ["before"] * 6 + ["after"] * 2
IN_TURN = ["before", "after"] * 6


@pytest.mark.parametrize(
    ("states", "seed", "mixed"),
    [
        (DRAWN_BY_3, "3", True),
        (DRAWN_BY_3, "x", False),
        (DRAWN_BY_3, "", False),
        (IN_TURN, "3", False),
        (IN_TURN, "", True),
    ],
)
def test_an_order_counts_if_its_recorded_seed_draws_it(states, seed, mixed):
    """Of 462 random orders of 6 and 6 rounds, 6 look like blocks; one in turn may be in step with a disturbance."""
    plan = replace(BETTER, hosts=("app1",), sizes=(1000,))
    records = list(factory.make_change(plan))
    began = sorted(record["started"] for record in records)
    for state in ("before", "after"):
        places = [place for place, name in enumerate(states) if name == state]
        for record, place in zip([item for item in records if item["phase"] == state], places, strict=True):
            record["started"] = began[place]
            record["protocol"]["seed"] = seed
    (line,) = lines_of(records)
    assert [state for state, _number in line.slots] == states and line.alternates is mixed
    blocks = list(factory.make_change(replace(plan, design="blocks")))
    for record in blocks:
        record["protocol"].update(seed=seed, design="alternate")
    (line,) = lines_of(blocks)
    assert line.alternates is False


def host(name, values, starts=True, order=None):
    """The line of a host: per state its values, each the only round of a start; ``order``: of states in time."""
    slots, readings = [], []
    for state in order or ["before", "after"] * len(values["before"]):
        number = 1 + sum(known == state for known, _number in slots)
        slots.append((state, number))
        readings.append((state, math.log(values[state][number - 1])))
    both = tuple(tuple(values[state]) for state in ("before", "after")) if starts else None
    return pooled.Line(name, tuple(slots), tuple(readings), True, both, (1,) * len(slots))


def around(level, factor, count=5):
    """This many values of a host, 1 % apart, and those after the change."""
    before = [level * (1 + 0.01 * place) for place in range(count)]
    return {"before": before, "after": [factor * value for value in before]}


@pytest.mark.parametrize(("factor", "word"), [(1.15, "IMPROVED"), (1.0, "UNCHANGED")])
def test_restarted_hosts_of_different_levels_are_compared_within_each_host(factor, word):
    lines = [host("app1", around(50, factor)), host("app2", around(500, factor, 8))]
    found = pooled.of_site(lines, MATERIAL)
    assert (found.word, found.unit, found.rounds) == (word, "starts", 5)
    assert found.effect.ratio == pytest.approx(factor)


def test_hosts_that_did_not_restart_count_beside_those_that_did():
    moved, still = host("app1", around(50, 1.15)), host("app2", around(80, 1.0, 12), starts=False)
    alone, both = (pooled.of_site(lines, MATERIAL).effect for lines in ([moved], [moved, still]))
    assert alone.ratio == pytest.approx(1.15) and both.ratio < 1.1
    assert (alone.confidence, both.confidence) == (pytest.approx(0.97), pytest.approx(0.985))


@pytest.mark.parametrize(
    ("hosts", "starts", "own", "word", "unit"),
    [
        (10, 1, True, "IMPROVED", "hosts"),
        (9, 1, True, "INCONCLUSIVE", "starts"),
        (10, 1, False, "INCONCLUSIVE", "starts"),
        (9, 5, True, "IMPROVED", "hosts"),
        (9, 4, True, "INCONCLUSIVE", "starts"),
    ],
)
def test_from_ten_hosts_of_their_own_order_one_start_of_each_is_enough(hosts, starts, own, word, unit):
    orders = [["before"] * place + ["after"] * 6 + ["before"] * (6 - place) for place in range(6)]
    orders += [["after"] * place + ["before"] * 6 + ["after"] * (6 - place) for place in range(6)]
    lines = []
    for n in range(hosts):
        line = host(f"app{n}", around(50 + n, 1.15 + 0.001 * n, 6), True, orders[n] if own else None)
        lines.append(line._replace(starts=tuple(side[:starts] for side in line.starts)))
    found = pooled.of_site(lines, MATERIAL)
    assert (found.word, found.unit) == (word, unit)


def test_a_workload_whose_figures_are_all_equal_hides_nothing_of_the_others():
    """Its step is unknown (infinite), which must not become the step of all."""
    assert site.mean([0.05, math.inf, 0.05]) == pytest.approx(0.05)
    assert site.mean([math.inf]) == math.inf
