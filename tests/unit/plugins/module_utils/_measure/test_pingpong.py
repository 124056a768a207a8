# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine: its arithmetic, and real exchanges over loopback; SAP's niping: its output, its errors, where it lies."""

import array
import errno
import os
import random
import re
import socket
import stat
import threading
import time

import measuring
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import transport
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import (
    histogram,
    niping,
    niping_request,
    pingpong,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from hypothesis import given
from hypothesis import strategies as st
from measuring import PATIENCE, STANDIN
from places import FIXTURES


def plain_av2(samples):
    inner = [sample for sample in samples if sample not in (max(samples), min(samples))]
    return sum(inner) / len(inner)


def in_clock_units(microseconds):
    """Samples as exchange() returns them."""
    kind = "q" if pingpong._code == "q" else "d"
    return array.array(kind, [value * 1000 if kind == "q" else value / 1e6 for value in microseconds])


def test_figures_are_those_of_niping():
    values = [10, 10, 20, 30, 40, 90, 90]
    figures = pingpong.metrics(pingpong.summarize(in_clock_units(values)), 1000)
    assert figures["avg_us"] == pytest.approx(sum(values) / 7.0, abs=1e-4)
    assert (figures["max_us"], figures["min_us"]) == (90, 10)
    assert figures["av2_us"] == 30
    assert figures["round_trips"] == 7
    assert figures["tr2_kib_per_s"] == pytest.approx(2 * 1000 / 30e-6 / 1024, abs=1e-4)
    assert figures["tr_kib_per_s"] == pytest.approx(2 * 1000 / (sum(values) / 7e6) / 1024, abs=1e-4)


def test_several_connections_together_are_one_set_of_samples():
    chance = random.Random(7)
    parts = [[chance.randint(20, 60) for _turn in range(50)] for _turn in range(4)]
    merged = pingpong.merge([pingpong.summarize(in_clock_units(part)) for part in parts])
    everything = [value for part in parts for value in part]
    figures = pingpong.metrics(merged, 1)
    assert figures["av2_us"] == pytest.approx(plain_av2(everything), abs=1e-3)
    assert figures["round_trips"] == 200
    assert figures["avg_us"] == pytest.approx(sum(everything) / 200.0, abs=1e-3)


@pytest.mark.parametrize("values", [[20], [20, 30], [20, 20, 20], [20, 30, 30, 20]])
def test_av2_of_nothing_is_an_error_and_not_a_zero(values):
    with pytest.raises(MeasureError, match="raise loops"):
        pingpong.metrics(pingpong.summarize(in_clock_units(values)), 1)


@pytest.fixture
def pair():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    near = socket.create_connection(listener.getsockname())
    far = listener.accept()[0]
    listener.close()
    for sock in (near, far):
        pingpong.tune_socket(sock, PATIENCE)
    yield near, far
    near.close()
    far.close()


def beside(function, *arguments):
    """A thread that does the other side of something."""
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    return thread


def is_over(thread, *socks):
    thread.join(PATIENCE)
    assert not thread.is_alive()
    for sock in socks:
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(1)


@pytest.mark.parametrize(
    "size, response, loops",
    [(1, 1, 200), (1000, 1000, 200), (3 * 1024 * 1024, 3 * 1024 * 1024, 3), (200, 30720, 100), (100000, 1, 20)],
)
def test_every_byte_goes_there_and_back(pair, size, response, loops):
    near, far = pair
    other = beside(pingpong.echo, far, size, loops, response)
    samples = [sample * pingpong._to_us for sample in pingpong.exchange(near, size, loops, response)]
    is_over(other, near, far)
    assert len(samples) == loops
    assert all(0 < sample < PATIENCE * 1e6 for sample in samples)


@pytest.mark.parametrize("size, loops", [(1, 300), (30720, 300), (3 * 1024 * 1024, 3)])
@pytest.mark.parametrize(
    "here, there", [(pingpong.send_stream, pingpong.take_stream), (pingpong.fetch_stream, pingpong.give_stream)]
)
def test_every_byte_of_a_stream_arrives(pair, here, there, size, loops):
    near, far = pair
    other = beside(there, far, size, loops)
    here(near, size, loops)
    is_over(other, near, far)


@pytest.mark.gate
def test_with_a_rate_a_stall_counts_for_all_that_waited_for_it(pair):
    near, far = pair

    def stall():
        pingpong.echo(far, 10, 100)
        time.sleep(0.4)
        pingpong.echo(far, 10, 900)

    other = beside(stall)
    begin = time.monotonic()
    samples = [sample * pingpong._to_us for sample in pingpong.exchange(near, 10, 1000, rate=500)]
    assert time.monotonic() - begin >= 999 / 500.0
    is_over(other)
    # the one that met the stall of 0.4 s, which began when it was nearly due, and those of its first 0.28 s
    assert samples[100] >= 390000 and min(samples[100:240]) >= 100000


def test_a_rate_that_cannot_be_kept_is_an_error(pair):
    near, far = pair

    def slow():
        for _index in range(50):
            pingpong.echo(far, 10, 1)
            time.sleep(0.002)

    other = beside(slow)
    with pytest.raises(MeasureError, match="1000 round trips a second are too many here: .* lower rate"):
        pingpong.exchange(near, 10, 50, rate=1000)
    is_over(other)


def test_the_time_limit_ends_a_receive(pair):
    pingpong.tune_socket(pair[0], 1)
    with pytest.raises(BlockingIOError):
        pingpong.exchange(pair[0], 10, 1)


@pytest.mark.parametrize("act, data", [(pingpong.exchange, b""), (pingpong.fetch_stream, b"x" * 15)])
def test_a_closed_end_is_told_from_data(pair, act, data):
    near, far = pair
    far.sendall(data)
    far.close()
    with pytest.raises((EOFError, ConnectionError)):
        act(near, 10, 2)


def test_who_sends_a_stream_waits_until_it_has_arrived(pair):
    """Otherwise the speed would be that of a socket's buffer."""
    near, far = pair
    other = beside(pingpong.send_stream, near, 1000, 2)
    other.join(0.3)
    assert other.is_alive()
    pingpong.take_stream(far, 1000, 2)
    is_over(other)
    # it begins only when it is asked for
    other = beside(pingpong.give_stream, far, 1000, 2)
    near.settimeout(0.3)
    with pytest.raises(socket.timeout):
        near.recv(1)
    pingpong.tune_socket(near, 1)
    pingpong.fetch_stream(near, 1000, 2)
    is_over(other)


# The distribution of round trips: bins, their text, and how texts add up.


def lognormal(count, median_us, sigma, seed):
    chance = random.Random(seed)
    return [median_us * chance.lognormvariate(0.0, sigma) for _index in range(count)]


@pytest.mark.parametrize("to_us, samples", [(1e-3, [100500, 1000000]), (1e6, [100.5e-6, 1000e-6])])
def test_the_clock_s_unit_makes_no_difference(to_us, samples):
    numbers = list(histogram.bins([histogram.histogram(samples, to_us)]))
    assert numbers == [463, 694]
    assert [
        histogram.WIDTH**number <= value < histogram.WIDTH ** (number + 1)
        for number, value in zip(numbers, (100.5, 1000))
    ]


def test_the_text_names_only_the_first_bin_of_neighbours():
    text = histogram.histogram([1.0] + [1.015] * 5 + [1.025] * 12 + [60.6], 1.0)
    assert text == "0:1,5,12 412:1"
    assert histogram.bins([text]) == {0: 1, 1: 5, 2: 12, 412: 1}
    # round trips that no clock can tell, or that take days
    assert histogram.histogram([0.0, 0.2, 1.0, 1e13], 1.0) == "0:3 2450:1"


def test_parts_add_up_to_the_histogram_of_everything():
    samples = lognormal(5000, 60.0, 0.5, 2)
    parts = [histogram.histogram(samples[start::4], 1.0) for start in range(4)]
    assert histogram.merge(parts) == histogram.histogram(samples, 1.0)
    assert histogram.merge([]) is None


def test_which_texts_are_known():
    for text in ("5:1", "340:1,5,12 412:1", "0:3 2450:1", "1:1" + ",1" * 9998):
        assert histogram.FORMAT.fullmatch(text)
    others = ["", " ", "5", "5:", ":5", "5:1,", "5:1 ", " 5:1", "5:1  6:1", "5:-1", "5:1.5", "5:1\n", "5:\u0661"]
    for text in others + ["5:1_0", "12345:1", "5:" + "1" * 13, "1:1" + ",1" * 9999]:
        assert not histogram.FORMAT.fullmatch(text), text


@given(st.lists(st.floats(0.0, 1e15), min_size=1))
def test_nothing_is_lost_and_the_text_is_always_known(samples):
    text = histogram.histogram(samples, 1.0)
    assert histogram.FORMAT.fullmatch(text)
    assert sum(histogram.bins([text]).values()) == len(samples)
    assert histogram.merge([text]) == text


# Measuring over SMC sockets: what a run's connections became, and kernels that have no such sockets.


NO_SMC = "0x03010000 (the peer does not support SMC)"


def told(mode, reason=0):
    return smc_sockets.SmcSocket(mode, reason, 0, 1, "127.0.0.1", 2, 3)


@pytest.fixture
def smc(monkeypatch):
    """Plain sockets for SMC's; returns the list of the sockets that were asked for. became: what the kernel tells."""
    asked = []

    def stream(family):
        asked.append(family)
        return socket.socket(family, socket.SOCK_STREAM)

    monkeypatch.setattr(smc_sockets, "stream", stream)

    def becomes(found):
        monkeypatch.setattr(smc_sockets, "of_socket", lambda sock: found)
        return asked

    return becomes


@pytest.mark.parametrize(
    "found, mode, fallback",
    [(told("SMCR"), "SMCR", None), (told("SMCD"), "SMCD", None), (told("TCP", 0x03010000), "TCP", NO_SMC), (None,) * 3],
)
def test_a_round_over_smc_records_what_its_connections_became(smc, found, mode, fallback):
    asked = smc(found)
    with measuring.server(kind="smc") as session:
        # one socket for IPv4 and one for IPv6, where the machine has it
        assert asked[0] == socket.AF_INET
        (record,) = measuring.round_of(session, transport="smc", connections=3, runs=1)
    assert record["workload"]["transport"] == "smc"
    assert " --transport smc " in " ".join(record["workload"]["argv"])
    assert measuring.errors(record) == [None, None]
    for run in record["runs"]:
        assert run["links"] == [{"mode": mode, "fallback": fallback, "connections": 3}]


def test_what_stays_on_tcp(smc):
    asked = smc(AssertionError("nobody asks"))
    with measuring.server() as session:
        (record,) = measuring.round_of(session, runs=1)
    assert asked == []
    assert record["workload"]["transport"] == "tcp" and "--transport" not in record["workload"]["argv"]
    assert {run["links"] for run in record["runs"]} == {None}
    smc(told("SMCR"))
    with measuring.server(kind="smc") as session:
        # a client of TCP may ask a server of SMC, and the control workload does
        assert measuring.errors(measuring.round_of(session, runs=1)[0]) == [None, None]
        records = measuring.round_of(session, transport="smc", runs=1, control=True)
    found = {record["workload"]["name"]: record["workload"]["transport"] for record in records}
    assert found == {"pingpong-1000B": "smc", "control-pingpong-1000B": "tcp"}


def test_links_of_connections_that_differ_are_counted():
    one, other = {"mode": "SMCR", "fallback": None}, {"mode": "TCP", "fallback": NO_SMC}
    assert transport.counted([other, one, one]) == [dict(one, connections=2), dict(other, connections=1)]
    assert transport.counted([None, None]) is None


def test_without_smc_in_the_kernel(monkeypatch):
    def refuse(family):
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr(smc_sockets, "stream", refuse)
    words = "transport smc needs SMC sockets .AF_SMC.*Address family not supported.*module smc; on AIX"
    with pytest.raises(MeasureError, match=words):
        agent.start("pingpong", "127.0.0.1", kind="smc")
    with measuring.server() as session:
        (record,) = measuring.round_of(session, transport="smc", runs=1)
    assert all("which this kernel does not provide" in error for error in measuring.errors(record))
    assert {run["links"] for run in record["runs"]} == {None}


def test_no_listener_over_smc(smc):
    smc(told("SMCR"))
    with pytest.raises(ConnectionRefusedError):
        transport.connect("smc", "127.0.0.1", measuring.free_port(), 2)
    with pytest.raises(socket.gaierror):
        transport.connect("smc", "no.such.host.invalid", 1, 2)


def test_smc_and_a_rate_are_measured_with_pingpong():
    for tool, kind, rate in (("auto", "smc", 0), ("pingpong", "smc", 0), ("auto", "tcp", 500)):
        assert niping_request.choose(tool, measuring.STANDIN, "", kind, rate) == ("pingpong", None, [])
    words = "rate is 500, but niping sends as soon as it has an answer: set tool to pingpong, or rate to 0"
    with pytest.raises(MeasureError, match=words):
        niping_request.choose("niping", measuring.STANDIN, "", "tcp", 500)
    with pytest.raises(MeasureError, match="transport smc needs tool pingpong"):
        niping_request.choose("niping", measuring.STANDIN, "", "smc")


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
