# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pooled rows: one verdict for all workloads and hosts, and the guard on their long round trips."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled, site
from comparing import BETTER, SAME, records_of, report_of, spoil
from rendering import render

MATERIAL = 0.05
SIZES = (1, 500, 1000, 1400, 1500, 4000, 10000)
ALIKE = factory.Plan(hosts=("app1", "app2"), sizes=SIZES, control=False, session_noise=0.02)
FASTER = replace(ALIKE, effect=-0.10)


def lines_of(records):
    """One line per host."""
    rounds = factory.load(records).records
    return [
        pooled.line(host, [item for item in rounds if item.host == host]) for host in sorted({r.host for r in rounds})
    ]


def test_hosts_and_the_site_are_judged_by_the_mean_over_the_workloads():
    (first, _second) = lines_of(factory.make_change(FASTER))
    found = pooled.of_site([first], MATERIAL)
    assert (found.word, found.rounds, found.unit) == ("IMPROVED", 6, "rounds")
    assert found.effect.ratio == pytest.approx(1 / 0.9, rel=0.03)
    assert found.effect.low > 1.0
    lines = lines_of(factory.make_change(ALIKE))
    assert {pooled.of_site([item], MATERIAL).word for item in lines} == {"UNCHANGED"}
    assert pooled.of_site(lines, MATERIAL).word == "UNCHANGED"
    # more than six hosts in one order have to agree with the rounds
    plan = replace(FASTER, hosts=tuple(f"app{number}" for number in range(1, 9)), sizes=(1000,))
    assert pooled.of_site(lines_of(factory.make_change(plan)), MATERIAL).word == "IMPROVED"
    assert pooled.of_site([], MATERIAL).word == "NO DATA"
    (first, _second) = lines_of([record for record in factory.make_change(FASTER) if record["phase"] == "before"])
    assert pooled.of_site([first], MATERIAL).word == "NO DATA"


def test_a_round_that_lacks_a_workload_does_not_count():
    records = [
        record
        for record in factory.make_change(FASTER)
        if (record["phase"], record["round"], record["workload"]["bytes"]) != ("after", 3, 4000)
    ]
    (first, _second) = lines_of(records)
    assert ("after", 3) not in first.slots
    found = pooled.of_site([first], MATERIAL)
    assert (found.word, found.effect.low, found.rounds) == ("INCONCLUSIVE", 0.0, 5)


def test_hosts_that_share_an_order_are_one_group_even_if_a_round_is_lost():
    plan = replace(FASTER, hosts=tuple(f"app{number}" for number in range(1, 7)), sizes=(1000,))
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
    drifting = replace(ALIKE, drift=0.01, hosts=("app1",))
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
    plan = replace(FASTER, hosts=("app1",), sizes=(1000,))
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


DOUBLE, THIRD = 70, 30
"""Bins of 1 %: twice as long, and 1.35 times."""
LATE = 500
"""Bins of round trips that no percentile holds."""
EIGHT = replace(BETTER, effect=-0.08)
TWICE = "1 of 1,000 round trips takes 2.0 times as long"
OVER = "round trips take over twice as long as 999 of 1,000 took before"


def trips(record, longer=0, late=0, count=10_000, some=0):
    """The round trips of a round: 2 of 1,000 in a bin that is ``longer`` bins up, and ``late`` ones far beyond it.

    ``some``: how many are just below the slow ones.
    """
    shift = record["round"] % 3
    slow = count // 500
    beyond = f" {450 + LATE}:{late}" if late else ""
    usual = f"{393 + shift}:{count - slow - late - some}" + f" {443 + shift}:{some}" * bool(some)
    record["histogram_us"] = f"{usual} {450 + shift + longer}:{slow}{beyond}"


def told(plan, count=10_000, **after):
    """The records of one host, with these round trips after the change."""
    records = spoil(records_of(plan), lambda record: trips(record, count=count))
    return spoil(records, lambda record: trips(record, count=count, **after), "after")


def row_of(records):
    (row,) = report_of(records)["pooled"]
    return row


def test_a_change_that_buys_the_average_with_long_round_trips_says_so_first():
    report = report_of(told(EIGHT, longer=DOUBLE), factory.change_tunings(EIGHT))
    (row,) = report["pooled"]
    assert (row["verdict"], row["warnings"], row["guards"]) == ("IMPROVED", True, [f"{TWICE}."])
    assert report["headline"].endswith(f"beyond the material limit of 5 %; but {TWICE}; with warnings.")
    assert report["next_steps"][0] == "Check the side effects named in the guards before you keep the change."
    page = render(report, "html")
    assert f"but {TWICE}" in page.partition("What to do next")[0]
    assert all("IMPROVED, WITH WARNINGS" in render(report, form) for form in ("html", "md"))
    assert all(f"{TWICE}." in render(report, form) for form in ("html", "md", "json"))


@pytest.mark.parametrize(("effect", "word"), [(0.0, "UNCHANGED"), (0.10, "REGRESSED")])
def test_long_round_trips_change_no_other_verdict(effect, word):
    report = report_of(told(replace(SAME, effect=effect), longer=DOUBLE))
    (row,) = report["pooled"]
    assert (row["verdict"], row["warnings"], row["guards"]) == (word, False, [f"{TWICE}."])
    assert (f"; but {TWICE}" in report["headline"]) == (word == "UNCHANGED")


