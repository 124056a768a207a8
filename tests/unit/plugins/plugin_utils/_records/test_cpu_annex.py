# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU time that was recorded beside a measurement: kept in UTC, and given to the rounds that it covers."""

from __future__ import annotations

import copy
import json
from datetime import timedelta

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import cpu_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.cpu_window import CpuFileError, WindowOptions
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import cpu_annex, record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.checks import microseconds
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.kpi import CpuSum, kpi
from documents import put, schema_errors
from hypothesis import given, settings
from hypothesis import strategies as st
from places import FIXTURES

SETTINGS = settings(max_examples=100)
HEAD = {"change": "rps-2026-11", "host": "app1", "end": "client"}
START = factory.START.replace(tzinfo=None)


def intervals(count=20, seconds=10.0, begin=START, **rates):
    """Intervals in which the CPUs are used at these rates (CPU seconds a second)."""
    used = {"user": 0.5, "system": 0.3, "softirq": 0.2, "steal": 0.1, **rates}
    return [
        {
            "begin": factory.stamp(begin + timedelta(seconds=number * seconds)),
            "elapsed_s": seconds,
            **{f"{name}_s": None if rate is None else rate * seconds for name, rate in used.items()},
            "ncpu": 2.0,
        }
        for number in range(count)
    ]


def entry(file="app1.nmon", replace=False, kind="nmon", **arguments):
    return {"file": file, "format": kind, "replace": replace, "intervals": intervals(**arguments)}


def annex(*files, **head):
    return {"schema": cpu_annex.CPU, **HEAD, **head, "files": list(files) or [entry()]}


def record(runs=5, seconds=20.0, started=START + timedelta(seconds=5), own=False, **arguments):
    """A round with runs of some length, one after the other, whose CPU time nobody measured."""
    plan = factory.Plan(runs=runs, warmup=0)
    found = factory.make_record([50.0] * runs, plan=plan, started=started, **arguments)
    for number, run in enumerate(found["runs"]):
        run["started"] = factory.stamp(started + timedelta(seconds=number * seconds))
        run["elapsed_s"] = seconds
        run["metrics"]["round_trips"] = 1000
        if not own:
            run["cpu"] = None
    return found


def load(tmp_path, records, *annexes):
    for item in [*records, *annexes]:
        record_files.store(tmp_path, item, replace_old=True)
    return record_files.load_change(tmp_path, "rps-2026-11")


def test_a_round_takes_its_cpu_time_from_the_annex(tmp_path):
    loaded = load(tmp_path / "results", [record()], annex())
    (found,) = loaded.records
    assert loaded.problems == [] and found.cpu_source == ("nmon", None)
    total = found.cpu[0]
    figures = (pytest.approx(100.0), pytest.approx(10.0), 100.0, pytest.approx(200.0), 100.0, 5000, pytest.approx(20.0))
    assert total == CpuSum(*figures, least_pct=pytest.approx(50.0))
    assert found.cpu[1] is None
    assert kpi(total, None).cpu_us_per_unit == pytest.approx(20_000)
    assert kpi(total, None).utilization_pct == pytest.approx(50.0)
    # long runs are taken one by one, without the time between them
    item = record(runs=2, seconds=60.0)
    item["runs"][1]["started"] = factory.stamp(START + timedelta(seconds=130))
    assert load(tmp_path / "long", [item], annex()).records[0].cpu[0].busy_s == pytest.approx(120.0)
    # runs of a second each, which none of the intervals could tell apart, take the whole of their window
    loaded = load(tmp_path, [record(runs=30, seconds=1.0)], annex(entry(seconds=1.0, count=60)))
    assert loaded.records[0].cpu[0].busy_s == pytest.approx(30.0)
    assert loaded.records[0].cpu[0].units == 30_000


@pytest.mark.parametrize(
    ("item", "file", "why"),
    [
        (
            record(runs=1, seconds=8.0),
            entry(seconds=1.0),
            "its runs last 8 s, and below 10 s the whole seconds of the file are too coarse",
        ),
        (record(), entry(count=5), "only 45 s of its 100 s are covered"),
        (record(), entry(begin=START + timedelta(days=1)), "only 0 s of its 100 s are covered"),
        (record(runs=1, seconds=60.0), entry(seconds=45.0), "the intervals are too long for its 60 s"),
    ],
)
def test_what_a_file_does_not_tell_is_unknown_and_reported(tmp_path, item, file, why):
    loaded = load(tmp_path, [item], annex(file))
    assert loaded.records[0].cpu == (None, None) and loaded.records[0].cpu_source == (None, None)
    assert len(loaded.problems) == 1
    assert loaded.problems[0].startswith(f"app1/cpu-client.json: not used for 1 of 1 records: {why}")


