# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP's niping: its folders, its command lines and its output.

SAP publishes no complete description of the output. Two layouts are known and read: times in milliseconds with tr/tr2,
and times in microseconds ("usecs") with bw/bw2 of newer kernels. Any other output is an error that shows it.
"""

import re
from collections import namedtuple

from ..errors import MeasureError
from ..workloads import programs

TOOL = "niping"
# of its self test: no layout is documented
VERSION = ("-t", r"(?i)\b(?:release|version)\b[\s:=]*(\d(?:[\w.]*\w)?)")

# Figures of one run: times in microseconds, throughput in KiB/s.
Figures = namedtuple("Figures", "avg_us max_us min_us av2_us tr_kib_per_s tr2_kib_per_s")

# Microseconds of the unit, which is written in one of three ways.
_TIME_UNITS = {
    unit + ending: factor for unit, factor in (("us", 1.0), ("ms", 1e3), ("s", 1e6)) for ending in ("", "ec", "ecs")
}
# Bytes of the unit: published figures fit 1024; some programs mean 1000, which the check against av2 shows.
_RATE_UNITS = {
    "b": (1, 1),
    "kb": (1024, 1000),
    "kib": (1024,),
    "mb": (1024**2, 1000**2),
    "mib": (1024**2,),
    "gb": (1024**3, 1000**3),
}
_FIGURE = re.compile(r"^\s*(avg|max|min|av2|tr2?|bw2?)\s+%s\s+([A-Za-z]+(?:/[A-Za-z]+)?)\s*$" % programs.FIGURE)
_LENGTH = re.compile(r"send and receive\s+\d+\s+messages?\s+\(len\s+([0-9]{1,9})\)")
_BLOCK = ("ERROR", "RC", "DETAIL", "ERRNO TEXT")
_BLOCK_LINE = re.compile(r"^\*\s+(%s)\s+(\S.*)" % "|".join(_BLOCK))
_HARMLESS = re.compile(r"recv would block \(errno=EAGAIN\)")
_ERROR_LINE = re.compile(r"^\*\*\*\s*ERROR\s*(?:=>)?\s*(\S.*)")


def server_argv(binary, _address, port):
    """A server without idle time limit (-I 0). No option for an address is documented: it listens on all."""
    return [binary, "-s", "-I", "0", "-S", str(port)]


def client_argv(binary, host, port, size, loops):
    """niping's client: ``loops`` round trips of ``size`` bytes to a server."""
    return [binary, "-c", "-H", host, "-S", str(port), "-B", str(size), "-L", str(loops)]


def parse_error(text):
    """The error that an output reports, as one sentence, or None: the star block or a line "*** ERROR"."""
    block, plain = {}, None
    for line in map(str.rstrip, text.splitlines()):
        if _HARMLESS.search(line):
            continue
        match = _BLOCK_LINE.match(line)
        if match:
            block.setdefault(match.group(1), match.group(2))
        match = _ERROR_LINE.match(line)
        if match and plain is None:
            plain = match.group(1)
    if "ERROR" not in block:
        return None if plain is None else "niping: " + plain
    parts = [("RC " if key == "RC" else "") + block[key][:200] for key in _BLOCK if key in block]
    return "niping: " + "; ".join(parts)


# A printed figure with half a step of its last digit.
_Printed = namedtuple("_Printed", "value half_step")


def _printed(digits, factor):
    return _Printed(float(digits) * factor, 10.0 ** -len(digits.partition(".")[2]) * factor / 2)


def _time(values, key):
    digits, unit = values[key]
    if unit.lower() not in _TIME_UNITS:
        raise MeasureError("niping printed %s in the unknown unit %s" % (key, unit))
    return _printed(digits, _TIME_UNITS[unit.lower()])


def _rates(digits, unit):
    """The possible meanings of a printed rate in KiB/s, the likeliest first."""
    base, _slash, per = unit.lower().partition("/")
    if per not in ("s", "sec") or base not in _RATE_UNITS:
        raise MeasureError("niping printed a throughput in the unknown unit %s" % unit)
    return [_printed(digits, size / 1024.0) for size in _RATE_UNITS[base]]


def _consistent(rate, round_trip, size):
    """Whether a rate is 2 x bytes / time, within the precision of the printed digits."""
    expected = 2.0 * size * 1e6 / 1024.0
    low = expected / (round_trip.value + round_trip.half_step) - rate.half_step
    high = expected / max(round_trip.value - round_trip.half_step, 1e-9) + rate.half_step
    return low * (1 - 1e-6) <= rate.value <= high * (1 + 1e-6)


def _finer(round_trip, rate, size):
    """A time in microseconds, computed from its rate if that was printed with more digits.

    Three decimals of a millisecond are 5 % of a round trip of 20 microseconds.
    """
    if not _consistent(rate, round_trip, size):
        return round_trip.value
    if rate.half_step / rate.value >= round_trip.half_step / round_trip.value:
        return round_trip.value
    return 2.0 * size * 1e6 / 1024.0 / rate.value


def _read_figures(text):
    """({key: (digits, unit)} of the last of each figure of one layout, the layout's name of the throughput)."""
    values = {}
    for line in text.splitlines():
        match = _FIGURE.match(line)
        if match:
            values[match.group(1)] = match.groups()[1:]
    rate_key = "bw" if "bw2" in values else "tr"
    missing = [key for key in ("avg", "max", "min", "av2", rate_key, rate_key + "2") if key not in values]
    if missing:
        raise MeasureError(
            "niping printed no %s, its output began: %s" % (", ".join(missing), programs.first_lines(text))
        )
    return values, rate_key


def parse(text, size):
    """The Figures of a client's output (stdout and stderr together) for messages of size bytes.

    MeasureError: an error was reported, the layout is unknown, a figure is missing or 0, or tr2 is not 2 x bytes / av2.
    """
    error = parse_error(text)
    if error is not None:
        raise MeasureError(error)
    values, rate_key = _read_figures(text)
    avg, largest, smallest, av2 = (_time(values, key) for key in ("avg", "max", "min", "av2"))
    length = _LENGTH.search(text)
    size = int(length.group(1)) if length else size
    meanings = list(enumerate(_rates(*values[rate_key + "2"])))
    if avg.value <= 0 or av2.value <= 0 or meanings[0][1].value <= 0:
        raise MeasureError("niping printed avg, av2 or %s2 as 0: too few messages were left, raise loops" % rate_key)
    fitting = [(place, rate) for place, rate in meanings if _consistent(rate, av2, size)]
    if not fitting:
        shown = (rate_key,) + values[rate_key + "2"] + (size,) + values["av2"]
        raise MeasureError("niping's output contradicts itself: %s2 %s %s is not 2 x %d bytes / av2 %s %s" % shown)
    place, tr2 = fitting[0]
    tr = _rates(*values[rate_key])[place]
    return Figures(_finer(avg, tr, size), largest.value, smallest.value, _finer(av2, tr2, size), tr.value, tr2.value)
