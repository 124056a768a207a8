# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON of sysstat. The fixtures are of sysstat 12.6.1, all about the same twelve seconds; two names were replaced."""

import gzip
import json
import re
import shutil
from datetime import datetime

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import cpu_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.cpu_window import (
    CpuFileError,
    CpuWindow,
    WindowOptions,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.sysstat import Reader
from hypothesis import given, settings
from hypothesis import strategies as st
from places import FIXTURES

SETTINGS = settings(max_examples=100)
FOLDER = FIXTURES / "sysstat"
TIMESTAMP = {"date": "2026-11-20", "time": "10:00:00", "interval": 1}


def text_of(name):
    return (FOLDER / name).read_text(encoding="utf-8")


def captured(name):
    return json.loads(text_of(name))["sysstat"]["hosts"][0]


def window(host, *wanted, **named):
    text, asked = json.dumps({"sysstat": {"hosts": [host]}}), WindowOptions(*wanted, **named)
    file = Reader(text, asked.cpus, asked.date)
    return CpuWindow(file.about, file.samples(), asked).result()


def test_mpstat_with_an_interval():
    found = window(captured("mpstat.json"))
    assert (found["format"], found["host"], found["system"], found["zone"]) == ("mpstat", "app1", "Linux", "local")
    assert (found["elapsed_s"], found["covered_s"], found["samples"], found["cpus"]) == (12, 12, 6, 2)
    # The kernel's own counters over the same time and a little more: 12.74 + 3.39 + 2.18 CPU seconds.
    assert (found["user_s"], found["system_s"], found["softirq_s"]) == (12.792, 3.3988, 2.186)
    assert found["cpu_s"] == pytest.approx(18.3768)
    assert (found["steal_s"], found["remarks"], found["network"]) == (0, [], None)
    assert found["busy_pct"] == pytest.approx(100 * found["cpu_s"] / 24, abs=1e-3)


def test_mpstat_and_sadf_saw_the_same():
    mpstat, sadf = window(captured("mpstat.json")), window(captured("sadf.json"))
    assert (sadf["format"], sadf["zone"], sadf["elapsed_s"]) == ("sadf", "UTC", 12)
    for name in ("cpu_s", "user_s", "system_s", "softirq_s", "steal_s"):
        assert sadf[name] == pytest.approx(mpstat[name], abs=0.05)


def test_without_all_columns_interrupts_are_system_time():
    short, full = window(captured("sadf_u.json")), window(captured("sadf.json"))
    assert short["softirq_s"] is None and short["softirq_pct"] is None
    assert short["system_s"] == pytest.approx(full["system_s"] + full["softirq_s"], abs=0.01)
    assert (short["cpu_s"], short["user_s"]) == (pytest.approx(full["cpu_s"], abs=0.01), full["user_s"])


def test_guests_and_nice_are_user_time():
    host = captured("mpstat.json")
    for item in host["statistics"]:
        item["cpu-load"] = [dict.fromkeys(item["cpu-load"][0], 0.0) | {"cpu": "all"}]
        item["cpu-load"][0].update(usr=10.0, nice=5.0, guest=20.0, gnice=2.5, sys=1.0, irq=0.5, soft=1.5, steal=7.0)
    found = window(host)
    assert (found["user_pct"], found["system_pct"], found["softirq_pct"], found["steal_pct"]) == (37.5, 1, 2, 7)
    assert (found["cpu_s"], found["steal_s"]) == (pytest.approx(0.405 * 24), pytest.approx(0.07 * 24))


def test_cpus_that_are_offline_do_not_count():
    """sysstat's own number has them; only the reports of single CPUs, or the user, know better."""
    host = captured("mpstat.json")
    host["number-of-cpus"] = 4
    for item in host["statistics"]:
        item["cpu-load"] += [dict.fromkeys(item["cpu-load"][0], 0.0) | {"cpu": number} for number in ("2", "3")]
    assert window(host)["cpus"] == 2
    for item in host["statistics"]:
        item["cpu-load"] = item["cpu-load"][:1]
    assert window(host)["cpus"] == 4
    assert window(host, cpus=2)["cpu_s"] == pytest.approx(18.3768)


@pytest.mark.parametrize(
    "name, old, new",
    [("sadf", '"cpu-load"', '"cpu-load-all"'), ("sadf", '"gnice"', '"x"'), ("mpstat", '"all"', '"-1"')],
)
def test_some_releases_call_the_load_otherwise(name, old, new):
    text = text_of(name + ".json")
    host, other = (json.loads(one)["sysstat"]["hosts"][0] for one in (text, text.replace(old, new)))
    assert old in text and window(other) == window(host)


def test_a_window_and_a_gap():
    host = captured("sadf.json")
    del host["statistics"][2]
    begin = datetime.fromisoformat(window(host)["begin"])
    found = window(host)
    assert (found["elapsed_s"], found["covered_s"]) == (12, 10)
    assert "no sample between" in found["remarks"][0] and "10 s of 12 s are covered" in found["remarks"][1]
    half = window(
        captured("sadf.json"), str(begin.replace(second=begin.second + 1)), str(begin.replace(second=begin.second + 3))
    )
    assert (half["elapsed_s"], half["samples"]) == (2, 2)


def test_midnight_and_twelve_hour_clocks():
    host = captured("mpstat.json")
    times = ["11:59:54 PM", "11:59:56 PM", "11:59:58 PM", "12:00:00 AM", "12:00:02 AM", "12:00:04 AM"]
    for item, text in zip(host["statistics"], times, strict=True):
        item["timestamp"] = text
    found = window(host, date="2026-11-19")
    assert (found["begin"], found["end"]) == ("2026-11-19 23:59:52", "2026-11-20 00:00:04")


def set_back(host):
    for number, item in enumerate(host["statistics"][3:]):
        item["timestamp"] = f"18:00:{2 * number:02d}"


def test_an_interval_that_is_longer_than_its_spacing_counts_from_the_report_before():
    """As after a clock step by less than an interval, which shortens the time between two reports only."""
    host = captured("sadf.json")
    host["statistics"][3]["timestamp"]["interval"] = 60
    assert window(host) == window(captured("sadf.json"))


def first_report(**changed):
    return lambda host: host["statistics"][1].update(changed)


@pytest.mark.parametrize(
    "name, change, message",
    [
        ("mpstat", lambda host: host.update(date="11/20/26"), "its date '11/20/26' is ambiguous: give date"),
        ("mpstat", lambda host: host.update(statistics=host["statistics"][:1]), "one report, about the time since"),
        ("sadf", lambda host: host.update(statistics=[]), "no sample of the CPUs"),
        ("mpstat", first_report(timestamp="25:00:00"), "is not a time of day"),
        ("mpstat", first_report(timestamp=None), "is not a time of day"),
        ("mpstat", set_back, "the clock goes back from .*, and the window has times on both sides"),
        ("mpstat", first_report(**{"cpu-load": []}), "has no load of all CPUs together"),
        ("mpstat", lambda host: host["statistics"].__setitem__(1, 7), "is not a time of day"),
        ("sadf", first_report(timestamp={}), "no timestamp with date, time and interval"),
        ("sadf", first_report(timestamp=dict(TIMESTAMP, interval=None)), "has no interval"),
        ("sadf", first_report(timestamp=dict(TIMESTAMP, interval=-1)), "has no interval"),
        ("sadf", first_report(timestamp=dict(TIMESTAMP, date="20.11.2026")), "no timestamp with date"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(name, change, message):
    host = captured(name + ".json")
    change(host)
    with pytest.raises(CpuFileError, match=message):
        window(host)


CUT_OFF, DIGITS = text_of("mpstat.json")[:1000], '{"sysstat": %s}' % ("9" * 50_000)
OTHERS = ["{}", "[]", "7", '{"sysstat": {"hosts": []}}', '{"sysstat": {"hosts": [{}]}}', DIGITS]
COMMAS = re.sub(r"(\d)\.(\d\d)\b", r"\1,\2", text_of("mpstat.json"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "not sysstat's") for text in OTHERS),
        *((text, "not a complete JSON") for text in ("", "nul", CUT_OFF, CUT_OFF[:-3], CUT_OFF[:-12])),
        (COMMAS, r"not valid JSON \(.*, line 1., column .*decimal commas; .* LC_ALL=C"),
        (text_of("mpstat.json").replace("},", "}", 1), "not valid JSON .* leave out commas"),
    ],
)
def test_other_json(text, message):
    with pytest.raises(CpuFileError, match=message):
        Reader(text)


@pytest.mark.parametrize("singles", [True, False])
def test_reports_in_which_every_share_is_zero_are_not_measurements(singles):
    host = captured("mpstat.json")
    whole = window(host)
    for item in host["statistics"][:4]:
        for load in item["cpu-load"] if singles else item["cpu-load"][:1]:
            load.update(dict.fromkeys(load, 0.0) | {"cpu": load["cpu"]})
    found = window(host)
    assert (found["elapsed_s"], found["covered_s"]) == (12, 4) and found["cpu_s"] < whole["cpu_s"] / 2
    assert found["busy_pct"] > 50 and found["cpus"] == 2 and "in 4 of 6 samples" in found["remarks"][0]
    host["statistics"] = host["statistics"][:4]
    found = window(host)
    assert (found["cpu_s"], found["busy_pct"]) == (None, None) and "in 4 of 4 samples" in found["remarks"][0]


def test_figures_that_are_none_do_not_count_as_zero():
    host = captured("sadf.json")
    host["statistics"][0]["cpu-load"][0]["usr"] = None
    host["statistics"][1]["cpu-load"][0]["sys"] = True
    host["statistics"][2]["cpu-load"][0]["usr"] = -1.0
    found = window(host)
    assert (found["elapsed_s"], found["covered_s"]) == (12, 6)


FIGURE = st.one_of(st.floats(-10, 200), st.none(), st.booleans(), st.text(max_size=3), st.integers(-5, 10**30))


@SETTINGS
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["cpu", "usr", "sys", "soft", "irq", "steal", "idle"]), FIGURE), max_size=3
    )
)
def test_whatever_a_report_holds_it_is_figures_or_a_sentence(loads):
    host = captured("sadf.json")
    host["statistics"][1]["cpu-load"] = [*loads, {"cpu": "all", "usr": 1.0, "sys": 1.0}]
    try:
        found = window(host)
    except CpuFileError:
        return
    assert 0 <= found["cpu_s"] <= 1e9 and found["covered_s"] <= found["elapsed_s"]


