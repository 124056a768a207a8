# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published studies, imported as any site would import its own.

Every imported figure comes out of the records again, or the page says which printed figure contradicts itself.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal

import published_studies as studies
import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import Options, compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.reading import Reader
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import Loaded, validate
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._series.trend import TrendStep, trend
from documents import schema_errors

PRINTED = {name: Decimal(text) for name, text in (("client", "17.96"), ("server", "49.26"))}
RUNS = [(name, run) for name in ("banking", "crm") for run in studies.runs(name)]
NIGHTLY = pytest.mark.nightly


def sample(cases, unmarked):
    """Cases of which only these are not nightly."""
    return [pytest.param(*case, marks=[] if case in unmarked else NIGHTLY) for case in cases]


def report_of(name, change, **options):
    reader = Reader()
    records = [reader.measurement(record) for record in studies.study(name) if record["change"] == change]
    return compare_change(Loaded(change, records), options=Options(**options))


def only(report):
    (comparison,) = report["comparisons"]
    return comparison


@pytest.fixture(scope="module")
def page():
    return studies.PAGE.read_text("utf-8")


@NIGHTLY
def test_the_tables_of_the_page_are_current(page):
    assert studies.with_tables(page) == page


@pytest.mark.parametrize(
    "name", [name if name == "crm" else pytest.param(name, marks=NIGHTLY) for name in studies.NAMES]
)
def test_every_record_of_every_study_is_valid(name):
    for record in studies.study(name):
        complete = {**record, "collector": {}}
        assert validate(complete) is None
        assert schema_errors("measurement", complete) == []
        assert record["source"]["kind"] == "other" and record["source"]["text"]


@NIGHTLY
def test_known_figures_are_the_printed_ones():
    """So that a mistake in how printed figures are read cannot make everything agree with everything."""
    assert (len(studies.runs("banking")), len(studies.runs("crm"))) == (21, 3)
    assert len(studies.study("slcs")) == 40
    assert studies.kpis(studies.runs("banking")["S80206B1"]) == [Decimal("15.27"), PRINTED["client"], PRINTED["server"]]
    crm = studies.runs("crm")["S80512T1"]
    assert studies.kpis(crm) == [Decimal("2.45"), Decimal("3.90"), Decimal("5.85")]
    # the ITR needs the ETR before it was rounded
    rounded_first = Decimal(str(crm["figures"]["printed_etr_million_per_h"])) / Decimal("0.42")
    assert studies.rounded(rounded_first, 2) == Decimal("5.83") != Decimal(str(crm["figures"]["printed_itr_server"]))


@pytest.mark.parametrize(("name", "run"), sample(RUNS, [("banking", "S80206B1"), ("crm", "S80512T1")]))
def test_etr_and_itr_come_out_to_the_printed_digit(name, run):
    state = studies.runs(name)[run]
    assert studies.kpis(state) == studies.printed_kpis(state)


@pytest.mark.parametrize(
    "change", [name if name == "rps-all" else pytest.param(name, marks=NIGHTLY) for name in studies.BANKING]
)
def test_percentages_of_the_banking_study_come_out(change):
    pair = {item[0]: item for item in studies.pairs("banking")}[f"published-banking-{change}"]
    less = studies.less_pct(*(state["figures"]["elapsed_s"] for state in pair[2:]))
    _section, words, number = studies.BANKING[change]
    if number is not None:
        assert studies.rounded(less, 0) == number
        assert str(number) in words or int(words.split()[0]) < number < int(words.split()[2])
    elif words == "slower":
        assert less < -4
    elif words == "under 1 % less":
        assert 0 < less < 1
    elif words == "equal":
        assert abs(less) < 3
    elif words == "up to 20 % less":
        # what section 5.5 says; section 6 has the 7 to 22 % of the tables
        assert studies.rounded(less, 0) == {"native": 7, "native-smt": 22}[change]


@pytest.mark.parametrize(
    "change", [name if name == "rps-all" else pytest.param(name, marks=NIGHTLY) for name in studies.BANKING]
)
def test_the_report_finds_the_same_ratio_and_says_that_one_run_proves_nothing(change):
    name = f"published-banking-{change}"
    pair = {item[0]: item for item in studies.pairs("banking")}[name]
    before, after = (state["figures"]["elapsed_s"] for state in pair[2:])
    to_declare = studies.to_declare(*pair[2:])
    first = only(report_of("banking", name))
    assert first["verdict"] == ("NOT COMPARABLE" if to_declare else "INCONCLUSIVE")
    assert all(item in first["reason"] for item in to_declare[:3])
    declared = only(report_of("banking", name, expected_change=to_declare))
    assert declared["verdict"] == "INCONCLUSIVE"
    assert declared["ratio"] == pytest.approx(before / after, rel=1e-5)
    for side in ("client", "server"):
        kpi, state = declared["kpi"][side]["after"], pair[3][side]
        for figure in ("itr_per_h", "cpu_us_per_unit"):
            assert kpi[figure] == pytest.approx(state[figure], rel=1e-5)