def test_a_gap_in_the_file_is_not_idle_time_and_unknown_figures_stay_unknown(tmp_path):
    file = entry()
    del file["intervals"][4]
    loaded = load(tmp_path / "gap", [record(runs=1, seconds=100.0)], annex(file))
    assert "only 90 s of its 100 s" in loaded.problems[0]
    file = entry(steal=None)
    file["intervals"][3]["softirq_s"] = None
    total = load(tmp_path / "unknown", [record()], annex(file)).records[0].cpu[0]
    assert (total.steal_s, total.softirq_s) == (None, None)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda run: run.update(ok=False, metrics={}, error="refused"), "a counted run failed"),
        (lambda run: run.pop("started"), "the times of its runs are not known"),
        (lambda run: run.update(elapsed_s=None), "the times of its runs are not known"),
        (lambda run: run["metrics"].pop("round_trips"), "the work of its runs is not known"),
    ],
)
def test_a_run_that_is_not_known_wholly_leaves_the_round_without(tmp_path, change, why):
    item = record()
    change(item["runs"][2])
    loaded = load(tmp_path, [item], annex())
    assert loaded.records[0].cpu[0] is None and why in loaded.problems[0]


def test_what_was_measured_stays_unless_the_import_says_otherwise(tmp_path):
    loaded = load(tmp_path, [record(own=True)], annex())
    assert loaded.records[0].cpu_source == (None, None) and loaded.records[0].cpu[0].busy_s != 100.0
    assert "it has CPU time of its own" in loaded.problems[0]
    loaded = load(tmp_path, [], annex(entry(replace=True)))
    assert loaded.records[0].cpu_source == ("nmon", None) and loaded.problems == []
    assert loaded.records[0].cpu[0].busy_s == pytest.approx(100.0)


def test_client_and_server_have_an_annex_of_their_own_and_controls_have_none(tmp_path):
    both = [record(), record(control=True)]
    loaded = load(tmp_path, both, annex(entry(kind="sadf"), end="server"))
    found = {item.workload.control: item for item in loaded.records}
    assert found[False].cpu_source == (None, "sar") and found[False].cpu[1].busy_s == pytest.approx(100.0)
    assert found[True].cpu == (None, None) and loaded.problems == []
    loaded = load(tmp_path / "peers", [record(), record(peer="app3")], annex(end="server"))
    assert loaded.problems == ["app1/cpu-server.json: used for the server of 2 peers (app2, app3)."]
    loaded = load(tmp_path / "another host", [record()], annex(host="app2"))
    assert loaded.records[0].cpu == (None, None)
    assert loaded.problems == ["app2/cpu-client.json: not used: this host has no records."]


WINDOWS = st.tuples(st.floats(0.0, 5000.0), st.floats(0.0, 5000.0))


@SETTINGS
@given(st.lists(st.floats(0.5, 300.0), min_size=1, max_size=60), WINDOWS, st.floats(0.0, 8.0))
def test_a_steady_rate_is_found_in_any_window_that_is_covered(lengths, window, rate):
    """Whatever the intervals, what is told about a window is the rate x its length, or why it is not told."""
    begin, listed = START, []
    for length in lengths:
        listed += intervals(1, round(length, 6), begin, user=rate, system=0.0, softirq=None, steal=None)
        begin += timedelta(seconds=round(length, 6))
    origin = microseconds(factory.stamp(START))
    low, high = (origin + round(value * 1e6) for value in sorted(window))
    found = cpu_annex.Series({"file": "x", "format": "nmon", "replace": False, "intervals": listed}).over(low, high)
    covered = high <= microseconds(factory.stamp(begin)) + 1000
    if isinstance(found, CpuSum):
        seconds = (high - low) / 1e6
        assert covered and seconds >= 10.0
        assert found.busy_s == pytest.approx(rate * seconds, rel=1e-3, abs=1e-3)
        assert found.capacity_s == pytest.approx(2.0 * seconds, rel=1e-3)
    elif covered and high - low >= 10 * max(lengths) * 1e6 and high - low >= 10e6:
        pytest.fail(f"a window ten times as long as the intervals has to be told: {found}")


def imported(name, *wanted, offset="+01:00", cpus=None, **arguments):
    window = cpu_files.window_of(str(FIXTURES / name), "auto", WindowOptions(*wanted, cpus=cpus, date="2026-11-20"))
    return cpu_files.entry_of(window, name, cpu_files.utc_offset(offset), **{"replace": False, **arguments})


