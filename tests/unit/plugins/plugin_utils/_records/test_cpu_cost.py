# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU cost, ETR and ITR: neighbours are flagged and never credited, and an improvement that costs more is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.kpi import (
    CpuSum,
    add,
    background,
    cpu_sum,
    idle_pct,
    idle_rate,
    kpi,
)
from comparing import BETTER, SAME, main, records_of, report_of, spoil
from hypothesis import given, settings
from hypothesis import strategies as st


def run(busy, elapsed=1.0, trips=20000, steal=0.0, ncpu=2):
    window = factory.cpu(elapsed, ncpu, busy, steal)
    return {"elapsed_s": elapsed, "metrics": {"round_trips": trips}, "cpu": {"client": window, "server": None}}


def test_cost_is_a_ratio_of_sums_net_of_the_background():
    total = cpu_sum([run(0.5, trips=10000), run(0.3, trips=30000)], "client")
    # 0.8 s in 2 s, of which the idle machine would have used 0.1 s a second: 0.6 s for 40,000 round trips.
    found = kpi(total, 0.1)
    assert found.cpu_us_per_unit == pytest.approx(15.0)
    assert found.utilization_pct == pytest.approx(100 * 0.6 / 4)
    assert found.etr_per_h == pytest.approx(40000 * 3600 / 2)
    assert found.itr_per_h == pytest.approx(found.etr_per_h / 0.15)
    assert found.net


def test_without_an_idle_window_the_figures_are_gross_and_itr_needs_five_percent_of_net_utilization():
    found = kpi(cpu_sum([run(0.4)], "client"), None)
    assert found.cpu_us_per_unit == pytest.approx(20.0)
    assert not found.net
    assert kpi(cpu_sum([run(0.099)], "client"), 0.0).itr_per_h is None
    assert kpi(cpu_sum([run(0.101)], "client"), 0.0).itr_per_h is not None
    assert kpi(cpu_sum([run(0.101)], "client"), 0.01).itr_per_h is None
    # weak, unless the load was above 40 % all the time
    assert kpi(cpu_sum([run(1.6), run(0.82)], "client"), 0.2).itr_weak is None
    found = kpi(cpu_sum([run(1.6), run(0.7)], "client"), None)
    assert found.utilization_pct > 50 and "down to 35.0 %" in found.itr_weak and found.itr_per_h is not None
    # none is not weak, and what is not known is not claimed
    assert kpi(cpu_sum([run(0.099)], "client"), 0.0).itr_weak is None
    assert kpi(add([CpuSum(0.3, None, 1.0, 1.0, 1.0, 9.0)]), None).itr_weak is None


# Units, elapsed s, utilization %, printed ETR and ITR in millions an hour: application servers and database of
# "Performance Evaluation of SAP Application Servers on Z", IBM, v1.02, table 1 (S80206B1, S80214B1, S80122B1), and the
# application servers of "SAP CRM 7.0 on IBM Z", IBM, v1.00, table 3 (S80510T2).
PUBLISHED = [
    (60e6, 14146, 85, 15.27, 17.96),
    (60e6, 14146, 31, 15.27, 49.26),
    (60e6, 18234, 45, 11.85, 26.32),
    (60e6, 18234, 24, 11.85, 49.36),
    (60e6, 17467, 45, 12.37, 27.48),
    (1.28e6, 1881, 62, 2.45, 3.95),
]


@pytest.mark.parametrize("units, elapsed, utilization, etr, itr", PUBLISHED)
def test_etr_and_itr_agree_with_the_published_tables(units, elapsed, utilization, etr, itr):
    found = kpi(CpuSum(utilization / 100 * elapsed, 0.0, elapsed, elapsed, elapsed, units), 0.0)
    assert found.etr_per_h / 1e6 == pytest.approx(etr, abs=0.0051)
    assert found.itr_per_h / 1e6 == pytest.approx(itr, abs=0.0101)
    assert found.utilization_pct == pytest.approx(utilization) and found.itr_reason is None


@pytest.mark.parametrize(
    "total, idle, reason",
    [
        (CpuSum(0.021, None, 1.0, 1.0, 1.0, 1000.0), 0.0, "utilization 2.1 % is under 5 %"),
        (CpuSum(0.0499, None, 1.0, 1.0, 1.0, 1000.0), 0.0, "utilization 4.9 % is under 5 %"),
        (CpuSum(0.1, None, 1.0, 1.0, 1.0, 1000.0), 0.2, "the idle machine used as much CPU time as the runs"),
        (CpuSum(0.1, None, 1.0, 1.0, 0.0, 1000.0), 0.0, "the elapsed time of the work is not known"),
        (CpuSum(0.1, None, 1.0, 0.0, 1.0, 1000.0), 0.0, "the utilization is not known"),
    ],
)
def test_without_an_itr_there_is_a_reason(total, idle, reason):
    found = kpi(total, idle)
    assert (found.itr_per_h, found.itr_reason) == (None, reason)