@SETTINGS
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 40)), min_size=2, max_size=20), st.integers(1, 600), st.data()
)
def test_two_windows_that_meet_are_the_whole(rows, interval, data):
    statistics = []
    for number, (user, system) in enumerate(rows, 1):
        at = datetime.fromtimestamp(1_800_000_000 + number * interval)
        stamp = {"date": f"{at:%Y-%m-%d}", "time": f"{at:%H:%M:%S}", "utc": 1, "interval": interval}
        statistics.append({"timestamp": stamp, "cpu-load": [{"cpu": "all", "usr": user, "sys": system}]})
    host = {"number-of-cpus": 3, "statistics": statistics}
    whole = window(host)
    assert whole["cpu_s"] == pytest.approx(sum(3 * interval * sum(row) / 100 for row in rows), abs=1e-3)
    cut = str(datetime.fromtimestamp(1_800_000_000 + data.draw(st.integers(1, interval * len(rows) - 1))))
    parts = window(host, None, cut)["cpu_s"] + window(host, cut, None)["cpu_s"]
    assert parts == pytest.approx(whole["cpu_s"], abs=1e-3)


@pytest.mark.parametrize(("stamp", "zone"), [('"tz": "UTC"', "UTC"), ('"tz": "CET"', "local"), ('"utc": 0', "local")])
def test_the_zone_as_each_version_of_sadf_names_it(stamp, zone):
    assert '"utc": 1' in text_of("sadf.json")
    assert Reader(text_of("sadf.json").replace('"utc": 1', stamp)).about.utc == (zone == "UTC")


