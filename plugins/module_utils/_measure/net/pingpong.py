# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loops of pingpong: N bytes there and M back L times over TCP or SMC, with niping's figures, and streams.

These loops are measured, so they hold as little Python as possible: buffers are made once, one system call sends and
one receives, and nothing is allocated or collected between two clock readings.
"""

import array
import contextlib
import gc
import socket
import time
from collections import namedtuple

from ..errors import MeasureError
from ..transport import keep_time
from . import histogram

TOOL = "pingpong"
VERSION = "1"
MAX_BYTES = 16 * 1024 * 1024
MAX_LOOPS = 10 * 1000 * 1000
MAX_RATE = 100 * 1000
# The byte that begins a stream, and the byte that confirms that all of it arrived.
_BEGIN = _DONE = b"."

# Round trips of one or several connections, in microseconds. The number of samples that equal the largest and the
# smallest is kept so that av2 over several connections is exact without their samples. histogram: see histogram.py.
Summary = namedtuple("Summary", "count total largest largest_count smallest smallest_count histogram")

if hasattr(time, "perf_counter_ns"):
    _clock, _code, _to_us = time.perf_counter_ns, "q", 1e-3
else:  # Python 3.6
    _clock, _code, _to_us = time.perf_counter, "d", 1e6

# Seconds before a round trip is due in which _moments() looks at the clock all the time: sleep() wakes too late.
_AWAKE = 1e-3


def tune_socket(sock, timeout):
    """Send at once (TCP_NODELAY), and let the kernel keep the time limit."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    keep_time(sock, timeout)


@contextlib.contextmanager
def _no_collection():
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _receive_rest(sock, view, got):
    """Read the rest if one call did not deliver all (a signal, a large message); EOFError at the end."""
    if got == 0:
        raise EOFError("closed")
    while got < len(view):
        more = sock.recv_into(view[got:])
        if more == 0:
            raise EOFError("closed")
        got += more


def _buffers(size, response):
    """(request, response); one buffer for both if the size of the response is None."""
    request = memoryview(bytearray(size))
    return request, request if response is None else memoryview(bytearray(response))


def _moments(rate):
    """Each moment at which the next of rate round trips a second is due, once it has come."""
    step = type(_clock())(1e6 / (rate * _to_us))
    due = _clock()
    while True:
        left = (due - _clock()) * _to_us * 1e-6
        if left > _AWAKE:
            time.sleep(left - _AWAKE)
        while _clock() < due:
            pass
        yield due
        due += step


def exchange(sock, size, loops, response=None, rate=0):
    """Send size bytes and wait for the response, loops times. Return the round trips as an array in the clock's unit.

    response: the size of the response, None for size. rate: round trips a second, each timed from the moment at which
    it was due, so that a stall counts for all that waited for it (open loop); 0: each begins when the one before has
    ended (closed loop). The socket is connected and blocking (see tune_socket); errors are OSError and EOFError of the
    socket, and MeasureError if this many round trips a second were not possible.
    """
    view, answer = _buffers(size, response)
    wanted = len(answer)
    samples = array.array(_code, bytes(8 * loops))
    clock, send, receive, wait_all = _clock, sock.send, sock.recv_into, socket.MSG_WAITALL
    with _no_collection():
        # the clock itself is called by the loop without Python code between
        for index, begin in zip(range(loops), _moments(rate) if rate else iter(clock, None)):
            sent = send(view)
            if sent != size:
                sock.sendall(view[sent:])
            got = receive(answer, wanted, wait_all)
            if got != wanted:
                _receive_rest(sock, answer, got)
            samples[index] = clock() - begin
    if rate and samples[-1] * _to_us * rate > loops * 1e6 / 4.0:
        raise MeasureError(
            "%d round trips a second are too many here: the last one began a quarter of the run late; lower rate" % rate
        )
    return samples