@NIGHTLY
def test_growth_by_smt_under_zvm_and_from_z13_to_z14_is_as_the_page_says(page):
    runs = studies.runs("banking")
    grown, risen = [], []
    for without, smt in (("S80206B1", "S80214B1"), ("S80130B1", "S80122B1"), ("S70117B1", "S71203B1")):
        for figure, found in (("elapsed_s", grown), ("printed_itr_client", risen)):
            less = studies.less_pct(*(runs[run]["figures"][figure] for run in (without, smt)))
            found.append(studies.rounded(-less, 1))
    assert all(f"{value} %" in page for value in grown)
    assert "{}, {} and {} %".format(*risen) in page
    assert [min(grown) > 25, max(grown) < 35, min(risen) > 45, max(risen) < 60] == [True] * 4
    rises = {}
    for change, _workload, before, after in studies.pairs("banking"):
        for side in ("client", "server"):
            rise = -studies.less_pct(before[side]["itr_per_h"], after[side]["itr_per_h"])
            rises.setdefault(change, []).append(studies.rounded(rise, 1))
    plain, smt = rises["published-banking-z14"], rises["published-banking-z14-smt"]
    assert all("{} and {} %".format(*values) in page for values in (plain, smt))
    assert [round(value) for value in plain] == [8, 9] != [round(value) for value in smt]


@NIGHTLY
def test_the_utilization_is_per_thread():
    for state in studies.runs("banking").values():
        (record,) = state["records"]
        threads = record["fingerprint"]["client"]["cpus_online"]
        smt = record["context"]["smt"]
        assert threads == (128 if smt or state["phase"].startswith("S803") else 64)
        assert not (smt and state["phase"].startswith("S803"))
        figures = state["figures"]
        share = 100 * figures["app_cpu_s"] * record["context"]["jobs"] / threads / figures["elapsed_s"]
        assert -0.5 < figures["utilization_pct_client"] - share < 3


def test_the_trend_of_the_page_is_the_way_from_five_hours_to_two(page):
    command = json.loads(re.search(r"trend -i localhost, -e '(\{.*?\})'", page, re.DOTALL).group(1))
    steps = []
    for change in command["trend_changes"]:
        comparisons = report_of("banking", change, expected_change=command["trend_expected_change"])["comparisons"]
        assert comparisons[0]["verdict"] == "INCONCLUSIVE"
        steps.append(TrendStep(change, change, comparisons))
    found = trend(command["trend_name"], steps)
    assert f"*{found['headline']}*" in page
    assert {step["gap"] for step in found["series"][0]["steps"][1:]} == {1.0}  # each begins where the last one ended


@NIGHTLY
def test_percentages_of_the_crm_study_come_out():
    more = [100 * (after["etr_per_h"] / before["etr_per_h"] - 1) for _c, _w, before, after in studies.pairs("crm")]
    assert [studies.rounded(value, 0) for value in more] == [0, 3]


def test_a_share_of_unknown_processors_gives_an_itr_and_no_cpu_time_in_the_report():
    kpi = only(report_of("crm", "published-crm-rps-all"))["kpi"]
    assert kpi["server"]["after"]["itr_per_h"] == pytest.approx(6.02e6, abs=5e3)
    assert kpi["server"]["after"]["cpu_us_per_unit"] is None
    assert kpi["client"]["after"]["cpu_us_per_unit"] == pytest.approx(0.64 * 48 * 1822 / 1.28, rel=1e-5)


@NIGHTLY
def test_percentages_of_smc_r_come_out_to_the_printed_digit(page):
    optimized = [item[2:] for item in studies.pairs("smc_r") if item[0] == "published-smc-r-optimized"]
    for before, after in optimized:
        old, new = before["figures"], after["figures"]
        gain = studies.less_pct(old["av2_us"], new["av2_us"])
        assert studies.rounded(gain, 2) == studies.rounded(new["printed_av2_gain_pct"], 2)
        gain = studies.less_pct(new["tr2_kib_per_s"], old["tr2_kib_per_s"])  # of the value with SMC-R
        assert studies.rounded(gain, 2) == studies.rounded(new["printed_tr2_gain_pct"], 2)
    # its published range was rounded up at one end and down at the other, as the page says
    gains = [after["figures"]["printed_av2_gain_pct"] for _before, after in optimized]
    assert (min(gains), max(gains)) == (14.81, 29.69)
    assert all(figure in page for figure in ("14.81 %", "29.69 %"))


