# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that cannot be true, or not be compared: each is told, and nothing is concluded from it."""

from __future__ import annotations

import copy
from array import array
from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.checks import microseconds
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.credible import DAY, credible
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import load_change, validate
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import view
from comparing import BETTER, SAME, main, records_of, report_of, spoil
from documents import schema_errors
from rendering import render

NOW = microseconds("2026-11-21T00:00:00Z")


def loaded_from(tmp_path, records):
    """The change as it is read from files."""
    factory.write_change(tmp_path, records)
    return load_change(tmp_path, BETTER.change)


@pytest.mark.parametrize(
    ("copies", "counts", "left"),
    [
        (["before-20"], "only before-1 counts", 7),
        (["after-20"], "neither counts", 6),
        (["after-20", "before-21"], "none of them counts", 6),
    ],
)
def test_a_copied_round_is_reported_and_does_not_count(tmp_path, copies, counts, left):
    records = [item for item in records_of(replace(BETTER, rounds=7)) if not item["workload"]["control"]]
    (first,) = (item for item in records if (item["phase"], item["round"]) == ("before", 1))
    for name in copies:
        phase, number = name.split("-")
        forged = dict(copy.deepcopy(first), phase=phase, round=int(number))
        # edited figures do not make it a round of its own
        for run in forged["runs"]:
            run["metrics"]["av2_us"] *= 0.9
        records.append(forged)
    loaded = loaded_from(tmp_path, records)
    named = " and ".join(["before-1", *copies])
    assert loaded.problems == [f"app1: {named} of pingpong-1000B have the same times: a copy; {counts}."]
    report = compare_change(loaded)
    assert (main(report)["before"]["rounds"], main(report)["after"]["rounds"]) == (left, 7)
    assert report["problems"] == loaded.problems


def test_times_in_the_future_are_told_and_imported_figures_may_begin_in_the_same_minute():
    records = factory.load(records_of()).records
    assert credible(records, NOW) == (records, [])
    found, (doubt,) = credible(records, records[-1].started - DAY - 1)
    assert found == records and doubt.startswith("app1: rounds begin in the future")
    imported = [replace(item, times=array("q", [NOW] * len(item.times)), source="a file") for item in records]
    assert credible(imported, NOW) == (imported, [])


@pytest.mark.parametrize(
    ("item", "boots", "wanted"),
    [
        ("hostname", (None, None), "NOT COMPARABLE"),
        ("address", (None, None), "NOT COMPARABLE"),
        ("hostname", ("one", "two"), "NOT COMPARABLE"),
        ("address", ("one", "one"), "IMPROVED"),
    ],
)
def test_another_server_is_not_a_change_of_this_one(item, boots, wanted):
    records = records_of()
    for record in records:
        after = record["phase"] == "after"
        if not record["workload"]["control"]:
            record["fingerprint"]["server"].update({"boot_id": boots[after], item: "other" if after else "db1"})
    found = main(report_of(records))
    assert found["verdict"] == wanted
    differ = f"the states differ in server.{item} (db1 before, other after)"
    assert (differ in found["reason"]) == (wanted != "IMPROVED")
    if boots == (None, None):
        assert main(report_of(records, expected_change=[f"server.{item}"]))["verdict"] == "IMPROVED"


def with_masks(before, after):
    """Records whose fingerprints show these masks of RPS, and tunings files that set it in the state after."""
    records = records_of()
    for state, mask in (("before", before), ("after", after)):
        spoil(records, lambda record, mask=mask: record["fingerprint"]["client"].update(rps_cpus={"rx-0": mask}), state)
    return report_of(records, factory.change_tunings(BETTER))


def test_labels_that_the_fingerprints_contradict_are_not_believed():
    found = main(with_masks("0000ffff", "00000000"))
    assert found["verdict"] == "NOT COMPARABLE"
    assert "labels of the states are swapped: on app1 the rounds before show RPS" in found["reason"]
    assert main(with_masks("0", "ffff"))["verdict"] == "IMPROVED"