def test_interrupts_steal_and_the_tools_own_time_are_kept_apart():
    known = run(0.4)
    known["cpu"]["client"]["process_s"] = 0.25
    total = cpu_sum([known, known], "client")
    assert (total.softirq_s, total.process_s) == (pytest.approx(0.16), 0.5)
    assert kpi(total, None).softirq_pct == pytest.approx(4.0)
    other = cpu_sum([known, run(0.4)], "client")
    assert other.process_s is None
    on_aix = run(0.4)
    on_aix["cpu"]["client"].update(user_s=0.1, system_s=0.3, softirq_s=None, steal_s=None)
    found = cpu_sum([on_aix], "client")
    assert (found.busy_s, found.steal_s, kpi(found, None).softirq_pct) == (pytest.approx(0.4), None, None)
    found = kpi(cpu_sum([run(0.4, steal=0.2)], "client"), None)
    assert found.steal_pct == pytest.approx(10.0)
    assert found.utilization_pct == pytest.approx(20.0)


def test_a_background_larger_than_the_work_is_unknown_and_not_zero():
    found = kpi(cpu_sum([run(0.05)], "client"), 0.1)
    assert (found.cpu_us_per_unit, found.utilization_pct, found.itr_per_h) == (None, None, None)
    assert found.etr_per_h == pytest.approx(20000 * 3600)


def test_counters_that_went_backwards_and_runs_without_windows_are_unknown():
    window, stolen = run(0.4), run(0.4)
    window["cpu"]["client"]["system_s"] = -0.1
    stolen["cpu"]["client"]["steal_s"] = -0.1
    assert kpi(cpu_sum([stolen, run(0.4)], "client"), None).steal_pct is None
    for runs in ([window], [], [{**run(0.4), "cpu": None}], [run(0.4, trips=None)]):
        assert cpu_sum(runs, "client") is None
    assert cpu_sum([run(0.4)], "server") is None


@pytest.mark.parametrize("name", ["user_s", "system_s", "elapsed_s", "ncpu"])
def test_incomplete_windows_are_left_out_with_their_work(name):
    broken = run(0.4)
    broken["cpu"]["client"][name] = None
    assert cpu_sum([broken], "client") is None
    both = cpu_sum([broken, run(0.2, trips=5000)], "client")
    assert (both.busy_s, both.units) == (pytest.approx(0.2), 5000)
    assert background(broken["cpu"]["client"]) is None


def test_a_window_longer_than_its_run_has_the_utilization_of_the_run():
    """Two CPUs, 1 CPU second in a run of 1 s; the window took 3 s of an otherwise idle machine."""
    total = CpuSum(1.0, None, 3.0, 6.0, 1.0, 1000.0)
    assert kpi(total, 0.0).utilization_pct == pytest.approx(50)
    assert kpi(total._replace(busy_s=1.3), 0.1).utilization_pct == pytest.approx(50)


def test_sums_of_sums():
    one, two = cpu_sum([run(0.4)], "client"), cpu_sum([run(0.2, trips=5000)], "client")
    assert add([one, two]) == cpu_sum([run(0.4), run(0.2, trips=5000)], "client")
    assert add([one, two._replace(steal_s=None)]).steal_s is None


def without_cpus(busy):
    """A run whose CPU time is known, but not of how many CPUs, as imported figures may be."""
    return {**run(busy), "cpu": {"client": {"elapsed_s": 1.0, "ncpu": None, "busy_s": busy}, "server": None}}


A_SHARE = {**run(0.4), "cpu": {"client": {"elapsed_s": 1.0, "ncpu": None, "busy_pct": 40.0}, "server": None}}


@pytest.mark.parametrize("other", [without_cpus(0.4), A_SHARE])
@pytest.mark.parametrize("turn", [1, -1])
def test_there_is_no_utilization_if_one_window_does_not_tell_its_cpus(other, turn):
    runs = [run(0.4), other][::turn]
    found = kpi(cpu_sum(runs, "client"), None)
    assert (found.utilization_pct, found.steal_pct, found.softirq_pct, found.itr_per_h) == (None, None, None, None)
    assert found.itr_reason == "the utilization is not known"
    assert idle_pct([background(one["cpu"]["client"]) for one in runs]) is None
    # CPU seconds without a CPU count are still a cost
    assert kpi(cpu_sum([run(0.4), without_cpus(0.2)], "client"), None).cpu_us_per_unit == pytest.approx(15.0)


def test_background():
    windows = [background(factory.cpu(1.0, 2, 0.4)), background(factory.cpu(3.0, 2, 0.4))]
    assert idle_rate(windows) == pytest.approx(0.2)
    assert idle_pct(windows) == pytest.approx(10.0)
    assert idle_rate([]) is None
    assert idle_pct([]) is None
    assert background(None) is None


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
