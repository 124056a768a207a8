# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is reported beside the verdict, and that none of it improves a verdict."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import records_factory as factory
from comparing import BETTER, SAME, fail, main, records_of, report_of, spoil

# Guards


def longer(record):
    for run in record["runs"]:
        run["metrics"]["max_us"] *= 2.5


def retransmitting(record):
    for run in record["runs"]:
        run["net"]["server"]["retransmits"] = 1


def stolen(record):
    for run in record["runs"]:
        run["cpu"]["client"]["steal_s"] = 0.2


EACH_VERDICT = pytest.mark.parametrize(
    ("effect", "word"), [(-0.10, "IMPROVED"), (0.0, "UNCHANGED"), (0.10, "REGRESSED")]
)


@EACH_VERDICT
def test_a_guard_turns_improved_into_improved_with_warnings_and_changes_no_other_verdict(effect, word):
    report = report_of(spoil(records_of(replace(BETTER, effect=effect)), stolen, "after"))
    found = main(report)
    (guard,) = found["guards"]
    assert "the hypervisor took 10" in guard
    assert (found["verdict"], found["warnings"]) == (word, word == "IMPROVED")
    assert report["pooled"][0]["warnings"] is (word == "IMPROVED")
    assert report["headline"].endswith("; with warnings.") is (word == "IMPROVED")


@EACH_VERDICT
def test_retransmits_are_a_guard_if_they_are_more_by_more_than_chance(effect, word):
    plan = replace(BETTER, effect=effect)
    (row,) = report_of(spoil(records_of(plan), retransmitting, "after"))["pooled"]
    told = "TCP retransmits rose from 0 in 30 runs to 30 in 30."
    assert (row["verdict"], row["guards"], row["warnings"]) == (word, [told], word == "IMPROVED")
    few = spoil([r for r in records_of(plan) if r["round"] <= 2], retransmitting, "after")
    (row,) = report_of([*few, *(r for r in records_of(plan) if r["round"] > 2)])["pooled"]
    assert (row["verdict"], row["guards"], row["warnings"]) == (word, [], False)
    assert "TCP retransmits rose from 0 in 30 runs to 10 in 30; that may be chance." in row["flags"]


def test_retransmits_of_one_host_are_not_lost_among_those_of_others():
    def everywhere(record):
        for run in record["runs"]:
            run["net"]["client"]["retransmits"] = 0 if record["host"] == "app2" else 20

    records = spoil([*factory.make_change(replace(BETTER, hosts=("app1", "app2", "app3", "app4")))], everywhere)
    assert all(not row["guards"] for row in report_of(records)["pooled"])
    spoil([record for record in records if record["host"] == "app2"], retransmitting, "after")
    site, *hosts = report_of(records)["pooled"]
    assert site["guards"] == ["TCP retransmits rose on app2."]
    assert [len(host["guards"]) for host in hosts] == [0, 1, 0, 0]
    few = [record for record in records if record["host"] in ("app2", "app4")]
    spoil(few, lambda record: [run["net"]["client"].update(retransmits=0) for run in record["runs"]])
    assert report_of(few)["pooled"][0]["guards"] == [
        "TCP retransmits rose from 0 in 60 runs to 30 in 60, beyond chance on app2."
    ]


@EACH_VERDICT
def test_failed_runs_are_a_guard_if_they_are_more_by_more_than_chance(effect, word):
    plan = replace(BETTER, effect=effect)
    report = report_of(spoil(records_of(plan), lambda record: fail(record, 1), "after"))
    (row,) = report["pooled"]
    told = "a run failed in {} of 6 rounds after the change and in {} of 6 before"
    assert (row["verdict"], row["guards"], row["warnings"]) == (
        word,
        [f"errors: {told.format(6, 0)}."],
        word == "IMPROVED",
    )
    assert report["headline"].endswith("; with warnings.") == (word == "IMPROVED")
    few = spoil([r for r in records_of(plan) if r["round"] <= 4], lambda record: fail(record, 1), "after")
    (row,) = report_of([*few, *(r for r in records_of(plan) if r["round"] > 4)])["pooled"]
    assert (row["verdict"], row["guards"], row["warnings"]) == (word, [], False)
    assert f"{told.format(4, 0)}; that may be chance." in row["flags"]
    # as many before are not a guard
    (row,) = report_of(spoil(records_of(plan), lambda record: fail(record, 1)))["pooled"]
    assert (row["guards"], row["warnings"]) == ([], False)
    assert f"{told.format(6, 6)}; that may be chance." in row["flags"]


def test_failed_runs_of_a_site_are_counted_together_and_by_host():
    plan = replace(BETTER, hosts=tuple(f"app{number}" for number in range(1, 5)))
    few = spoil([r for r in factory.make_change(plan) if r["round"] <= 2], lambda record: fail(record, 1), "after")
    report = report_of([*few, *(r for r in factory.make_change(plan) if r["round"] > 2)])
    site, *hosts = report["pooled"]
    assert site["guards"] == ["errors: a run failed in 8 of 24 rounds after the change and in 0 of 24 before."]
    assert [host["guards"] for host in hosts] == [[]] * 4
    one = spoil([r for r in factory.make_change(plan) if r["host"] == "app3"], lambda record: fail(record, 1), "after")
    site, *hosts = report_of([*one, *(r for r in factory.make_change(plan) if r["host"] != "app3")])["pooled"]
    assert site["guards"][0].endswith("and in 0 of 24 before, beyond chance on app3.")
    assert [bool(host["guards"]) for host in hosts] == [False, False, True, False]