@pytest.mark.parametrize("plan", [BETTER, SAME])
def test_sessions_that_have_no_state_in_common_prove_nothing(plan):
    """Each session is put around a level of its own, so that every change would be UNCHANGED."""
    records = records_of(plan)
    spoil(records, lambda record: record["protocol"].update(session=2), "after")
    report = report_of(records)
    assert main(report)["verdict"] == report["verdict"] == "NOT COMPARABLE"
    assert "no session measured both states" in report["headline"]
    assert any(step.startswith("Measure both states in one session") for step in report["next_steps"])


NO_SMC = "0x03010000 (the peer does not support SMC)"
SMCR = {"mode": "SMCR", "fallback": None, "connections": 1}
TCP = {"mode": "TCP", "fallback": NO_SMC, "connections": 1}


def smc(*links):
    """What a record of transport smc has beside one of TCP."""

    def change(record):
        record["workload"]["transport"] = "smc"
        for run in record["runs"]:
            run["links"] = [dict(link) for link in links] or None

    return change


def test_tcp_and_smc_are_compared_and_shown():
    records = spoil(records_of(), smc(SMCR), "after")
    report = report_of(records)
    found = main(report)
    assert found["verdict"] == "IMPROVED"
    assert found["transport"] == {"before": ["tcp"], "after": ["smc: SMCR"]}
    (entry,) = report["comparability"]
    assert (entry["item"], entry["must_match"]) == ("pingpong-1000B.transport", False)
    assert (entry["before"], entry["after"]) == ("tcp", "smc: SMCR")
    assert not any("should use SMC" in flag for flag in found["flags"])
    assert schema_errors("report", report) == []
    assert view.ways(found) == "tcp \u2192 smc: SMCR"


@pytest.mark.parametrize(
    ("links", "told"),
    [
        ((TCP,), f"smc: TCP, {NO_SMC}"),
        ((SMCR, TCP), f"smc: TCP, {NO_SMC}"),
        (({"mode": None, "fallback": None, "connections": 1},), "smc: unknown"),
        ((), "smc"),
    ],
)
def test_connections_that_did_not_become_smc_are_a_flag_and_no_verdict(links, told):
    found = main(report_of(spoil(records_of(), smc(*links), "after")))
    assert found["verdict"] == "IMPROVED"
    flags = [flag for flag in found["flags"] if "should use SMC" in flag]
    assert flags == [f"the state after should use SMC, but some of its connections did not ({told})."]


def test_both_states_over_smc_differ_in_nothing_and_plain_tcp_is_not_worth_a_word():
    report = report_of(spoil(records_of(), smc(SMCR)))
    assert report["comparability"] == []
    assert view.ways(main(report)) == "smc: SMCR"
    plain = report_of(records_of())
    found = main(plain)
    assert (found["transport"], view.ways(found)) == ({"before": ["tcp"], "after": ["tcp"]}, "")
    changed = report_of(spoil(records_of(), smc(SMCR), "after"))
    for form in ("html", "md"):
        assert "Transport: tcp \u2192 smc: SMCR." in render(changed, form)
        assert "Transport:" not in render(plain, form)


@pytest.mark.parametrize("links", [None, [], [SMCR], [SMCR, TCP]])
def test_a_record_with_links_is_valid(links):
    record = records_of()[0]
    smc(*(links or ()))(record)
    assert validate(record) is None
    assert schema_errors("measurement", record) == []


@pytest.mark.parametrize("links", [7, "SMCR", [7], [{"mode": 7}], [{"mode": "SMCR", "fallback": ["no"]}]])
def test_links_of_another_kind_are_rejected(links):
    record = records_of()[0]
    record["runs"][1]["links"] = links
    assert "runs[1].links" in str(validate(record))
    record["workload"]["transport"] = ["smc"]
    assert "workload.transport" in str(validate(record))
