# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records that cannot be true: each is told, and nothing is concluded from it."""

from __future__ import annotations

import copy
from array import array
from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.credible import DAY, credible
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import load_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.round import microseconds
from comparing import BETTER, SAME, main, records_of, report_of, spoil

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
