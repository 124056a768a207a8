# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of long round trips: what an average hides is said, where it counts, and only if it is sure."""

from __future__ import annotations

from dataclasses import replace

import pytest
import records_factory as factory
from comparing import BETTER, SAME, records_of, report_of, spoil
from rendering import render

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