def read(path, kind="auto"):
    return cpu_files.window_of(str(FOLDER / path), kind, WindowOptions())


@pytest.mark.gate
@pytest.mark.skipif(not shutil.which("sadf"), reason="needs sadf of sysstat")
def test_a_binary_file_of_sar_goes_through_sadf():
    found = read("load.sa").result()
    assert found == window(captured("sadf.json")) and found["format"] == "sadf"


def test_a_binary_file_without_sadf_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CpuFileError, match="the controller has no sadf: .* where it was recorded: sadf -j"):
        read("load.sa")


@pytest.mark.parametrize(
    "script, message",
    [
        (
            'echo "Invalid system activity file: $2" >&2; exit 3',
            "could not read it .Invalid system .*load.sa.: convert",
        ),
        ("exec sleep 20", "did not answer within 0.2 s: give the file of one day"),
        ("exec yes", "printed more than 0 MiB and was ended"),
    ],
)
def test_what_sadf_says_is_passed_on(tmp_path, monkeypatch, script, message):
    tool = tmp_path / "sadf"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    if "sleep" in script:
        monkeypatch.setattr(cpu_files, "SADF_TIMEOUT", 0.2)
    if "yes" in script:
        monkeypatch.setattr(cpu_files, "LARGEST_JSON", 1000)
    with pytest.raises(CpuFileError, match=message):
        read("load.sa", "sar")


def test_files_that_are_too_large_compressed_or_of_no_calendar(tmp_path, monkeypatch):
    path = tmp_path / "sadf.json.gz"
    path.write_bytes(gzip.compress(text_of("sadf.json").encode()))
    with pytest.raises(CpuFileError, match="only files of nmon are read compressed: unpack it with gunzip"):
        read(path)
    host = captured("sadf.json")
    host["statistics"][0]["timestamp"].update(date="0001-01-01", time="00:00:00")
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"sysstat": {"hosts": [host]}}))
    with pytest.raises(CpuFileError, match="its times lie beyond the calendar"):
        read(path)
    monkeypatch.setattr(cpu_files, "LARGEST_JSON", 100)
    with pytest.raises(CpuFileError, match="more than 100 bytes: sadf -j FILE -- -u ALL"):
        read("sadf.json")


@pytest.mark.parametrize(
    "name, kind, message",
    [
        ("sadf.json", "mpstat", "this is a file of sadf, and format is mpstat"),
        ("mpstat.json", "sadf", "this is a file of mpstat, and format is sadf"),
        ("mpstat.json", "nmon", "not a file of nmon"),
        ("../platform/README.md", "auto", "neither a file of nmon"),
    ],
)
def test_a_format_that_is_not_so(name, kind, message):
    with pytest.raises(CpuFileError, match=message):
        read(name, kind)
