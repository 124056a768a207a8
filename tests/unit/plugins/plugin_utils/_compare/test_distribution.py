# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The distribution of single round trips: percentiles with a known truth, and when there is none."""

from __future__ import annotations

import json
import random
from types import SimpleNamespace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import histogram
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import distribution
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from documents import schema_errors


def rounds_of(before, after):
    """The rounds of both states, from the round trips of each in µs; None: a round that tells none."""
    records = []
    for phase, rounds in (("before", before), ("after", after)):
        for number, samples in enumerate(rounds, 1):
            record = factory.make_record([50.0] * 6, phase=phase, number=number)
            records.append(record if samples is None else told(record, histogram.histogram(samples, 1.0)))
    return factory.load(records).records


def told(record, text):
    return record | {"histogram_us": text}


def spread(count, middle, seed=1):
    chance = random.Random(seed)
    return [middle * chance.lognormvariate(0.0, 0.4) for _index in range(count)]


def percentile(samples, share):
    return sorted(samples)[int(share * len(samples))]


def test_percentiles_are_those_of_all_round_trips_to_one_percent():
    before, after = spread(20000, 60.0), spread(20000, 90.0, 2)
    found = distribution.distribution(rounds_of([before[:5000], None, before[5000:]], [after, None]))
    for side, samples in ((found["before"], before), (found["after"], after)):
        assert side["count"] == 20000
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            assert side[name] == pytest.approx(percentile(samples, share), rel=0.01)
        for value, share in side["points"]:
            assert value == pytest.approx(percentile(samples, share), rel=0.01)
        assert len(side["points"]) == 40 and side["points"] == sorted(side["points"])
        assert {share for _value, share in side["points"]} >= {0.5, 0.9, 0.99}
    assert found["unit"] == "µs" and "coordinated omission" in found["note"]


@pytest.mark.parametrize(
    ("count", "known"),
    [(20, {"p50"}), (99, {"p50"}), (100, {"p50", "p90"}), (999, {"p50", "p90"}), (1000, {"p50", "p90", "p99"})],
)
def test_a_percentile_needs_round_trips_beyond_it(count, known):
    side = distribution.distribution(rounds_of([spread(count, 60.0)], [spread(5000, 60.0)]))["before"]
    assert {name for name in ("p50", "p90", "p99") if side[name] is not None} == known
    assert max(share for _value, share in side["points"]) <= 1 - 10 / count


@pytest.mark.parametrize(
    ("before", "after"),
    [([None], [[50.0] * 30]), ([[50.0] * 30], [None]), ([[50.0] * 30], []), ([[50.0] * 19], [[50.0] * 30])],
)
def test_without_both_states_there_is_none(before, after):
    assert distribution.distribution(rounds_of(before, after)) is None


def test_a_hostile_histogram_is_counted_as_it_is():
    after = rounds_of([], [[50.0] * 30])
    record = factory.make_record([50.0] * 6)
    huge = factory.load([told(record, "9999:0,0,999999999999 5:1 5:2 0:0")]).records
    side = distribution.distribution([*huge, *after])["before"]
    assert side["count"] == 1_000_000_000_002 and len(json.dumps(side, allow_nan=False)) < 2500
    assert distribution.distribution([*factory.load([told(record, "7:0 8:0")]).records, *after]) is None


def fleet(number):
    """Comparisons of which one is worse, one tells nothing, and the last is a control."""
    known, unknown = rounds_of([[50.0] * 30], [[60.0] * 30]), rounds_of([None], [None])
    found = []
    for index in range(number):
        worse = index == 20
        verdict = "REGRESSED" if worse or index == 30 else "UNCHANGED"
        entry = {"ratio": 0.93 if worse else 1.0 + index / 10000, "host": f"app{index}", "verdict": verdict}
        rounds = unknown if index == 30 else known
        found.append(SimpleNamespace(entry={**entry, "control": False}, rounds=rounds))
    entry = {"ratio": 1.5, "host": "control", "verdict": "UNCHANGED", "control": True}
    control = SimpleNamespace(entry=entry, rounds=known)
    for item in (*found, control):
        item.entry["distribution"] = None
    return [*found, control]


@pytest.mark.parametrize(
    ("size", "with_one"),
    [
        (60, [f"app{index}" for index in range(60) if index != 30]),
        (200, ["app20", *(f"app{index}" for index in range(177, 200))]),
    ],
)
def test_all_comparisons_but_controls_get_one_and_of_a_fleet_the_most_important(size, with_one):
    found = fleet(size)
    distribution.add_distributions(found)
    assert [item.entry["host"] for item in found if item.entry["distribution"] is not None] == with_one


def test_the_report_of_a_change_has_it_and_names_no_percentile_in_a_verdict():
    plan = factory.Plan(sizes=(1000,), effect=-0.1)
    records = [told(record, "400:300,600,300") for record in factory.make_change(plan)]
    report = compare_change(factory.load(records, factory.change_tunings(plan)))
    for item in report["comparisons"]:
        assert (item["distribution"] is None) == item["control"]
        assert item["control"] or item["distribution"]["after"]["count"] == 6 * 1200
    assert schema_errors("report", report) == []
    plain = compare_change(factory.load(factory.make_change(plan), factory.change_tunings(plan)))
    for item in (*report["comparisons"], *plain["comparisons"]):
        del item["distribution"]
    assert report == plain