def stalling(plan, rounds, phase="after"):
    """The records of one host; these rounds take three times as long."""

    def slow(record):
        if record["round"] in rounds:
            for run in record["runs"]:
                run["metrics"]["av2_us"] *= 3.0

    return spoil(records_of(plan), slow, phase)


LONG = replace(SAME, rounds=16)


def test_two_stalls_after_and_none_before_are_not_a_plain_verdict():
    report = report_of(stalling(LONG, (3, 6)))
    (row,) = report["pooled"]
    told = "2 rounds after the change took over twice as long as usual, and none before (by chance in 24 of 100)"
    assert (row["verdict"], row["cause"], row["more_rounds"]) == ("INCONCLUSIVE", "stalls", 8)
    assert row["reason"].startswith(f"{told}; otherwise ")
    assert report["headline"] == "Undecided: single rounds took far longer after the change."
    assert any("why single rounds stalled" in step for step in report["next_steps"])
    (row,) = report_of(stalling(replace(BETTER, rounds=16), (3, 6)))["pooled"]
    assert (row["verdict"], row["warnings"]) == ("IMPROVED", True)
    assert row["guards"][0].startswith("2 rounds after the change took over twice")


def test_stalls_of_an_unequal_number_of_rounds_are_counted_by_state():
    records = [r for r in stalling(LONG, range(1, 9)) if r["phase"] == "after" or r["round"] <= 7]
    (row,) = report_of(records)["pooled"]
    # 8 of 8 stalls fall on 16 of 23 rounds: C(16,8)/C(23,8)
    told = [text for text in (*row["guards"], *row["flags"], row["reason"]) if "8 rounds after the change took" in text]
    assert told and all("(by chance in 2.6 of 100)" in text for text in told)


def test_one_stall_or_as_many_before_change_no_verdict():
    records = stalling(LONG, (3,))
    (row,) = report_of(records)["pooled"]
    assert (row["verdict"], row["guards"]) == ("UNCHANGED", [])
    assert row["flags"][0].startswith("1 round after the change took over twice as long as usual, and none before")
    # it holds UNCHANGED back until the declared rounds are measured
    spoil(records, lambda record: record["protocol"].update(rounds=24))
    (row,) = report_of(records)["pooled"]
    assert (row["verdict"], row["cause"], row["more_rounds"]) == ("INCONCLUSIVE", "stalls", 8)
    assert "otherwise, after 16 of 24 rounds, " in row["reason"]
    both = [r for r in stalling(LONG, (3, 6)) if r["phase"] == "after"]
    both += [r for r in stalling(LONG, (2, 5), "before") if r["phase"] == "before"]
    (row,) = report_of(both)["pooled"]
    assert (row["verdict"], row["guards"]) == ("UNCHANGED", [])
    assert not [text for text in row["flags"] if "twice" in text]


@pytest.mark.parametrize(("rounds", "most"), [(6, 39), (8, 31), (16, 17)])
def test_unchanged_says_what_few_rounds_cannot_have_seen(rounds, most):
    (row,) = report_of(records_of(replace(SAME, rounds=rounds)))["pooled"]
    assert row["verdict"] == "UNCHANGED"
    (flag,) = [text for text in row["flags"] if "stall" in text]
    assert f"in {rounds} rounds per state: up to {most} % " in flag


def test_rounds_of_several_hosts_at_one_time_stall_once():
    plan = replace(LONG, hosts=tuple(f"app{number}" for number in range(1, 7)))
    records = [*factory.make_change(plan)]
    for record in records:
        if record["phase"] == "after" and record["round"] == 3 and not record["workload"]["control"]:
            for run in record["runs"]:
                run["metrics"]["av2_us"] *= 3.0
    site = report_of(records)["pooled"][0]
    assert (site["verdict"], site["guards"]) == ("UNCHANGED", [])
    assert site["flags"][0].startswith(
        "1 moment after the change took over twice as long as usual, and none before (by"
    )


def test_hosts_without_rounds_after_are_named_first():
    plan = replace(BETTER, hosts=tuple(f"app{number}" for number in range(1, 9)))
    records = [
        r for r in factory.make_change(plan) if r["phase"] == "before" or r["host"] not in ("app2", "app5", "app7")
    ]
    report = report_of(records)
    told = "app2, app5, app7 have rounds before the change and none after"
    assert (report["verdict"], report["pooled"][0]["warnings"]) == ("IMPROVED", True)
    assert report["pooled"][0]["guards"][0] == f"{told}."
    assert report["headline"].startswith(f"{told}. ")
    half = [r for r in records if r["phase"] == "before" or r["host"] != "app1"]
    report = report_of(half)
    assert (report["verdict"], report["pooled"][0]["cause"]) == ("INCONCLUSIVE", "lost")