def test_intervals_of_a_file_are_kept_in_utc(tmp_path):
    found = imported("nmon/aix_shared.nmon")
    assert [item["begin"] for item in found["intervals"]] == [
        "2026-11-19T22:59:39.000000Z", "2026-11-19T22:59:49.000000Z", "2026-11-19T22:59:59.000000Z",
    ]  # fmt: skip
    assert sum(item["user_s"] + item["system_s"] for item in found["intervals"]) == pytest.approx(12.1)
    assert (found["source"], found["host"], found["intervals"][0]["softirq_s"]) == ("PCPU_ALL", "aixapp1", None)
    west = imported("nmon/aix_shared.nmon", offset="-05:30")
    assert west["intervals"][0]["begin"] == "2026-11-20T05:29:39.000000Z"
    found = imported("sysstat/mpstat.json", offset="Z")
    assert len(found["intervals"]) == 6 and found["source"] == "cpu-load"
    assert sum(item["softirq_s"] for item in found["intervals"]) == pytest.approx(2.186)
    # an interval with a gap in it is not kept
    path = tmp_path / "x.nmon"
    path.write_text((FIXTURES / "nmon" / "aix_dedicated.nmon").read_text().replace("09:00:20", "09:30:20"))
    assert [item["elapsed_s"] for item in imported(str(path), cpus=2)["intervals"]] == [10]
    with pytest.raises(CpuFileError, match="it is one gap between two samples"):
        imported(str(path), "09:10", cpus=2)


@pytest.mark.parametrize("text", ["", "1", "+1", "3600", "+01:60", "+15:00", "CET", "+01:00:00"])
def test_an_invalid_offset_is_one_sentence(text):
    assert {cpu_files.utc_offset(utc) for utc in ("Z", "UTC", "+00:00", "-0000")} == {timedelta()}
    with pytest.raises(CpuFileError, match="it must be the offset of local time from UTC, such as .01:00"):
        cpu_files.utc_offset(text)


def test_what_cannot_be_kept_gets_one_sentence(tmp_path):
    lines = (FIXTURES / "nmon" / "aix_shared.nmon").read_text().splitlines(keepends=True)
    without_shares = [line.replace("VP_", "XX_") for line in lines]
    for text, gone, message in (
        (lines, ("PCPU_ALL", "LPAR"), "does not say how much CPU time"),
        (lines, ("LPAR",), "does not say how many processors there were: give cpus"),
        (without_shares, ("PCPU_ALL",), "does not say how much CPU time"),
    ):
        path = tmp_path / "x.nmon"
        path.write_text("".join(line for line in text if line.split(",")[0] not in gone))
        with pytest.raises(CpuFileError, match=message):
            imported(str(path))


def test_the_same_file_replaces_what_it_said_about_the_same_time():
    first = cpu_files.add_file(None, entry(), HEAD)
    assert cpu_files.add_file(first, entry(), HEAD) == first
    again = cpu_files.add_file(first, entry(user=0.9), HEAD)
    assert len(again["files"]) == 1 and again != first
    later = cpu_files.add_file(first, entry(begin=START + timedelta(hours=1)), HEAD)
    other = cpu_files.add_file(later, entry("app1_2.nmon"), HEAD)
    assert [item["file"] for item in other["files"]] == ["app1.nmon", "app1_2.nmon", "app1.nmon"]


def test_an_annex_stays_small_enough_to_be_read(tmp_path, monkeypatch):
    most = cpu_annex.MOST_INTERVALS
    rates = {"user": 1.123457, "system": 1.234567, "softirq": 10.345678, "steal": 10.456789}
    path = record_files.store(tmp_path, annex(entry(count=most, seconds=1.0, **rates)))
    assert path.stat().st_size < record_files.LARGEST_FILE
    with pytest.raises(CpuFileError, match=f"{most + 1} intervals .*, and {most} can be: give begin and end"):
        cpu_files.add_file(record_files.read_annex(tmp_path, HEAD), entry("b.nmon", count=1), HEAD)
    monkeypatch.setattr(cpu_files, "MOST_FILES", 1)
    with pytest.raises(CpuFileError, match="2 files would be stored, and 1 can be"):
        cpu_files.add_file(annex(), entry("b.nmon"), HEAD)


