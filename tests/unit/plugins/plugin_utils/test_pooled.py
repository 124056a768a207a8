# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One verdict per host and per site: what is pooled, what the unit is, and which rounds do not count."""

from __future__ import annotations

from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare import pooled

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


def test_a_host_is_judged_by_the_mean_over_its_workloads():
    (first, _second) = lines_of(factory.make_change(BETTER))
    found = pooled.of_host(first, MATERIAL)
    assert (found.word, found.rounds, found.unit, found.workloads) == ("IMPROVED", 6, "rounds", 7)
    assert found.effect.ratio == pytest.approx(1 / 0.9, rel=0.03)
    assert found.effect.low > 1.0


def test_nothing_changed_is_unchanged_with_many_comparisons():
    lines = lines_of(factory.make_change(SAME))
    assert {pooled.of_host(item, MATERIAL).word for item in lines} == {"UNCHANGED"}
    assert pooled.of_site(lines, MATERIAL).word == "UNCHANGED"


def test_a_round_that_lacks_a_workload_does_not_count():
    records = [
        record
        for record in factory.make_change(BETTER)
        if (record["phase"], record["round"], record["workload"]["bytes"]) != ("after", 3, 4000)
    ]
    (first, _second) = lines_of(records)
    assert ("after", 3) not in first.slots
    found = pooled.of_host(first, MATERIAL)
    assert (found.word, found.effect.low, found.rounds) == ("INCONCLUSIVE", 0.0, 5)


def test_hosts_that_share_an_order_are_one_group_even_if_a_round_is_lost():
    records = [record for record in factory.make_change(BETTER) if (record["host"], record["round"]) != ("app2", 2)]
    lines = lines_of(records)
    assert [len(group) for group in pooled._groups(lines)] == [2]
    assert pooled.of_site(lines, MATERIAL).hosts == 2


def test_more_hosts_than_six_in_one_order_have_to_agree_with_the_rounds():
    plan = replace(BETTER, hosts=tuple(f"app{number}" for number in range(1, 9)), sizes=(1000,))
    assert pooled.of_site(lines_of(factory.make_change(plan)), MATERIAL).word == "IMPROVED"


def restarted(records, starts):
    """Records whose states were started ``starts`` times each, at other times."""
    records = list(records)
    for record in records:
        for side in ("client", "server"):
            record["fingerprint"][side]["boot_id"] = f"{record['phase']}-{record['round'] % starts}"
    return records


@pytest.mark.parametrize(("starts", "word", "unit"), [(1, "INCONCLUSIVE", "starts"), (5, "IMPROVED", "starts")])
def test_a_state_that_was_reached_by_a_restart_counts_its_starts(starts, word, unit):
    plan = replace(BETTER, rounds=10)
    (first, _second) = lines_of(restarted(factory.make_change(plan), starts))
    found = pooled.of_host(first, MATERIAL)
    assert (found.word, found.unit, found.rounds) == (word, unit, starts)


def test_a_drift_is_taken_out_of_states_that_alternate_and_not_of_blocks():
    drifting = replace(SAME, drift=0.01, hosts=("app1",))
    (mixed,) = lines_of(factory.make_change(drifting))
    assert pooled.of_host(mixed, MATERIAL).word == "UNCHANGED"
    (blocks,) = lines_of(factory.make_change(replace(drifting, design="blocks")))
    assert not blocks.alternates
    assert pooled.of_host(blocks, MATERIAL).word == "REGRESSED"


def test_nothing_to_pool_is_no_data():
    assert pooled.of_site([], MATERIAL).word == "NO DATA"
    (first, _second) = lines_of([record for record in factory.make_change(BETTER) if record["phase"] == "before"])
    assert pooled.of_host(first, MATERIAL).word == "NO DATA"