@EACH_VERDICT
def test_longest_round_trips_are_compared_per_host_and_round_by_round(effect, word):
    plan = replace(BETTER, effect=effect, sizes=(1, 1000))
    (row,) = report_of(spoil(records_of(plan), longer, "after"))["pooled"]
    assert (row["verdict"], row["warnings"]) == (word, word == "IMPROVED")
    (guard,) = row["guards"]
    assert guard.startswith("the longest round trip of a run takes 2.")
    late = [record for record in records_of(plan) if record["round"] > 4]
    (row,) = report_of([*spoil(late, longer, "after"), *(r for r in records_of(plan) if r["round"] <= 4)])["pooled"]
    assert row["guards"] == []


def test_fewer_errors_and_retransmits_afterwards_never_help():
    def change(record):
        fail(record, 1)
        for run in record["runs"]:
            if run["net"]:
                run["net"]["server"]["retransmits"] = 50

    found = main(report_of(spoil(records_of(SAME), change, "before")))
    assert (found["verdict"], found["guards"]) == ("UNCHANGED", [])


def noisy_runs(record):
    for index, run in enumerate(record["runs"]):
        run["metrics"]["av2_us"] *= 0.8 + 0.1 * index


def slow_start(record):
    record["runs"][1]["metrics"]["av2_us"] *= 1.3


def clusters(record):
    for run in record["runs"][:3]:
        run["metrics"]["av2_us"] *= 0.6


def busy(record):
    record["idle"]["server"] = factory.cpu(1.0, 2, 0.6)


def stepped(record):
    record["fingerprint"]["server"]["clock_step_s"] = -0.5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (noisy_runs, "the runs of a round vary by"),
        (slow_start, "the first counted run is 3"),
        (clusters, "fall into two clusters"),
        (busy, "the server was 30 % busy with other work"),
        (stepped, "a clock stepped by 0.5 s"),
    ],
)
def test_flags_are_told_and_improve_nothing(change, sentence):
    for effect, words in ((-0.10, {"IMPROVED"}), (0.0, {"UNCHANGED", "INCONCLUSIVE"})):
        found = main(report_of(spoil(records_of(replace(BETTER, effect=effect)), change)))
        assert any(sentence in flag for flag in found["flags"])
        assert found["verdict"] in words
        assert found["warnings"] is False


def test_a_trend_is_flagged():
    found = main(report_of(records_of(replace(SAME, drift=0.01))))
    assert any("drift in one direction" in flag for flag in found["flags"])


def test_the_design_is_checked_against_the_start_times():
    def told(design):
        return lambda record: record["protocol"].update(design=design)

    blocks = records_of(replace(BETTER, design="blocks"))
    report = report_of(blocks)
    assert main(report)["flags"][0].startswith("weaker evidence: the rounds of the two states did not alternate;")
    assert (report["protocol"]["design"], "weaker" in report["protocol"]["evidence"]) == ("blocks", True)
    report = report_of(spoil(blocks, told("alternate")))
    assert report["protocol"]["design"] == "blocks"
    assert "although the protocol says that they did" in main(report)["flags"][0]
    assert report_of(spoil(records_of(), told("blocks")))["protocol"]["design"] == "alternate"
    report = report_of(spoil(records_of(), lambda record: record.update(started="at ten")))
    assert "the order of the rounds is unknown" in main(report)["flags"][0]
    assert report["protocol"]["design"] == "unknown"


def test_cpu_costs_are_tested_and_flag_but_do_not_decide():
    def costly(record):
        for run in record["runs"]:
            for side in ("client", "server"):
                run["cpu"][side] = {**run["cpu"][side], "system_s": 2 * run["cpu"][side]["system_s"]}

    found = main(report_of(spoil(records_of(), costly, "after")))
    assert found["verdict"] == "IMPROVED"
    for entry, side in zip(found["secondary"], ("client", "server"), strict=True):
        assert entry["metric"] == f"cpu_us_per_unit_{side}"
        assert entry["before"] == pytest.approx(20.0, rel=0.02)
        assert entry["p_holm"] == pytest.approx(2 * 2 / math.comb(12, 6), rel=1e-4)
        assert entry["ratio"] < 0.7
        assert "after Holm" in entry["flag"]
    assert found["kpi"]["client"]["after"]["cpu_us_per_unit"] > 30


def test_ends_that_share_a_kernel_are_shown_once_and_without_cpu_windows_there_are_no_costs():
    def share(record):
        for side in ("client", "server"):
            record["fingerprint"][side]["boot_id"] = "one"

    def forget(record):
        for run in record["runs"]:
            run["cpu"] = run["net"] = None

    found = main(report_of(spoil(records_of(), share)))
    assert (found["kpi"]["shared_kernel"], found["kpi"]["server"]) == (True, None)
    assert [entry["metric"] for entry in found["secondary"]] == ["cpu_us_per_unit"]
    found = main(report_of(spoil(records_of(), forget)))
    assert (found["verdict"], found["secondary"]) == ("IMPROVED", [])
    assert found["kpi"] == {"shared_kernel": False, "client": None, "server": None}