def validate(item):
    """What is wrong with an annex; None if it is sound."""
    try:
        cpu_annex.Annex(item)
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    "item",
    [annex(), annex(entry(steal=None, softirq=None), end="server"), annex(imported("nmon/linux_16.nmon"))],
    ids=["all figures", "some figures", "a file"],
)
def test_annexes_fit_schema_and_check(item):
    assert schema_errors("cpu", item) == []
    assert validate(item) is None


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (["schema"], "zpower.sap_tuning/cpu/2", "schema"),
        (["change"], "../other", "change"),
        (["end"], "both", "end"),
        (["files"], [], "files"),
        (["files", 0, "file"], None, "files[0]"),
        (["files", 0, "format"], "sar", "files[0]"),
        (["files", 0, "replace"], 1, "files[0].replace"),
        (["files", 0, "intervals"], [], "files[0].intervals"),
        (["files", 0, "intervals", 1], None, "files[0].intervals[1]"),
        (["files", 0, "intervals", 1, "begin"], "2026-11-20 10:00:10", "files[0].intervals[1].begin"),
        (["files", 0, "intervals", 1, "elapsed_s"], 0, "elapsed_s and ncpu above 0"),
        (["files", 0, "intervals", 1, "user_s"], -1, "user_s"),
        (["files", 0, "intervals", 1, "user_s"], None, "user_s"),
        (["files", 0, "intervals", 1, "softirq_s"], True, "softirq_s"),
    ],
)
def test_what_is_wrong_is_found_by_schema_and_check(path, value, named):
    item = put(copy.deepcopy(annex()), path, value)
    assert named in validate(item)
    assert schema_errors("cpu", item)


def test_intervals_in_disorder_or_beyond_all_bounds_are_found():
    item = annex()
    item["files"][0]["intervals"].reverse()
    assert "begins before the one before it ends" in validate(item)
    for value in (float("nan"), float("inf"), 10**400):
        assert "user_s" in validate(put(annex(), ["files", 0, "intervals", 0, "user_s"], value))
    assert validate(None) and validate([annex()])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is not JSON"),
        ('{"schema": "zpower.sap_tuning/cpu/1"}', "change"),
        (json.dumps(annex(change="other")), "it belongs to the change other"),
        (json.dumps(annex(host="app2")), "a record of its content belongs at app2/cpu-client.json"),
        (json.dumps(annex(end="server")), "a record of its content belongs at app1/cpu-server.json"),
        (json.dumps(record()), "this version reads an object with schema zpower.sap_tuning/cpu/1"),
        (None, "a symbolic link was not followed"),
    ],
)
def test_an_invalid_annex_is_left_out(tmp_path, text, message):
    record_files.store(tmp_path, record())
    path = tmp_path / "rps-2026-11" / "app1" / "cpu-client.json"
    if text is None:
        (tmp_path / "outside.json").write_text(json.dumps(annex()))
        path.symlink_to(tmp_path / "outside.json")
    else:
        path.write_text(text)
    loaded = record_files.load_change(tmp_path, "rps-2026-11")
    assert len(loaded.records) == 1 and loaded.records[0].cpu[0] is None
    (problem,) = loaded.problems
    assert problem.startswith("app1/cpu-client.json: " + "left out: " * (text is not None)) and message in problem


def test_a_report_has_the_cpu_cost_of_an_annex(tmp_path):
    """Six rounds a state, 100 s each, over which nmon ran; the work costs less CPU time after the change."""
    records, files = [], []
    for slot, (phase, number) in enumerate(factory.order(6)):
        begin = START + timedelta(seconds=600 * slot)
        records.append(record(phase=phase, number=number, started=begin + timedelta(seconds=5)))
        # What is used rises a little from round to round, so that no two of them are equal.
        used = (0.5 if phase == "before" else 0.3) + number / 1000
        files.append(entry(f"{slot}.nmon", begin=begin, user=used, system=0.0, softirq=None, count=12))
    loaded = load(tmp_path, records, annex(*files))
    assert loaded.problems == []
    (found,) = compare_change(loaded)["comparisons"]
    before, after = found["kpi"]["client"]["before"], found["kpi"]["client"]["after"]
    # 100 s at 0.5 CPUs for 5000 round trips, less the 0.02 CPUs of the idle machine.
    assert before["cpu_us_per_unit"] == pytest.approx(1e6 * 0.48 * 100 / 5000, rel=0.01)
    assert (before["utilization_pct"], before["itr_reason"]) == (pytest.approx(24.0, rel=0.02), None)
    assert "down to 25.1 %" in before["itr_weak"]
    assert after["cpu_us_per_unit"] == pytest.approx(1e6 * 0.28 * 100 / 5000, rel=0.02)
    assert found["kpi"]["server"] is None
    (cost,) = found["secondary"]
    assert cost["metric"] == "cpu_us_per_unit_client" and "is 70.5 % better" in cost["flag"]
