# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU cost, ETR and ITR."""

from __future__ import annotations

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