@pytest.mark.parametrize("after", [{}, {"longer": -DOUBLE}, {"longer": THIRD}], ids=["same", "shorter", "a third"])
def test_an_increase_of_less_than_half_does_not_trigger_a_guard(after):
    assert row_of(told(EIGHT, **after))["guards"] == []


def test_round_trips_that_are_longer_in_few_rounds_may_be_chance_and_a_host_is_told_once():
    records = told(EIGHT)
    late = [record for record in records if record["round"] > 4]
    spoil(late, lambda record: trips(record, longer=DOUBLE), "after")
    assert row_of(records)["guards"] == []
    assert row_of(spoil(told(EIGHT, longer=DOUBLE, late=5), longest, "after"))["guards"] == [f"{TWICE}."]


def test_rare_stalls_are_counted_by_what_was_usual_before():
    assert row_of(told(EIGHT, late=5))["guards"] == [f"0.5 of 1,000 {OVER}."]
    assert row_of(spoil(told(EIGHT, late=5), lambda record: trips(record, late=5)))["guards"] == []
    assert row_of(spoil(told(EIGHT), lambda record: trips(record, late=5), "before"))["guards"] == []
    few = [record for record in told(EIGHT) if record["round"] <= 4]
    spoil(few, lambda record: trips(record, late=1), "after")
    assert row_of([*few, *(record for record in told(EIGHT) if record["round"] > 4)])["guards"] == []


def test_a_round_of_few_round_trips_tells_no_percentile_but_counts():
    assert row_of(told(EIGHT, count=9_999, longer=DOUBLE + 10))["guards"] == [f"1.9 of 1,000 {OVER}."]
    assert row_of(told(EIGHT, count=2_000, late=3))["guards"] == [f"1.5 of 1,000 {OVER}."]
    assert row_of(told(EIGHT, count=1_000, late=3))["guards"] == []  # not 10,000 before


def test_one_of_a_hundred_counts_although_one_of_a_thousand_is_as_fast_as_before():
    (guard,) = row_of(told(EIGHT, some=150))["guards"]
    assert guard.startswith("1 of 100 round trips takes 1.") and guard.endswith(" times as long.")
    assert row_of(told(EIGHT, some=50))["guards"] == []
    assert row_of(told(EIGHT, count=999, some=150))["guards"] == []  # ten beyond it are needed
    unseen = "if some got longer, it does not show"
    assert not [flag for flag in row_of(told(EIGHT))["flags"] if unseen in flag]
    assert [flag for flag in row_of(records_of(EIGHT))["flags"] if unseen in flag]


def longest(record, times=2.5):
    for run in record["runs"]:
        run["metrics"]["max_us"] *= times


def test_workloads_of_tools_that_tell_no_round_trips_keep_their_longest_one():
    records = records_of(replace(EIGHT, sizes=(1, 1000)))
    ours = [record for record in records if record["workload"]["bytes"] == 1]
    spoil(ours, trips)
    assert row_of(records)["guards"] == []
    spoil(ours, lambda record: trips(record, longer=DOUBLE), "after")
    assert row_of(records)["guards"] == [f"{TWICE}."]
    spoil(ours, trips)
    assert row_of(spoil([*ours], longest, "after"))["guards"] == []
    assert "of pingpong-1000B: if" in row_of(records)["flags"][-1]
    spoil([record for record in records if record not in ours], longest, "after")
    assert row_of(records)["guards"][0].startswith("the longest round trip of a run takes 2.")


def test_the_hosts_whose_round_trips_got_longer_are_named():
    plan = replace(EIGHT, hosts=tuple(f"app{number}" for number in range(1, 5)))
    records = spoil([*factory.make_change(plan)], trips)
    spoil([r for r in records if r["host"] == "app2"], lambda record: trips(record, longer=DOUBLE), "after")
    other = [r for r in records if r["host"] == "app3"]
    spoil(spoil(other, longest, "after"), lambda record: record.pop("histogram_us"))
    report = report_of(records)
    site, *hosts = report["pooled"]
    assert site["guards"][0] == f"{TWICE} on 1 of 4 hosts (app2)."
    assert site["guards"][1].startswith("the longest round trip of a run takes 2.")
    assert site["guards"][1].endswith(" times as long on 1 of 4 hosts (app3).")
    assert [len(host["guards"]) for host in hosts] == [0, 1, 1, 0]
    assert f"; but {TWICE} on 1 of 4 hosts (app2); but the longest " in report["headline"]


def test_a_session_that_has_one_state_says_nothing():
    records = told(SAME)
    more = [record | {"round": record["round"] + 6} for record in told(SAME, late=5) if record["phase"] == "after"]
    for record in more:
        record["protocol"] = record["protocol"] | {"session": 2}
        record["started"] = record["started"].replace("2026-11-20", "2026-11-21")
    assert row_of([*records, *more])["guards"] == []
