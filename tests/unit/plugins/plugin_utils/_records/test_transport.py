# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""TCP before and SMC after: compared, shown, and told where the connections did not become SMC."""

from __future__ import annotations

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import validate
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import view
from comparing import main, records_of, report_of, spoil
from documents import schema_errors
from rendering import render

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
