# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of nmon in the documented layouts, JSON of sysstat 12.6.1, and the CPU seconds of windows in them."""

import codecs
import gzip
import json
import re
import shutil
from datetime import datetime, timedelta

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import cpu_files, sysstat
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.cpu_window import (
    ALL_CPUS,
    ENTITLED,
    SMC_R_HIDES,
    CpuFileError,
    CpuWindow,
    WindowOptions,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.nmon import Reader
from hypothesis import given, settings
from hypothesis import strategies as st
from places import FIXTURES

FOLDER = FIXTURES / "nmon"
START = datetime(2026, 11, 20, 9, 0, 0)


def lines_of(name):
    return (FOLDER / name).read_text(encoding="utf-8").splitlines(keepends=True)


def window(lines, *wanted, **named):
    asked = WindowOptions(*wanted, **named)
    file = Reader(lines, asked.cpus)
    return CpuWindow(file.about, file.samples(), asked).result()


def without(lines, *sections):
    return [line for line in lines if line.split(",")[0] not in sections]


def simple(rows, interval=10, system="AAA,OS,Linux,6.12.0,#1,s390x", columns="User%,Sys%,Wait%,Idle%,Busy,CPUs"):
    """A file with one line of CPU_ALL a snapshot."""
    lines = [
        "AAA,progname,nmon",
        "AAA,host,h1",
        system,
        f"AAA,time,{START:%H:%M:%S}",
        "AAA,date,20-NOV-2026",
        f"AAA,interval,{interval}",
        f"CPU_ALL,CPU Total h1,{columns}",
    ]
    for number, row in enumerate(rows, 1):
        at = START + timedelta(seconds=number * interval)
        lines += [f"ZZZZ,T{number:04d},{at:%H:%M:%S},20-NOV-2026", f"CPU_ALL,T{number:04d},{row}"]
    return [line + "\n" for line in lines]


def test_a_shared_aix_partition_in_processors():
    found = window(lines_of("aix_shared.nmon"), smc_r=False)
    assert (found["host"], found["system"], found["level"], found["version"]) == (
        "aixapp1", "AIX", "7.2.1.2", "TOPAS-NMON",
    )  # fmt: skip
    assert (found["begin"], found["end"]) == ("2026-11-19 23:59:39", "2026-11-20 00:00:09")
    assert (found["elapsed_s"], found["covered_s"], found["samples"]) == (30, 30, 3)
    assert (found["source"], found["cpu_s"], found["user_s"], found["system_s"]) == ("PCPU_ALL", 12.1, 4, 8.1)
    assert (found["busy_pct"], found["user_pct"], found["idle_pct"]) == (50.3333, 16.6667, 49.6667)
    assert (found["steal_s"], found["steal_pct"], found["remarks"], found["pct_of"]) == (None, None, [], ENTITLED)
    assert (found["physc"], found["entitlement"]) == (0.4367, 0.5)
    # an older file: EC_User% and EC_Sys% add up to 180 % of the entitlement in its second snapshot
    lines = without(lines_of("aix_shared.nmon"), "PCPU_ALL")
    found = window(lines)
    assert (found["source"], found["cpu_s"], found["user_s"], found["system_s"]) == ("LPAR", 12.1, 4, 8.1)
    # without the shares of the virtual processors, the consumption counts
    found = window([line.replace("VP_", "XX_") for line in lines])
    assert (found["source"], found["cpu_s"], found["user_s"]) == ("PhysicalCPU", 13.1, None)
    assert "idle time included" in found["remarks"][0]
    # PhysicalCPUs says 8, which is the number of threads, not of processors
    lines = without(lines, "LPAR")
    found = window(lines)
    assert (found["source"], found["cpu_s"], found["busy_pct"], found["pct_of"]) == (None, None, 50.3333, ENTITLED)
    assert window(without(lines, "CPU_ALL", "PCPU_ALL"))["pct_of"] is None
    assert "give cpus" in found["remarks"][0]
    assert window(lines, cpus=0.5)["cpu_s"] == pytest.approx(0.5 * 30 * 0.503333, rel=1e-4)


def test_above_the_entitlement_where_its_shares_stop_at_100_percent():
    """A file as AIX 7.1 and later write it: 3.2 processors used with an entitlement of 0.4."""
    lines = lines_of("aix_above_entitlement.nmon")
    physical, lpar = window(lines), window(without(lines, "PCPU_ALL"))
    assert (physical["source"], lpar["source"]) == ("PCPU_ALL", "LPAR")
    for name, seconds in (("cpu_s", 50.4), ("user_s", 37.2), ("system_s", 13.2)):
        assert physical[name] == lpar[name] == pytest.approx(seconds)
    busiest = window(without(lines, "PCPU_ALL"), "09:00:20", "09:00:30")
    assert (busiest["cpu_s"], busiest["physc"], busiest["entitlement"]) == (pytest.approx(28.8), 3.2, 0.4)
    assert (busiest["busy_pct"], busiest["cpus"], busiest["pct_of"]) == (90, 4, ENTITLED)
    assert busiest["cpu_s"] == pytest.approx(10 * 0.90 * 3.2) == pytest.approx(10 * 0.72 * busiest["cpus"])
    # nothing in processors: rounded if CPU_ALL has shares, else not a measurement
    idle = [re.sub(r"^(PCPU_ALL|LPAR),T0002,.*", r"\1,T0002,0,0,0,0,0,0,0,0,0,0,0", line) for line in lines]
    assert (window(idle)["covered_s"], window(without(idle, "CPU_ALL"))["covered_s"]) == (40, 30)


def test_a_dedicated_partition_has_the_processors_of_lparstat():
    found = window(lines_of("aix_dedicated.nmon"))
    assert (found["source"], found["cpu_s"], found["user_s"], found["system_s"]) == ("CPU_ALL", 18, 6, 12)
    assert found["pct_of"] == ALL_CPUS
    assert (found["physc"], found["entitlement"]) == (None, None)
    lines = lines_of("aix_dedicated.nmon")
    many = [re.sub("(Online Virtual CPUs *: ).*", r"\g<1>" + "9" * 5000, line) for line in lines]
    assert many != lines and window(many)["cpu_s"] is None
    lines = without(lines, "BBBP")
    assert window(lines)["cpu_s"] is None
    lines.insert(-1, "LPAR,Logical Partition aixdb1,PhysicalCPU,virtualCPUs,entitled,SharedCPU,VP_User%,VP_Sys%\n")
    lines.append("LPAR,T0002,0.000,2,2.00,0,0.00,0.00\n")
    found = window(lines, begin="09:00:10")
    assert (found["source"], found["cpu_s"], found["pct_of"]) == ("CPU_ALL", 10, ALL_CPUS)


def test_linux_with_steal_a_short_first_snapshot_and_a_line_that_was_cut_off():
    found = window(lines_of("linux_16.nmon"))
    assert (found["system"], found["level"], found["version"]) == ("Linux", "5.14.21-150500.55.7-default", "16n")
    assert (found["begin"], found["end"]) == ("2026-11-20 07:23:04", "2026-11-20 07:23:35")
    assert (found["source"], found["elapsed_s"], found["covered_s"]) == ("CPU_ALL", 31, 21)
    assert (found["cpu_s"], found["steal_s"]) == (28.08, 6)
    assert found["remarks"] == ["21 s of 31 s are covered, and the figures refer to those"]
    assert found["network"]["interfaces"]["enc600"] == {"read_kb": 400.1, "write_kb": 600.1}


def test_a_captured_file_of_linux_agrees_with_mpstat():
    """nmon 16n on a busy machine of two CPUs; host name, kernel and other sections were taken out.

    mpstat ran beside it and had 94.5 % busy: 74.4 user, 19.3 system and 0.8 interrupts, which are in nmon's Sys%.
    """
    found = window(lines_of("linux_captured.nmon"))
    assert (found["begin"], found["end"]) == ("2026-11-20 19:14:23", "2026-11-20 19:14:34")
    assert (found["cpu_s"], found["user_s"], found["system_s"], found["cpus"]) == (20.804, 16.54, 4.264, 2)
    assert found["busy_pct"] == pytest.approx(94.5, abs=0.1)
    shares = ("user_pct", "system_pct", "wait_pct", "idle_pct", "steal_pct")
    assert sum(found[name] for name in shares) == pytest.approx(100, abs=0.1)
    # before nmon knew steal
    found = window(lines_of("linux_13g.nmon"))
    assert (found["cpu_s"], found["steal_s"], found["steal_pct"]) == (5, None, None)


@pytest.mark.parametrize(
    "begin, end, cpu_s, elapsed",
    [
        ("23:59:49", "23:59:59", 9, 10),
        ("23:59:44", "23:59:54", 1.5 + 4.5, 10),
        ("2026-11-19 23:59:54", "2026-11-20T00:00:04", 4.5 + 0.05, 10),
        ("23:59:54", "00:00:04", 4.5 + 0.05, 10),
        (None, "23:59:49", 3, 10),
        ("2026-11-20 00:00", None, 0.09, 9),
    ],
)
def test_windows_count_the_part_of_a_snapshot_that_lies_in_them(begin, end, cpu_s, elapsed):
    found = window(lines_of("aix_shared.nmon"), begin, end)
    assert (found["cpu_s"], found["elapsed_s"], found["covered_s"]) == (pytest.approx(cpu_s), elapsed, elapsed)


def test_a_gap_and_a_window_that_reaches_beyond_the_file_are_said():
    found = window(lines_of("aix_dedicated.nmon"), "08:59:50", "09:00:30")
    assert (found["cpu_s"], found["elapsed_s"], found["covered_s"]) == (18, 40, 20)
    assert "20 s of 40 s" in found["remarks"][0]
    found = window(simple(["10,20,0,70,,2"]) + ["ZZZZ,T2,09:05:00,20-NOV-2026\n", "CPU_ALL,T2,10,20,0,70,,2\n"])
    assert found["remarks"] == ["no sample between 2026-11-20 09:00:10 and 2026-11-20 09:05:00"]
    assert found["cpu_s"] == pytest.approx(300 * 0.3 * 2)
    assert window(simple(["10,20,0,70,,2"]) + ["ZZZZ,T2,09:05:00,20-NOV-2026\n"], None, "09:00:10")["remarks"] == []


def test_network_counters_do_not_apply_while_smc_r_is_on():
    lines = lines_of("aix_shared.nmon")
    assert window(lines, smc_r=True)["network"] == {"applicable": False, "reason": SMC_R_HIDES, "interfaces": {}}
    unknown = window(lines)["network"]
    assert unknown["applicable"] is None and unknown["reason"].endswith(SMC_R_HIDES)
    plain = window(lines, smc_r=False)["network"]
    assert (plain["applicable"], plain["reason"]) == (True, None)
    assert plain["interfaces"] == {
        "en0": {"read_kb": 4000, "write_kb": 6000},
        "en1": {"read_kb": 500, "write_kb": 600},
        "lo0": {"read_kb": 30, "write_kb": 60},
    }
    assert window(lines_of("linux_16.nmon"))["network"]["applicable"] is True


@pytest.mark.parametrize(
    "user, system, elapsed, cpu_s",
    [
        (3.7, 16.9, 240, 49.44),
        (9.9, 48.9, 360, 211.68),
        (3.0, 20.0, 300, 69.0),
        (7.0, 55.4, 480, 299.52),
        (3.9, 19.0, 200, 45.8),
        (12.1, 55.8, 300, 203.7),
    ],
)
def test_table_3_of_the_study(user, system, elapsed, cpu_s):
    """A partition of one processor: SMC-R on AIX for SAP, IBM, v1.0, 2019-01-14, where the shares add up."""
    rows = [f"{user},{system},0.0,{100 - user - system:.1f},,4"] * (elapsed // 10)
    lines = simple(rows, system="AAA,AIX,7.2.2.1", columns="User%,Sys%,Wait%,Idle%,Busy,PhysicalCPUs ")
    found = window(lines, cpus=1)
    assert found["elapsed_s"] == elapsed
    assert found["cpu_s"] == pytest.approx(cpu_s)


def test_odd_snapshots_are_read_or_do_not_count():
    lines = simple(["10,20,0,70,,2"])
    # a later header replaces the columns
    later = ["CPU_ALL,CPU Total h1,Sys%,User%,CPUs\n", "ZZZZ,T0002,09:00:20,20-NOV-2026\n", "CPU_ALL,T0002,40,0,4\n"]
    found = window(lines + later)
    assert (found["user_s"], found["system_s"]) == (2, 4 + 16)
    # invalid figures are not zero
    found = window(simple(["10,20,0,70,,2", "-nan,20,0,80,,2", ",20,0,80,,2", "inf,20,0,80,,2"]))
    assert (found["covered_s"], found["cpu_s"], found["system_pct"]) == (10, 6, 20)
    # a snapshot in which no CPU was even idle, and one that is idle
    found = window(simple(["10,20,0,70,,2", "0.0,0.0,0.0,0.0,,2", "0,0,0,100,,2"]))
    assert (found["covered_s"], found["cpu_s"], found["idle_pct"]) == (20, 6, 85)
    assert "in 1 of 3 samples" in found["remarks"][0]
    # a line of another snapshot
    found = window(lines + ["ZZZZ,T0002,09:00:20,20-NOV-2026\n", "CPU_ALL,T0001,90,10,0,0,,2\n"])
    assert found["covered_s"] == 10
    # what a short line lacks is missing and not zero, and a long one is cut
    found = window(simple(["10,20", "10,20,0,70,,2,7,7"]))
    assert (found["covered_s"], found["cpu_s"], found["system_pct"]) == (10, 6, 20)
    # without the time when nmon began, the first snapshot has no length
    lines = [line for line in simple(["90,10,0,0,,2", "10,20,0,70,,2"]) if not line.startswith("AAA,time")]
    found = window(lines)
    assert (found["begin"], found["elapsed_s"], found["cpu_s"]) == ("2026-11-20 09:00:10", 10, 6)


def stepped(*clocks):
    """A file with snapshots of 4 % of one processor at these times of a day."""
    lines = simple(["2,2,0,96,,1"])
    for number, clock in enumerate(clocks, 2):
        lines += [f"ZZZZ,T{number:04d},{clock},20-NOV-2026\n", f"CPU_ALL,T{number:04d},2,2,0,96,,1\n"]
    return lines


@pytest.mark.parametrize(
    ("clocks", "begin", "end", "refused"),
    [
        # set back after the window, and then not into it
        (["09:00:20", "09:00:30", "09:00:40", "09:00:32", "09:00:42"], "09:00:10", "09:00:30", False),
        (["09:00:20", "09:00:30", "08:00:00", "08:00:10"], "09:00:10", "09:00:30", False),
        (["09:00:20", "09:00:30", "08:00:00", "08:00:10"], None, "09:00:20", False),
        # set back before the window
        (["09:00:20", "08:00:00", "08:00:10", "08:00:20", "08:00:30"], "08:00:10", "08:00:30", False),
        # set back in the window
        (["09:00:20", "08:00:00", "08:00:10"], None, None, True),
        (["09:00:20", "08:00:00", "08:00:10"], "09:00:10", None, True),
        # the clock of the window is there twice
        (["09:00:20", "09:00:30", "09:00:10", "09:00:20"], "09:00:10", "09:00:20", True),
        (["09:00:20", "09:00:30", "09:00:40", "09:00:20", "09:00:30"], "09:00:10", "09:00:30", True),
    ],
)
def test_a_clock_step_matters_inside_the_window_only(clocks, begin, end, refused):
    if refused:
        with pytest.raises(CpuFileError, match=r"clock goes back from 2026-.* to 2026-.*, and the window has times"):
            window(stepped(*clocks), begin, end)
        return
    found = window(stepped(*clocks), begin, end)
    assert (found["elapsed_s"], found["covered_s"], found["cpu_s"], found["remarks"]) == (20, 20, 0.8, [])


@pytest.mark.parametrize(
    "lines, wanted, message",
    [
        (["date;host\n"], (), "first line"),
        ([], (), "no sample"),
        (["AAA,progname,nmon\n"], (), "no sample"),
        (["AAA,progname,nmon\n", "ZZZZ,T0001\n"], (), "line 2: ZZZZ"),
        (["AAA,progname,nmon\n", "ZZZZ,T0001,25:00:00,20-NOV-2026\n"], (), "line 2: ZZZZ"),
        (["AAA,progname,nmon\n", "ZZZZ,T0001,09:00:00,31-NOV-2026\n"], (), "line 2: ZZZZ"),
        (["AAA,progname,nmon\n", "ZZZZ,T0001,09:00:00,31-OKT-2026\n"], (), "line 2: ZZZZ"),
        (sorted(simple(["1,1,0,98,,1"])), (), "line 8: CPU_ALL of T0001 is before .* this file was sorted"),
        (simple(["1,1,0,98,,1"]) + ["AAA,host,h2\n"], (), "line 10: several files in one, of h1 and of h2"),
        (simple(["1,1,0,98,,1"]), ("10:00",), "the file covers 2026-11-20 09:00:00 to 2026-11-20 09:00:10"),
        (simple(["1,1,0,98,,1"]), ("9 o'clock",), "not a time of the file"),
        (simple(["1,1,0,98,,1"]), ("24:00",), "not a time of the file"),
        (simple(["1,1,0,98,,1"]), ("2026-11-20T09:00:00+00:00",), "not a time of the file"),
        (simple(["1,1,0,98,,1"]), ("2026-11-20 09:00:05", "2026-11-20 09:00:05"), "not after its begin"),
    ],
)
def test_what_cannot_be_used_gets_one_sentence(lines, wanted, message):
    with pytest.raises(CpuFileError, match=message):
        window(lines, *wanted)


SETTINGS = settings(max_examples=100)
SYSSTAT = FIXTURES / "sysstat"
TIMESTAMP = {"date": "2026-11-20", "time": "10:00:00", "interval": 1}


def text_of(name):
    return (SYSSTAT / name).read_text(encoding="utf-8")


def captured(name):
    return json.loads(text_of(name))["sysstat"]["hosts"][0]


def window_of(host, *wanted, **named):
    text, asked = json.dumps({"sysstat": {"hosts": [host]}}), WindowOptions(*wanted, **named)
    file = sysstat.Reader(text, asked.cpus, asked.date)
    return CpuWindow(file.about, file.samples(), asked).result()


@pytest.mark.parametrize("name", ["nmon/aix_shared.nmon", "sysstat/sadf.json"])
@pytest.mark.parametrize("packed", [False, True])
def test_the_marks_of_an_editor_of_windows_change_nothing(tmp_path, name, packed):
    data, path = (FIXTURES / name).read_bytes(), tmp_path / "x"
    known = cpu_files.window_of(str(FIXTURES / name), "auto", WindowOptions()).result()
    data = codecs.BOM_UTF8 + data.replace(b"\n", b"\r\n")
    path.write_bytes(gzip.compress(data) if packed and name.startswith("nmon") else data)
    assert cpu_files.window_of(str(path), "auto", WindowOptions()).result() == known


def test_mpstat_with_an_interval():
    found = window_of(captured("mpstat.json"))
    assert (found["format"], found["host"], found["system"], found["zone"]) == ("mpstat", "app1", "Linux", "local")
    assert (found["elapsed_s"], found["covered_s"], found["samples"], found["cpus"]) == (12, 12, 6, 2)
    # The kernel's own counters over the same time and a little more: 12.74 + 3.39 + 2.18 CPU seconds.
    assert (found["user_s"], found["system_s"], found["softirq_s"]) == (12.792, 3.3988, 2.186)
    assert found["cpu_s"] == pytest.approx(18.3768)
    assert (found["steal_s"], found["remarks"], found["network"]) == (0, [], None)
    assert found["busy_pct"] == pytest.approx(100 * found["cpu_s"] / 24, abs=1e-3)


def test_mpstat_and_sadf_saw_the_same():
    mpstat, sadf = window_of(captured("mpstat.json")), window_of(captured("sadf.json"))
    assert (sadf["format"], sadf["zone"], sadf["elapsed_s"]) == ("sadf", "UTC", 12)
    for name in ("cpu_s", "user_s", "system_s", "softirq_s", "steal_s"):
        assert sadf[name] == pytest.approx(mpstat[name], abs=0.05)


def test_without_all_columns_interrupts_are_system_time():
    short, full = window_of(captured("sadf_u.json")), window_of(captured("sadf.json"))
    assert short["softirq_s"] is None and short["softirq_pct"] is None
    assert short["system_s"] == pytest.approx(full["system_s"] + full["softirq_s"], abs=0.01)
    assert (short["cpu_s"], short["user_s"]) == (pytest.approx(full["cpu_s"], abs=0.01), full["user_s"])


def test_guests_and_nice_are_user_time():
    host = captured("mpstat.json")
    for item in host["statistics"]:
        item["cpu-load"] = [dict.fromkeys(item["cpu-load"][0], 0.0) | {"cpu": "all"}]
        item["cpu-load"][0].update(usr=10.0, nice=5.0, guest=20.0, gnice=2.5, sys=1.0, irq=0.5, soft=1.5, steal=7.0)
    found = window_of(host)
    assert (found["user_pct"], found["system_pct"], found["softirq_pct"], found["steal_pct"]) == (37.5, 1, 2, 7)
    assert (found["cpu_s"], found["steal_s"]) == (pytest.approx(0.405 * 24), pytest.approx(0.07 * 24))


def test_cpus_that_are_offline_do_not_count():
    """sysstat's own number has them; only the reports of single CPUs, or the user, know better."""
    host = captured("mpstat.json")
    host["number-of-cpus"] = 4
    for item in host["statistics"]:
        item["cpu-load"] += [dict.fromkeys(item["cpu-load"][0], 0.0) | {"cpu": number} for number in ("2", "3")]
    assert window_of(host)["cpus"] == 2
    for item in host["statistics"]:
        item["cpu-load"] = item["cpu-load"][:1]
    assert window_of(host)["cpus"] == 4
    assert window_of(host, cpus=2)["cpu_s"] == pytest.approx(18.3768)


@pytest.mark.parametrize(
    "name, old, new",
    [("sadf", '"cpu-load"', '"cpu-load-all"'), ("sadf", '"gnice"', '"x"'), ("mpstat", '"all"', '"-1"')],
)
def test_some_releases_call_the_load_otherwise(name, old, new):
    text = text_of(name + ".json")
    host, other = (json.loads(one)["sysstat"]["hosts"][0] for one in (text, text.replace(old, new)))
    assert old in text and window_of(other) == window_of(host)


def test_a_window_and_a_gap():
    host = captured("sadf.json")
    del host["statistics"][2]
    begin = datetime.fromisoformat(window_of(host)["begin"])
    found = window_of(host)
    assert (found["elapsed_s"], found["covered_s"]) == (12, 10)
    assert "no sample between" in found["remarks"][0] and "10 s of 12 s are covered" in found["remarks"][1]
    half = window_of(
        captured("sadf.json"), str(begin.replace(second=begin.second + 1)), str(begin.replace(second=begin.second + 3))
    )
    assert (half["elapsed_s"], half["samples"]) == (2, 2)


def test_midnight_and_twelve_hour_clocks():
    host = captured("mpstat.json")
    times = ["11:59:54 PM", "11:59:56 PM", "11:59:58 PM", "12:00:00 AM", "12:00:02 AM", "12:00:04 AM"]
    for item, text in zip(host["statistics"], times, strict=True):
        item["timestamp"] = text
    found = window_of(host, date="2026-11-19")
    assert (found["begin"], found["end"]) == ("2026-11-19 23:59:52", "2026-11-20 00:00:04")


def set_back(host):
    for number, item in enumerate(host["statistics"][3:]):
        item["timestamp"] = f"18:00:{2 * number:02d}"


def test_an_interval_that_is_longer_than_its_spacing_counts_from_the_report_before():
    """As after a clock step by less than an interval, which shortens the time between two reports only."""
    host = captured("sadf.json")
    host["statistics"][3]["timestamp"]["interval"] = 60
    assert window_of(host) == window_of(captured("sadf.json"))


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
def test_a_report_that_cannot_be_used_is_one_sentence(name, change, message):
    host = captured(name + ".json")
    change(host)
    with pytest.raises(CpuFileError, match=message):
        window_of(host)


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
        sysstat.Reader(text)


@pytest.mark.parametrize("singles", [True, False])
def test_reports_in_which_every_share_is_zero_are_not_measurements(singles):
    host = captured("mpstat.json")
    whole = window_of(host)
    for item in host["statistics"][:4]:
        for load in item["cpu-load"] if singles else item["cpu-load"][:1]:
            load.update(dict.fromkeys(load, 0.0) | {"cpu": load["cpu"]})
    found = window_of(host)
    assert (found["elapsed_s"], found["covered_s"]) == (12, 4) and found["cpu_s"] < whole["cpu_s"] / 2
    assert found["busy_pct"] > 50 and found["cpus"] == 2 and "in 4 of 6 samples" in found["remarks"][0]
    host["statistics"] = host["statistics"][:4]
    found = window_of(host)
    assert (found["cpu_s"], found["busy_pct"]) == (None, None) and "in 4 of 4 samples" in found["remarks"][0]


def test_missing_figures_do_not_count_as_zero():
    host = captured("sadf.json")
    host["statistics"][0]["cpu-load"][0]["usr"] = None
    host["statistics"][1]["cpu-load"][0]["sys"] = True
    host["statistics"][2]["cpu-load"][0]["usr"] = -1.0
    found = window_of(host)
    assert (found["elapsed_s"], found["covered_s"]) == (12, 6)


FIGURE = st.one_of(st.floats(-10, 200), st.none(), st.booleans(), st.text(max_size=3), st.integers(-5, 10**30))


@SETTINGS
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["cpu", "usr", "sys", "soft", "irq", "steal", "idle"]), FIGURE), max_size=3
    )
)
def test_any_report_gives_figures_or_a_sentence(loads):
    host = captured("sadf.json")
    host["statistics"][1]["cpu-load"] = [*loads, {"cpu": "all", "usr": 1.0, "sys": 1.0}]
    try:
        found = window_of(host)
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
    whole = window_of(host)
    assert whole["cpu_s"] == pytest.approx(sum(3 * interval * sum(row) / 100 for row in rows), abs=1e-3)
    cut = str(datetime.fromtimestamp(1_800_000_000 + data.draw(st.integers(1, interval * len(rows) - 1))))
    parts = window_of(host, None, cut)["cpu_s"] + window_of(host, cut, None)["cpu_s"]
    assert parts == pytest.approx(whole["cpu_s"], abs=1e-3)


@pytest.mark.parametrize(("stamp", "zone"), [('"tz": "UTC"', "UTC"), ('"tz": "CET"', "local"), ('"utc": 0', "local")])
def test_the_zone_as_each_version_of_sadf_names_it(stamp, zone):
    assert '"utc": 1' in text_of("sadf.json")
    assert sysstat.Reader(text_of("sadf.json").replace('"utc": 1', stamp)).about.utc == (zone == "UTC")


def read(path, kind="auto"):
    return cpu_files.window_of(str(SYSSTAT / path), kind, WindowOptions())


@pytest.mark.gate
@pytest.mark.skipif(not shutil.which("sadf"), reason="needs sadf of sysstat")
def test_a_binary_file_of_sar_goes_through_sadf():
    found = read("load.sa").result()
    assert found == window_of(captured("sadf.json")) and found["format"] == "sadf"


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


def test_files_that_are_too_large_compressed_or_have_impossible_dates(tmp_path, monkeypatch):
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
def test_a_file_of_another_format(name, kind, message):
    with pytest.raises(CpuFileError, match=message):
        read(name, kind)
