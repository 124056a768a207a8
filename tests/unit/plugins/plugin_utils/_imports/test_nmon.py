# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of nmon in the documented layouts, and the CPU seconds of windows in them."""

import re
from datetime import datetime, timedelta

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.cpu_window import (
    ALL_CPUS,
    ENTITLED,
    SMC_R_HIDES,
    CpuFileError,
    CpuWindow,
    WindowOptions,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.nmon import Reader
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
    # without the shares of the virtual processors it is what was consumed
    found = window([line.replace("VP_", "XX_") for line in lines])
    assert (found["source"], found["cpu_s"], found["user_s"]) == ("PhysicalCPU", 13.1, None)
    assert "idle time included" in found["remarks"][0]
    # 8 stands under PhysicalCPUs, and that is its threads, never processors
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
    lines = without(lines_of("aix_dedicated.nmon"), "BBBP")
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
    # figures that are none are not zero
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
def test_what_cannot_be_used_is_one_sentence(lines, wanted, message):
    with pytest.raises(CpuFileError, match=message):
        window(lines, *wanted)