@NIGHTLY
def test_throughput_of_niping_follows_from_its_round_trip_in_all_eighteen_cases():
    cases = set()
    for (change, workload, phase), state in studies.states("smc_r").items():
        if change != "published-smc-r-load":
            size, figures = state["records"][0]["workload"]["bytes"], state["figures"]
            slowest, fastest = (2 * size * 1e6 / 1024 / (figures["av2_us"] + half) for half in (0.5, -0.5))
            assert slowest <= figures["tr2_kib_per_s"] <= fastest
            cases.add((workload, phase, change if phase == "after" else ""))
    assert len(cases) == 18


@NIGHTLY
def test_cpu_rows_add_up_but_for_the_two_that_the_page_names(page):
    wrong = []
    for (_change, workload, phase), state in studies.states("smc_r").items():
        figures = state["figures"]
        if "printed_user_pct" not in figures:
            continue
        user, system, idle = (Decimal(str(figures[f"printed_{part}_pct"])) for part in ("user", "system", "idle"))
        busy = Decimal(str(figures["utilization_pct_client"]))
        assert busy in (user + system, 100 - idle)
        if abs(user + system + idle - 100) > Decimal("0.1"):
            wrong.append((workload, phase, user + system + idle, busy, user + system, 100 - idle))
    assert wrong == [
        ("niping-1000B-x1", "after", 95, Decimal("22.9"), Decimal("22.9"), Decimal("27.9")),
        ("niping-4000B-x5", "after", 83, Decimal("65.9"), Decimal("48.9"), Decimal("65.9")),
    ]
    for text in ("the sum is 83 %", "the sum is 95 %", "would be 27.9 %", "would be 48.9 %"):
        assert text in page


def test_cpu_seconds_are_elapsed_time_times_utilization():
    state = studies.states("smc_r")["published-smc-r-load", "niping-1000B-x1", "before"]
    assert state["client"]["cpu_s"] == pytest.approx(49.44)  # 240 s at 20.6 % of one processor


@NIGHTLY
def test_more_operations_of_enqt():
    more = {}
    for _change, workload, before, after in studies.pairs("smc_r"):
        for name in ("actual", "10s", "1min", "5min"):
            if workload.startswith("enqt-sd"):
                old, new = (Decimal(state["figures"][f"ops_per_min_{name}"]) for state in (before, after))
                more[workload[-1], name] = -studies.less_pct(old, new), studies.less_pct(new, old)
    of_on = {name: studies.rounded(more["5", name][1], 1) for name in ("actual", "10s", "1min", "5min")}
    assert of_on == {"actual": Decimal("4.7"), "10s": Decimal("4.8"), "1min": Decimal("4.5"), "5min": Decimal("4.7")}
    assert studies.rounded(more["5", "1min"][0], 1) == Decimal("4.7")
    eight = {name: [studies.rounded(value, 0) for value in more["1", name]] for name in of_on}
    assert all(8 in values for name, values in eight.items() if name != "5min")
    assert 8 not in eight["5min"]


@NIGHTLY
def test_locks_are_created_six_percent_faster():
    before, after = next(item[2:] for item in studies.pairs("smc_r") if item[1] == "enqt-create_locks")
    assert studies.rounded(studies.less_pct(before["median"], after["median"]), 0) == 6
    costs = [studies.rounded(state["client"]["cpu_us_per_unit"], 1) for state in (before, after)]
    assert costs == [Decimal("52.2"), Decimal("53.2")]


@NIGHTLY
def test_percent_of_one_guest_come_out_and_the_host_is_used_by_guests():
    found = studies.states("slcs")
    for (_change, workload, phase), state in found.items():
        guests = state["records"][0]["context"]["guests"]
        assert phase == f"guests-{guests}"
        assert state["figures"]["printed_host_pct"] == guests * 4 / 16 * 100
        base = found["published-slcs", workload, "guests-1"]
        assert 100 * state["median"] / base["median"] == state["figures"]["relative_pct"]


@NIGHTLY
def test_gains_of_z14_come_out():
    assert len(studies.pairs("z14")) == 13
    for _change, _workload, before, after in studies.pairs("z14"):
        gain = 100 * (after["median"] / before["median"] - 1)
        assert studies.rounded(gain, 6) == studies.rounded(after["figures"]["printed_gain_pct"], 6)
