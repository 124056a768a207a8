# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU cost of a comparison: neighbours are flagged and never credited, and an improvement that costs more is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.kpi import CpuSum, kpi
from comparing import BETTER, SAME, main, records_of, report_of, spoil
from hypothesis import given, settings
from hypothesis import strategies as st

SETTINGS = settings(max_examples=100)
NOT_ALONE = "the change alone does not explain a difference in CPU cost."


def busier(share, runs=True, idle=True, ends=("client", "server")):
    """A neighbour that takes a share of both CPUs, in the idle windows, the runs, or both."""

    def change(record):
        windows = [record["idle"]] if idle else []
        windows += [run["cpu"] for run in record["runs"]] if runs else []
        for window in windows:
            for end in ends:
                window[end]["user_s"] += share * 2 * window[end]["elapsed_s"]

    return change


def cheaper(factor):
    """A unit of work costs another amount of CPU time."""

    def change(record):
        for run in record["runs"]:
            for end in run["cpu"].values():
                for name in ("user_s", "system_s", "softirq_s"):
                    end[name] *= factor

    return change


def test_nothing_is_said_where_nothing_moved():
    report = report_of(records_of(SAME))
    found = main(report)
    assert found["verdict"] == "UNCHANGED"
    assert not [flag for flag in found["flags"] if "CPU" in flag] and found["guards"] == []
    assert [entry["flag"] for entry in found["secondary"]] == [None, None]
    assert "of a shared AIX partition, that of its virtual processors" in " ".join(report["method"])


def test_a_lower_cost_is_credited_where_the_machine_was_alone():
    found = main(report_of(spoil(records_of(SAME), cheaper(0.7), "after")))
    for entry in found["secondary"]:
        assert entry["flag"].startswith("the CPU time of one round trip is 4") and "credited" not in entry["flag"]
    assert found["guards"] == []


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_busy_neighbour_is_flagged_and_its_cost_is_not_credited(phase):
    """It slows the tool's own CPU time down as well, as a busy sibling thread does."""
    records = spoil(spoil(records_of(SAME), busier(0.4), phase), cheaper(1.2), phase)
    found = main(report_of(records))
    assert sum(NOT_ALONE in flag for flag in found["flags"]) == 2
    assert "the idle client was " in " ".join(found["flags"])
    for entry in found["secondary"]:
        assert entry["flag"].endswith("after Holm's correction), which is not credited: other work changed as well.")
    assert found["verdict"] == "UNCHANGED"


def test_an_improvement_that_came_as_a_neighbour_left_gets_a_guard():
    found = main(report_of(spoil(records_of(BETTER), busier(0.4), "before")))
    assert (found["verdict"], found["warnings"]) == ("IMPROVED", True)
    assert sum("this may explain an improvement." in guard for guard in found["guards"]) == 2
    come = main(report_of(spoil(records_of(BETTER), busier(0.4), "after")))
    assert not any("may be that" in guard for guard in come["guards"])


def test_a_background_that_moved_by_a_part_of_the_cost_is_flagged():
    """A tenth of 40 % of one CPU, though it is under 5 % of the machine."""
    found = main(report_of(spoil(records_of(SAME), busier(0.02), "after")))
    assert sum(NOT_ALONE in flag for flag in found["flags"]) == 2
    assert not any("may be that" in guard for guard in found["guards"])
    little = main(report_of(spoil(records_of(SAME), busier(0.002), "after")))
    assert not any(NOT_ALONE in flag for flag in little["flags"])


