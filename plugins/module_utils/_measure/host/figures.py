# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures in the output of a program: by JSON pointer (RFC 6901), or by a regular expression with the group "value".

Text and expression come from others, and an unlucky pair of them may take years. So a child process reads the figures;
the kernel ends it after a time limit.
"""

import contextlib
import json
import math
import os
import re
import signal

from ..._host import daemon
from ..errors import MeasureError
from ..workloads import programs

READ_SECONDS = 10
GROUP = "value"
# as in the records, see plugin_utils/_records/checks.py
LARGEST = 1e18
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\Z", re.ASCII)
_INDEX = re.compile(r"(?:0|[1-9]\d*)\Z", re.ASCII)


def check(figure):
    """MeasureError if the pointer or the pattern of a figure cannot be used. figure: a dict with both, one None."""
    pointer, pattern = figure["pointer"], figure["pattern"]
    if (pointer is None) == (pattern is None):
        raise MeasureError("figure %s needs either pointer or pattern" % figure["name"])
    if pointer is not None:
        if pointer and not pointer.startswith("/"):
            raise MeasureError(
                "the pointer of figure %s is %s; a JSON pointer begins with /, as in /jobs/0/rate"
                % (figure["name"], pointer)
            )
        return
    try:
        groups = re.compile(pattern, re.MULTILINE).groupindex
    except (re.error, RecursionError, OverflowError) as error:
        raise MeasureError(
            "the pattern of figure %s is not a regular expression: %s" % (figure["name"], error)
        ) from error
    if GROUP not in groups:
        raise MeasureError(
            "the pattern of figure %s has no group %s: put the number into (?P<%s>...)" % (figure["name"], GROUP, GROUP)
        )


def number(value):
    """A number, or text that is one, as int or float; MeasureError for anything else."""
    found = float(value) if isinstance(value, str) and _NUMBER.match(value.strip()) else value
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < LARGEST:
        raise MeasureError("%s is not a number from 0" % programs.first_lines(json.dumps(value)[:80], 1))
    return int(found) if isinstance(found, int) or found.is_integer() else found


def by_pointer(text, pointer):
    """The number at a JSON pointer; the text is one JSON document."""
    try:
        at = json.loads(text, parse_constant=lambda _name: math.nan)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise MeasureError(
            "the output is not a JSON document (%s), it began: %s" % (reason, programs.first_lines(text[:2000], 1))
        ) from error
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(at, dict) and name in at:
            at = at[name]
        elif isinstance(at, list) and _INDEX.match(name) and int(name) < len(at):
            at = at[int(name)]
        else:
            raise MeasureError("the output has nothing at %s" % pointer)
    return number(at)


def by_pattern(text, pattern):
    """The number in the group of the last match; ^ and $ are the ends of each line."""
    match = None
    for found in re.finditer(pattern, text, re.MULTILINE):
        match = found
    if match is None or match.group(GROUP) is None:
        raise MeasureError("the output has no match of %s, it began: %s" % (pattern, programs.first_lines(text[:2000])))
    return number(match.group(GROUP))


def find(figure, texts):
    """The number of a figure. texts: {"stdout": text, "stderr": text}; MeasureError if it is missing."""
    text = texts[figure["output"]]
    try:
        if figure["pointer"] is not None:
            return by_pointer(text, figure["pointer"])
        return by_pattern(text, figure["pattern"])
    except MeasureError as error:
        raise MeasureError("figure %s: %s" % (figure["name"], error)) from error


def read(figures, texts, seconds=READ_SECONDS):
    """{name: number} of all figures, found by a child process; MeasureError if one is missing or takes too long."""
    if not figures:
        return {}
    read_end, write_end = os.pipe()
    pid = daemon.fork(_answer, figures, texts, seconds, write_end)
    os.close(write_end)
    try:
        with os.fdopen(read_end, "rb") as stream:
            data = stream.read()
    finally:
        with contextlib.suppress(OSError):
            os.waitpid(pid, 0)
    if not data:
        raise MeasureError(
            "the figures were not found within %d s: simplify the pattern, or let the program print less" % seconds
        )
    answer = json.loads(data.decode("ascii"))
    if "error" in answer:
        raise MeasureError(answer["error"])
    return answer["figures"]


def _answer(figures, texts, seconds, descriptor):
    """The main function of the child: the kernel ends it at the alarm, even during a search."""
    signal.alarm(seconds)
    try:
        answer = {"figures": {figure["name"]: find(figure, texts) for figure in figures}}
    except MeasureError as error:
        answer = {"error": str(error)}
    os.write(descriptor, json.dumps(answer).encode("ascii"))
