# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the sets of workloads: their checks, and the workloads that lists of them make."""

import itertools

from ..errors import MeasureError


def shapes(options, lists):
    """Each combination of the values of these lists: the first value of the first list with all of the others."""
    return itertools.product(*(options[name] for name in lists))


def check_options(options, limits, lists=(), prefix=""):
    """MeasureError for the first of these lists that is empty or has a value twice, or else the first number, in a
    list or alone, out of its limits: {name: (lowest, highest)}."""
    for name in lists:
        if not options[name] or len(set(options[name])) != len(options[name]):
            raise MeasureError("%s%s is %s; name at least one, and each only once" % (prefix, name, options[name]))
    for name in sorted(limits):
        low, high = limits[name]
        in_list = isinstance(options[name], list)
        for value in options[name] if in_list else [options[name]]:
            if not low <= value <= high:
                text = "%s%s %s %s; it must be from %s to %s"
                raise MeasureError(text % (prefix, name, "has" if in_list else "is", value, low, high))


def session_tool(tool, session):
    """The tool that the server of a session serves; MeasureError if the option tool names another one."""
    if tool not in (None, "auto", session["tool"]):
        raise MeasureError("tool is %s, but the server of the session serves %s" % (tool, session["tool"]))
    return session["tool"]
