# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP's niping: its output in both layouts, its errors, where it lies, how it is called."""

import os
import re
import stat

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import niping
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from measuring import STANDIN
from places import FIXTURES


def text_of(name):
    return (FIXTURES / "niping" / name).read_text("utf-8")


def test_layout_in_milliseconds():
    figures = niping.parse(text_of("client_ms.txt"), 1000)
    assert (figures.max_us, figures.min_us) == (4213, 71)
    assert figures.tr2_kib_per_s == 20135.309
    # 0.097 ms is within 0.0005; the throughput of the same line tells more digits of it.
    assert figures.av2_us == pytest.approx(97, abs=0.5)
    assert figures.av2_us == pytest.approx(2 * 1000 / 20135.309 / 1024 * 1e6)
    assert niping.parse(text_of("client_ms.txt"), 1) == figures


def test_layout_in_microseconds_with_bw_and_with_lines_for_each_message():
    figures = niping.parse(text_of("client_usecs_bw.txt"), 4000)
    assert (figures.avg_us, figures.av2_us, figures.min_us) == (102.5, 101.875, 80.25)
    assert figures.tr2_kib_per_s == pytest.approx(74.890 * 1024)
    assert figures.tr_kib_per_s == pytest.approx(74.433 * 1024)
    figures = niping.parse(text_of("client_verbose.txt"), 500)
    assert figures.av2_us == pytest.approx(391, abs=0.5)


@pytest.mark.parametrize(
    "unit, factor", [("us", 1), ("usec", 1), ("usecs", 1), ("ms", 1000), ("msec", 1000), ("sec", 1000000)]
)
def test_whatever_unit_is_printed_becomes_microseconds(unit, factor):
    text = "avg 50 U\nmax 90 U\nmin 10 U\nav2 40 U\ntr R kB/s\ntr2 R kB/s\n".replace("U", unit)
    rate = 2 * 1000 / (40.0 * factor / 1e6) / 1024
    figures = niping.parse(text.replace("R", "%.3f" % rate), 1000)
    assert (figures.max_us, figures.min_us) == (90 * factor, 10 * factor)
    assert figures.av2_us == pytest.approx(40 * factor, rel=1e-2)


@pytest.mark.parametrize(
    "rate, unit", [("48.828", "kB/s"), ("50.000", "kB/s"), ("0.047684", "MB/s"), ("0.050000", "MB/s")]
)
def test_kilo_of_1024_and_of_1000_are_told_apart_by_the_times(rate, unit):
    text = "avg 40000.0 us\nmax 90000.0 us\nmin 10000.0 us\nav2 40000.0 us\ntr %s %s\ntr2 %s %s\n"
    figures = niping.parse(text % (rate, unit, rate, unit), 1000)
    assert figures.tr2_kib_per_s == pytest.approx(48.828, rel=1e-4)


@pytest.mark.parametrize(
    "name, words",
    [
        ("client_refused.txt", r"192.0.2.17:3298' not reached; RC -10; .*Connection refused"),
        ("client_error_line.txt", r"SiRecv failed for hdl 0"),
        ("client_unknown.txt", r"no avg, .*its output began: niping: a layout that nobody"),
        ("client_one_way.txt", r"contradicts itself: tr2 10062.000 kB/s is not 2 x 1000 bytes / av2 0.097 ms"),
    ],
)
def test_an_error_is_one_sentence(name, words):
    with pytest.raises(MeasureError) as caught:
        niping.parse(text_of(name), 1000)
    assert re.search(words, str(caught.value)) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("0.097 ms", "0.097 fortnights", "unknown unit fortnights"),
        ("20135.309 kB/s", "20135.309 baud", "unknown unit baud"),
        ("0.097 ms", "0.000 ms", "as 0"),
        ("av2     0.097 ms\n", "", "no av2"),
        # neither infinity nor a number that Python refuses to read
        ("av2     0.097 ms\n", "av2     %s ms\n" % ("9" * 400), "no av2"),
        ("av2     0.097 ms\n", "* ERROR x\n* RC -%s\n" % ("9" * 5000), "niping: x; RC -9{199}\\Z"),
    ],
)
def test_what_is_missing_or_unknown_is_never_a_figure(old, new, words):
    text = text_of("client_ms.txt")
    assert old in text
    with pytest.raises(MeasureError, match=words):
        niping.parse(text.replace(old, new), 1000)


def test_nothing_printed():
    with pytest.raises(MeasureError, match="nothing was printed"):
        niping.parse("\n\n", 1000)


def put_program(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as stream:
        stream.write("#!/bin/sh\n")
    os.chmod(path, stat.S_IRWXU)
    return path


def test_where_niping_is_found_and_in_which_order(tmp_path):
    root, bin_folder = str(tmp_path), str(tmp_path / "bin")
    assert programs.find("niping", None, bin_folder, programs.SAP_FOLDERS, root) is None
    places = (
        "bin/niping",
        "usr/sap/hostctrl/exe/niping",
        "usr/sap/ABC/SYS/exe/run/niping",
        "usr/sap/ABC/D00/exe/niping",
    )
    for place in places:
        program = put_program(os.path.join(root, place))
        assert programs.find("niping", None, bin_folder, programs.SAP_FOLDERS, root) == program
    os.chmod(program, 0o644)
    assert programs.find("niping", None, bin_folder, programs.SAP_FOLDERS, root) == os.path.join(root, places[2])
    with pytest.raises(MeasureError, match="/nowhere/niping is not an executable file"):
        programs.find("niping", "/nowhere/niping", "/usr/bin")


def test_the_environment_has_c_locale_and_the_programs_own_libraries(monkeypatch):
    base = {"LANG": "de_DE", "LD_LIBRARY_PATH": "/opt/lib", "PATH": "/bin"}
    found = programs.environment("/usr/sap/ABC/D00/exe/niping", base)
    assert found["LC_ALL"] == "C" and found["PATH"] == "/bin"
    assert found["LD_LIBRARY_PATH"] == "/usr/sap/ABC/D00/exe:/opt/lib"
    monkeypatch.setattr(os, "uname", lambda: type("Names", (), {"sysname": "AIX"}))
    assert programs.environment("/x/niping", {})["LIBPATH"] == "/x"


def test_commands():
    assert niping.server_argv("n", "10.0.0.2", 3298) == ["n", "-s", "-I", "0", "-S", "3298"]
    expected = ["n", "-c", "-H", "app2", "-S", "3298", "-B", "500", "-L", "20"]
    assert niping.client_argv("n", "app2", 3298, 500, 20) == expected


def test_version_only_where_it_is_named(monkeypatch):
    assert programs.version(STANDIN, *niping.VERSION) == "1"
    with pytest.raises(MeasureError, match="/nowhere/niping cannot be run"):
        programs.version("/nowhere/niping", *niping.VERSION)
    for text, version in (
        ("kernel release 753\n", "753"),
        ("Version: 7.77 PL 500", "7.77"),
        ("Release 7.22.\n", "7.22"),
        ("self test o.k.", "unknown"),
        ("", "unknown"),
    ):
        monkeypatch.setattr(programs, "ask", lambda _argv, text=text: text)
        assert programs.version("n", *niping.VERSION) == version
