# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine: its arithmetic against a plain computation, and real exchanges over loopback."""

import array
import random
import socket
import threading
import time

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import pingpong
from measuring import PATIENCE


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
    text = pingpong.describe(figures, 1000, 2)
    assert "av2  30.000 us" in text and "(len 1000) over 2 connection(s)" in text


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