def echo(sock, size, loops, response=None):
    """The other side of exchange(): receive size bytes and send the response, loops times."""
    view, answer = _buffers(size, response)
    answered = len(answer)
    send, receive, wait_all = sock.send, sock.recv_into, socket.MSG_WAITALL
    with _no_collection():
        for _index in range(loops):
            got = receive(view, size, wait_all)
            if got != size:
                _receive_rest(sock, view, got)
            sent = send(answer)
            if sent != answered:
                sock.sendall(answer[sent:])


def send_stream(sock, size, loops):
    """Send loops messages of size bytes and wait until the other side, in take_stream(), has received them all."""
    _push(sock, size, loops)
    _expect(sock)


def take_stream(sock, size, loops):
    """Receive the stream of send_stream() and confirm it."""
    _absorb(sock, size, loops)
    sock.sendall(_DONE)


def fetch_stream(sock, size, loops):
    """Tell the other side, in give_stream(), to begin, and receive loops messages of size bytes."""
    sock.sendall(_BEGIN)
    _absorb(sock, size, loops)


def give_stream(sock, size, loops):
    """Wait for fetch_stream(), and send it all messages."""
    _expect(sock)
    _push(sock, size, loops)


def _expect(sock):
    if not sock.recv(1):
        raise EOFError("closed")


def _push(sock, size, loops):
    view, send = memoryview(bytearray(size)), sock.send
    with _no_collection():
        for _index in range(loops):
            sent = send(view)
            if sent != size:
                sock.sendall(view[sent:])


def _absorb(sock, size, loops):
    """Receive size x loops bytes in any portions: a stream has no message boundaries."""
    view, receive, left = memoryview(bytearray(size)), sock.recv_into, size * loops
    with _no_collection():
        while left:
            got = receive(view, min(size, left))
            if got == 0:
                raise EOFError("closed")
            left -= got


def summarize(samples):
    """Reduce the samples of exchange() to a Summary in microseconds."""
    largest, smallest = max(samples), min(samples)
    return Summary(
        len(samples),
        sum(samples) * _to_us,
        largest * _to_us,
        samples.count(largest),
        smallest * _to_us,
        samples.count(smallest),
        histogram.histogram(samples, _to_us),
    )


def merge(summaries):
    """One Summary over the samples of several connections."""
    largest = max(item.largest for item in summaries)
    smallest = min(item.smallest for item in summaries)
    return Summary(
        sum(item.count for item in summaries),
        sum(item.total for item in summaries),
        largest,
        sum(item.largest_count for item in summaries if item.largest == largest),
        smallest,
        sum(item.smallest_count for item in summaries if item.smallest == smallest),
        histogram.merge([item.histogram for item in summaries]),
    )


def kib_per_s(size, round_trip_us):
    """niping's throughput: both directions count, 2 x bytes per round trip, in KiB (1024) per second.

    If request and response differ, size is their mean.
    """
    return 2.0 * size * 1e6 / round_trip_us / 1024.0


def metrics(summary, size):
    """The figures niping prints, from a Summary: avg max min av2 in microseconds, tr and tr2 in KiB/s.

    av2 leaves out every sample that equals the largest or the smallest, as niping does. MeasureError if no sample is
    left: a figure that was not measured is never invented.
    """
    left = summary.count - summary.largest_count - summary.smallest_count
    if left <= 0 or summary.largest == summary.smallest:
        raise MeasureError(
            "all %d round trips equal the largest or the smallest one, so av2 does not exist: raise loops"
            % summary.count
        )
    rest = summary.total - summary.largest * summary.largest_count - summary.smallest * summary.smallest_count
    avg, av2 = summary.total / summary.count, rest / left
    return figures((avg, summary.largest, summary.smallest, av2), summary.count, size)


def figures(times, round_trips, size):
    """A record's metrics from avg, max, min and av2 in microseconds: kept to a tenth of a nanosecond."""
    avg, largest, smallest, av2 = times
    result = {"avg_us": avg, "max_us": largest, "min_us": smallest, "av2_us": av2}
    result.update(tr_kib_per_s=kib_per_s(size, avg), tr2_kib_per_s=kib_per_s(size, av2))
    return dict({name: round(value, 4) for name, value in result.items()}, round_trips=round_trips)
