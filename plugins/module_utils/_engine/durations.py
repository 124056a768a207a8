# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Durations of leases and probations, which the controller reads as well."""

import re

LONGEST = 7 * 24 * 3600
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"^\s*([0-9]{1,9})\s*([smhd]?)\s*$")


def seconds(value, name):
    """The whole seconds of a duration, a number or text such as ``10m``. name: the option, for the ValueError."""
    found = _DURATION.match(str(value))
    if not found or isinstance(value, bool):
        raise ValueError("%s is %r; it must be seconds, or a duration such as 90s, 10m, 2h or 1d" % (name, value))
    return int(found.group(1)) * _SECONDS[found.group(2)]