def test_a_neighbour_that_only_came_for_the_runs_is_seen_beside_the_tools_processes():
    def own(record):
        for run in record["runs"]:
            for end in run["cpu"].values():
                end["process_s"] = end["user_s"] + end["system_s"]

    records = spoil(spoil(records_of(BETTER), own), busier(0.4, idle=False), "before")
    found = main(report_of(records))
    (flag,) = [flag for flag in found["flags"] if NOT_ALONE in flag]
    assert flag.startswith("processes other than the tool's took 40.0 % of the client's CPUs")
    assert "before the change and 0.0 % after" in flag
    assert found["warnings"] and "this may explain an improvement." in found["guards"][-1]
    quiet = main(report_of(spoil(records_of(SAME), own)))
    assert not any(NOT_ALONE in flag for flag in quiet["flags"])


def test_both_ends_on_one_kernel_are_one_machine():
    def share(record):
        for end in ("client", "server"):
            record["fingerprint"][end]["boot_id"] = "one"
        for run in record["runs"]:
            busy = sum(run["cpu"]["client"][name] for name in ("user_s", "system_s"))
            for end in ("client", "server"):
                run["cpu"][end]["process_s"] = busy / 2

    found = main(report_of(spoil(records_of(SAME), share)))
    assert not any(NOT_ALONE in flag for flag in found["flags"])
    found = main(report_of(spoil(spoil(records_of(SAME), share), busier(0.4, idle=False), "after")))
    assert sum(NOT_ALONE in flag for flag in found["flags"]) == 1


def test_an_improvement_that_costs_more_gets_a_guard():
    records = spoil(records_of(BETTER), cheaper(1.2), "after")
    (found,) = report_of(records)["pooled"]
    assert (found["verdict"], found["warnings"]) == ("IMPROVED", True)
    assert len(found["guards"]) == 2
    for guard, end in zip(found["guards"], ("client", "server"), strict=True):
        assert guard.startswith(f"one round trip costs more CPU time on the {end}: 1") and guard.endswith(" % worse.")
    assert report_of(records, material_pct=40.0)["pooled"][0]["guards"] == []
    (less,) = report_of(spoil(records_of(BETTER), cheaper(1.01), "after"))["pooled"]
    assert less["guards"] == [] and not less["warnings"]


def test_the_cost_of_several_hosts_is_tested_once_and_names_a_single_host():
    plan = replace(BETTER, hosts=("app1", "app2", "app3", "app4"))
    site, *_hosts = report_of(spoil([*factory.make_change(plan)], cheaper(1.2), "after"))["pooled"]
    for guard, end in zip(site["guards"], ("client", "server"), strict=True):
        assert guard.startswith(f"one round trip costs more CPU time on the {end} of all hosts together:")
    one = spoil([r for r in factory.make_change(plan) if r["host"] == "app3"], cheaper(1.2), "after")
    site, *hosts = report_of([*one, *(r for r in factory.make_change(plan) if r["host"] != "app3")])["pooled"]
    assert site["guards"][0] == "one round trip costs more CPU time on the client of app3."
    assert [len(host["guards"]) for host in hosts] == [0, 0, 2, 0]


def test_a_cost_that_rose_by_chance_does_not_trigger_a_guard():
    records = records_of(BETTER)
    for number, factor in ((1, 1.0), (2, 2.0), (3, 1.0), (4, 2.0), (5, 1.0), (6, 2.0)):
        spoil([r for r in records if r["round"] == number], cheaper(factor))
    report = report_of(spoil([r for r in records if r["round"] == 1], cheaper(1.3), "after") and records)
    assert all(entry["p_holm"] > 0.05 for entry in main(report)["secondary"])
    assert report["pooled"][0]["guards"] == []


