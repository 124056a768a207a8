# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment variables that profiles give to the programs of an instance: SETENV_nn = NAME=value.

Later numbers see earlier ones by %(NAME). An instance profile replaces the same number of its default profile.
"""

import re
from collections import namedtuple

from .._engine.tuning import InputError

_NAME = re.compile(r"SETENV_([0-9]{1,3})\Z", re.IGNORECASE)
_BLANKS = " \t"
_HIGHEST = 99
# execve(2): the kernel (MAX_ARG_STRLEN, 32 pages of 4 KiB) starts no program with a longer variable
_LONGEST = 128 * 1024

# A line SETENV_nn of a profile that sets a variable. line: its number in the file.
Setting = namedtuple("Setting", "number directive variable value line")


def settings(profile):
    """[Setting] of the lines of a Profile that count, by their numbers nn."""
    found = {}
    for directive in profile.directives():
        match = _NAME.match(directive)
        if match:
            last = profile.active(directive)[-1]
            variable, _equals, value = last.value.partition("=")
            number = int(match.group(1))
            found[number] = Setting(number, directive, variable.strip(_BLANKS), value.strip(_BLANKS), last.number)
    return [found[number] for number in sorted(found)]


def together(default, own):
    """The [Setting] of an instance: those of its default profile and of its own."""
    found = {one.number: one for one in default}
    found.update((one.number, one) for one in own)
    return [found[number] for number in sorted(found)]


def effective(lines, variable):
    """The value of a variable after all [Setting], None if none sets it; other references stay as they are.

    Raises InputError for a longer value than a program can get: a few lines that double it would fill the memory.
    """
    value, reference = None, "%%(%s)" % variable
    for one in lines:
        if one.variable == variable:
            if len(one.value) + one.value.count(reference) * len(value or "") > _LONGEST:
                raise InputError(
                    "instances: %s (line %d) makes %s longer than the %d KiB that a program can get: shorten the lines "
                    "SETENV_nn that set it" % (one.directive, one.line, variable, _LONGEST >> 10)
                )
            value = one.value.replace(reference, value or "")
    return value


def next_free(lines):
    """The directive above all used numbers. Raises InputError if there is none."""
    number = max([one.number for one in lines], default=-1) + 1
    if number > _HIGHEST:
        said = "instances: SETENV_%02d is used already, and a number above it is needed: renumber the lines SETENV_nn"
        raise InputError(said % _HIGHEST)
    return "SETENV_%02d" % number