def test_figures_of_two_sources_are_not_compared():
    def of_nmon(record):
        record["cpu_source"] = {"client": "nmon", "server": "procfs"}

    found = main(report_of(spoil(spoil(records_of(SAME), of_nmon, "after"), cheaper(0.5), "after")))
    (flag,) = [flag for flag in found["flags"] if "not comparable" in flag]
    assert "CPU time of the client" in flag and "before the change and from nmon after" in flag
    report = report_of(spoil(records_of(SAME), of_nmon))
    (source,) = [item for item in report["context"] if item["kind"] == "source"]
    assert (source["name"], source["values"]) == ("CPU time of the client", {"after": ["nmon"], "before": ["nmon"]})
    client, server = found["secondary"]
    assert (client["ratio"], client["p_holm"], client["flag"]) == (None, None, None)
    assert client["before"] > client["after"] > 0 and "credited" not in server["flag"]
    (dearer,) = report_of(spoil(spoil(records_of(BETTER), of_nmon, "after"), cheaper(2.0), "after"))["pooled"]
    (guard,) = [guard for guard in dearer["guards"] if "more CPU time" in guard]
    assert "on the server: 50.8 % worse" in guard


def test_states_that_cannot_be_compared_have_no_difference_of_costs():
    """Another machine needs another time for everything: that is not a finding with a p."""

    def other(record):
        record["fingerprint"]["client"]["machine"] = "3931"

    found = main(report_of(spoil(spoil(records_of(BETTER), other, "after"), cheaper(2.0), "after")))
    assert found["verdict"] == "NOT COMPARABLE" and found["guards"] == []
    assert [(entry["ratio"], entry["flag"]) for entry in found["secondary"]] == [(None, None), (None, None)]
    assert found["secondary"][0]["after"] > found["secondary"][0]["before"]
    declared = main(report_of(spoil(records_of(BETTER), other, "after"), expected_change=["machine"]))
    assert declared["secondary"][0]["ratio"] is not None


def test_a_background_that_is_known_in_one_state_only():
    def no_idle(record):
        record["idle"] = {"client": None, "server": None}

    found = main(report_of(spoil(records_of(SAME), no_idle, "after")))
    assert sum("idle windows of the" in flag and "only before the change" in flag for flag in found["flags"]) == 2
    neither = main(report_of(spoil(records_of(SAME), no_idle)))
    assert not any("idle windows" in flag for flag in neither["flags"])


AMOUNT = st.floats(0.001, 1000)


@SETTINGS
@given(busy=AMOUNT, elapsed=AMOUNT, cpus=st.integers(1, 256), units=st.floats(1, 1e9), idle=st.floats(0, 10))
def test_what_the_idle_machine_uses_does_not_change_the_cost(busy, elapsed, cpus, units, idle):
    capacity = cpus * elapsed
    alone = kpi(CpuSum(busy, None, elapsed, capacity, elapsed, units), 0.0)
    beside = kpi(CpuSum(busy + idle * elapsed, None, elapsed, capacity, elapsed, units), idle)
    assert alone.cpu_us_per_unit == pytest.approx(1e6 * busy / units)
    assert beside.cpu_us_per_unit == pytest.approx(alone.cpu_us_per_unit, rel=1e-4)
    assert beside.etr_per_h == alone.etr_per_h


@SETTINGS
@given(busy=AMOUNT, elapsed=AMOUNT, cpus=st.integers(1, 256), units=st.floats(1, 1e9))
def test_the_kpis_agree_with_each_other(busy, elapsed, cpus, units):
    found = kpi(CpuSum(busy, 0.0, elapsed, cpus * elapsed, elapsed, units, softirq_s=busy / 4), None)
    # CPU time of a unit x units an hour = the CPUs in use
    in_use = found.cpu_us_per_unit * found.etr_per_h / 3.6e9
    assert found.utilization_pct == pytest.approx(100 * in_use / cpus)
    assert found.softirq_pct == pytest.approx(found.utilization_pct / 4)
    if found.utilization_pct >= 5.0:
        assert found.itr_reason is None
        # ITR is the ETR of a machine that is fully used: all its CPU time divided by the cost of a unit
        assert found.itr_per_h == pytest.approx(3.6e9 * cpus / found.cpu_us_per_unit)
    else:
        assert found.itr_per_h is None
        assert found.itr_reason.endswith("is under 5 %") and "utilization 5" not in found.itr_reason
